//! When to try again: exponential, with full jitter and a cap.

use std::time::Duration;

use crate::lease::SettingsError;

/// How often and when a message is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How many attempts a message has in all. 25: with the other defaults it is tried for more than an hour on average,
    /// and for two and a half at most, so that a receiver may be away for a while.
    pub max_attempts: u32,
    /// The longest pause after the first attempt; it doubles with every further one. 1 s.
    pub first: Duration,
    /// The longest pause at all, also when a receiver asks for more. 10 min.
    pub cap: Duration,
}

/// More attempts than this are a typing error.
const ATTEMPTS_MAX: u32 = 1_000_000;
/// The shortest pause: a source that fails must not become a busy loop.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// The longest pause that may be configured.
const CAP_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 25, first: Duration::from_secs(1), cap: Duration::from_secs(600) }
    }
}

impl RetryPolicy {
    /// The pause after attempt number `attempt` (from 1). `chance` is uniform in `[0, 1)`; a receiver's own wish is a
    /// lower bound, up to the cap.
    pub fn pause(&self, attempt: u32, chance: f64, asked: Option<Duration>) -> Duration {
        let ceiling = self.ceiling(attempt);
        let jittered = ceiling.mul_f64(chance.clamp(0.0, 1.0));
        jittered.max(asked.unwrap_or_default()).clamp(PAUSE_MIN, self.cap.max(PAUSE_MIN))
    }

    /// The longest pause after attempt number `attempt`, before a receiver's wish.
    fn ceiling(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(62);
        let factor = 1u64 << doublings;
        let nanos = u64::try_from(self.first.as_nanos()).unwrap_or(u64::MAX).saturating_mul(factor);
        Duration::from_nanos(nanos).min(self.cap)
    }

    /// The longest time from a message's first attempt to its last: each pause may be as long as a receiver asks, so
    /// each counts with the cap; each delivery with its deadline.
    pub fn horizon(&self, deadline: Duration) -> Duration {
        let pauses = self.cap.max(PAUSE_MIN).saturating_mul(self.max_attempts.saturating_sub(1));
        pauses.saturating_add(deadline.saturating_mul(self.max_attempts))
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let Self { max_attempts, first, cap } = self;
        SettingsError::unless((1..=ATTEMPTS_MAX).contains(max_attempts), || {
            format!("max_attempts {max_attempts} is not between 1 and {ATTEMPTS_MAX}")
        })?;
        SettingsError::unless(*first >= PAUSE_MIN, || {
            format!("retry first {first:?} is below {PAUSE_MIN:?}")
        })?;
        SettingsError::unless(first <= cap, || format!("retry first {first:?} is above retry cap {cap:?}"))?;
        SettingsError::unless(*cap <= CAP_MAX, || format!("retry cap {cap:?} is above 30 days"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn s49_a_pause_is_bounded_whatever_comes(
            attempt in 0u32..=u32::MAX, chance in -1.0f64..2.0, asked in proptest::option::of(0u64..=u64::MAX),
            first in 10u64..100_000, cap in 10u64..10_000_000,
        ) {
            let policy = RetryPolicy {
                max_attempts: 10, first: Duration::from_millis(first.min(cap)), cap: Duration::from_millis(cap),
            };
            let pause = policy.pause(attempt, chance, asked.map(Duration::from_secs));
            prop_assert!(pause >= PAUSE_MIN && pause <= policy.cap);
        }

        #[test]
        fn s49_the_ceiling_never_falls(attempt in 1u32..200) {
            let policy = RetryPolicy::default();
            prop_assert!(policy.ceiling(attempt) <= policy.ceiling(attempt + 1));
        }
    }

    #[test]
    fn the_pause_doubles_up_to_the_cap() {
        let policy =
            RetryPolicy { max_attempts: 10, first: Duration::from_secs(1), cap: Duration::from_secs(5) };
        let ceilings: Vec<_> = (1..=5).map(|attempt| policy.ceiling(attempt).as_secs()).collect();
        assert_eq!(ceilings, [1, 2, 4, 5, 5]);
    }

    #[test]
    fn a_receivers_wish_is_respected_up_to_the_cap() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.pause(1, 0.5, Some(Duration::from_secs(30))), Duration::from_secs(30));
        assert_eq!(policy.pause(1, 0.5, Some(Duration::MAX)), policy.cap);
        assert_eq!(policy.pause(1, 0.5, Some(Duration::ZERO)), Duration::from_millis(500));
    }

    #[test]
    fn the_horizon_counts_every_pause_at_its_longest() {
        let policy =
            RetryPolicy { max_attempts: 3, first: Duration::from_secs(1), cap: Duration::from_secs(10) };
        assert_eq!(policy.horizon(Duration::from_secs(2)), Duration::from_secs(2 * 10 + 3 * 2));
    }

    #[test]
    fn errors_name_both_fields() {
        let wrong = RetryPolicy {
            first: Duration::from_secs(11),
            cap: Duration::from_secs(10),
            ..Default::default()
        };
        let error = wrong.validate().unwrap_err().to_string();
        assert!(error.contains("first 11s") && error.contains("cap 10s"), "{error}");
        assert!(RetryPolicy { max_attempts: 0, ..Default::default() }.validate().is_err());
    }
}
