//! What a user implements: what is done about an event.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::event::Recorded;
use tenure_core::lease::Fence;
use tenure_core::subscription::{Advance, Step};

/// An event was not handled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// It did not work this time: again later.
    #[error("{0}")]
    Transient(String),
    /// It will never work: the event is put aside, or the subscription halts, at once.
    #[error("{0}")]
    Poison(String),
}

impl HandleError {
    /// A failure that may pass.
    pub fn transient(error: impl fmt::Display) -> Self {
        Self::Transient(error.to_string())
    }

    /// A failure that will not pass.
    pub fn poison(error: impl fmt::Display) -> Self {
        Self::Poison(error.to_string())
    }
}

/// Handles events one after another, each at least once.
#[async_trait]
pub trait EventHandler: Send + Sync + fmt::Debug {
    /// Handles an event. When the reader's deadline has passed nobody waits any longer, but the future is not dropped: the
    /// event counts as failed, and is handled again later.
    async fn handle(&self, event: &Recorded) -> Result<(), HandleError>;
}

/// Handles events in a transaction of its own that moves the checkpoint too: each takes effect once.
#[async_trait]
pub trait Projection: Send + Sync + fmt::Debug {
    /// How many events it takes at once. 1.
    fn batch(&self) -> usize {
        1
    }

    /// Applies events and takes the step, in one transaction: the backend's `checkpoints().advance_in(&mut tx, office,
    /// step)`, or what that is called for the driver. Answers what that answered. On any other answer than [`Advance::Advanced`] it must roll back.
    async fn apply(
        &self,
        events: &[Recorded],
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, HandleError>;
}

/// How a subscription's events are handled.
#[derive(Debug, Clone)]
pub enum Handling {
    /// At least once.
    Each(Arc<dyn EventHandler>),
    /// Once in effect.
    Projected(Arc<dyn Projection>),
}

impl<H: EventHandler + 'static> From<H> for Handling {
    fn from(handler: H) -> Self {
        Self::Each(Arc::new(handler))
    }
}

impl From<Arc<dyn EventHandler>> for Handling {
    fn from(handler: Arc<dyn EventHandler>) -> Self {
        Self::Each(handler)
    }
}

impl From<Arc<dyn Projection>> for Handling {
    fn from(projection: Arc<dyn Projection>) -> Self {
        Self::Projected(projection)
    }
}

/// The future of a function that handles events.
pub(super) type Handled = Pin<Box<dyn Future<Output = Result<(), HandleError>> + Send>>;

/// Makes a handler of a function.
pub fn handler(function: impl Fn(Recorded) -> Handled + Send + Sync + 'static) -> impl EventHandler {
    FromFunction(function)
}

struct FromFunction<F>(F);

impl<F> fmt::Debug for FromFunction<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFunction")
    }
}

#[async_trait]
impl<F: Fn(Recorded) -> Handled + Send + Sync + 'static> EventHandler for FromFunction<F> {
    async fn handle(&self, event: &Recorded) -> Result<(), HandleError> {
        (self.0)(event.clone()).await
    }
}
