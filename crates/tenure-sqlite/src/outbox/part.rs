//! Rows without a source that belong to one part.
//!
//! Only the narrow half of a row is read to tell whether it belongs to the part; the message of one that does not is never
//! touched. So many are read and no more: behind them the next look goes on.

use rusqlite::{CachedStatement, Params, Row, params};
use tenure_core::outbox::{Page, Part, RowId, UnorderedLook};
use tenure_core::time::StoreTime;

use super::look::{note_due, stored};
use crate::error::Fault;
use crate::reader::Snapshot;

pub(super) fn look_at_unordered(
    snapshot: &Snapshot<'_>,
    look: &UnorderedLook,
    part: Part,
    page: &mut Page,
) -> Result<(), Fault> {
    let statements = snapshot.outbox();
    let now = page.now.as_micros();
    let mut walk = Walk {
        part,
        wanted: look.limit,
        steps: part.row_steps(look.limit),
        last: None,
        row: snapshot.prepare(&statements.unordered_row)?,
    };
    let mut after = snapshot.prepare(&statements.unordered_walk_after)?;
    let mut from = i64::MIN;
    if let Some((due_at, id)) = look.after {
        from = due_at.as_micros();
        let mut same = snapshot.prepare(&statements.unordered_walk_same)?;
        let steps = walk.steps;
        walk.take(&mut same, params![from, id.0, steps], page)?;
    }
    let steps = walk.steps;
    walk.take(&mut after, params![from, now, steps], page)?;
    if walk.steps == 0 && walk.wanted > 0 {
        page.unordered_after = walk.last;
    }
    next_due(&mut after, part, page)
}

/// When the next one of the part is due, or one that stands before it: to look too early is harmless.
fn next_due(after: &mut CachedStatement<'_>, part: Part, page: &mut Page) -> Result<(), Fault> {
    let mut rows = after.query(params![page.now.as_micros(), i64::MAX, part.row_steps(1)])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let (due_at, id) = place(row)?;
        last = Some(due_at);
        if part.has_row(id) {
            break;
        }
    }
    if let Some(due_at) = last {
        note_due(page, due_at);
    }
    Ok(())
}

/// A walk over narrow rows.
struct Walk<'a> {
    part: Part,
    /// How many rows are still wanted.
    wanted: u32,
    /// How many may still be stepped over.
    steps: u32,
    last: Option<(StoreTime, RowId)>,
    row: CachedStatement<'a>,
}

impl Walk<'_> {
    fn take(
        &mut self,
        statement: &mut CachedStatement<'_>,
        parameters: impl Params,
        page: &mut Page,
    ) -> Result<(), Fault> {
        let mut rows = statement.query(parameters)?;
        while self.wanted > 0
            && self.steps > 0
            && let Some(row) = rows.next()?
        {
            let (due_at, id) = place(row)?;
            self.steps -= 1;
            self.last = Some((due_at, id));
            if !self.part.has_row(id) {
                continue;
            }
            self.wanted -= 1;
            let (version, index): (i64, i64) = (row.get(1)?, row.get(2)?);
            let mut whole = self.row.query(params![version, index, id.0])?;
            while let Some(row) = whole.next()? {
                page.rows.extend(stored(row)?);
            }
        }
        Ok(())
    }
}

fn place(row: &Row<'_>) -> Result<(StoreTime, RowId), Fault> {
    Ok((StoreTime::from_micros(row.get(0)?), RowId(row.get(3)?)))
}
