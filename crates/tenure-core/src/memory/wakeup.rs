//! Waking relays of the same process: each listener has a bell, which rings while it is armed.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};

use async_trait::async_trait;

use crate::contract::Wakeup;
use crate::error::StoreError;

/// Everyone who listens.
#[derive(Default)]
pub(super) struct Bells {
    listeners: Mutex<Vec<Weak<Bell>>>,
}

impl Bells {
    /// One more listener, not armed yet.
    pub(super) fn listen(&self) -> Arc<Bell> {
        let bell = Arc::new(Bell::default());
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(&bell));
        bell
    }

    /// Something was committed.
    pub(super) fn ring(&self) {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        for bell in listeners.iter().filter_map(Weak::upgrade) {
            bell.ring();
        }
    }
}

impl fmt::Debug for Bells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bells")
    }
}

/// One listener.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<BellState>,
}

#[derive(Debug, Default)]
struct BellState {
    armed: bool,
    /// It rang, and nobody has heard it yet. Many rings are one.
    rang: bool,
    waiting: Option<Waker>,
}

impl Bell {
    fn state(&self) -> MutexGuard<'_, BellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        let mut state = self.state();
        if state.armed {
            state.sound();
        }
    }
}

impl BellState {
    fn sound(&mut self) {
        self.rang = true;
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}

#[async_trait]
impl Wakeup for Bell {
    fn arm(&self, on: bool) {
        let mut state = self.state();
        let takes_effect = on && !state.armed;
        state.armed = on;
        if takes_effect {
            state.sound();
        }
    }

    async fn hint(&self) -> Result<(), StoreError> {
        std::future::poll_fn(|context| {
            let mut state = self.state();
            if std::mem::take(&mut state.rang) {
                return Poll::Ready(Ok(()));
            }
            state.waiting = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}
