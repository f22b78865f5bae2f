//! Looks at what is pending: a few small statements in one reading transaction.

use std::collections::HashSet;

use rusqlite::{CachedStatement, OptionalExtension, Params, Row, params};
use tenure_core::outbox::{
    Body, Discover, Found, HEADERS_MAX_BYTES, LaneLook, Limits, Loaded, Look, Page, Part, RowId,
    SOURCE_MAX_BYTES, Sequence, Stored, TOPIC_MAX_BYTES, TYPE_MAX_BYTES, UnorderedLook,
};
use tenure_core::time::StoreTime;
use tenure_sql::counted;

use super::part;
use super::text::{Bytes, Texts};
use crate::error::Fault;
use crate::reader::Snapshot;

const GARBLED: &str = "the row holds text that is not UTF-8; insert what is no text as payload_bytes";
const INDEX: &str = "the source_index is beyond 32 bits";

/// The answer to every look while nothing is pending: an idle relay asks no more than this.
pub(super) fn nothing(snapshot: &Snapshot<'_>) -> Result<Option<Page>, Fault> {
    // The first statement takes the snapshot; what it holds is no younger than the clock that is read after it.
    let any: bool = snapshot.prepare(&snapshot.outbox().pending_any)?.query_row([], |row| row.get(0))?;
    let now = snapshot.now();
    Ok((!any).then_some(Page::empty(now)))
}

/// Everything that was asked for, by the one snapshot.
pub(super) fn look(snapshot: &Snapshot<'_>, look: &Look) -> Result<Page, Fault> {
    if let Some(page) = nothing(snapshot)? {
        return Ok(page);
    }
    let mut page = Page::empty(snapshot.now());
    look_at_lanes(snapshot, look, &mut page)?;
    if let Some(discover) = &look.discover {
        discover_lanes(snapshot, discover, look.part, &mut page)?;
    }
    if let Some(unordered) = &look.unordered {
        match look.part {
            None => look_at_unordered(snapshot, unordered, &mut page)?,
            Some(part) => part::look_at_unordered(snapshot, unordered, part, &mut page)?,
        }
    }
    Ok(page)
}

/// The payload of one row, unless it is above the limit.
pub(super) fn load(snapshot: &Snapshot<'_>, id: RowId, limits: &Limits) -> Result<Loaded, Fault> {
    let limit = i64::try_from(limits.payload).unwrap_or(i64::MAX);
    let mut statement = snapshot.prepare(&snapshot.outbox().load)?;
    let read = |row: &Row<'_>| -> rusqlite::Result<Loaded> {
        let sizes: (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
        Ok(match sizes {
            (Some(_), Some(_)) => Loaded::Unclear(Found::BOTH),
            (Some(bytes), None) | (None, Some(bytes)) if bytes > limit => {
                Loaded::TooLarge { bytes: usize::try_from(bytes).unwrap_or_default() }
            }
            (Some(_), None) => {
                let mut texts = Texts::of(row);
                let text = texts.of_column(2)?;
                if texts.garbled { Loaded::Unclear(GARBLED) } else { Loaded::Body(Body::Text(text)) }
            }
            (None, Some(_)) => Loaded::Body(Body::Bytes(row.get(3)?)),
            (None, None) => Loaded::Unclear(Found::NEITHER),
        })
    };
    Ok(statement.query_row(params![id.0, limit], read).optional()?.unwrap_or(Loaded::Gone))
}

fn look_at_lanes(snapshot: &Snapshot<'_>, look: &Look, page: &mut Page) -> Result<(), Fault> {
    if look.lanes.is_empty() {
        return Ok(());
    }
    let statements = snapshot.outbox();
    let mut head = snapshot.prepare(&statements.lane_head)?;
    // Those with an equal sequence, and those with a later one: one condition for both would not use the whole index.
    let mut same = snapshot.prepare(&statements.lane_same)?;
    let mut after = snapshot.prepare(&statements.lane_after)?;
    let here = |lane: &&LaneLook| look.part.is_none_or(|part| part.has_source(lane.source.as_bytes()));
    for look in look.lanes.iter().filter(here) {
        let source = look.source.as_str();
        let Some(place) = look.after else {
            take_lane(&mut head, params![source, look.limit], page)?;
            continue;
        };
        let Sequence { version, index } = place.sequence;
        let taken = take_lane(&mut same, params![source, version, index, place.id.0, look.limit], page)?;
        if let Taken::All(count) = taken
            && count < look.limit
        {
            take_lane(&mut after, params![source, version, index, look.limit - count], page)?;
        }
    }
    Ok(())
}

/// What came of reading a lane.
enum Taken {
    /// So many rows, and there were no more.
    All(u32),
    /// A row that is not due, behind which everything waits.
    Stopped,
}

/// Takes rows of a source, in order, up to one that is not due.
fn take_lane(
    statement: &mut CachedStatement<'_>,
    parameters: impl Params,
    page: &mut Page,
) -> Result<Taken, Fault> {
    let mut rows = statement.query(parameters)?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        // Without a time it halts its source.
        let Some(stored) = stored(row)? else { return Ok(Taken::Stopped) };
        let waits = stored.due_at > page.now;
        page.rows.push(stored);
        if waits {
            return Ok(Taken::Stopped);
        }
        count += 1;
    }
    Ok(Taken::All(count))
}

/// Goes from source to source: each costs one step in the index, whatever stands behind it.
fn discover_lanes(
    snapshot: &Snapshot<'_>,
    discover: &Discover,
    part: Option<Part>,
    page: &mut Page,
) -> Result<(), Fault> {
    let statements = snapshot.outbox();
    let mut next = snapshot.prepare(&statements.lane_next)?;
    let mut head = snapshot.prepare(&statements.lane_head)?;
    let except: HashSet<&[u8]> = discover.except.iter().map(|source| source.as_bytes()).collect();
    let mut source: Vec<u8> = discover.after.clone().unwrap_or_default().into_bytes();
    let mut visited: Option<String> = None;
    let (mut count, mut steps) = (0, part.map_or(u32::MAX, |part| part.source_steps(discover.sources)));
    loop {
        let due_at = {
            let mut rows = next.query([Bytes(&source)])?;
            let Some(row) = rows.next()? else { return Ok(()) };
            source.clear();
            source.extend_from_slice(row.get_ref(0)?.as_bytes().unwrap_or_default());
            row.get::<_, Option<i64>>(1)?.map(StoreTime::from_micros)
        };
        if except.contains(source.as_slice()) {
            continue;
        }
        // A place that is no text cannot be told; then the rotation goes on for one more.
        if (count >= discover.sources || steps == 0) && visited.is_some() {
            page.more_after = visited;
            return Ok(());
        }
        steps = steps.saturating_sub(1);
        visited = std::str::from_utf8(&source).ok().map(str::to_owned);
        if part.is_some_and(|part| !part.has_source(&source)) {
            continue;
        }
        count += 1;
        match due_at {
            None => {}
            Some(due_at) if due_at > page.now => note_due(page, due_at),
            Some(_) => {
                take_lane(&mut head, params![Bytes(&source), discover.rows_each], page)?;
            }
        }
    }
}

fn look_at_unordered(snapshot: &Snapshot<'_>, look: &UnorderedLook, page: &mut Page) -> Result<(), Fault> {
    let statements = snapshot.outbox();
    let (now, limit) = (page.now.as_micros(), look.limit);
    match look.after {
        None => {
            take_all(&mut snapshot.prepare(&statements.unordered_head)?, params![now, limit], page)?;
        }
        Some((due_at, id)) => {
            let due_at = due_at.as_micros();
            let mut same = snapshot.prepare(&statements.unordered_same)?;
            let count = take_all(&mut same, params![due_at, id.0, limit], page)?;
            let mut after = snapshot.prepare(&statements.unordered_after)?;
            take_all(&mut after, params![due_at, now, limit.saturating_sub(count)], page)?;
        }
    }
    let mut next = snapshot.prepare(&statements.unordered_next)?;
    let due_at: Option<i64> = next.query_row([now], |row| row.get(0))?;
    if let Some(due_at) = due_at {
        note_due(page, StoreTime::from_micros(due_at));
    }
    Ok(())
}

fn take_all(
    statement: &mut CachedStatement<'_>,
    parameters: impl Params,
    page: &mut Page,
) -> Result<u32, Fault> {
    let mut rows = statement.query(parameters)?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        page.rows.extend(stored(row)?);
        count += 1;
    }
    Ok(count)
}

pub(super) fn note_due(page: &mut Page, due_at: StoreTime) {
    page.next_due = Some(page.next_due.map_or(due_at, |known| known.min(due_at)));
}

/// Reads the columns of `pending_columns.sql`; `None` for a row that halts its source.
pub(super) fn stored(row: &Row<'_>) -> Result<Option<Stored>, Fault> {
    let Some(due_at) = row.get::<_, Option<i64>>(2)? else { return Ok(None) };
    let mut texts = Texts::of(row);
    let index: i64 = row.get(8)?;
    let mut stored = Stored {
        id: RowId(row.get(0)?),
        message_id: texts.cut(5, SOURCE_MAX_BYTES)?.unwrap_or_default(),
        source: texts.cut(6, SOURCE_MAX_BYTES)?,
        ordered: false,
        sequence: Sequence {
            version: row.get(7)?,
            index: i32::try_from(index).unwrap_or(if index < 0 { i32::MIN } else { i32::MAX }),
        },
        topic: texts.cut(9, TOPIC_MAX_BYTES)?.unwrap_or_default(),
        kind: texts.cut(10, TYPE_MAX_BYTES)?.unwrap_or_default(),
        body: Found::Large,
        content_type: texts.cut(11, TYPE_MAX_BYTES)?,
        headers: texts.cut(12, HEADERS_MAX_BYTES)?,
        created_at: StoreTime::from_micros(row.get(13)?),
        due_at: StoreTime::from_micros(due_at),
        attempts: counted(row.get(3)?),
        forgiven: counted(row.get(4)?),
    };
    stored.body = found(row, &mut texts)?;
    // A source that is not UTF-8 has no name that the relay could say, so it orders nothing.
    let lane = row.get_ref(1)?.as_bytes().unwrap_or_default();
    stored.ordered =
        !lane.is_empty() && stored.source.as_ref().is_some_and(|source| source.as_bytes() == lane);
    if texts.garbled {
        stored.body = Found::Unclear(GARBLED);
    } else if i64::from(stored.sequence.index) != index {
        stored.body = Found::Unclear(INDEX);
    }
    Ok(Some(stored))
}

fn found(row: &Row<'_>, texts: &mut Texts<'_, '_>) -> Result<Found, Fault> {
    let there = (row.get::<_, Option<i64>>(14)?.is_some(), row.get::<_, Option<i64>>(15)?.is_some());
    Ok(match there {
        (true, true) => Found::Unclear(Found::BOTH),
        (true, false) => texts.maybe(16)?.map_or(Found::Large, |text| Found::Body(Body::Text(text))),
        (false, true) => {
            row.get::<_, Option<Vec<u8>>>(17)?.map_or(Found::Large, |bytes| Found::Body(Body::Bytes(bytes)))
        }
        (false, false) => Found::Unclear(Found::NEITHER),
    })
}
