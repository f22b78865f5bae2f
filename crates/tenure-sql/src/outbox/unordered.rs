//! Rows without a source.
//!
//! Where a part is drained, only moment and number are read to tell whether a row belongs to it; the message of one that
//! does not is never touched. So many are read and no more: behind them the next look goes on.

use tenure_core::outbox::{Page, Part, RowId, UnorderedLook};
use tenure_core::time::StoreTime;

use super::cells::{Cells, Stand, stored};
use super::look::note_due;
use super::unit::Stop;
use crate::driver::{Answer, Call, Session};
use crate::limits::STATEMENT_ROWS;
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// What is asked in the first round trip: rows that are due, and those that will be.
pub(super) fn calls<'s>(shared: &'s Shared, look: &UnorderedLook, part: Option<Part>) -> [Call<'s>; 2] {
    let statements = &shared.statements;
    let (due, id) = look.after.map_or((i64::MIN, i64::MIN), |(due, id)| (due.as_micros(), id.0));
    let (statement, limit, next) = match part {
        None => (&statements.outbox_unordered, look.limit, 1),
        Some(part) => (&statements.outbox_unordered_narrow, part.row_steps(look.limit), part.row_steps(1)),
    };
    [
        Call::new(statement, vec![due.into(), id.into(), limit.into()]),
        Call::new(&statements.outbox_unordered_next, vec![next.into()]),
    ]
}

impl Shared {
    /// Takes what was answered.
    pub(super) async fn take_unordered(
        &self,
        session: &mut dyn Session,
        look: &UnorderedLook,
        part: Option<Part>,
        answers: Vec<Answer>,
        (page, orphans): (&mut Page, &mut Vec<i64>),
    ) -> Result<(), Stop> {
        let mut answers = answers.into_iter().map(|answer| answer.rows);
        let (due, next) = (answers.next().unwrap_or_default(), answers.next().unwrap_or_default());
        match part {
            None => self.take_rows(due, page, orphans)?,
            Some(part) => {
                let ids = self.pick(look, part, due, page)?;
                for ids in ids.chunks(STATEMENT_ROWS) {
                    let list = Value::list(ids.iter().map(|id| id.0));
                    let rows = session.run(&Call::new(&self.statements.outbox_rows, vec![list])).await?.rows;
                    self.take_rows(rows, page, orphans)?;
                }
            }
        }
        // When the next one of the part is due, or one that stands before it: to look too early is harmless.
        let mut last = None;
        for row in next {
            let (due_at, id) = self.place(row)?;
            last = Some(due_at);
            if part.is_none_or(|part| part.has_row(id)) {
                break;
            }
        }
        if let Some(due_at) = last {
            note_due(page, due_at);
        }
        Ok(())
    }

    /// The numbers of rows that belong to a part, as many as are wanted.
    fn pick(
        &self,
        look: &UnorderedLook,
        part: Part,
        rows: Vec<Row>,
        page: &mut Page,
    ) -> Result<Vec<RowId>, Stop> {
        let full = rows.len() >= part.row_steps(look.limit) as usize;
        let (mut ids, mut last) = (Vec::new(), None);
        for row in rows {
            let (due_at, id) = self.place(row)?;
            last = Some((due_at, id));
            if part.has_row(id) {
                ids.push(id);
                if ids.len() >= look.limit as usize {
                    return Ok(ids);
                }
            }
        }
        if full {
            page.unordered_after = last;
        }
        Ok(ids)
    }

    fn take_rows(&self, rows: Vec<Row>, page: &mut Page, orphans: &mut Vec<i64>) -> Result<(), Stop> {
        let from = page.rows.len();
        for row in rows {
            match stored(row, self.reader())? {
                (row, Stand::Orphan) => orphans.push(row.id.0),
                (row, _) => page.rows.push(row),
            }
        }
        page.rows[from..].sort_by_key(|row| (row.due_at, row.id));
        Ok(())
    }

    fn place(&self, row: Row) -> Result<(StoreTime, RowId), Stop> {
        let mut cells = Cells::of(row, self.reader());
        Ok((StoreTime::from_micros(cells.whole()?), RowId(cells.whole()?)))
    }
}
