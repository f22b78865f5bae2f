//! The seat: what a keeper and the users of a lease share about one holding.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::lease::{Fence, Loss, Release};
use tenure_core::time::Monotonic;
use tokio::sync::{mpsc, oneshot, watch};

use crate::error::LeaseError;
use crate::stop::Stop;

/// What the users of a lease tell its keeper.
pub(super) enum Order {
    /// Stop, release, answer.
    Leave(oneshot::Sender<Result<Release, LeaseError>>),
    /// The work moved on.
    Progress,
    /// The store refused the fence of this holding.
    Fenced(Loss),
}

/// One holding, seen from the outside.
#[derive(Clone)]
pub(super) struct Seat {
    fence: Option<Fence>,
    /// Until when the holding may be believed in; the origin once it is over.
    trusted_until: watch::Receiver<Monotonic>,
    /// Given when it is over.
    pub(super) lost: Stop,
    loss: Arc<Mutex<Option<Loss>>>,
    orders: mpsc::UnboundedSender<Order>,
}

/// The keeper's end of a seat.
pub(super) struct SeatKeeper {
    pub(super) trusted_until: watch::Sender<Monotonic>,
    pub(super) lost: Stop,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    loss: Arc<Mutex<Option<Loss>>>,
    handlers: Arc<Handlers>,
}

const OVER: Monotonic = Monotonic::from_origin(Duration::ZERO);

impl Seat {
    /// A seat on which nobody ever sat.
    pub(super) fn empty() -> Self {
        let (keeper, seat) = Self::new(None, OVER, Arc::default());
        keeper.lost.stop();
        seat
    }

    pub(super) fn new(
        fence: Option<Fence>,
        trusted_until: Monotonic,
        handlers: Arc<Handlers>,
    ) -> (SeatKeeper, Self) {
        let (trust_sender, trust_receiver) = watch::channel(trusted_until);
        let (order_sender, order_receiver) = mpsc::unbounded_channel();
        let (lost, loss) = (Stop::new(), Arc::default());
        let keeper = SeatKeeper {
            trusted_until: trust_sender,
            lost: lost.clone(),
            orders: order_receiver,
            loss: Arc::clone(&loss),
            handlers,
        };
        (keeper, Self { fence, trusted_until: trust_receiver, lost, loss, orders: order_sender })
    }

    /// The clock decides, not the signal: a task that could not run in time must not make us believe longer.
    pub(super) fn is_alive(&self, now: Monotonic) -> bool {
        !self.lost.is_stopped() && now < *self.trusted_until.borrow()
    }

    pub(super) fn fence(&self) -> Option<Fence> {
        self.fence.clone()
    }

    pub(super) fn loss(&self) -> Option<Loss> {
        self.loss.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn progress(&self) {
        // A keeper that is gone needs no progress.
        let _ = self.orders.send(Order::Progress);
    }

    /// The clock of trust stops at once; the keeper does the rest.
    pub(super) fn fenced(&self, loss: Loss) {
        self.loss.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| loss.clone());
        self.lost.stop();
        let _ = self.orders.send(Order::Fenced(loss));
    }

    pub(super) fn trust(&self) -> TrustWatch {
        TrustWatch { trusted_until: self.trusted_until.clone(), lost: self.lost.clone() }
    }

    /// Stops acting, then releases.
    pub(super) async fn leave(&self) -> Result<Release, LeaseError> {
        let (sender, answer) = oneshot::channel();
        if self.orders.send(Order::Leave(sender)).is_err() {
            return Ok(Release::NotHeld);
        }
        // A keeper that ended on its own in the meantime has nothing left to release.
        answer.await.unwrap_or(Ok(Release::NotHeld))
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("fence", &self.fence).field("over", &self.lost.is_stopped()).finish()
    }
}

impl SeatKeeper {
    /// Makes a loss known, and tells the handlers.
    pub(super) fn lose(&self, loss: Loss) {
        self.end(loss.clone());
        self.handlers.call(&loss);
    }

    /// Ends the holding without a word to the handlers: its user left by himself.
    pub(super) fn leave(&self) {
        self.end(Loss::Released);
    }

    fn end(&self, loss: Loss) {
        // The reason first: whoever sees the end may ask for it at once.
        *self.loss.lock().unwrap_or_else(PoisonError::into_inner) = Some(loss);
        self.trusted_until.send_replace(OVER);
        self.lost.stop();
    }
}

/// Follows the end of a holding's trust window.
#[derive(Debug, Clone)]
pub struct TrustWatch {
    trusted_until: watch::Receiver<Monotonic>,
    lost: Stop,
}

impl TrustWatch {
    /// Until when the holding may be believed in, by this machine's steady clock; `None` once it is over.
    pub fn trusted_until(&self) -> Option<Monotonic> {
        let until = *self.trusted_until.borrow();
        (until > OVER && !self.lost.is_stopped()).then_some(until)
    }

    /// Waits for the next change and returns it; `None` once the holding is over.
    pub async fn changed(&mut self) -> Option<Monotonic> {
        tokio::select! {
            biased;
            () = self.lost.stopped() => None,
            changed = self.trusted_until.changed() => match changed {
                Ok(()) => self.trusted_until(),
                Err(_) => None,
            },
        }
    }
}

type Handler = Box<dyn Fn(&Loss) + Send + Sync>;

/// The handlers of one lease handle.
#[derive(Default)]
pub(super) struct Handlers {
    next: AtomicU64,
    all: Mutex<Vec<(u64, Arc<Handler>)>>,
}

impl Handlers {
    pub(super) fn add(self: &Arc<Self>, handler: Handler) -> OnLost {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().push((id, Arc::new(handler)));
        OnLost { id, handlers: Arc::clone(self) }
    }

    fn call(&self, loss: &Loss) {
        // Called on copies, so that a handler may add and remove handlers.
        let all: Vec<_> = self.lock().iter().map(|(_, handler)| Arc::clone(handler)).collect();
        for handler in all {
            let call = std::panic::AssertUnwindSafe(|| handler(loss));
            if std::panic::catch_unwind(call).is_err() {
                tracing::error!("a handler for a lost lease panicked");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Arc<Handler>)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").field("count", &self.lock().len()).finish()
    }
}

/// A registered handler. It stays registered as long as the lease handle lives, unless it is [removed](OnLost::remove).
#[derive(Debug)]
pub struct OnLost {
    id: u64,
    handlers: Arc<Handlers>,
}

impl OnLost {
    /// Removes the handler.
    pub fn remove(self) {
        self.handlers.lock().retain(|(id, _)| *id != self.id);
    }
}
