//! What an operator does about dead messages. They are looked for on a reading connection; what is done to each is decided
//! anew in the writing transaction, so of two operators one changes a message and the other finds it changed.

use rusqlite::{CachedStatement, OptionalExtension, Row, params};
use tenure_core::outbox::{CauseId, Count, DEAD_LOOK_MAX, Filter, GRAVES_MAX, Grave, Graves, State};
use tenure_core::time::StoreTime;

use super::list::{number_of, one};
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
    let texts = &snapshot.outbox().dead_list;
    let Filter { topic, source, kind, .. } = filter;
    let (from, until) = (filter.from.map(StoreTime::as_micros), filter.until.map(StoreTime::as_micros));
    let low = low.max(after.saturating_add(1));
    let mut numbers = Vec::new();
    let mut statement;
    let mut rows = match filter.cause.map(CauseId::as_column) {
        None => {
            statement = snapshot.prepare(&texts.any)?;
            statement.query(params![low, high, topic, source, kind, from, until, limit])?
        }
        Some(cause) => {
            statement = snapshot.prepare(&texts.of_cause)?;
            statement.query(params![low, high, topic, source, kind, from, until, limit, cause])?
        }
    };
    while let Some(row) = rows.next()? {
        numbers.push(row.get(0)?);
    }
    Ok(numbers)
}

/// How many dead messages fit, counted up to a bound.
pub(super) fn count(snapshot: &Snapshot<'_>, filter: &Filter, at_most: u32) -> Result<Count, Fault> {
    let Some((low, high)) = span(snapshot, filter)? else { return Ok(Count::default()) };
    let texts = &snapshot.outbox().dead_count;
    let Filter { topic, source, kind, .. } = filter;
    let (from, until) = (filter.from.map(StoreTime::as_micros), filter.until.map(StoreTime::as_micros));
    let (wanted, most) = (i64::from(at_most) + 1, i64::from(DEAD_LOOK_MAX));
    let any = topic.is_none() && source.is_none() && kind.is_none() && from.is_none() && until.is_none();
    let steps = if any { wanted.min(most) } else { most };
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let (found, looked) = match filter.cause.map(CauseId::as_column) {
        None => snapshot
            .prepare(&texts.any)?
            .query_row(params![low, high, topic, source, kind, from, until, wanted, steps], read)?,
        Some(cause) => snapshot
            .prepare(&texts.of_cause)?
            .query_row(params![low, high, topic, source, kind, from, until, wanted, steps, cause], read)?,
    };
    let count = Count::up_to(at_most.into(), u64::try_from(found).unwrap_or_default());
    Ok(Count { or_more: count.or_more || looked >= most, ..count })
}

/// Dead messages by cause.
pub(super) fn graves(
    snapshot: &Snapshot<'_>,
    after: Option<CauseId>,
    limit: u32,
    count_max: u32,
) -> Result<Graves, Fault> {
    let limit = limit.min(GRAVES_MAX);
    if limit == 0 {
        return Ok(Graves::default());
    }
    let mut statement = snapshot.prepare(&snapshot.outbox().dead_causes)?;
    let after = after.map_or(-1, CauseId::as_column);
    let mut rows = statement.query(params![after, limit + 1, i64::from(count_max) + 1])?;
    let mut found = Graves::default();
    while let Some(row) = rows.next()? {
        if found.graves.len() == limit as usize {
            found.more_after = found.graves.last().map(|grave| grave.cause);
            break;
        }
        let (cause, messages): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (oldest, newest) = (one(snapshot, row.get(2)?)?, one(snapshot, row.get(3)?)?);
        let (Some(oldest), Some(newest)) = (oldest, newest) else { continue };
        found.graves.push(Grave {
            cause: CauseId::from_column(cause),
            messages: Count::up_to(count_max.into(), u64::try_from(messages).unwrap_or_default()),
            newest,
            oldest,
        });
    }
    Ok(found)
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

/// Changes those of these messages that are dead still, and of this cause if one is given (they may have been retried, and have
/// died anew of another), each with a line in the audit trail. Answers their ids.
pub(super) fn act(
    writing: &Writing<'_>,
    act: Act,
    by: &str,
    (numbers, cause): (&[i64], Option<CauseId>),
) -> Result<Vec<String>, Fault> {
    let mut ids = Vec::new();
    for number in numbers {
        let Some(dead) = read(writing, *number)? else { continue };
        if cause.is_some_and(|cause| cause != dead.cause) {
            continue;
        }
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
    cause: CauseId,
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
            cause: CauseId::from_column(row.get(5)?),
        })
    };
    let mut statement = prepare(writing, &writing.statements.outbox.dead_read)?;
    Ok(statement.query_row([number], read).optional()?)
}

fn prepare<'a>(writing: &Writing<'a>, statement: &str) -> Result<CachedStatement<'a>, Fault> {
    Ok(writing.connection.prepare_cached(statement)?)
}
