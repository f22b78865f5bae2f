//! The in-memory backend: for tests, for single processes, and the plainest reading of the contracts.

mod ids;
mod inbox;
mod outbox;
mod outbox_store;
mod presence;
mod store;
mod wakeup;

pub use inbox::{InboxTable, InboxView, OpenInbox};
pub use outbox::{AuditLine, OutboxTables, PlainRow, Staged, Taken};
pub use outbox_store::MemoryTransaction;
pub use store::{ManualClock, MemoryStore, StoreClock};
