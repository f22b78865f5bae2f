//! Whether all is well: facts that somebody gathered, and the judgement about them, which is a plain function.
//!
//! ```text
//!   a loop that stopped going round      liveness     the process is to be started again
//!   a loop that cannot get on            readiness    it lives, and something else is wrong: the store, a receiver
//!   lag, dead messages, no leader, …     readiness
//! ```
//!
//! Readiness fails only when it is unhealthy: a process that is degraded still does its work. To stand by is to be well.

mod facts;
mod findings;
mod judge;
mod thresholds;

pub use facts::{DaemonFacts, Facts, LeaderState, Others, StoreState, SubscriptionFacts};
pub use findings::Findings;
pub use judge::{Check, CheckKind, HealthReport, judge, judge_loops};
use serde::Serialize;
pub use thresholds::HealthThresholds;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// All is well.
    Healthy,
    /// Someone should look at it in the morning.
    Degraded,
    /// Someone should look at it now.
    Unhealthy,
}

impl Level {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }

    /// The worse of two bounds that something has reached.
    fn of(degraded: bool, unhealthy: bool) -> Self {
        match (unhealthy, degraded) {
            (true, _) => Self::Unhealthy,
            (false, true) => Self::Degraded,
            (false, false) => Self::Healthy,
        }
    }
}
