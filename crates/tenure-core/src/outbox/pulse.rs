//! The outbox in numbers that cost the same however much is in it.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::RowId;
use crate::time::StoreTime;

/// The most that one pulse counts of anything.
pub const PULSE_MAX: u32 = 10_000;

/// A number that was counted up to a bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// What was counted.
    pub number: u64,
    /// Whether there are, or may be, more: it was not counted further.
    pub or_more: bool,
}

impl Count {
    /// Exactly so many.
    pub const fn exactly(number: u64) -> Self {
        Self { number, or_more: false }
    }

    /// What was found by who looked for one more than `at_most`.
    pub fn up_to(at_most: u64, found: u64) -> Self {
        Self { number: found.min(at_most), or_more: found > at_most }
    }
}

/// `17`, or `10000+` when there are more.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, if self.or_more { "+" } else { "" })
    }
}

/// The outbox in numbers that cost the same however much is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pulse {
    /// The store's time.
    pub now: StoreTime,
    /// The number of the newest message; its growth is about how many were enqueued, for numbers may have gaps.
    pub newest: Option<RowId>,
    /// Messages that wait, those that stand still behind a dead one among them.
    pub pending: Count,
    /// Of what was counted, how many have failed before.
    pub retrying: Count,
    /// Messages that were given up and not decided about.
    pub dead: Count,
    /// Sources that stand still behind a dead message, among the dead that were counted.
    pub halted_sources: Count,
    /// How long the oldest of what was looked at has waited; as [`Stats::lag`](super::Stats::lag) where all could be looked
    /// at.
    pub lag: Option<Duration>,
    /// Whether not all could be looked at: then the lag is at least so long.
    pub lag_is_least: bool,
}

impl Pulse {
    /// Whether it cannot be told if anything is late: none of those that were looked at is due, and there are more.
    pub fn lag_is_unknown(&self) -> bool {
        self.lag.is_none() && self.pending.or_more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_counted_further_says_so() {
        assert_eq!(Count::up_to(10, 10), Count::exactly(10));
        assert_eq!(Count::up_to(10, 11), Count { number: 10, or_more: true });
        assert_eq!(Count::up_to(10, 11).to_string(), "10+");
    }
}
