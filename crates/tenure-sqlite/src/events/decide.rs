//! What an append comes to, by what was read: the same whichever driver read it.

use std::collections::HashSet;

use tenure_core::contract::AppendError;
use tenure_core::event::{
    Append, AppendAnswer, AppendProblem, Appended, Expected, Position, Seen, StreamName, Version, same_events,
};
use tenure_core::outbox::{Accept, MessageError};

use crate::error::Fault;
use crate::outbox::Unsent;

/// Why nothing was appended.
#[derive(Debug)]
pub(super) enum Unappended {
    Problem(AppendProblem),
    Dispatch(MessageError),
    Fault(Fault),
}

impl Unappended {
    pub(super) fn at(self, label: &str) -> AppendError {
        match self {
            Self::Problem(problem) => problem.into(),
            Self::Dispatch(error) => error.into(),
            Self::Fault(fault) => fault.at(label).into(),
        }
    }
}

impl From<AppendProblem> for Unappended {
    fn from(problem: AppendProblem) -> Self {
        Self::Problem(problem)
    }
}

impl From<Fault> for Unappended {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<rusqlite::Error> for Unappended {
    fn from(error: rusqlite::Error) -> Self {
        Self::Fault(error.into())
    }
}

impl From<Unsent> for Unappended {
    fn from(unsent: Unsent) -> Self {
        match unsent {
            Unsent::Message(error) => Self::Dispatch(error),
            Unsent::Fault(fault) => Self::Fault(fault),
        }
    }
}

/// An event that stands where one of an append's may have come to stand before.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) stream: String,
    pub(super) position: Position,
    pub(super) seen: Seen,
}

/// The ids whose events must not be there yet, as an array of JSON. None where the stream's version tells it.
pub(super) fn ids_to_know(append: &Append) -> Option<String> {
    if append.expected != Expected::Any || append.events.is_empty() {
        return None;
    }
    let ids: Vec<_> = append.events.iter().map(|event| format!("\"{}\"", event.id)).collect();
    Some(format!("[{}]", ids.join(",")))
}

/// The versions that its events would have: after the first, up to the second.
pub(super) fn places(append: &Append) -> (Version, Version) {
    let after = match append.expected {
        Expected::Exact(version) => version,
        Expected::Any => Version::NONE,
    };
    (after, after.plus(append.events.len()))
}

/// What is said of an append that cannot be made: it was made before, or something else came first.
pub(super) fn not_again(
    append: &Append,
    mut standing: Vec<Standing>,
    actual: Version,
) -> Result<AppendAnswer, AppendProblem> {
    let ids: HashSet<_> = append.events.iter().map(|event| event.id).collect();
    standing.retain(|row| row.stream == append.stream.as_str() && ids.contains(&row.seen.id));
    let last = standing.last().map(|row| (row.seen.version, row.position));
    let seen: Vec<_> = standing.into_iter().map(|row| row.seen).collect();
    let repeated = same_events(append, &seen).map_err(|id| AppendProblem::OtherContent { id })?;
    Ok(match last {
        Some((version, position)) if repeated => {
            AppendAnswer::Appended(Appended { version, position: Some(position), repeated })
        }
        _ => AppendAnswer::Conflict { actual },
    })
}

/// What is said of an append whose message was settled before.
pub(super) fn settled(accept: Accept) -> Option<AppendAnswer> {
    match accept {
        Accept::Fresh => None,
        Accept::Duplicate => Some(AppendAnswer::Duplicate),
        Accept::Refused { reason } => Some(AppendAnswer::Refused { reason }),
        Accept::Differs => Some(AppendAnswer::Differs),
    }
}

/// Whether an answer means that something was written.
pub(super) fn is_written(answer: &AppendAnswer) -> bool {
    matches!(answer, AppendAnswer::Appended(appended) if !appended.repeated)
}

/// A version that the stream's row may have. A row is there only when there is an event.
pub(super) fn version(stream: &StreamName, found: Option<i64>) -> Result<Version, Fault> {
    match found {
        None => Ok(Version::NONE),
        Some(version) if version > 0 => Ok(Version(version)),
        Some(_) => Err(Fault::Corrupt(format!("the stream {stream} has a version below 1"))),
    }
}
