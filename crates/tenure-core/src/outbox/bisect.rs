//! Finding the row of a moment by a few looks: numbers rise nearly as time does, and only numbers have an index.

use super::{Filter, LOOK_MAX, RowId, Selection};
use crate::time::StoreTime;

/// How many rows around the found one are looked at as well: those that were enqueued at once by several are not in order.
pub const BISECT_MARGIN: i64 = 10_000;

/// A search for the last row that was enqueued before a moment. Every store looks by its own means; where, is decided here.
#[derive(Debug, Clone)]
pub struct Bisect {
    moment: StoreTime,
    /// At or below it every row is from before the moment, as far as is known.
    low: i64,
    /// Above it none is.
    high: i64,
}

impl Bisect {
    /// A search among rows from number 1 to `newest`.
    pub const fn new(moment: StoreTime, newest: i64) -> Self {
        Self { moment, low: 0, high: newest }
    }

    /// For which number the store is asked: the row with this number, or else the next lower one. `None` when it is found.
    pub const fn next(&self) -> Option<i64> {
        if self.low >= self.high {
            return None;
        }
        // Rounded up, so that it is always above what is known.
        Some(self.low + (self.high - self.low) / 2 + 1)
    }

    /// What stands at the number that was asked for or, if there is none, below it.
    pub fn found(&mut self, row: Option<(i64, StoreTime)>) {
        let Some(asked) = self.next() else { return };
        match row {
            Some((_, at)) if at < self.moment => self.low = asked,
            // Where numbers and times disagree, it ends all the same.
            Some((id, _)) => self.high = id.saturating_sub(1).clamp(self.low, asked - 1),
            // There is nothing at or below: what is sought stands above, or nowhere.
            None => self.low = asked,
        }
    }

    /// The last row from before the moment, or a number between it and the next.
    pub const fn row(&self) -> i64 {
        self.high
    }
}

/// The rows that one call looks at, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walk {
    /// Only rows with a lower number.
    pub before: i64,
    /// Only rows with a higher number.
    pub floor: i64,
    /// At most so many.
    pub steps: u32,
    /// How many of those may be answered with: one more than was asked for, which tells whether there are more.
    pub limit: u32,
}

impl Walk {
    /// The walk for a selection whose time range, if it has one, ends and begins at these rows.
    pub fn of(selection: &Selection, until: Option<i64>, from: Option<i64>) -> Self {
        let limit = selection.limit.min(super::LIST_MAX).saturating_add(1);
        let most = if selection.steps == 0 { LOOK_MAX } else { selection.steps.min(LOOK_MAX) };
        // Where every row fits, no more are looked at than are shown.
        let steps = if each_fits(&selection.filter) { most.min(limit) } else { most };
        let before = selection.before.map_or(i64::MAX, |row| row.0);
        let end = until.map_or(i64::MAX, |row| row.saturating_add(BISECT_MARGIN + 1));
        let floor = from.map_or(i64::MIN, |row| row.saturating_sub(BISECT_MARGIN));
        Self { before: before.min(end), floor, steps, limit }
    }

    /// Where to go on after a call that found so many messages, `last` the last one that is shown, and that looked at
    /// `looked` rows down to `end`.
    pub fn more_before(
        &self,
        found: usize,
        last: Option<RowId>,
        looked: u32,
        end: Option<RowId>,
    ) -> Option<RowId> {
        if found >= self.limit as usize {
            return last;
        }
        end.filter(|_| looked >= self.steps)
    }
}

/// Whether every row of the table that the search goes by fits.
fn each_fits(filter: &Filter) -> bool {
    let Filter { state, topic, source, kind, id, from, until, cause: _ } = filter;
    let any = topic.is_none() && source.is_none() && kind.is_none() && id.is_none();
    any && from.is_none()
        && until.is_none()
        && *state != Some(super::State::Dispatched)
        && *state != Some(super::State::Discarded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(rows: &[(i64, i64)], moment: i64) -> (i64, u32) {
        let newest = rows.iter().map(|row| row.0).max().unwrap_or(0);
        let mut bisect = Bisect::new(StoreTime::from_micros(moment), newest);
        let mut looks = 0;
        while let Some(asked) = bisect.next() {
            looks += 1;
            assert!(looks <= 64, "it ends");
            let row = rows.iter().filter(|row| row.0 <= asked).max();
            bisect.found(row.map(|row| (row.0, StoreTime::from_micros(row.1))));
        }
        (bisect.row(), looks)
    }

    #[test]
    fn it_finds_the_last_row_before_a_moment() {
        let rows: Vec<_> = (1..=1000).map(|id| (id * 3, id * 10)).collect();
        for moment in [0, 1, 10, 11, 15, 5000, 9999, 10_000, 10_001, 99_999] {
            let (found, looks) = search(&rows, moment);
            let below = rows.iter().filter(|row| row.1 < moment).map(|row| row.0).max().unwrap_or(0);
            let above = rows.iter().filter(|row| row.1 >= moment).map(|row| row.0).min().unwrap_or(i64::MAX);
            assert!(below <= found && found < above, "{moment}: {below} {found} {above}");
            assert!(looks <= 12, "{looks}");
        }
        assert_eq!(search(&[], 5), (0, 0));
        assert_eq!(search(&[(i64::MAX, 3)], 5).0, i64::MAX);
        assert!(search(&[(i64::MAX - 1, 9)], 5).0 < i64::MAX - 1);
    }

    #[test]
    fn a_plain_page_looks_at_no_more_rows_than_it_shows() {
        let plain = Selection { limit: 50, ..Selection::default() };
        assert_eq!(Walk::of(&plain, None, None).steps, 51);
        let picky = Filter { topic: Some("a".into()), ..Filter::default() };
        let picky = Selection { filter: picky, ..plain };
        assert_eq!(Walk::of(&picky, None, None).steps, LOOK_MAX);
        assert_eq!(Walk::of(&Selection { steps: 7, ..picky.clone() }, None, None).steps, 7);
        assert_eq!(Walk::of(&Selection { steps: u32::MAX, ..picky }, None, None).steps, LOOK_MAX);
    }
}
