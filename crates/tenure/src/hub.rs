//! Hints that something was appended, and when to look for it: one listener for all readers of a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::contract::{EventStore, Wakeup};
use tenure_core::outbox::Pace;
use tenure_core::time::Clock;
use tokio::sync::watch;

use crate::clock::SteadyClock;
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
    /// Counts hints, so that none is missed by a reader that is not waiting at the moment.
    hints: watch::Sender<u64>,
    /// How many readers want hints.
    armed: AtomicUsize,
    /// Whether any does.
    wanted: watch::Sender<bool>,
    works: AtomicBool,
}

impl Shared {
    fn hint(&self) {
        self.hints.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Says whether hints are wanted, by what is so at this moment: under the channel's lock, so that nothing older is
    /// said after it.
    fn tell(&self) {
        self.wanted.send_if_modified(|wanted| {
            let now = self.armed.load(Ordering::SeqCst) > 0;
            std::mem::replace(wanted, now) != now
        });
    }
}

impl Hub {
    pub(crate) fn new(store: Arc<dyn EventStore>) -> Self {
        let shared = Arc::new(Shared {
            hints: watch::Sender::new(0),
            armed: AtomicUsize::new(0),
            wanted: watch::Sender::new(false),
            works: AtomicBool::new(false),
        });
        Self { store, started: AtomicBool::new(false), shared, stop: Stop::new() }
    }

    /// Starts to listen, unless it does already, on the runtime of whoever is the first.
    fn start(&self) {
        if !self.started.swap(true, Ordering::SeqCst) {
            tokio::spawn(listen(self.store.clone(), self.shared.clone(), self.stop.clone()));
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// When one reader looks: at the core's [`Pace`], and sooner when there is a hint. Hints are wanted only while there is little
/// to do, as by a relay: on some databases each takes a lock that all commits share.
#[derive(Debug)]
pub(crate) struct Lookout {
    hub: Arc<Hub>,
    hints: watch::Receiver<u64>,
    pace: Pace,
    armed: bool,
    poll: Duration,
    poll_without_hints: Duration,
}

impl Lookout {
    /// Looks at once, and sleeps for `poll` at most where there are hints.
    pub(crate) fn new(hub: &Arc<Hub>, poll: Duration, poll_without_hints: Duration) -> Self {
        hub.start();
        let (pace, hints) = (Pace::new(poll, SteadyClock.now()), hub.shared.hints.subscribe());
        let mut lookout = Self { hub: hub.clone(), hints, pace, armed: false, poll, poll_without_hints };
        lookout.arm(true);
        lookout
    }

    /// How long it sleeps at most.
    pub(crate) fn poll(&self) -> Duration {
        match self.hub.shared.works.load(Ordering::Relaxed) {
            true => self.poll,
            false => self.poll_without_hints,
        }
    }

    /// How long it is until the next look.
    pub(crate) fn due_in(&self) -> Duration {
        SteadyClock.now().until(self.pace.next())
    }

    /// A look has found so many events, and took a while.
    pub(crate) fn looked(&mut self, found: usize, took: Duration) {
        self.pace.set_poll(self.poll());
        self.pace.looked(found, took, SteadyClock.now());
        self.arm(self.pace.armed());
    }

    /// Waits until a look is due. Dropping the future loses nothing.
    pub(crate) async fn until_due(&mut self) {
        loop {
            let wait = self.due_in();
            if wait.is_zero() {
                return;
            }
            tokio::select! {
                // The hub has the sender, and we have the hub.
                _ = self.hints.changed() => self.pace.hint(SteadyClock.now()),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn arm(&mut self, on: bool) {
        match (std::mem::replace(&mut self.armed, on), on) {
            (false, true) => self.hub.shared.armed.fetch_add(1, Ordering::SeqCst),
            (true, false) => self.hub.shared.armed.fetch_sub(1, Ordering::SeqCst),
            _ => return,
        };
        self.hub.shared.tell();
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.arm(false);
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
    shared.hint();
    loop {
        tokio::select! {
            () = stop.stopped() => return,
            changed = wanted.changed() => match changed {
                Ok(()) => wakeup.arm(*wanted.borrow_and_update()),
                Err(_) => return,
            },
            hint = wakeup.hint() => match hint {
                Ok(()) => shared.hint(),
                Err(error) => {
                    tracing::warn!(%error, "readers are no longer woken by the store; they poll until they are again");
                    return;
                }
            },
        }
    }
}
