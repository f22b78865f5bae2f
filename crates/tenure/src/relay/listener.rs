//! Hints that something was committed, from the store. They may all be lost: polling is the truth.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_core::contract::{OutboxStore, Wakeup};
use tokio::sync::{mpsc, watch};

use super::office::Event;
use crate::stop::Stop;

/// How long to wait before listening anew.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The store's hints, as long as this value lives.
#[derive(Debug)]
pub(super) struct Listener {
    armed: watch::Sender<bool>,
    works: Arc<AtomicBool>,
    stop: Stop,
}

impl Listener {
    pub(super) fn start(store: Arc<dyn OutboxStore>, events: mpsc::UnboundedSender<Event>) -> Self {
        let (armed, wanted) = watch::channel(true);
        let (works, stop) = (Arc::new(AtomicBool::new(false)), Stop::new());
        tokio::spawn(listen(store, events, wanted, works.clone(), stop.clone()));
        Self { armed, works, stop }
    }

    /// Whether hints can be expected.
    pub(super) fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    /// Asks for hints, or not to be given any.
    pub(super) fn arm(&self, on: bool) {
        self.armed.send_if_modified(|armed| std::mem::replace(armed, on) != on);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

async fn listen(
    store: Arc<dyn OutboxStore>,
    events: mpsc::UnboundedSender<Event>,
    mut wanted: watch::Receiver<bool>,
    works: Arc<AtomicBool>,
    stop: Stop,
) {
    while !stop.is_stopped() {
        match store.listen().await {
            Ok(None) => return,
            Ok(Some(wakeup)) => {
                works.store(true, Ordering::Relaxed);
                hear(&*wakeup, &events, &mut wanted, &stop).await;
                works.store(false, Ordering::Relaxed);
            }
            Err(error) => tracing::warn!(%error, "the relay cannot be woken by the store; it polls"),
        }
        tokio::select! {
            () = stop.stopped() => {}
            () = tokio::time::sleep(AGAIN_AFTER) => {}
        }
    }
}

/// Passes hints on until there are none any more.
async fn hear(
    wakeup: &dyn Wakeup,
    events: &mpsc::UnboundedSender<Event>,
    wanted: &mut watch::Receiver<bool>,
    stop: &Stop,
) {
    wakeup.arm(*wanted.borrow_and_update());
    // What was committed while nobody listened is found by a look now.
    if events.send(Event::Hint).is_err() {
        return;
    }
    loop {
        tokio::select! {
            () = stop.stopped() => return,
            changed = wanted.changed() => match changed {
                Ok(()) => wakeup.arm(*wanted.borrow_and_update()),
                Err(_) => return,
            },
            hint = wakeup.hint() => match hint {
                Ok(()) => if events.send(Event::Hint).is_err() { return },
                Err(error) => {
                    tracing::warn!(%error, "the relay is no longer woken by the store; it polls until it is again");
                    return;
                }
            },
        }
    }
}
