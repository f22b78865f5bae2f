//! What programs see of a store: the shapes of JSON that the command line prints and the dashboard's API answers.
//!
//! There is one place for them, so that what a script has learned of one holds for the other. A shape is made of the
//! core's own types, is plain data, and has a schema by hand ([`Shape::schema`]); a test holds a full sample of each beside
//! its schema, key by key. Times are texts in UTC ([`StoreTime`]), spans are milliseconds.
//!
//! Fields stand in the order in which they are written: by their names, but for leases, whose order is older.

mod cluster;
mod event;
mod lease;
mod message;
mod operate;
mod outbox;
mod overview;
mod schema;
mod status;
mod subscription;
#[cfg(test)]
mod tests;

pub use self::cluster::{AvoidShape, DaemonShape, DaemonsShape, LeaderShape, NodeShape, is_orphaned, reason};
pub use self::event::{EventShape, ParkedShape};
pub use self::lease::{ChangeShape, LeaseLine, LeaseShape, lease_state};
pub use self::message::{AttemptShape, MessageDetails, MessageShape, payload_text};
pub use self::operate::{AuditShape, CauseShape, PulseShape, RunnerShape, StreamShape};
pub use self::outbox::{ChangedShape, DryRunShape, StatsShape};
pub use self::overview::Overview;
pub use self::schema::{Shape, schemas};
pub use self::status::StatusShape;
pub use self::subscription::SubscriptionShape;

use std::time::Duration;

use crate::time::StoreTime;

fn text(at: Option<StoreTime>) -> Option<String> {
    at.map(|at| at.to_string())
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
