//! What stops a unit of work, and how it ends then.

use tenure_core::StoreError;
use tenure_core::contract::EnqueueError;
use tenure_core::outbox::MessageError;

use crate::driver::Lent;
use crate::fault::{Fault, FaultKind};
use crate::store::Shared;
use crate::work::TRIES;

/// Why a unit of work was broken off. Whatever it is, the transaction is rolled back.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Something went wrong on the session.
    Fault(Fault),
    /// An answer could not be read.
    Store(StoreError),
    /// A message cannot be enqueued.
    Message(MessageError),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<MessageError> for Stop {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

impl Stop {
    /// The same as who enqueues sees it.
    pub(crate) fn into_enqueue_error(self, store: &str) -> EnqueueError {
        match self {
            Self::Fault(fault) => fault.into_error(store).into(),
            Self::Store(error) => error.into(),
            Self::Message(error) => error.into(),
        }
    }

    /// The same as anyone else sees it.
    pub(crate) fn into_error(self, store: &str) -> StoreError {
        match self {
            Self::Fault(fault) => fault.into_error(store),
            Self::Store(error) => error,
            Self::Message(error) => {
                StoreError::Failed { store: store.to_owned(), message: error.to_string(), source: None }
            }
        }
    }
}

/// What is to be done about a unit of work that came to its end.
pub(crate) enum Ended<T> {
    /// It is over.
    With(Result<T, Stop>),
    /// The server undid it for a deadlock: it is begun anew.
    Undone,
}

impl Shared {
    /// Ends a unit of work, of which this was the try of that number, from 1.
    pub(crate) async fn end<T>(
        &self,
        lent: Box<dyn Lent>,
        outcome: Result<T, Stop>,
        tried: usize,
    ) -> Ended<T> {
        let fault = match outcome {
            Ok(answer) => {
                lent.give_back();
                return Ended::With(Ok(answer));
            }
            Err(Stop::Fault(fault)) => fault,
            Err(stop) => {
                // Nothing is wrong with the session: only what is open on it must go.
                let _ = self.settle(lent, Err::<(), _>(Fault::new(FaultKind::Other, ""))).await;
                return Ended::With(Err(stop));
            }
        };
        let undone = fault.kind == FaultKind::Deadlock && tried < TRIES;
        match self.settle(lent, Err(fault)).await {
            Err(_) if undone => Ended::Undone,
            settled => Ended::With(settled.map_err(Stop::Fault)),
        }
    }

    /// Ends a unit of work that only reads, and is not begun anew.
    pub(crate) async fn end_reading<T>(
        &self,
        lent: Box<dyn Lent>,
        outcome: Result<T, Stop>,
    ) -> Result<T, StoreError> {
        match self.end(lent, outcome, TRIES).await {
            Ended::With(outcome) => outcome.map_err(|stop| stop.into_error(self.label())),
            Ended::Undone => Err(self.no_row()),
        }
    }
}
