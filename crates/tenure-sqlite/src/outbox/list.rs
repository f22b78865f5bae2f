//! Messages for people to see: found by walks of a bounded length, row by row.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};
use tenure_core::outbox::{
    Attempt, Bisect, CauseId, Details, Filter, LOOK_MAX, Listing, MessageId, RowId, Selection, State,
    Summary, Walk,
};
use tenure_core::time::StoreTime;
use tenure_sql::limits::ATTEMPTS_MAX;

use crate::error::Fault;
use crate::reader::Snapshot;
use crate::rows::{Foreign, Plain, READER};

/// How many rows of a smaller table are looked at, at most: each leads to a message elsewhere, on a page of its own.
const STEPS_BESIDE: u32 = 4_000;

fn steps_of(selection: &Selection) -> u32 {
    if selection.steps == 0 { LOOK_MAX } else { selection.steps.min(LOOK_MAX) }
}

/// What a walk has found.
struct Hits {
    numbers: Vec<i64>,
    looked: u32,
    end: Option<(i64, Option<i64>)>,
}

/// Messages, the newest first.
pub(super) fn list(snapshot: &Snapshot<'_>, selection: &Selection) -> Result<Listing, Fault> {
    let filter = &selection.filter;
    let state = match (filter.cause, filter.state) {
        (Some(_), None | Some(State::Dead)) => Some(State::Dead),
        (Some(_), Some(_)) => return Ok(Listing::default()),
        (None, state) => state,
    };
    let mut walk = walk_of(snapshot, selection)?;
    if let Some(id) = &filter.id {
        let Some(number) = number_of(snapshot, id)? else { return Ok(Listing::default()) };
        walk.before = walk.before.min(number.saturating_add(1));
        walk.floor = walk.floor.max(number.saturating_sub(1));
    }
    let many = state == Some(State::Pending) && many_wait(snapshot)?;
    match state {
        // Not every message that is passed waits.
        Some(State::Pending) if many => walk.steps = steps_of(selection),
        Some(State::Pending | State::Dead | State::Discarded) => walk.steps = walk.steps.min(STEPS_BESIDE),
        None | Some(State::Dispatched) => {}
    }
    let hits = hits(snapshot, filter, state, many, &walk)?;
    let found = hits.numbers.len();
    let shown = &hits.numbers[..found.min(walk.limit.saturating_sub(1) as usize)];
    let messages = shown.iter().map(|number| one(snapshot, *number)).collect::<Result<Vec<_>, Fault>>()?;
    let mut messages: Vec<Summary> = messages.into_iter().flatten().collect();
    let last = messages.last();
    let end_at = hits.end.and_then(|(_, at)| at).map(StoreTime::from_micros);
    let looked_back_to = if shown.len() < found { last.map(|last| last.created_at) } else { end_at };
    let end = hits.end.map(|(number, _)| RowId(number));
    let more_before = walk.more_before(found, last.map(|last| last.row), hits.looked, end);
    // One that was taken out of the queue by hand and never tried counts as pending.
    messages.retain(|message| state.is_none_or(|state| state == message.state));
    let more_before = more_before.filter(|_| filter.id.is_none());
    Ok(Listing { messages, more_before, looked_back_to })
}

fn hits(
    snapshot: &Snapshot<'_>,
    filter: &Filter,
    state: Option<State>,
    many: bool,
    walk: &Walk,
) -> Result<Hits, Fault> {
    let walks = &snapshot.outbox().walks;
    let statement = match (filter.cause, state) {
        (Some(_), _) => &walks.of_cause,
        (None, None) => &walks.any,
        (None, Some(State::Dispatched)) => &walks.dispatched,
        (None, Some(State::Pending)) if many => &walks.queued,
        (None, Some(State::Pending)) => &walks.pending,
        (None, Some(State::Dead)) => &walks.dead,
        (None, Some(State::Discarded)) => &walks.discarded,
    };
    let mut statement = snapshot.prepare(statement)?;
    let Filter { topic, source, kind, .. } = filter;
    let (from, until) = (filter.from.map(StoreTime::as_micros), filter.until.map(StoreTime::as_micros));
    let (before, floor, steps) = (walk.before, walk.floor, walk.steps);
    let mut rows = match filter.cause.map(CauseId::as_column) {
        None => statement.query(params![before, floor, topic, source, kind, from, until, steps])?,
        Some(cause) => {
            statement.query(params![before, floor, topic, source, kind, from, until, steps, cause])?
        }
    };
    let mut hits = Hits { numbers: Vec::new(), looked: 0, end: None };
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        hits.looked += 1;
        hits.end = Some((number, row.get(1)?));
        if row.get::<_, Option<bool>>(2)? == Some(true) {
            hits.numbers.push(number);
        }
        if hits.numbers.len() >= walk.limit as usize {
            break;
        }
    }
    Ok(hits)
}

/// Whether more waits than can be sorted by number.
fn many_wait(snapshot: &Snapshot<'_>) -> Result<bool, Fault> {
    let mut statement = snapshot.prepare(&snapshot.outbox().pending_few)?;
    Ok(statement.query_row([LOOK_MAX + 1], |row| row.get::<_, u32>(0))? > LOOK_MAX)
}

/// Which rows are looked at.
fn walk_of(snapshot: &Snapshot<'_>, selection: &Selection) -> Result<Walk, Fault> {
    let Filter { from, until, .. } = selection.filter;
    let until = until.map(|until| row_before(snapshot, until)).transpose()?;
    let from = from.map(|from| row_before(snapshot, from)).transpose()?;
    Ok(Walk::of(selection, until, from))
}

/// The last row from before a moment.
fn row_before(snapshot: &Snapshot<'_>, moment: StoreTime) -> Result<i64, Fault> {
    let mut statement = snapshot.prepare(&snapshot.outbox().row_before)?;
    let mut row_at = |number: i64| -> Result<Option<(i64, StoreTime)>, Fault> {
        let found = statement.query_row([number], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(found.map(|(number, at)| (number, StoreTime::from_micros(at))))
    };
    let Some((newest, _)) = row_at(i64::MAX)? else { return Ok(0) };
    let mut bisect = Bisect::new(moment, newest);
    while let Some(number) = bisect.next() {
        bisect.found(row_at(number)?);
    }
    Ok(bisect.row())
}

/// One message, as a list shows it.
pub(super) fn one(snapshot: &Snapshot<'_>, number: i64) -> Result<Option<Summary>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.outbox().one)?;
    let mut rows = statement.query([number])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(READER.summary(&Foreign::shown(Plain::of(row)))?))
}

/// All about one message.
pub(super) fn show(snapshot: &Snapshot<'_>, id: &str, payload_max: usize) -> Result<Option<Details>, Fault> {
    let Some(number) = number_of(snapshot, id)? else { return Ok(None) };
    let mut statement = snapshot.prepare(&snapshot.outbox().show)?;
    let most = i64::try_from(payload_max).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![number, most])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let attempts = attempts(snapshot, number)?;
    Ok(Some(READER.details(&Foreign::shown(Plain::of(row)), attempts, payload_max)?))
}

/// Messages by their ids, as a list shows them.
pub(super) fn named(snapshot: &Snapshot<'_>, ids: &BTreeSet<MessageId>) -> Result<Vec<Summary>, Fault> {
    let mut found = Vec::new();
    for id in ids {
        let Some(number) = number_of(snapshot, &id.to_string())? else { continue };
        found.extend(one(snapshot, number)?);
    }
    Ok(found)
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
