//! What relays of one process share that drain parts of one outbox: how they are woken, and how much they deliver at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tenure_core::contract::{OutboxStore, Sink};
use tenure_core::id::NodeName;
use tenure_core::outbox::RelaySettings;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Relay, RelayError};
use crate::hub::{Bell, Hub};
use crate::stop::Stop;

/// One outbox and the relays of this process that drain it, each a part. Clones are the same depot.
///
/// However many parts run here: the store is listened to once, and only while one of them works; and no more than so many
/// deliveries are under way at once, a late one that nobody waits for included.
///
/// ```no_run
/// # async fn example(
/// #     store: std::sync::Arc<dyn tenure::core::contract::OutboxStore>,
/// #     sink: std::sync::Arc<dyn tenure::core::contract::Sink>,
/// #     mandate: tenure::Mandate, stop: tenure::Stop,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// use tenure::{Depot, Left, Part, RelaySettings, local_node};
///
/// let depot = Depot::new(store, 64)?;
/// let settings = RelaySettings { part: Some(Part::new(3, 8)?), ..RelaySettings::default() };
/// let relay = depot.relay(sink, local_node(None)?.name, settings)?;
/// match relay.run_under(&mandate, &stop).await? {
///     Left::Stopped => println!("the next one may begin"),
///     Left::Unsettled(in_air) => in_air.landed().await,
///     Left::Lost(_) | Left::Refused(_) => println!("somebody else has it"),
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Depot {
    yard: Arc<Yard>,
}

#[derive(Debug)]
struct Yard {
    store: Arc<dyn OutboxStore>,
    concurrency: usize,
    clearances: Arc<Semaphore>,
    /// Deliveries whose deadline has passed, and which go on by themselves.
    overdue: AtomicUsize,
    /// Lives as long as a relay listens.
    hub: Mutex<Weak<Hub>>,
}

impl Depot {
    /// A depot whose relays have at most `concurrency` deliveries under way, all together.
    pub fn new(store: Arc<dyn OutboxStore>, concurrency: usize) -> Result<Self, RelayError> {
        RelaySettings { concurrency, ..RelaySettings::default() }.validate()?;
        let yard = Yard {
            store,
            concurrency,
            clearances: Arc::new(Semaphore::new(concurrency)),
            overdue: AtomicUsize::new(0),
            hub: Mutex::default(),
        };
        Ok(Self { yard: Arc::new(yard) })
    }

    /// A relay of this depot, usually of one [part](RelaySettings::part).
    pub fn relay(
        &self,
        sink: Arc<dyn Sink>,
        node: NodeName,
        settings: RelaySettings,
    ) -> Result<Relay, RelayError> {
        Relay::of(self.yard.store.clone(), sink, node, settings, Some(self.clone()))
    }

    /// How many deliveries may be begun at this moment.
    pub fn free(&self) -> usize {
        self.yard.clearances.available_permits()
    }

    /// What wakes its relays.
    pub(super) fn hub(&self) -> Arc<Hub> {
        let mut known = self.yard.hub.lock().unwrap_or_else(PoisonError::into_inner);
        known.upgrade().unwrap_or_else(|| {
            let hub = Arc::new(Hub::new(Bell::Outbox(self.yard.store.clone())));
            *known = Arc::downgrade(&hub);
            hub
        })
    }

    /// Waits for its turn to deliver; `None` when there is no reason to any more.
    pub(super) async fn clearance(&self, closing: &Stop) -> Option<Clearance> {
        tokio::select! {
            biased;
            () = closing.stopped() => None,
            permit = self.yard.clearances.clone().acquire_owned() => {
                permit.ok().map(|permit| Clearance { shared: Some((self.clone(), permit)), spent: false })
            }
        }
    }
}

/// Leave to deliver: one message, or one batch, at a time.
#[derive(Debug, Default)]
pub(super) struct Clearance {
    /// None where a relay has to ask nobody.
    shared: Option<(Depot, OwnedSemaphorePermit)>,
    /// A late delivery has it.
    spent: bool,
}

impl Clearance {
    /// Whether nothing more may be delivered under it.
    pub(super) fn is_spent(&self) -> bool {
        self.spent
    }

    /// Hands it over to a delivery that goes on past its deadline.
    pub(super) fn hand_over(&mut self) -> Late {
        let shared = self.shared.take();
        self.spent = shared.is_some();
        if let Some((depot, _)) = &shared
            && depot.yard.overdue.fetch_add(1, Ordering::Relaxed) + 1 == depot.yard.concurrency
        {
            tracing::error!(
                "as many deliveries as may be under way at once in this process go on past their deadline; nothing more \
                 is delivered before one of them ends: the sink hangs"
            );
        }
        Late(shared)
    }
}

/// What a late delivery holds until it ends.
#[derive(Debug)]
pub(super) struct Late(Option<(Depot, OwnedSemaphorePermit)>);

impl Drop for Late {
    fn drop(&mut self) {
        if let Some((depot, _)) = &self.0 {
            depot.yard.overdue.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
