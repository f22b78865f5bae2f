//! How far a reader may go: where nothing can appear any more.
//!
//! Positions are taken while transactions run, and events appear when they commit: an event may appear below one that was
//! read. So a reader goes only as far as it can prove that nothing is still to come.
//!
//! **A writer** reads the sequence's next number `K` and takes a shared advisory lock of that number, which it keeps until
//! its transaction ends; only then does it take positions. Numbers only rise, so none of its positions is below `K`. (The
//! append fails when one is: someone has given the sequence a cache.) The number is asked of `pg_sequence_last_value`, which
//! locks the sequence's page, and not read from the row, which shows a number up to 32 too high for a moment now and then.
//!
//! **A reader** asks three things, in this order:
//!
//! 1. `top`, the sequence's next number;
//! 2. the locks of all writers that have not ended;
//! 3. the events after its position.
//!
//! It keeps the events below `H`, the smallest of `top` and all `K`. **Nothing that is not in (3) can appear below `H`.**
//! Take any transaction with a position `p`, and the moment of (2):
//!
//! - It holds its lock then: `K` was seen, so `p >= K >= H`.
//! - It has ended before: Postgres makes a commit visible before it releases the locks, so (3), whose snapshot is younger,
//!   sees its events, and if it was rolled back there are none.
//! - It takes its lock later: then it takes its positions later still, hence after (1), so `p >= top >= H`.
//!
//! Had (3) come before (2), a transaction might commit between them and be in neither; had (1) come last, one might take
//! position and lock after (2) and be below `top`. A transaction that has not appended holds no such lock, however old it
//! is, prepared or idle: it holds up nobody.
//!
//! The lock has room for the lower half of `K` only. The rest follows from `top`: two numbers that are in use at one time
//! are less than 2^31 apart.

use std::time::Duration;

use tenure_core::event::{Position, Stall};

/// A writer that has not ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Writer {
    /// The lower half of its number.
    pub(super) key: u32,
    /// Its server process; a prepared transaction has none.
    pub(super) pid: Option<i64>,
    pub(super) state: Option<String>,
    pub(super) application: Option<String>,
    pub(super) role: Option<String>,
    /// The name of a prepared transaction.
    pub(super) gid: Option<String>,
    pub(super) lasts: Option<Duration>,
}

/// How far one may go, and who stands in the way.
#[derive(Debug)]
pub(super) struct Horizon<'w> {
    top: i64,
    /// The first position that may still appear.
    pub(super) limit: i64,
    first: Option<&'w Writer>,
}

impl<'w> Horizon<'w> {
    pub(super) fn new(top: i64, writers: &'w [Writer]) -> Self {
        let first = writers.iter().min_by_key(|writer| writer.number(top));
        let limit = first.map_or(top, |writer| writer.number(top).min(top));
        Self { top, limit, first: first.filter(|_| limit < top) }
    }

    /// The last position that was ever given out.
    pub(super) fn head(&self) -> Position {
        Position(self.top - 1)
    }

    /// How far a page goes that began after a position and ended with what there was below the limit.
    pub(super) fn read_to(&self, after: Position) -> Position {
        Position(after.0.max(self.limit - 1).min(self.top - 1))
    }

    /// Why the page does not go to the head.
    pub(super) fn stall(&self, after: Position) -> Option<Stall> {
        let writer = self.first?;
        let at = Position(self.limit.max(after.0 + 1));
        (at.0 < self.top).then(|| Stall { at, reason: writer.reason(), lasts: writer.lasts })
    }
}

impl Writer {
    /// Its number, as the one nearest to `top` with that lower half.
    fn number(&self, top: i64) -> i64 {
        let apart = self.key.wrapping_sub(top as u32) as i32;
        top.saturating_add(i64::from(apart))
    }

    fn reason(&self) -> String {
        let lasts =
            self.lasts.map(|lasts| format!(", open for {:.1} s", lasts.as_secs_f64())).unwrap_or_default();
        let Some(pid) = self.pid else {
            let name = self.gid.as_deref().unwrap_or("not known");
            return format!(
                "a prepared transaction (`{name}`) has appended and has been neither committed nor rolled back{lasts}; \
                 see pg_prepared_xacts"
            );
        };
        let named = |what: &str, text: &Option<String>| {
            text.as_ref()
                .filter(|text| !text.is_empty())
                .map(|text| format!(", {what} `{text}`"))
                .unwrap_or_default()
        };
        format!(
            "a transaction of server process {pid}{}{}{} has appended and has not ended{lasts}; see pg_stat_activity, and \
             pg_terminate_backend({pid}) ends it",
            named("application", &self.application),
            named("role", &self.role),
            named("state", &self.state),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writers(keys: &[u32]) -> Vec<Writer> {
        keys.iter().map(|key| Writer { key: *key, pid: Some(7), ..Writer::default() }).collect()
    }

    #[test]
    fn the_lowest_number_is_the_limit() {
        let limit = |top, keys: &[u32]| Horizon::new(top, &writers(keys)).limit;
        assert_eq!(limit(10, &[]), 10);
        assert_eq!(limit(10, &[9, 4, 12]), 4);
        assert_eq!(limit(10, &[12]), 10, "it took its number after we looked at the sequence");
        let far = 5 << 32;
        assert_eq!(limit(far + 3, &[u32::MAX - 1]), far - 2, "across the edge of the lower half");
        assert_eq!(limit(far - 3, &[1]), far - 3);
    }

    #[test]
    fn a_page_never_goes_back_unless_the_reader_is_ahead_of_the_store() {
        let open = writers(&[5]);
        let horizon = Horizon::new(11, &open);
        assert_eq!(horizon.read_to(Position(2)), Position(4));
        assert_eq!(horizon.read_to(Position(7)), Position(7));
        assert_eq!(horizon.read_to(Position(90)), Position(10));
        assert_eq!(horizon.stall(Position(2)).map(|stall| stall.at), Some(Position(5)));
        assert_eq!(horizon.stall(Position(7)).map(|stall| stall.at), Some(Position(8)));
        assert_eq!(horizon.stall(Position(10)), None, "there is nothing that it could be held up before");
        assert_eq!(Horizon::new(11, &[]).read_to(Position(2)), Position(10));
        assert_eq!(Horizon::new(11, &[]).stall(Position(2)), None);
    }
}
