//! Messages for people to see.

use rusqlite::{OptionalExtension, Row, params};
use tenure_core::outbox::{Attempt, Details, Kind, LIST_MAX, RowId, Selection, Sequence, State, Summary};
use tenure_core::time::StoreTime;

use super::look::count;
use super::text::Texts;
use crate::error::Fault;
use crate::reader::Snapshot;

/// The most attempts that are shown of one message.
const ATTEMPTS_MAX: u32 = 10_000;

/// Messages, the newest first.
pub(super) fn list(snapshot: &Snapshot<'_>, selection: &Selection) -> Result<Vec<Summary>, Fault> {
    let Selection { filter, before, limit } = selection;
    let (mut low, mut high) = (i64::MIN, before.map_or(i64::MAX, |before| before.0.saturating_sub(1)));
    if let Some(id) = &filter.id {
        let Some(number) = number_of(snapshot, id)? else { return Ok(Vec::new()) };
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
        summaries.push(summary(row)?);
    }
    Ok(summaries)
}

/// All about one message.
pub(super) fn show(snapshot: &Snapshot<'_>, id: &str) -> Result<Option<Details>, Fault> {
    let Some(number) = number_of(snapshot, id)? else { return Ok(None) };
    let nothing: Option<String> = None;
    let mut statement = snapshot.prepare(&snapshot.outbox().list)?;
    let mut rows = statement.query(params![number, number, nothing, nothing, nothing, false, 1])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let summary = summary(row)?;
    let mut statement = snapshot.prepare(&snapshot.outbox().content)?;
    let read = |row: &Row<'_>| -> rusqlite::Result<Details> {
        let mut texts = Texts::of(row);
        let text = row.get_ref(2)?.as_bytes_or_null().ok().flatten().map(<[u8]>::to_vec);
        Ok(Details {
            content_type: texts.maybe(0)?,
            headers: texts.maybe(1)?,
            is_text: text.is_some(),
            payload: text.map_or_else(|| row.get(3), |text| Ok(Some(text)))?,
            summary,
            attempts: Vec::new(),
        })
    };
    let Some(details) = statement.query_row([number], read).optional()? else { return Ok(None) };
    Ok(Some(Details { attempts: attempts(snapshot, number)?, ..details }))
}

/// The number of the message with this id.
pub(super) fn number_of(snapshot: &Snapshot<'_>, id: &str) -> Result<Option<i64>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.outbox().number)?;
    Ok(statement.query_row([id], |row| row.get(0)).optional()?)
}

/// Reads the columns of `outbox_columns.sql`.
fn summary(row: &Row<'_>) -> Result<Summary, Fault> {
    let time = |at| -> Result<Option<StoreTime>, Fault> {
        Ok(row.get::<_, Option<i64>>(at)?.map(StoreTime::from_micros))
    };
    let (pending, dead): (bool, bool) = (row.get(17)?, row.get(18)?);
    let discarded_at = time(13)?;
    let state = match (dead, pending) {
        (true, _) if discarded_at.is_some() => State::Discarded,
        (true, _) => State::Dead,
        (false, true) => State::Pending,
        // Neither queued nor tried: someone took it out of the queue by hand.
        (false, false) if row.get::<_, Option<i64>>(14)?.is_none() => State::Pending,
        (false, false) => State::Dispatched,
    };
    let finished_at = match state {
        State::Pending => None,
        State::Dispatched => time(15)?,
        State::Dead => time(10)?,
        State::Discarded => discarded_at,
    };
    // In the queue, in the memory of the dead, or else as the last attempt was numbered.
    let mut attempts = None;
    for at in [9, 11, 14] {
        attempts = attempts.or(row.get::<_, Option<i64>>(at)?);
    }
    let mut texts = Texts::of(row);
    let index: i64 = row.get(4)?;
    Ok(Summary {
        row: RowId(row.get(0)?),
        id: texts.of_column(1)?,
        state,
        source: texts.maybe(2)?,
        sequence: Sequence {
            version: row.get(3)?,
            index: i32::try_from(index).unwrap_or(if index < 0 { i32::MIN } else { i32::MAX }),
        },
        topic: texts.of_column(5)?,
        kind: texts.of_column(6)?,
        created_at: StoreTime::from_micros(row.get(7)?),
        attempts: attempts.map_or(0, count),
        due_at: time(8)?.filter(|_| state == State::Pending),
        finished_at,
        last_error: texts.maybe(16)?,
        halts: state == State::Dead && row.get::<_, Option<bool>>(12)?.unwrap_or(false),
    })
}

fn attempts(snapshot: &Snapshot<'_>, number: i64) -> Result<Vec<Attempt>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.outbox().attempts_list)?;
    let mut rows = statement.query(params![number, ATTEMPTS_MAX])?;
    let mut attempts = Vec::new();
    while let Some(row) = rows.next()? {
        let mut texts = Texts::of(row);
        let outcome = Kind::from_word(&texts.of_column(2)?);
        attempts.push(Attempt {
            number: count(row.get(0)?),
            at: StoreTime::from_micros(row.get(1)?),
            outcome: outcome.ok_or_else(|| Fault::Corrupt("an attempt has no known outcome".into()))?,
            took_us: u64::try_from(row.get::<_, i64>(3)?).unwrap_or_default(),
            node: texts.of_column(4)?,
            term: row.get::<_, Option<i64>>(5)?.and_then(|term| u64::try_from(term).ok()),
            error: texts.maybe(6)?,
        });
    }
    Ok(attempts)
}
