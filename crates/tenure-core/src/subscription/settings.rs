//! How a subscription works.

use std::time::Duration;

use crate::lease::SettingsError;
use crate::outbox::RetryPolicy;

/// What becomes of an event that cannot be handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It is put aside with its reason, and the subscription goes on.
    Park,
    /// The subscription stands still at it: it goes on trying what may pass, and waits for an operator to move the
    /// checkpoint, or for a program that can handle it, where nothing else helps.
    #[default]
    Halt,
}

/// The settings of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionSettings {
    /// How many events are read at once. 512.
    pub page: u32,
    /// The checkpoint moves after so many events. 100.
    pub checkpoint_every: u32,
    /// The checkpoint moves after so long, if there is anything to move it for. 1 s.
    pub checkpoint_after: Duration,
    /// When a failed event is tried again, and how often.
    pub retry: RetryPolicy,
    /// What becomes of an event that cannot be handled. It halts.
    pub on_failure: OnFailure,
    /// How long the handling of one event, or of one batch, may take. 30 s.
    pub deadline: Duration,
    /// How long to sleep at most when nothing wakes the reader, where the store can wake it. 5 s.
    pub poll: Duration,
    /// The same where nothing can wake it. 500 ms.
    pub poll_without_wakeup: Duration,
}

impl Default for SubscriptionSettings {
    fn default() -> Self {
        Self {
            page: 512,
            checkpoint_every: 100,
            checkpoint_after: Duration::from_secs(1),
            retry: RetryPolicy::default(),
            on_failure: OnFailure::default(),
            deadline: Duration::from_secs(30),
            poll: Duration::from_secs(5),
            poll_without_wakeup: Duration::from_millis(500),
        }
    }
}

impl SubscriptionSettings {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), SettingsError> {
        self.retry.validate()?;
        let between = |what: &str, value: u32| {
            SettingsError::unless((1..=crate::event::PAGE_MAX).contains(&value), || {
                format!("{what} {value} is not between 1 and {}", crate::event::PAGE_MAX)
            })
        };
        between("page", self.page)?;
        between("checkpoint_every", self.checkpoint_every)?;
        let lasts = |what: &str, value: Duration, low: Duration| {
            let high = Duration::from_secs(24 * 60 * 60);
            SettingsError::unless(value >= low && value <= high, || {
                format!("{what} {value:?} is not between {low:?} and 24h")
            })
        };
        lasts("checkpoint_after", self.checkpoint_after, Duration::ZERO)?;
        lasts("deadline", self.deadline, Duration::from_millis(1))?;
        lasts("poll", self.poll, Duration::from_millis(1))?;
        lasts("poll_without_wakeup", self.poll_without_wakeup, Duration::from_millis(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_field() {
        SubscriptionSettings::default().validate().unwrap();
        let wrong = SubscriptionSettings { page: 0, ..Default::default() };
        assert!(wrong.validate().unwrap_err().to_string().contains("page 0"));
        let wrong = SubscriptionSettings { poll: Duration::ZERO, ..Default::default() };
        assert!(wrong.validate().unwrap_err().to_string().contains("poll 0ns"));
    }
}
