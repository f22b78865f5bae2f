//! The outbox of a store: what a relay and an operator need of it.
//!
//! Enqueueing belongs to the user's own transaction, and so to each backend's own types; what stands here is the rest,
//! which no driver's type may enter.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::id::NodeName;
use crate::lease::Fence;
use crate::outbox::{
    Acted, CauseId, Counted, DeadWalk, Details, Enqueued, Graves, LIST_MAX, Limits, Listing, Loaded, Look,
    MessageError, MessageId, NewMessage, Outcome, Page, Pulse, Recorded, Retention, RowId, Selection, Stats,
    Summary, Swept,
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

    /// What is pending, by one snapshot. Changes nothing but where a row is found: what has just come may be laid into its lane.
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

    /// Whether the store lists what has just come, and tells it apart from what stands in lanes: see
    /// [`ArrivalsLook`](crate::outbox::ArrivalsLook).
    fn lists_arrivals(&self) -> bool {
        false
    }

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

    /// Messages by their ids, each once, as lists show them, in any order; those that are not there are not among them. Looks for no more
    /// than the first [`LIST_MAX`](crate::outbox::LIST_MAX) of the ids.
    async fn named(&self, ids: &[MessageId]) -> Result<Vec<Summary>, StoreError> {
        let mut found = Vec::new();
        let asked: BTreeSet<MessageId> = ids.iter().take(LIST_MAX as usize).copied().collect();
        for id in asked {
            found.extend(self.show(&id.to_string(), 0).await?.map(|details| details.summary));
        }
        Ok(found)
    }

    /// How many of the dead messages that the walk goes through fit: what a retry or discard by the same walk would change.
    async fn count_dead(&self, walk: &DeadWalk) -> Result<Counted, StoreError>;

    /// Dead messages by cause, in the order of causes after `after`: at most `limit` of them, at most
    /// [`GRAVES_MAX`](crate::outbox::GRAVES_MAX), each counted up to `count_max`. Discarded ones are in none.
    async fn graves(&self, after: Option<CauseId>, limit: u32, count_max: u32) -> Result<Graves, StoreError>;

    /// Makes dead messages pending again, due at once and with a full budget of attempts: those that the walk meets and that
    /// are dead still, and of the cause if one was asked for, when they are changed. Answers which ones it changed; of two who ask at
    /// once, each message is changed by one. What dies again keeps its number, so a walk that goes on does not meet it again.
    async fn retry(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError>;

    /// Decides that dead messages are not sent. Goes and answers like [`OutboxAdmin::retry`].
    async fn discard(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError>;
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
