//! The right to work, as work sees it: a fence to carry, and a signal that it is over. Who obtained it makes no difference.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::lease::{Fence, Fenced, Loss};

use crate::lease::Lease;
use crate::stop::Stop;

/// How often it is looked whether everything has landed.
const LANDED_EVERY: Duration = Duration::from_millis(20);

/// The right to work, obtained by someone else: a daemon's assignment to this node, for example.
///
/// Whoever gives it sees to its end: gives `lost`, and says by [`Mandate::trusted_while`] until when it may be believed in.
/// The store has the last word in any case, for every write carries the fence.
#[derive(Clone)]
pub struct Mandate {
    fence: Fence,
    lost: Stop,
    trust: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// The lease behind it, where it is one of this process.
    lease: Option<Lease>,
}

impl Mandate {
    /// The right to write under `fence` until `lost` is given.
    pub fn new(fence: Fence, lost: Stop) -> Self {
        Self { fence, lost, trust: None, lease: None }
    }

    /// Believes in it only while `check` says so, asked before each delivery; the first no ends the work. It must be quick
    /// and judge by a clock: a process that was paused acts when it wakes, before anyone could have given it a signal.
    #[must_use]
    pub fn trusted_while(mut self, check: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.trust = Some(Arc::new(check));
        self
    }

    /// The present holding of a lease.
    pub(crate) fn of_lease(lease: Lease, fence: Fence) -> Self {
        Self { fence, lost: lease.lost(), trust: None, lease: Some(lease) }
    }

    /// What protected writes carry.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Whether it may be believed in. False in any doubt.
    pub fn is_alive(&self) -> bool {
        !self.lost.is_stopped()
            && self.trust.as_ref().is_none_or(|check| check())
            && self.lease.as_ref().is_none_or(Lease::check_alive)
    }

    /// The signal that it is over.
    pub(crate) fn lost(&self) -> &Stop {
        &self.lost
    }

    /// The lease behind it, if there is one.
    pub(crate) fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Tells that the work under it moves on.
    pub(crate) fn progress(&self) {
        if let Some(lease) = &self.lease {
            lease.progress();
        }
    }

    /// Tells that a store refused its fence. One that somebody else gave is told by how the work ended.
    pub(crate) fn refused(&self) {
        if let Some(lease) = &self.lease {
            lease.fenced(&Fenced { fence: self.fence.clone(), loss: Loss::Fenced });
        }
    }
}

impl fmt::Debug for Mandate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mandate").field("fence", &self.fence).field("alive", &self.is_alive()).finish()
    }
}

/// How work under a [`Mandate`] ended. Whatever it was, nothing new is begun any more.
#[derive(Debug)]
#[must_use = "something may still be under way"]
pub enum Left {
    /// It was asked to end. Everything has ended and is recorded.
    Stopped,
    /// It was asked to end, and something goes on. Until that has [ended](InAir::landed) somebody else's work would overlap
    /// with it.
    Unsettled(InAir),
    /// The mandate was over.
    Lost(InAir),
    /// The store refused the fence: the mandate was over, and nobody had told.
    Refused(InAir),
}

/// Calls to a sink or a handler that were begun and have not ended.
#[derive(Clone)]
pub struct InAir {
    counts: Vec<Arc<AtomicUsize>>,
}

impl InAir {
    pub(crate) fn of(counts: impl Into<Vec<Arc<AtomicUsize>>>) -> Self {
        Self { counts: counts.into() }
    }

    pub(crate) fn nothing() -> Self {
        Self::of([])
    }

    /// How many there are at this moment.
    pub fn count(&self) -> usize {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Waits until there are none.
    pub async fn landed(&self) {
        while self.count() > 0 {
            tokio::time::sleep(LANDED_EVERY).await;
        }
    }

    /// How work ended that was asked to.
    pub(crate) fn left(self) -> Left {
        if self.count() > 0 { Left::Unsettled(self) } else { Left::Stopped }
    }
}

impl fmt::Debug for InAir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InAir({})", self.count())
    }
}
