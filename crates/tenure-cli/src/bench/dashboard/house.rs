//! What is in a large house, and where in it the rare things are.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::statements::{self, Dialect};
use crate::bench::outbox::rig::Rig;
use crate::output::{self, Failure};

/// How much there is of each. Messages are numbered from 1, and were enqueued a second apart, the last one now. Each one in
/// twenty is dead, and of those one in five discarded; the last quarter waits, all else is finished.
#[derive(Debug, Clone, Serialize)]
pub(super) struct House {
    /// Messages.
    pub(super) rows: u64,
    /// Their sources.
    pub(super) sources: u64,
    /// Messages behind this one wait.
    pub(super) waiting: u64,
    /// In streams of five each, and stories of ten; one in fifty is of one large story.
    pub(super) events: u64,
    /// Events of one stream besides.
    pub(super) long_stream: u64,
    pub(super) audit: u64,
    /// Changes of holder.
    pub(super) history: u64,
    /// Events that one subscription has put aside.
    pub(super) parked: u64,
    pub(super) leases: u64,
    pub(super) subscriptions: u64,
    pub(super) nodes: u64,
    pub(super) daemons: u64,
    pub(super) runners: u64,
    /// In seconds since 1970.
    #[serde(skip)]
    pub(super) now: u64,
}

impl House {
    pub(super) fn of(rows: u64, sources: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        Self {
            rows,
            sources,
            waiting: rows - rows / 4,
            events: rows / 10,
            long_stream: (rows / 50).max(1),
            audit: rows / 20,
            history: rows / 20,
            parked: (rows / 100).max(1),
            leases: 5_000,
            subscriptions: 200,
            nodes: 20,
            daemons: 2_000,
            runners: 100,
            now,
        }
    }

    /// The rows of a rare topic, source and type: one dead, one finished, one that waits, one discarded. They are the oldest
    /// of their kind, so whoever searches for them looks as far as he may.
    pub(super) fn rare(&self) -> [u64; 4] {
        [self.rare_dead(), 2, self.rare_waiting(), 101]
    }

    /// The one of a cause of its own.
    pub(super) fn rare_dead(&self) -> u64 {
        41
    }

    pub(super) fn rare_waiting(&self) -> u64 {
        // One in twenty is dead, and so is not the next one.
        let first = self.waiting + 1;
        if first % 20 == 1 { first + 1 } else { first }
    }

    /// Fills it.
    pub(super) async fn fill(&self, rig: &dyn Rig) -> Result<(), Failure> {
        let all = statements::fill(Dialect::of(rig.store()), self);
        let began = std::time::Instant::now();
        for statement in all {
            tracing::debug!(statement = %statement.chars().take(120).collect::<String>(), "filling");
            rig.run(statement).await?;
        }
        output::note(format_args!("{} messages filled in {:.0} s", self.rows, began.elapsed().as_secs_f64()));
        Ok(())
    }
}

/// The id of a message, by its number.
pub(super) fn id(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rare_are_what_they_are_said_to_be() {
        for rows in [1_000, 1_020, 4_999, 5_000_000] {
            let house = House::of(rows, 7);
            let (dead, waiting) = (house.rare_dead(), house.rare_waiting());
            assert!(dead % 20 == 1 && dead % 100 != 1 && 101 % 100 == 1, "one is dead, one discarded");
            assert!(waiting > house.waiting && waiting % 20 != 1 && waiting <= rows, "{rows}: one waits");
        }
    }
}
