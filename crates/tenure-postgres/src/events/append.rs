//! Appending: one statement, and what is asked when it has written nothing.
//!
//! ```text
//!   statement ── base ──────────────────────────▶ Appended
//!      │ ▲  └─── the mark is there ─────────────▶ Duplicate, Refused, Differs
//!      │ │  └─── nothing: look ─┬─ it is known ──▶ Appended before, Conflict …
//!      │ │                      └─ a dispatch is there: the same? leave it out ─┐
//!      │ └── again ◀──────────── a unique index was violated ◀─────────────────┘
//!      └─ error
//! ```

use std::collections::HashMap;

use tenure_core::StoreError;
use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendAnswer, Appended, Position, Version};
use tenure_core::outbox::{Existing, MessageError, MessageId, NewMessage};
use tenure_sql::Before;

use super::content::{Given, Mark, Reply, There};
use super::statements::{Shape, Statements};

/// How often an append is tried that others get in the way of. Each time someone else has committed something.
const TRIES: usize = 4;

/// Why a statement was not done.
pub(super) enum Failure {
    /// Someone has written the same at the same moment. Nothing was written, and it can be tried again.
    Raced(StoreError),
    /// Anything else.
    Store(StoreError),
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Raced(error) | Failure::Store(error) => error,
        }
    }
}

/// Where statements are run: in a transaction of their own, or in the user's.
pub(super) trait Session {
    /// Whether it is the user's.
    const JOINED: bool;

    /// Runs the statement that appends. `undoes` asks that it can be undone without an end to the transaction.
    async fn append(&mut self, sql: &str, given: &Given<'_>, undoes: bool) -> Result<Reply, Failure>;

    /// Looks what there is.
    async fn look(&mut self, sql: &str, given: &Given<'_>) -> Result<There, StoreError>;

    /// What messages say that are there already.
    async fn messages(&mut self, sql: &str, ids: &[String])
    -> Result<Vec<(MessageId, Existing)>, StoreError>;
}

/// Appends. What can be checked without the store has been checked.
pub(super) async fn append(
    session: &mut impl Session,
    statements: &Statements,
    store: &str,
    append: &Append,
) -> Result<AppendAnswer, AppendError> {
    let mut dispatches = distinct(&append.dispatches)?;
    for _ in 0..TRIES {
        let given = Given::of(append, &dispatches);
        let reply = match run(session, statements, append, &dispatches, &given).await {
            Ok(reply) => reply,
            Err(Failure::Raced(error)) => {
                tracing::debug!(%error, "others wrote the same at the same moment");
                continue;
            }
            Err(Failure::Store(error)) => return Err(error.into()),
        };
        if let Some(before) = reply.before {
            return Ok(seen_before(before, &given.mark));
        }
        if let Some(base) = reply.base {
            let version = Version(base).plus(append.events.len());
            let position = reply.position.map(Position);
            return Ok(AppendAnswer::Appended(Appended { version, position, repeated: false }));
        }
        let there = session.look(&statements.existing, &given).await?;
        if let Some(before) = there.before {
            return Ok(seen_before(before, &given.mark));
        }
        if !there.is_free(append) {
            return Ok(there.answer(append)?);
        }
        // What else can be there are dispatches; only now do they count, for those of one who comes second in the stream
        // may well have the ids of the first one's.
        let known = session.messages(&statements.compare, &ids(&dispatches)).await?;
        leave_out(&mut dispatches, known)?;
    }
    Err(restless(store).into())
}

/// The answer to a message that has come again.
fn seen_before(before: Before, mark: &Mark<'_>) -> AppendAnswer {
    let accept = before.judge(mark.fingerprint.as_deref());
    AppendAnswer::to_settled(accept).unwrap_or(AppendAnswer::Duplicate)
}

async fn run(
    session: &mut impl Session,
    statements: &Statements,
    append: &Append,
    dispatches: &[&NewMessage],
    given: &Given<'_>,
) -> Result<Reply, Failure> {
    session
        .append(statements.append(shape(session, append, dispatches)), given, undoes(append, dispatches))
        .await
}

fn shape<S: Session>(_: &S, append: &Append, dispatches: &[&NewMessage]) -> Shape {
    Shape::of(append, dispatches.len(), S::JOINED)
}

/// Whether someone else may write the same at the same moment: only what has an id of its own besides its stream's version.
fn undoes(append: &Append, dispatches: &[&NewMessage]) -> bool {
    let by_ids = append.expected == tenure_core::event::Expected::Any && !append.events.is_empty();
    by_ids || append.mark.is_some() || dispatches.iter().any(|message| message.id.is_some())
}

/// Each dispatch once; a second one with the same id must say the same.
fn distinct(dispatches: &[NewMessage]) -> Result<Vec<&NewMessage>, MessageError> {
    let mut first: HashMap<MessageId, &NewMessage> = HashMap::new();
    let mut kept = Vec::with_capacity(dispatches.len());
    for message in dispatches {
        match message.id.map(|id| (id, first.insert(id, message))) {
            Some((id, Some(earlier))) => message.is_same(id, &Existing::from(earlier))?,
            _ => kept.push(message),
        }
    }
    Ok(kept)
}

/// Leaves out what is there already and says the same; what says something else is an error.
fn leave_out(
    dispatches: &mut Vec<&NewMessage>,
    known: Vec<(MessageId, Existing)>,
) -> Result<(), MessageError> {
    let known: HashMap<MessageId, Existing> = known.into_iter().collect();
    for message in dispatches.iter() {
        if let Some((id, there)) = message.id.and_then(|id| known.get(&id).map(|there| (id, there))) {
            message.is_same(id, there)?;
        }
    }
    dispatches.retain(|message| message.id.is_none_or(|id| !known.contains_key(&id)));
    Ok(())
}

fn ids(dispatches: &[&NewMessage]) -> Vec<String> {
    dispatches.iter().filter_map(|message| message.id).map(|id| id.to_string()).collect()
}

fn restless(store: &str) -> StoreError {
    let message =
        "others write to the stream, or the same messages, all the time; or what they wrote is younger than \
                   what this transaction sees (REPEATABLE READ): then begin it anew"
            .into();
    StoreError::Busy { store: store.to_owned(), message }
}
