//! Hints that something was appended: one listener for all readers of a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::contract::{EventStore, Wakeup};
use tokio::sync::{Notify, watch};

use crate::stop::Stop;

/// How long to wait before listening anew.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The store's hints. The listener starts with the first reader and ends with the hub.
#[derive(Debug)]
pub(crate) struct Hub {
    store: Arc<dyn EventStore>,
    started: AtomicBool,
    shared: Arc<Shared>,
    stop: Stop,
}

#[derive(Debug)]
struct Shared {
    /// Wakes every reader that sleeps.
    hint: Notify,
    /// How many readers sleep.
    asleep: AtomicUsize,
    /// Whether anyone sleeps: then hints are wanted.
    wanted: watch::Sender<bool>,
    works: AtomicBool,
}

impl Shared {
    /// Says whether hints are wanted, by what is so at this moment: under the channel's lock, so that nothing older is
    /// said after it.
    fn tell(&self) {
        self.wanted.send_if_modified(|wanted| {
            let now = self.asleep.load(Ordering::SeqCst) > 0;
            std::mem::replace(wanted, now) != now
        });
    }
}

impl Hub {
    pub(crate) fn new(store: Arc<dyn EventStore>) -> Self {
        let (wanted, _) = watch::channel(false);
        let shared = Arc::new(Shared {
            hint: Notify::new(),
            asleep: AtomicUsize::new(0),
            wanted,
            works: AtomicBool::new(false),
        });
        Self { store, started: AtomicBool::new(false), shared, stop: Stop::new() }
    }

    /// Starts to listen, unless it does already. To be called on the runtime that is to do it.
    pub(crate) fn start(&self) {
        if !self.started.swap(true, Ordering::SeqCst) {
            tokio::spawn(listen(self.store.clone(), self.shared.clone(), self.stop.clone()));
        }
    }

    /// Whether hints can be expected.
    pub(crate) fn works(&self) -> bool {
        self.shared.works.load(Ordering::Relaxed)
    }

    /// Begins to sleep: whatever is hinted at from now on ends the sleep, also if it is waited for only later.
    pub(crate) fn lie_down(&self) -> Sleeper<'_> {
        let hint = self.shared.hint.notified();
        let mut sleeper = Sleeper { hub: self, hint: Box::pin(hint) };
        sleeper.hint.as_mut().enable();
        self.shared.asleep.fetch_add(1, Ordering::SeqCst);
        self.shared.tell();
        sleeper
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// A reader that sleeps.
pub(crate) struct Sleeper<'a> {
    hub: &'a Hub,
    hint: std::pin::Pin<Box<tokio::sync::futures::Notified<'a>>>,
}

impl Sleeper<'_> {
    /// Waits for a hint. Dropping the future is harmless.
    pub(crate) async fn hinted(&mut self) {
        self.hint.as_mut().await;
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.hub.shared.asleep.fetch_sub(1, Ordering::SeqCst);
        self.hub.shared.tell();
    }
}

async fn listen(store: Arc<dyn EventStore>, shared: Arc<Shared>, stop: Stop) {
    while !stop.is_stopped() {
        match store.watch().await {
            Ok(None) => return,
            Ok(Some(wakeup)) => {
                shared.works.store(true, Ordering::Relaxed);
                hear(&*wakeup, &shared, &stop).await;
                shared.works.store(false, Ordering::Relaxed);
            }
            Err(error) => tracing::warn!(%error, "readers cannot be woken by the store; they poll"),
        }
        tokio::select! {
            () = stop.stopped() => {}
            () = tokio::time::sleep(AGAIN_AFTER) => {}
        }
    }
}

/// Passes hints on until there are none any more.
async fn hear(wakeup: &dyn Wakeup, shared: &Shared, stop: &Stop) {
    let mut wanted = shared.wanted.subscribe();
    wakeup.arm(*wanted.borrow_and_update());
    // What was appended while nobody listened is found by a look now.
    shared.hint.notify_waiters();
    loop {
        tokio::select! {
            () = stop.stopped() => return,
            changed = wanted.changed() => match changed {
                Ok(()) => wakeup.arm(*wanted.borrow_and_update()),
                Err(_) => return,
            },
            hint = wakeup.hint() => match hint {
                Ok(()) => shared.hint.notify_waiters(),
                Err(error) => {
                    tracing::warn!(%error, "readers are no longer woken by the store; they poll until they are again");
                    return;
                }
            },
        }
    }
}
