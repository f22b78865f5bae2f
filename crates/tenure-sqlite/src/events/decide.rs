//! What an append comes to, by what was read: the same whichever driver read it.

use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendAnswer, AppendProblem, Expected, StreamName, Version};
use tenure_core::outbox::MessageError;

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
