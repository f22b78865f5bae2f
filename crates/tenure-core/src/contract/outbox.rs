//! The outbox of a store: what a relay and an operator need of it.
//!
//! Enqueueing belongs to the user's own transaction, and so to each backend's own types; what stands here is the rest,
//! which no driver's type may enter.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::id::NodeName;
use crate::lease::Fence;
use crate::outbox::{
    CauseId, Count, Details, Enqueued, Filter, Graves, Limits, Listing, Loaded, Look, MessageError,
    NewMessage, Outcome, Page, Pulse, Recorded, Retention, RowId, Selection, Stats, Swept,
};

/// The tables of the outbox.
///
/// An error means that the outcome is unknown. Every method is safe to repeat, and runs to its end or leaves nothing half
/// done when its future is dropped.
#[async_trait]
pub trait OutboxStore: Send + Sync + fmt::Debug {
    /// Enqueues messages in a transaction of its own: all or none. For tools; a service enqueues in the transaction of
    /// the data that its messages speak of.
    async fn enqueue(&self, messages: &[NewMessage], limits: &Limits) -> Result<Vec<Enqueued>, EnqueueError>;

    /// What is pending, by one snapshot. Changes nothing.
    ///
    /// A look at a [part](Look::part) sees only what belongs to that part. Which part that is for a row is the store's own
    /// choice, but for a given number of parts
    ///
    /// - every row is in exactly one part, and always in the same one;
    /// - all rows of one source are in the same part;
    /// - rows without a source are spread over all parts.
    ///
    /// A source of another part costs no more than the step over it, whatever stands in it, and a look takes so many
    /// steps and no more ([`Part::source_steps`](crate::outbox::Part::source_steps), `row_steps`): then it says from where to
    /// go on, also if it has found nothing.
    async fn look(&self, look: &Look) -> Result<Page, StoreError>;

    /// The payload of a row that was too large to be carried along. One above the limit is not read.
    async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError>;

    /// Records attempts, if the relay is in office; all in one transaction with the check of its fence. An attempt is
    /// recorded only if its number is the next one of a row that is pending.
    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError>;

    /// One bounded step of deleting what is old enough, from `resume` on, if the sweeper is in office.
    async fn sweep(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError>;

    /// Opens what wakes a relay when something was committed, where the store has such a thing.
    async fn listen(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(None)
    }
}

/// What wakes a relay. A wake-up is a hint: with all of them lost everything is delivered, only later.
#[async_trait]
pub trait Wakeup: Send + Sync + fmt::Debug {
    /// Asks to be woken, or not to be. Answers at once; takes effect as soon as it can. Whoever enqueued before it took
    /// effect wakes nobody, so the relay looks again afterwards; [`Wakeup::hint`] answers once when it has taken effect.
    fn arm(&self, on: bool);

    /// Waits for a hint. An error means that no further hint will come from this value. Safe to drop and call again.
    async fn hint(&self) -> Result<(), StoreError>;
}

/// Seeing and steering the outbox. Every change is written to the audit table in the same transaction.
#[async_trait]
pub trait OutboxAdmin: Send + Sync + fmt::Debug {
    /// The outbox in numbers, exactly where the store can count. It reads all that is pending, which may take seconds.
    async fn stats(&self) -> Result<Stats, StoreError>;

    /// Bounded numbers: counts each up to `at_most` rows, at most [`PULSE_MAX`](crate::outbox::PULSE_MAX), and looks no
    /// further.
    async fn pulse(&self, at_most: u32) -> Result<Pulse, StoreError>;

    /// Messages, the newest first. Looks at no more rows than the selection allows, and says from where to go on: pages
    /// have no gaps and no doubles, whatever is enqueued or swept between them.
    async fn list(&self, selection: &Selection) -> Result<Listing, StoreError>;

    /// All about one message, by its id as it stands in the row, without regard to case. Reads at most `payload_max` bytes
    /// of its payload.
    async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError>;

    /// How many messages of state dead `filter` stands for: what a retry or discard would change. Counts up to `at_most`,
    /// and looks at no more than [`DEAD_LOOK_MAX`](crate::outbox::DEAD_LOOK_MAX) dead messages.
    async fn count_dead(&self, filter: &Filter, at_most: u32) -> Result<Count, StoreError>;

    /// Dead messages by cause, in the order of causes after `after`: at most `limit` of them, at most
    /// [`GRAVES_MAX`](crate::outbox::GRAVES_MAX), each counted up to `count_max`. Discarded ones are in none.
    async fn graves(&self, after: Option<CauseId>, limit: u32, count_max: u32) -> Result<Graves, StoreError>;

    /// Makes dead messages pending again, at most `limit`, due at once and with a full budget of attempts. Answers which
    /// ones it changed, by their ids as they stand in the rows; of two who ask at once, each message is changed by one.
    async fn retry(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError>;

    /// Decides that dead messages are not sent, at most `limit`. Answers like [`OutboxAdmin::retry`].
    async fn discard(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError>;
}

/// A message was not enqueued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// There is something wrong with the message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The store gave no answer, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}
