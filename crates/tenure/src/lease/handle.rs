//! What stands behind a [`Lease`](super::Lease): one claim at a time, and the seat that it led to.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_core::lease::{Acquire, Claim, Contender, Fence, Grant, LeaseName, LeaseSettings, Release};
use tenure_core::observe::{Counter, METER};
use tenure_core::time::Monotonic;
use tokio::sync::Mutex as AsyncMutex;
use tracing::{Instrument, field};

use super::keeper::Keeper;
use super::leases::Shared;
use super::seat::{Handlers, Seat};
use super::{Acquired, waiter};
use crate::error::LeaseError;
use crate::stop::Stop;
use crate::{heart, node};

/// How long one who waits no more is held up by telling so. Kafka's groups need a heartbeat for it, of 3 s by default.
const FORGO_MAX: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub(super) struct Handle {
    pub(super) leases: Arc<Shared>,
    pub(super) name: LeaseName,
    pub(super) settings: LeaseSettings,
    /// The present holding, or the last one.
    seat: Mutex<Seat>,
    pub(super) handlers: Arc<Handlers>,
    /// One acquire at a time.
    turn: AsyncMutex<()>,
    /// What kind of work it guards, as numbers are told apart.
    pub(super) kind: String,
    acquisitions: Arc<Counter<3>>,
}

impl Handle {
    pub(super) fn new(leases: Arc<Shared>, name: LeaseName, settings: LeaseSettings) -> Self {
        let (seat, handlers, turn) = (Mutex::new(Seat::empty()), Arc::default(), AsyncMutex::new(()));
        let kind = leases.classifier.kind(name.as_str()).unwrap_or_else(|| "none".to_owned());
        let acquisitions = METER.lease_acquisitions.of(&kind);
        Self { leases, name, settings, seat, handlers, turn, kind, acquisitions }
    }

    pub(super) fn now(&self) -> Monotonic {
        self.leases.clock.now()
    }

    pub(super) fn seat(&self) -> Seat {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a holding is going on, as it stands there: this is asked before each delivery.
    pub(super) fn check_alive(&self) -> bool {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner).is_alive(self.now())
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

    pub(super) async fn acquire(&self, given_up: &Stop) -> Result<Acquired, LeaseError> {
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

    pub(super) async fn acquire_when_free(&self, stop: &Stop) -> Result<Option<Fence>, LeaseError> {
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
    pub(super) async fn try_claim(&self, claim: &Claim) -> Result<Acquired, LeaseError> {
        let started = self.now();
        let span = tracing::debug_span!("tenure.lease.acquire", lease = %self.name, answer = field::Empty);
        let answer = self.leases.store.try_acquire(claim).instrument(span.clone()).await;
        let (slot, word) = match &answer {
            Ok(Acquire::Granted(_)) => (0, "granted"),
            Ok(Acquire::Held(_)) => (1, "held"),
            Err(error) => {
                METER.store_error(error);
                (2, "unknown")
            }
        };
        span.record("answer", word);
        self.acquisitions.add(slot, 1);
        match answer? {
            Acquire::Held(holder) => {
                if self.leases.store.one_count() {
                    self.leases.terms.note_held(&self.name, holder.term);
                }
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
            leases,
            presence,
            grant,
            &self.settings,
            self.handlers.clone(),
            started,
            &self.kind,
        );
        *self.seat.lock().unwrap_or_else(PoisonError::into_inner) = seat;
        heart::spawn(keeper.run());
        fence
    }

    pub(super) async fn release(&self) -> Result<Release, LeaseError> {
        self.seat().leave().await
    }

    /// Gives up the place of one who waits, where the store keeps one. A store that is slow to answer is not waited for.
    pub(super) async fn forgo(&self) {
        match tokio::time::timeout(FORGO_MAX, self.leases.store.forgo(&self.name)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(lease = %self.name, %error, "the place of a waiter was not given up")
            }
            Err(_) => tracing::debug!(lease = %self.name, "the place of a waiter was not given up in time"),
        }
    }

    /// Gives back a grant that nobody may act under, in the background.
    fn give_back(&self, grant: Grant) {
        let store = self.leases.store.clone();
        heart::spawn(async move { store.release(&grant).await });
    }

    /// A claim without an answer may have taken effect. Clean up as if it had, in the background. The claim must not be
    /// made again afterwards.
    pub(super) fn give_back_if_granted(&self, claim: Claim) {
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
