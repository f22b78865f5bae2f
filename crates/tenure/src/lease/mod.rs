//! The lease people use: acquire, keep, check, lose, give back.

mod handle;
mod keeper;
mod leases;
mod seat;
mod terms;
mod waiter;
mod wanted;

use std::sync::Arc;

use tenure_core::lease::{Fence, Fenced, Holder, LeaseName, LeaseSettings, Loss, Release};

use self::handle::Handle;
pub use self::leases::Leases;
pub use self::seat::{OnLost, TrustWatch};
use self::wanted::{Unclaimed, Wanted, in_task};
use crate::error::LeaseError;
use crate::stop::Stop;

/// The answer to [`Lease::acquire`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// This process holds the lease, under this fence.
    Granted(Fence),
    /// Someone else does.
    Held(Holder),
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

    /// Tells the store that nobody here goes on asking for the lease: for a process that ends after [`Lease::acquire`] has
    /// found it held. Some stores keep a place for whoever asks, for a while. Changes nothing while it is held here, and
    /// [`Lease::acquire_when_free`] does it by itself.
    pub async fn forgo(&self) {
        self.handle.forgo().await;
    }

    /// Whether this process may believe that it holds the lease. Local and cheap; false in any doubt.
    pub fn check_alive(&self) -> bool {
        self.handle.check_alive()
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

    /// Tells the watchdog that the work under this lease moves on. Where there is none this costs nothing.
    pub fn progress(&self) {
        if self.handle.settings.watchdog.is_some() {
            self.handle.seat().progress();
        }
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
