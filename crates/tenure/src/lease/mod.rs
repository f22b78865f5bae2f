//! The lease people use: acquire, keep, check, lose, give back.

mod keeper;
mod seat;
mod terms;
mod waiter;

use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::contract::{Capabilities, LeaseStore};
use tenure_core::id::Node;
use tenure_core::lease::{
    Acquire, Claim, Contender, Fence, Fenced, Grant, Holder, LeaseName, LeaseSettings, Loss, Release,
};
use tenure_core::registry::Classifier;
use tenure_core::time::{Clock, Monotonic};
use tokio::sync::Mutex as AsyncMutex;

use self::keeper::Keeper;
use self::seat::Seat;
pub use self::seat::{OnLost, TrustWatch};
use self::terms::TermMemory;
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
    terms: TermMemory,
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
        Self {
            shared: Arc::new(Shared {
                store,
                node,
                clock,
                classifier,
                presence,
                terms: TermMemory::default(),
            }),
        }
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
    /// background, or ends with its ttl. So is a grant that comes when this future was dropped.
    pub async fn acquire(&self) -> Result<Acquired, LeaseError> {
        let (handle, wanted) = (self.handle.clone(), Wanted::new());
        let given_up = wanted.given_up.clone();
        // In a task of its own: a caller that drops this future must not cut a call in half.
        let acquired = in_task(async move {
            let acquired = handle.acquire(&given_up).await?;
            Ok((Unclaimed::of(&handle, matches!(acquired, Acquired::Granted(_))), acquired))
        });
        let (unclaimed, acquired) = acquired.await?;
        unclaimed.claim();
        Ok(acquired)
    }

    /// Waits until the lease is free and takes it; `None` when `stop` was given first.
    ///
    /// Rides out a store that goes away and comes back; an error that waiting cannot mend is returned. When this future
    /// is dropped the waiting ends, and a grant that comes nevertheless is given back.
    pub async fn acquire_when_free(&self, stop: &Stop) -> Result<Option<Fence>, LeaseError> {
        let (handle, wanted) = (self.handle.clone(), Wanted::below(stop));
        let given_up = wanted.given_up.clone();
        let acquired = in_task(async move {
            let fence = handle.acquire_when_free(&given_up).await?;
            Ok((Unclaimed::of(&handle, fence.is_some()), fence))
        });
        let (unclaimed, fence) = acquired.await?;
        unclaimed.claim();
        Ok(fence)
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
    /// lease is not held. To give it oneself ends nothing but what listens to it.
    pub fn lost(&self) -> Stop {
        self.handle.seat().lost.child()
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

/// A caller that waits. When it goes away, what it wanted is given up.
struct Wanted {
    given_up: Stop,
}

impl Wanted {
    fn new() -> Self {
        Self { given_up: Stop::new() }
    }

    fn below(stop: &Stop) -> Self {
        Self { given_up: stop.child() }
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.given_up.stop();
    }
}

/// A holding on its way to the caller. If it does not arrive, nobody would ever act under it or give it back.
struct Unclaimed {
    handle: Option<Arc<Handle>>,
}

impl Unclaimed {
    fn of(handle: &Arc<Handle>, granted: bool) -> Self {
        Self { handle: granted.then(|| handle.clone()) }
    }

    fn claim(mut self) {
        self.handle = None;
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            heart::spawn(async move { handle.seat().leave().await });
        }
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

    async fn acquire(&self, given_up: &Stop) -> Result<Acquired, LeaseError> {
        let _turn = self.turn.lock().await;
        if let Some(fence) = self.current() {
            return Ok(Acquired::Granted(fence));
        }
        self.leave_what_was_lost().await;
        let claim = self.claim();
        let mut retries = self.settings.acquire_retries;
        loop {
            let tried = self.try_claim(&claim).await;
            let last = retries == 0 || given_up.is_stopped();
            match tried {
                Ok(Acquired::Granted(fence)) => return Ok(Acquired::Granted(fence)),
                Ok(held) if last => return Ok(held),
                Err(LeaseError::Store(error)) if error.is_transient() && !last => {}
                Err(error) => {
                    self.give_back_if_granted(claim);
                    return Err(error);
                }
                Ok(_) => {}
            }
            retries -= 1;
            tokio::time::sleep(self.settings.acquire_delay).await;
        }
    }

    async fn acquire_when_free(&self, stop: &Stop) -> Result<Option<Fence>, LeaseError> {
        let _turn = self.turn.lock().await;
        if let Some(fence) = self.current() {
            return Ok(Some(fence));
        }
        self.leave_what_was_lost().await;
        let contender = Contender::new(self.name.clone(), self.settings.poll);
        waiter::wait(self, self.claim(), contender, stop).await
    }

    /// Whoever asks anew has stopped working under a holding that was lost. A store that cannot be told now lets its
    /// ttl end.
    async fn leave_what_was_lost(&self) {
        if let Err(error) = self.seat().leave().await {
            tracing::debug!(lease = %self.name, %error, "a lost holding ends with its ttl");
        }
    }

    /// One try. A grant is taken into office before it is reported.
    async fn try_claim(&self, claim: &Claim) -> Result<Acquired, LeaseError> {
        let started = self.now();
        match self.leases.store.try_acquire(claim).await? {
            Acquire::Held(holder) => {
                self.leases.terms.note_held(&self.name, holder.term);
                Ok(Acquired::Held(holder))
            }
            Acquire::Granted(grant) => {
                if let Err(error) = self.leases.terms.note_granted(&grant) {
                    self.give_back(grant);
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

    /// Gives back a grant that nobody may act under, in the background.
    fn give_back(&self, grant: Grant) {
        let store = self.leases.store.clone();
        heart::spawn(async move { store.release(&grant).await });
    }

    /// A claim without an answer may have taken effect. Clean up as if it had, in the background. The claim must not be
    /// made again afterwards.
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
