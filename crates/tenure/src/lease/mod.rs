//! The lease people use: acquire, keep, check, lose, give back.

mod keeper;
mod seat;
mod waiter;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::contract::{Capabilities, LeaseStore};
use tenure_core::id::{Node, Unique};
use tenure_core::lease::{
    Acquire, Claim, Contender, Fence, Fenced, Grant, Holder, LeaseName, LeaseSettings, Loss, Release, Term,
};
use tenure_core::registry::Classifier;
use tenure_core::time::{Clock, Monotonic};
use tokio::sync::Mutex as AsyncMutex;

use self::keeper::Keeper;
use self::seat::Seat;
pub use self::seat::{OnLost, TrustWatch};
use crate::clock::SteadyClock;
use crate::error::LeaseError;
use crate::presence::NodePresence;
use crate::stop::Stop;
use crate::{heart, node};

/// The leases of one node on one store.
#[derive(Debug, Clone)]
pub struct Leases {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn LeaseStore>,
    node: Node,
    clock: Arc<dyn Clock>,
    classifier: Classifier,
    presence: NodePresence,
    /// The highest term seen per lease: a store that went back in time must not make us lead.
    seen: Mutex<BTreeMap<LeaseName, Seen>>,
}

/// The highest term seen of a lease, and the claim of ours that it was granted to, if it was.
#[derive(Debug, Clone, Copy)]
struct Seen {
    term: Term,
    ours: Option<Unique>,
}

/// The answer to [`Lease::acquire`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// This process holds the lease, under this fence.
    Granted(Fence),
    /// Someone else does.
    Held(Holder),
}

impl Leases {
    /// The leases of `node` on `store`. Nothing is opened or asked yet.
    pub fn new(store: Arc<dyn LeaseStore>, node: Node) -> Self {
        Self::with_classifier(store, node, Classifier::default())
    }

    /// As [`Leases::new`], with a scheme of one's own to tell the kind of work from a lease's name.
    pub fn with_classifier(store: Arc<dyn LeaseStore>, node: Node, classifier: Classifier) -> Self {
        let clock = SteadyClock::shared();
        let presence = NodePresence::new(store.clone(), clock.clone());
        Self { shared: Arc::new(Shared { store, node, clock, classifier, presence, seen: Mutex::default() }) }
    }

    /// A handle on one lease. Two handles exclude each other, also within one process.
    pub fn lease(&self, name: impl Into<String>, settings: LeaseSettings) -> Result<Lease, LeaseError> {
        let name = LeaseName::new(name)?;
        settings.validate()?;
        let handle = Handle {
            leases: self.shared.clone(),
            name,
            settings,
            seat: Mutex::new(Seat::empty()),
            handlers: Arc::default(),
            turn: AsyncMutex::new(()),
        };
        Ok(Lease { handle: Arc::new(handle) })
    }

    /// This process as the store sees it.
    pub fn node(&self) -> &Node {
        &self.shared.node
    }

    /// What the store can do here and now.
    pub fn capabilities(&self) -> Capabilities {
        self.shared.store.capabilities()
    }
}

impl Shared {
    /// Notes the term that someone else holds. A lower one than before is no harm until it is granted to us.
    fn note_held(&self, name: &LeaseName, term: Term) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = seen.entry(name.clone()).or_insert(Seen { term, ours: None });
        if term > highest.term {
            *highest = Seen { term, ours: None };
        }
    }

    /// Notes a term granted to `claim`; refuses one that is not above every other seen before.
    fn note_granted(&self, grant: &Grant) -> Result<(), LeaseError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let granted = Seen { term: grant.term, ours: Some(grant.claim) };
        let highest = seen.entry(grant.name.clone()).or_insert(granted);
        if grant.term < highest.term || grant.term == highest.term && highest.ours != Some(grant.claim) {
            let lease = grant.name.clone();
            return Err(LeaseError::TermWentBack { lease, granted: grant.term, seen: highest.term });
        }
        *highest = granted;
        Ok(())
    }
}

/// A handle on one lease. Clones are the same handle.
///
/// While it is held, a task on a thread of its own renews it. It is over when it is released, when the store says so, or
/// when its trust window ends, whichever comes first; [`Lease::lost`] and [`Lease::on_lost`] tell. Dropping the last
/// handle stops acting at once and gives the lease back in the background.
#[derive(Debug, Clone)]
pub struct Lease {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    leases: Arc<Shared>,
    name: LeaseName,
    settings: LeaseSettings,
    /// The present holding, or the last one.
    seat: Mutex<Seat>,
    handlers: Arc<seat::Handlers>,
    /// One acquire at a time.
    turn: AsyncMutex<()>,
}

impl Lease {
    /// Claims the lease; tries again as often as the settings say.
    ///
    /// An error means that the outcome is unknown. Should the claim have taken effect, it is given back in the
    /// background, or ends with its ttl.
    pub async fn acquire(&self) -> Result<Acquired, LeaseError> {
        let handle = self.handle.clone();
        // In a task of its own: a caller that drops this future must not cut a call in half.
        in_task(async move { handle.acquire().await }).await
    }

    /// Waits until the lease is free and takes it; `None` when `stop` was given first.
    ///
    /// Rides out a store that goes away and comes back; an error that waiting cannot mend is returned.
    pub async fn acquire_when_free(&self, stop: &Stop) -> Result<Option<Fence>, LeaseError> {
        let (handle, given_up) = (self.handle.clone(), stop.child());
        // When the caller drops this future, the waiting ends too.
        let _guard = StopOnDrop(given_up.clone());
        in_task(async move { handle.acquire_when_free(&given_up).await }).await
    }

    /// Stops acting, then gives the lease back. Returns when the store has answered.
    pub async fn release(&self) -> Result<Release, LeaseError> {
        let handle = self.handle.clone();
        in_task(async move { handle.release().await }).await
    }

    /// Whether this process may believe that it holds the lease. Local and cheap; false in any doubt.
    pub fn check_alive(&self) -> bool {
        self.handle.seat().is_alive(self.handle.now())
    }

    /// Calls `handler` once for every holding that ends other than by [`Lease::release`].
    ///
    /// The handler runs on the heartbeat thread: it must be short. For longer work wait for [`Lease::lost`].
    pub fn on_lost(&self, handler: impl Fn(&Loss) + Send + Sync + 'static) -> OnLost {
        self.handle.handlers.add(Box::new(handler))
    }

    /// The signal that the present holding is over, given at the latest when its trust ends. Already given when the
    /// lease is not held.
    pub fn lost(&self) -> Stop {
        self.handle.seat().lost.clone()
    }

    /// Why the last holding ended, once it has.
    pub fn loss(&self) -> Option<Loss> {
        self.handle.seat().loss()
    }

    /// The value that protected writes carry; `None` unless the lease is held.
    pub fn fence(&self) -> Option<Fence> {
        let seat = self.handle.seat();
        seat.is_alive(self.handle.now()).then(|| seat.fence()).flatten()
    }

    /// Tells that a store refused the fence of the present holding: it ends at once, and is told as any loss. A refusal
    /// of an earlier fence changes nothing.
    pub fn fenced(&self, fenced: &Fenced) {
        let seat = self.handle.seat();
        if seat.fence().as_ref() == Some(&fenced.fence) {
            seat.fenced(fenced.loss.clone());
        }
    }

    /// Tells the watchdog that the work under this lease moves on.
    pub fn progress(&self) {
        self.handle.seat().progress();
    }

    /// Follows the end of the trust window as renewals and pings move it.
    pub fn trust(&self) -> TrustWatch {
        self.handle.seat().trust()
    }

    /// The lease's name.
    pub fn name(&self) -> &LeaseName {
        &self.handle.name
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &LeaseSettings {
        &self.handle.settings
    }
}

/// Gives a stop signal when it is dropped.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs `work` to its end, whether or not the caller waits for it.
async fn in_task<T: Send + 'static>(
    work: impl Future<Output = Result<T, LeaseError>> + Send + 'static,
) -> Result<T, LeaseError> {
    tokio::spawn(work).await.unwrap_or(Err(LeaseError::Aborted))
}

impl Handle {
    fn now(&self) -> Monotonic {
        self.leases.clock.now()
    }

    fn seat(&self) -> Seat {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The holding that is going on, if there is one.
    fn current(&self) -> Option<Fence> {
        let seat = self.seat();
        seat.is_alive(self.now()).then(|| seat.fence()).flatten()
    }

    fn claim(&self) -> Claim {
        Claim {
            name: self.name.clone(),
            node: self.leases.node.clone(),
            id: node::random_unique(),
            ttl: self.settings.ttl,
            kind: self.leases.classifier.kind(self.name.as_str()),
            evidence: None,
        }
    }

    async fn acquire(&self) -> Result<Acquired, LeaseError> {
        let _turn = self.turn.lock().await;
        if let Some(fence) = self.current() {
            return Ok(Acquired::Granted(fence));
        }
        // Whoever asks anew has stopped working under a holding that was lost.
        self.seat().leave().await?;
        let claim = self.claim();
        let mut retries = self.settings.acquire_retries;
        loop {
            match self.try_claim(&claim).await {
                Ok(Acquired::Granted(fence)) => return Ok(Acquired::Granted(fence)),
                Ok(held) if retries == 0 => return Ok(held),
                Err(error) if retries == 0 => {
                    self.give_back_if_granted(claim);
                    return Err(error);
                }
                Ok(_) | Err(_) => retries -= 1,
            }
            tokio::time::sleep(self.settings.acquire_delay).await;
        }
    }

    async fn acquire_when_free(&self, stop: &Stop) -> Result<Option<Fence>, LeaseError> {
        let _turn = self.turn.lock().await;
        if let Some(fence) = self.current() {
            return Ok(Some(fence));
        }
        self.seat().leave().await?;
        let contender = Contender::new(self.name.clone(), self.settings.poll);
        waiter::wait(self, self.claim(), contender, stop).await
    }

    /// One try. A grant is taken into office before it is reported.
    async fn try_claim(&self, claim: &Claim) -> Result<Acquired, LeaseError> {
        let started = self.now();
        match self.leases.store.try_acquire(claim).await? {
            Acquire::Held(holder) => {
                self.leases.note_held(&self.name, holder.term);
                Ok(Acquired::Held(holder))
            }
            Acquire::Granted(grant) => {
                if let Err(error) = self.leases.note_granted(&grant) {
                    self.give_back_if_granted(claim.clone());
                    return Err(error);
                }
                Ok(Acquired::Granted(self.take_office(grant, started)))
            }
        }
    }

    fn take_office(&self, grant: Grant, started: Monotonic) -> Fence {
        let fence = grant.fence();
        tracing::info!(lease = %fence.lease, term = %fence.term, "lease acquired");
        let leases = &self.leases;
        let presence = self.settings.presence.as_ref().and_then(|settings| leases.presence.join(settings));
        let (keeper, seat) = Keeper::begin(
            leases.store.clone(),
            leases.clock.clone(),
            presence,
            grant,
            &self.settings,
            self.handlers.clone(),
            started,
        );
        *self.seat.lock().unwrap_or_else(PoisonError::into_inner) = seat;
        heart::spawn(keeper.run());
        fence
    }

    async fn release(&self) -> Result<Release, LeaseError> {
        self.seat().leave().await
    }

    /// A claim without an answer may have taken effect. Clean up as if it had, in the background.
    fn give_back_if_granted(&self, claim: Claim) {
        let store = self.leases.store.clone();
        heart::spawn(async move {
            let Ok(Some(record)) = store.observe(&claim.name).await else { return };
            if record.claim == claim.id && record.node.incarnation == claim.node.incarnation {
                let released = store.release(&record.grant(claim.ttl)).await;
                tracing::debug!(lease = %claim.name, ?released, "gave back a grant whose answer was lost");
            }
        });
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let seat = self.seat();
        if seat.fence().is_some() {
            seat.lost.stop();
            heart::spawn(async move { seat.leave().await });
        }
    }
}
