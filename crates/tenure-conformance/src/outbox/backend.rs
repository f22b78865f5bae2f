//! What the outbox part of the suite needs of a backend under test.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, OutboxAdmin, OutboxStore};
use tenure_core::outbox::{Accept, Consumer, Enqueued, Message, MessageId, NewMessage};

use crate::backend::Backend;

pub use tenure_core::memory::{AuditLine, PlainRow};

/// A backend with an outbox and an inbox. Each value has tables of its own, without a row in them.
#[async_trait]
pub trait OutboxBackend: Backend {
    /// A handle on the outbox as another node would have it.
    async fn outbox(&self) -> Arc<dyn OutboxStore>;

    /// The operator's view of it.
    async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin>;

    /// A transaction as a user's own program begins it, on a connection of its own.
    async fn begin(&self) -> Box<dyn UserTransaction>;

    /// A plain insert by a foreign program, in a transaction of its own, with the columns that are given. An error when
    /// the database itself refuses the row, for the type of a column.
    async fn insert_plain(&self, row: PlainRow) -> Result<(), String>;

    /// What receivers wrote by [`UserTransaction::apply`] and committed, in that order.
    async fn effects(&self) -> Vec<String>;

    /// The audit table's rows about the outbox, the first one first.
    async fn audit(&self) -> Vec<AuditLine>;

    /// How many rows the table of attempts has.
    async fn attempt_rows(&self) -> u64;

    /// Has the database take stock of its tables (`ANALYZE`), where it plans by what it knows of them: no answer may depend
    /// on the plan.
    async fn take_stock(&self) {}

    /// Whether two transactions can write at the same time; else the second one waits for the first.
    fn writes_at_once(&self) -> bool {
        true
    }
}

/// An open transaction of a user's own program.
#[async_trait]
pub trait UserTransaction: Send {
    /// Enqueues messages in one call.
    async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError>;

    /// Accepts a message by its id.
    async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError>;

    /// Accepts a message, and tells one with another content under the same id.
    async fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Result<Accept, StoreError>;

    /// Notes that a message is refused, unless it was settled before; answers what stands.
    async fn refuse(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError>;

    /// The program's own write: a row in a table of its own.
    async fn apply(&mut self, effect: &str);

    /// Commits. An error means that nothing was written.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;

    /// Rolls back.
    async fn rollback(self: Box<Self>);
}
