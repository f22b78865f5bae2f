//! What an operator does about dead messages. They are looked for on a reading connection; what is done to each is decided
//! anew in the writing transaction, so of two operators one changes a message and the other finds it changed.

use rusqlite::{CachedStatement, OptionalExtension, Row, params};
use tenure_core::outbox::{Filter, State};

use super::list::number_of;
use super::text::Texts;
use crate::error::Fault;
use crate::reader::Snapshot;
use crate::writing::Writing;

/// What is done to a dead message.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    /// It is pending again.
    Retry,
    /// It is not sent.
    Discard,
}

impl Act {
    fn action(self) -> &'static str {
        match self {
            Self::Retry => "outbox retry",
            Self::Discard => "outbox discard",
        }
    }
}

/// The numbers of dead messages that fit, after one number, in order.
pub(super) fn find(
    snapshot: &Snapshot<'_>,
    filter: &Filter,
    after: i64,
    limit: u32,
) -> Result<Vec<i64>, Fault> {
    let Some((low, high)) = span(snapshot, filter)? else { return Ok(Vec::new()) };
    let mut statement = snapshot.prepare(&snapshot.outbox().dead_list)?;
    let (topic, source, kind) = (&filter.topic, &filter.source, &filter.kind);
    let low = low.max(after.saturating_add(1));
    let found = statement.query_map(params![low, high, topic, source, kind, limit], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// How many dead messages fit.
pub(super) fn count(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<u64, Fault> {
    let Some((low, high)) = span(snapshot, filter)? else { return Ok(0) };
    let mut statement = snapshot.prepare(&snapshot.outbox().dead_count)?;
    let (topic, source, kind) = (&filter.topic, &filter.source, &filter.kind);
    let count: i64 = statement.query_row(params![low, high, topic, source, kind], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Between which numbers a dead message that fits may be; `None` when none can fit.
fn span(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Option<(i64, i64)>, Fault> {
    if filter.state.is_some_and(|state| state != State::Dead) {
        return Ok(None);
    }
    match &filter.id {
        None => Ok(Some((i64::MIN, i64::MAX))),
        Some(id) => Ok(number_of(snapshot, id)?.map(|number| (number, number))),
    }
}

/// Changes those of these messages that are dead still, each with a line in the audit trail. Answers their
/// ids.
pub(super) fn act(writing: &Writing<'_>, act: Act, by: &str, numbers: &[i64]) -> Result<Vec<String>, Fault> {
    let mut ids = Vec::new();
    for number in numbers {
        let Some(dead) = read(writing, *number)? else { continue };
        match act {
            Act::Retry => retry(writing, *number, dead.attempts)?,
            Act::Discard => discard(writing, *number)?,
        }
        let detail = format!("{}/{}: {}", dead.topic, dead.kind, dead.reason.unwrap_or_default());
        writing.add_audit(by, act.action(), &dead.message_id, &detail)?;
        ids.push(dead.message_id);
    }
    Ok(ids)
}

fn retry(writing: &Writing<'_>, number: i64, attempts: i64) -> Result<(), Fault> {
    let statements = &writing.statements.outbox;
    let now = writing.now.wall.as_micros();
    prepare(writing, &statements.dead_drop)?.execute([number])?;
    prepare(writing, &statements.pending_revive)?.execute(params![number, now, attempts])?;
    Ok(())
}

fn discard(writing: &Writing<'_>, number: i64) -> Result<(), Fault> {
    let statements = &writing.statements.outbox;
    let now = writing.now.wall.as_micros();
    prepare(writing, &statements.dead_discard)?.execute(params![number, now])?;
    prepare(writing, &statements.pending_drop)?.execute([number])?;
    Ok(())
}

struct Dead {
    message_id: String,
    topic: String,
    kind: String,
    reason: Option<String>,
    attempts: i64,
}

fn read(writing: &Writing<'_>, number: i64) -> Result<Option<Dead>, Fault> {
    let read = |row: &Row<'_>| -> rusqlite::Result<Dead> {
        let mut texts = Texts::of(row);
        Ok(Dead {
            message_id: texts.of_column(0)?,
            topic: texts.of_column(1)?,
            kind: texts.of_column(2)?,
            reason: texts.maybe(3)?,
            attempts: row.get(4)?,
        })
    };
    let mut statement = prepare(writing, &writing.statements.outbox.dead_read)?;
    Ok(statement.query_row([number], read).optional()?)
}

fn prepare<'a>(writing: &Writing<'a>, statement: &str) -> Result<CachedStatement<'a>, Fault> {
    Ok(writing.connection.prepare_cached(statement)?)
}
