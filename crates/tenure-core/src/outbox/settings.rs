//! The settings of a relay.

use std::time::Duration;

use super::{Kind, Limits, Part, RetryPolicy};
use crate::lease::SettingsError;
use crate::mutation::{Rule, off};

/// What becomes of a source whose message is dead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnDead {
    /// It goes on with the next message: order is kept among those that are delivered.
    #[default]
    Skip,
    /// It stands still until an operator has retried or discarded the dead message.
    Halt,
}

/// How a relay works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelaySettings {
    /// When to try again.
    pub retry: RetryPolicy,
    /// What becomes of a source whose message is dead. Skip.
    pub on_dead: OnDead,
    /// How long one delivery may take. 30 s.
    pub deadline: Duration,
    /// How many deliveries are under way at once; never two of one source. 64.
    pub concurrency: usize,
    /// How many rows are held in memory, waiting, under way or not recorded yet. 8192.
    pub read_ahead: usize,
    /// How many outcomes are recorded at once, at most. 2048.
    pub batch: usize,
    /// How many rows of one source go to the sink in one go. 64.
    pub run: usize,
    /// The limits that rows are held to, whoever inserted them.
    pub limits: Limits,
    /// How long what is under way may take to end when the relay is stopped. 10 s.
    pub drain: Duration,
    /// How long the relay sleeps at most when nothing wakes it, where the store can wake it. 5 s.
    pub poll: Duration,
    /// The same where nothing can wake it. 2 s.
    pub poll_without_wakeup: Duration,
    /// Whether to be woken by the store at all. True.
    pub wakeup: bool,
    /// The part of the outbox that is drained; others drain the rest. `None`: all of it.
    pub part: Option<Part>,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            on_dead: OnDead::default(),
            deadline: Duration::from_secs(30),
            concurrency: 64,
            read_ahead: 8192,
            batch: 2048,
            run: 64,
            limits: Limits::default(),
            drain: Duration::from_secs(10),
            poll: Duration::from_secs(5),
            poll_without_wakeup: Duration::from_secs(2),
            wakeup: true,
            part: None,
        }
    }
}

impl RelaySettings {
    /// Whether a source goes on with its next message before this outcome was recorded.
    ///
    /// After a failure it must not, also when the message is dead by it and the source goes on later: should this relay die
    /// before the death is recorded, the next one delivers the message again, and may have it accepted, behind the one
    /// that followed. A row that cannot be read is so for every relay.
    pub fn goes_on(&self, kind: Kind) -> bool {
        match kind {
            Kind::Success => true,
            Kind::Poison => self.on_dead == OnDead::Skip || off(Rule::LaneStops),
            Kind::Rejected | Kind::Transient => off(Rule::LaneStops),
        }
    }

    /// Checks every field, and every pair that must fit together.
    pub fn validate(&self) -> Result<(), SettingsError> {
        self.retry.validate()?;
        let between = |what: &str, value: usize, low: usize, high: usize| {
            SettingsError::unless((low..=high).contains(&value), || {
                format!("{what} {value} is not between {low} and {high}")
            })
        };
        between("concurrency", self.concurrency, 1, 10_000)?;
        between("read_ahead", self.read_ahead, 1, 100_000)?;
        between("batch", self.batch, 1, 10_000)?;
        between("run", self.run, 1, 10_000)?;
        between("payload limit", self.limits.payload, 1, 512 * 1024 * 1024)?;
        let lasts = |what: &str, value: Duration, low: Duration| {
            let high = Duration::from_secs(24 * 60 * 60);
            SettingsError::unless(value >= low && value <= high, || {
                format!("{what} {value:?} is not between {low:?} and 24h")
            })
        };
        lasts("deadline", self.deadline, Duration::from_millis(1))?;
        lasts("drain", self.drain, Duration::ZERO)?;
        lasts("poll", self.poll, Duration::from_millis(10))?;
        lasts("poll_without_wakeup", self.poll_without_wakeup, Duration::from_millis(10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_docs() {
        RelaySettings::default().validate().unwrap();
    }

    #[test]
    fn refusals_name_the_field() {
        let wrong = RelaySettings { concurrency: 0, ..Default::default() };
        assert!(wrong.validate().unwrap_err().to_string().contains("concurrency 0"));
        let wrong = RelaySettings { deadline: Duration::ZERO, ..Default::default() };
        assert!(wrong.validate().unwrap_err().to_string().contains("deadline 0ns"));
    }
}
