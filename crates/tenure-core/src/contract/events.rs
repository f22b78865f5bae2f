//! The events of a store, and the checkpoints of those who read them.
//!
//! Appending in the user's own transaction belongs to each backend's own types; what stands here is the rest.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::Wakeup;
use crate::error::StoreError;
use crate::event::{
    AllPage, Append, AppendAnswer, AppendProblem, Limits, Position, Snapshot, StreamName, StreamPage,
    StreamRead,
};
use crate::lease::Fence;
use crate::outbox::MessageError;
use crate::subscription::{Advance, Checkpoint, Parked, Progress, Rewind, Step, SubscriptionName};

/// The events.
///
/// An error means that the outcome is unknown. Every method is safe to repeat (an append with the same ids), and runs to
/// its end or leaves nothing half done when its future is dropped.
#[async_trait]
pub trait EventStore: Send + Sync + fmt::Debug {
    /// Appends, in a transaction of its own: events, dispatches and mark, or nothing. Dispatches are always sent here;
    /// whether a caller has an outbox is [`Append::check`]'s business.
    async fn append(&self, append: &Append, limits: &Limits) -> Result<AppendAnswer, AppendError>;

    /// Reads one stream. A row that cannot be read is an error that names it: nobody is to act on a stream without one of
    /// its events.
    async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError>;

    /// Reads all streams after a position. What the page says of `read_to` is proven. A row that cannot be read is told in
    /// the page, and never keeps anyone from the rows behind it.
    async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError>;

    /// The last snapshot of a stream.
    async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError>;

    /// Keeps a snapshot, unless there is one of a later version.
    async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError>;

    /// Opens what wakes a reader when something was appended, where the store has such a thing.
    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(None)
    }
}

/// The checkpoints of subscriptions, and the events that they have put aside.
#[async_trait]
pub trait CheckpointStore: Send + Sync + fmt::Debug {
    /// How far a subscription has come, and how often an operator has moved it; the start when it has never moved.
    async fn checkpoint(&self, name: &SubscriptionName) -> Result<Checkpoint, StoreError>;

    /// Moves a checkpoint from where the reader knows it to be, if it is still there, no operator has moved it since the
    /// reader asked, and the reader is in office; an event that the step puts aside is put aside in the same transaction.
    async fn advance(&self, office: Option<&Fence>, step: &Step) -> Result<Advance, StoreError>;

    /// Subscriptions that ever moved, by name, after `after`; at most `limit`.
    async fn subscriptions(
        &self,
        after: Option<&SubscriptionName>,
        limit: u32,
    ) -> Result<Vec<Progress>, StoreError>;

    /// The events that a subscription has put aside, the oldest first, after `after`; at most `limit`.
    async fn parked(
        &self,
        name: &SubscriptionName,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<Parked>, StoreError>;

    /// Moves a checkpoint to any place that is not beyond the end of the log, as an operator decided, and counts that; written to the
    /// audit table. What was put aside after that place is forgotten, for it is read again. A step of a reader that began before it is
    /// refused from then on, wherever the checkpoint is. One that has never moved stands at the start, and has moved from then on.
    async fn rewind(&self, name: &SubscriptionName, to: Position, by: &str) -> Result<Rewind, StoreError>;
}

/// An append was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// There is something wrong with the append.
    #[error(transparent)]
    Problem(#[from] AppendProblem),
    /// There is something wrong with one of its dispatches.
    #[error(transparent)]
    Dispatch(#[from] MessageError),
    /// The store gave no answer, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}
