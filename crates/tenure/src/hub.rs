//! Hints that something was committed, and when to look for it: one listener for all of a process who read the same.
//! Hints may all be lost: polling is the truth.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{EventStore, OutboxStore, Wakeup};
use tenure_core::observe::RunnerKind;
use tenure_core::outbox::Pace;
use tenure_core::time::Clock;
use tokio::sync::watch;

use crate::clock::SteadyClock;
use crate::runners::runners;
use crate::stop::Stop;

/// How long to wait before listening anew.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Where hints come from.
#[derive(Debug, Clone)]
pub(crate) enum Bell {
    /// Something was appended.
    Events(Arc<dyn EventStore>),
    /// Something was enqueued.
    Outbox(Arc<dyn OutboxStore>),
}

impl Bell {
    async fn listen(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        match self {
            Self::Events(store) => store.watch().await,
            Self::Outbox(store) => store.listen().await,
        }
    }

    /// Who is woken.
    fn who(&self) -> &'static str {
        match self {
            Self::Events(_) => "readers",
            Self::Outbox(_) => "relays",
        }
    }
}

/// The store's hints. The listener starts with the first who wants to hear and ends with the hub.
#[derive(Debug)]
pub(crate) struct Hub {
    bell: Bell,
    started: AtomicBool,
    shared: Arc<Shared>,
    stop: Stop,
}

#[derive(Debug)]
struct Shared {
    /// Counts hints, so that none is missed by one that is not waiting at the moment.
    hints: watch::Sender<u64>,
    /// How many want hints.
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
    pub(crate) fn new(bell: Bell) -> Self {
        let shared = Arc::new(Shared {
            hints: watch::Sender::new(0),
            armed: AtomicUsize::new(0),
            wanted: watch::Sender::new(false),
            works: AtomicBool::new(false),
        });
        Self { bell, started: AtomicBool::new(false), shared, stop: Stop::new() }
    }

    /// Starts to listen, unless it does already, on the runtime of whoever is the first.
    fn start(&self) {
        if !self.started.swap(true, Ordering::SeqCst) {
            tokio::spawn(listen(self.bell.clone(), self.shared.clone(), self.stop.clone()));
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// One who hears every hint, whether it wants to or not: others may want them.
#[derive(Debug)]
pub(crate) struct Ear {
    hub: Arc<Hub>,
    hints: watch::Receiver<u64>,
    armed: bool,
}

impl Ear {
    /// Wants hints until it says otherwise.
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        hub.start();
        let hints = hub.shared.hints.subscribe();
        let mut ear = Self { hub, hints, armed: false };
        ear.arm(true);
        ear
    }

    /// Whether hints can be expected.
    pub(crate) fn works(&self) -> bool {
        self.hub.shared.works.load(Ordering::Relaxed)
    }

    /// Waits for a hint. Dropping the future loses nothing.
    pub(crate) async fn hint(&mut self) {
        // The hub has the sender, and we have the hub.
        let _ = self.hints.changed().await;
    }

    /// Asks for hints, or not to be given any.
    pub(crate) fn arm(&mut self, on: bool) {
        match (std::mem::replace(&mut self.armed, on), on) {
            (false, true) => self.hub.shared.armed.fetch_add(1, Ordering::SeqCst),
            (true, false) => self.hub.shared.armed.fetch_sub(1, Ordering::SeqCst),
            _ => return,
        };
        self.hub.shared.tell();
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.arm(false);
    }
}

/// When one reader looks: at the core's [`Pace`], and sooner when there is a hint. Hints are wanted only while there is little
/// to do, as by a relay: on some databases each takes a lock that all commits share.
#[derive(Debug)]
pub(crate) struct Lookout {
    ear: Ear,
    pace: Pace,
    poll: Duration,
    poll_without_hints: Duration,
}

impl Lookout {
    /// Looks at once, and sleeps for `poll` at most where there are hints.
    pub(crate) fn new(hub: &Arc<Hub>, poll: Duration, poll_without_hints: Duration) -> Self {
        let (ear, pace) = (Ear::new(hub.clone()), Pace::new(poll, SteadyClock.now()));
        Self { ear, pace, poll, poll_without_hints }
    }

    /// How long it sleeps at most.
    pub(crate) fn poll(&self) -> Duration {
        match self.ear.works() {
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
        self.ear.arm(self.pace.armed());
    }

    /// Waits until a look is due. Dropping the future loses nothing.
    pub(crate) async fn until_due(&mut self) {
        loop {
            let wait = self.due_in();
            if wait.is_zero() {
                return;
            }
            tokio::select! {
                () = self.ear.hint() => self.pace.hint(SteadyClock.now()),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }
}

async fn listen(bell: Bell, shared: Arc<Shared>, stop: Stop) {
    let beat = runners().register(RunnerKind::Listener, bell.who(), AGAIN_AFTER);
    let _watch = beat.watch();
    while !stop.is_stopped() {
        match beat.during(bell.listen()).await {
            Ok(None) => return,
            Ok(Some(wakeup)) => {
                shared.works.store(true, Ordering::Relaxed);
                beat.state("listening");
                beat.trouble(None);
                beat.waiting(hear(&*wakeup, bell.who(), &shared, &stop)).await;
                shared.works.store(false, Ordering::Relaxed);
                beat.state("not listening");
            }
            Err(error) => {
                tracing::warn!(%error, "{} cannot be woken by the store; they poll", bell.who());
                beat.state("not listening");
                beat.trouble(Some(error.to_string()));
            }
        }
        tokio::select! {
            () = stop.stopped() => {}
            () = tokio::time::sleep(AGAIN_AFTER) => {}
        }
    }
}

/// Passes hints on until there are none any more.
async fn hear(wakeup: &dyn Wakeup, who: &str, shared: &Shared, stop: &Stop) {
    let mut wanted = shared.wanted.subscribe();
    wakeup.arm(*wanted.borrow_and_update());
    // What was committed while nobody listened is found by a look now.
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
                    tracing::warn!(%error, "{who} are no longer woken by the store; they poll until they are again");
                    return;
                }
            },
        }
    }
}
