//! What an operator does about dead messages. They are looked for on a reading connection; what is done to each is decided
//! anew in the writing transaction, so of two operators one changes a message and the other finds it changed.

use rusqlite::{CachedStatement, OptionalExtension, Row, params};
use tenure_core::outbox::{
    CauseId, Count, DeadPass, DeadWalk, Filter, GRAVES_MAX, Grave, Graves, RowId, State,
};
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

/// Goes through dead messages as far as a walk allows.
pub(super) fn find(snapshot: &Snapshot<'_>, walk: &DeadWalk) -> Result<DeadPass, Fault> {
    let mut pass = DeadPass::new(walk);
    let filter = &walk.filter;
    let Some((low, high)) = span(snapshot, filter)?.filter(|_| walk.limit > 0) else { return Ok(pass) };
    let texts = &snapshot.outbox().dead_list;
    let Filter { topic, source, kind, .. } = filter;
    let (from, until) = (filter.from.map(StoreTime::as_micros), filter.until.map(StoreTime::as_micros));
    let low = low.max(walk.after().saturating_add(1));
    let mut statement;
    let mut rows = match filter.cause.map(CauseId::as_column) {
        None => {
            statement = snapshot.prepare(&texts.any)?;
            statement.query(params![low, high, topic, source, kind, from, until, walk.steps()])?
        }
        Some(cause) => {
            statement = snapshot.prepare(&texts.of_cause)?;
            statement.query(params![low, high, topic, source, kind, from, until, walk.steps(), cause])?
        }
    };
    // Rows are made one by one as they are asked for.
    while let Some(row) = rows.next()? {
        if !pass.meets(RowId(row.get(0)?), row.get(1)?) {
            break;
        }
    }
    Ok(pass)
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
    (rows, cause): (&[RowId], Option<CauseId>),
) -> Result<Vec<String>, Fault> {
    let mut ids = Vec::new();
    for RowId(number) in rows {
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

#[cfg(test)]
mod tests {
    use tenure_core::contract::{OutboxAdmin, OutboxStore, Schema};
    use tenure_core::id::NodeName;
    use tenure_core::outbox::{Kind, Limits, NewMessage, Next, Outcome};

    use super::*;
    use crate::options::SqliteOptions;
    use crate::store::SqliteStore;

    async fn dies(store: &SqliteStore, row: RowId, attempt: u32, reason: &str) {
        let outcome = Outcome {
            id: row,
            attempt,
            kind: Kind::Rejected,
            next: Next::Dead { halt: false },
            reason: Some(reason.into()),
            took: std::time::Duration::ZERO,
        };
        store.record(None, &NodeName::new("n").unwrap(), &[outcome]).await.unwrap();
    }

    /// Between the search and the change someone else has retried one of them, and it has died anew, of something else.
    #[tokio::test]
    async fn a_message_that_has_died_anew_of_something_else_is_not_acted_on() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::connect(SqliteOptions::new(directory.path().join("app.db"))).await.unwrap();
        store.migrate().await.unwrap();
        let messages = vec![NewMessage::json("t", "k", "{}"); 3];
        store.enqueue(&messages, &Limits::default()).await.unwrap();
        for row in 1..=3 {
            dies(&store, RowId(row), 1, "no paper").await;
        }
        let cause = Some(CauseId::of(Kind::Rejected, "no paper"));
        let walk = DeadWalk::of(Filter { cause, ..Filter::default() }, 10);
        for act_of in [Act::Retry, Act::Discard] {
            let walk = walk.clone();
            let pass = store.browse(move |snapshot| find(snapshot, &walk)).await.unwrap();
            let met = pass.met().to_vec();
            assert!(met.contains(&RowId(2)));
            // What another operator and a relay do meanwhile.
            let two = DeadWalk { after: Some(RowId(1)), ..DeadWalk::of(Filter::default(), 1) };
            assert_eq!(store.retry(&two, "bob").await.unwrap().ids.len(), 1);
            let attempt = if matches!(act_of, Act::Retry) { 2 } else { 4 };
            dies(&store, RowId(2), attempt, "no ink").await;
            let (rows, others) = (met.clone(), met.len() - 1);
            let changed = store
                .run(move |database| database.write(|writing| act(writing, act_of, "ann", (&rows, cause))))
                .await
                .unwrap();
            assert_eq!(changed.len(), others, "{act_of:?}");
            let ink = Filter { cause: Some(CauseId::of(Kind::Rejected, "no ink")), ..Filter::default() };
            let left = store.count_dead(&DeadWalk::of(ink, 10)).await.unwrap();
            assert_eq!(left.number, 1, "it is as the relay left it: {act_of:?}");
            if matches!(act_of, Act::Retry) {
                // All of one cause again, for the other act.
                dies(&store, RowId(1), 2, "no paper").await;
                dies(&store, RowId(3), 2, "no paper").await;
                assert_eq!(store.retry(&two, "bob").await.unwrap().ids.len(), 1);
                dies(&store, RowId(2), 3, "no paper").await;
            }
        }
    }
}
