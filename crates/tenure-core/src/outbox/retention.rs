//! How long finished things are kept.

use std::time::Duration;

use serde::Serialize;

use crate::lease::SettingsError;

/// What is deleted, and when. What is not finished is never touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// How long dispatched messages are kept, with their attempts; `None` for ever. 30 days.
    pub dispatched: Option<Duration>,
    /// How long dead messages are kept; `None` for ever, which is the default.
    pub dead: Option<Duration>,
    /// How long discarded messages are kept; `None` for ever. 30 days.
    pub discarded: Option<Duration>,
    /// How long an inbox remembers; `None` for ever. 30 days.
    pub inbox: Option<Duration>,
    /// How often it is looked whether something is old enough. 1 min.
    pub every: Duration,
    /// How many rows one transaction deletes at most. 1000.
    pub batch: u32,
}

impl Default for Retention {
    fn default() -> Self {
        let month = Some(Duration::from_secs(30 * 24 * 60 * 60));
        Self {
            dispatched: month,
            dead: None,
            discarded: month,
            inbox: month,
            every: Duration::from_secs(60),
            batch: 1_000,
        }
    }
}

impl Retention {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), SettingsError> {
        SettingsError::unless((1..=10_000).contains(&self.batch), || {
            format!("retention batch {} is not between 1 and 10000", self.batch)
        })?;
        SettingsError::unless(self.every >= Duration::from_secs(1), || {
            format!("retention every {:?} is below 1s", self.every)
        })
    }
}

/// What one bounded step of a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Dispatched messages that were deleted.
    pub dispatched: u64,
    /// Dead messages that were deleted.
    pub dead: u64,
    /// Discarded messages that were deleted.
    pub discarded: u64,
    /// Rows of inboxes that were deleted.
    pub inbox: u64,
    /// Where the next step goes on; `None` when all was looked at.
    #[serde(skip)]
    pub resume: Option<i64>,
    /// Whether nothing was done because the sweeper is no longer in office.
    #[serde(skip)]
    pub fenced: bool,
}
