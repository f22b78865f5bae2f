//! The in-memory backend: for tests, for single processes, and the plainest reading of the contracts.

mod audit;
mod cluster;
mod events;
mod events_store;
mod ids;
mod inbox;
mod outbox;
mod outbox_store;
mod presence;
mod runners;
mod store;
mod stories;
mod transaction;
mod wakeup;

pub use cluster::ClusterTables;
pub use events::{Backward, CheckpointTables, EventTables, Overtaken, StagedEvents};
pub use inbox::{InboxTable, InboxView, OpenInbox};
pub use outbox::{AuditLine, OutboxTables, PlainRow, Staged, Taken};
pub use store::{ManualClock, MemoryStore, StoreClock};
pub use transaction::MemoryTransaction;
