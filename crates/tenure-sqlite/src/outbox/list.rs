//! Messages for people to see.

use rusqlite::{OptionalExtension, params};
use tenure_core::outbox::{Attempt, Details, LIST_MAX, Listing, Selection, State};
use tenure_sql::limits::ATTEMPTS_MAX;

use crate::error::Fault;
use crate::reader::Snapshot;
use crate::rows::{Foreign, Plain, READER};

/// Messages, the newest first.
pub(super) fn list(snapshot: &Snapshot<'_>, selection: &Selection) -> Result<Listing, Fault> {
    let Selection { filter, before, limit, steps: _ } = selection;
    let (mut low, mut high) = (i64::MIN, before.map_or(i64::MAX, |before| before.0.saturating_sub(1)));
    if let Some(id) = &filter.id {
        let Some(number) = number_of(snapshot, id)? else { return Ok(Listing::default()) };
        (low, high) = (number, high.min(number));
    }
    let statements = snapshot.outbox();
    let (statement, only) = match filter.state {
        None => (&statements.list, false),
        Some(State::Dispatched) => (&statements.list, true),
        Some(State::Pending) => (&statements.list_pending, false),
        Some(State::Dead) => (&statements.list_dead, false),
        Some(State::Discarded) => (&statements.list_dead, true),
    };
    let mut statement = snapshot.prepare(statement)?;
    let (topic, source, kind) = (&filter.topic, &filter.source, &filter.kind);
    let limit = (*limit).min(LIST_MAX);
    let mut rows = statement.query(params![low, high, topic, source, kind, only, limit])?;
    let mut summaries = Vec::new();
    while let Some(row) = rows.next()? {
        summaries.push(READER.summary(&Foreign::shown(Plain::of(row)))?);
    }
    let full = summaries.len() == limit as usize;
    let last = summaries.last();
    Ok(Listing {
        more_before: last.filter(|_| full).map(|last| last.row),
        looked_back_to: last.map(|last| last.created_at),
        messages: summaries,
    })
}

/// All about one message.
pub(super) fn show(snapshot: &Snapshot<'_>, id: &str, payload_max: usize) -> Result<Option<Details>, Fault> {
    let Some(number) = number_of(snapshot, id)? else { return Ok(None) };
    let nothing: Option<String> = None;
    let mut statement = snapshot.prepare(&snapshot.outbox().show)?;
    let mut rows = statement.query(params![number, number, nothing, nothing, nothing, false, 1])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(READER.details(&Foreign::shown(Plain::of(row)), attempts(snapshot, number)?, payload_max)?))
}

/// The number of the message with this id.
pub(super) fn number_of(snapshot: &Snapshot<'_>, id: &str) -> Result<Option<i64>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.outbox().number)?;
    Ok(statement.query_row([id], |row| row.get(0)).optional()?)
}

fn attempts(snapshot: &Snapshot<'_>, number: i64) -> Result<Vec<Attempt>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.outbox().attempts_list)?;
    let mut rows = statement.query(params![number, ATTEMPTS_MAX])?;
    let mut attempts = Vec::new();
    while let Some(row) = rows.next()? {
        attempts.push(READER.attempt(&Foreign::shown(Plain::of(row)))?);
    }
    Ok(attempts)
}
