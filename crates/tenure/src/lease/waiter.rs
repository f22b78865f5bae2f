//! Waiting for a lease: drives a [`Contender`] over a store.

use std::time::Duration;

use tenure_core::contract::Watch;
use tenure_core::lease::{Claim, Contender, Fence, Flag, LeaseName, Move, Term};
use tenure_core::time::Monotonic;

use super::Acquired;
use super::handle::Handle;
use crate::error::LeaseError;
use crate::stop::Stop;

/// After a try without an answer: the first pause, doubled up to the last.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_LAST: Duration = Duration::from_secs(2);

/// How much longer than asked a store may watch before it is left alone.
const WATCH_GRACE: Duration = Duration::from_millis(250);

/// Waits until the lease is had, `stop` is given, or an error says that waiting is no use.
pub(super) async fn wait(
    handle: &Handle,
    mut claim: Claim,
    mut contender: Contender,
    stop: &Stop,
) -> Result<Option<Fence>, LeaseError> {
    let mut pause = PAUSE_FIRST;
    let mut in_doubt = false;
    let mut hints = Hints::default();
    let mut waits_for = None;
    loop {
        if stop.is_stopped() {
            match in_doubt {
                true => handle.give_back_if_granted(claim),
                false => handle.forgo().await,
            }
            return Ok(None);
        }
        match contender.next(handle.now()) {
            Move::Try(evidence) => {
                claim.evidence = evidence;
                // Not inside a select: a claim is never cut in half. The store's own timeouts bound it.
                match handle.try_claim(&claim).await {
                    Ok(Acquired::Granted(fence)) => return Ok(Some(fence)),
                    Ok(Acquired::Held(holder)) => {
                        (pause, in_doubt) = (PAUSE_FIRST, false);
                        if waits_for.replace(holder.node.incarnation) != Some(holder.node.incarnation) {
                            // Whose name that is tells an operator whether two services share one place by mistake.
                            tracing::info!(lease = %claim.name, holder = %holder.node.name, "waiting: it is held");
                        }
                        contender.held(&holder, fastrand::f64(), handle.now());
                        hints.held(holder.term);
                    }
                    Err(LeaseError::Store(error)) if error.is_transient() => {
                        tracing::warn!(lease = %claim.name, %error, "a claim came to nothing; trying again");
                        in_doubt = true;
                        contender.no_answer(pause.mul_f64(0.5 + fastrand::f64()), handle.now());
                        pause = (pause * 2).min(PAUSE_LAST);
                    }
                    Err(error) => {
                        handle.give_back_if_granted(claim);
                        return Err(error);
                    }
                }
            }
            Move::Watch(flag, until) => {
                tokio::select! {
                    biased;
                    () = stop.stopped() => {}
                    watched = watch(handle, &flag, until) => match watched {
                        Watched::Fell => contender.flag_fell(&flag, handle.now()),
                        Watched::TimeToLook => {}
                        Watched::Failed => contender.cannot_watch(handle.now()),
                    },
                }
            }
            Move::Sleep(until) => {
                tokio::select! {
                    biased;
                    () = stop.stopped() => {}
                    () = vacant(handle, &claim.name, hints.awaited(), until) => {
                        hints.given();
                        contender.hint();
                    }
                    () = sleep_until(handle, until) => {}
                }
            }
        }
    }
}

/// Which grant's end a store may tell of by a hint.
#[derive(Debug, Default)]
struct Hints {
    holder: Option<Term>,
    /// The term that was said to be over: a store that says so of one who still holds is not listened to again.
    given: Option<Term>,
}

impl Hints {
    fn held(&mut self, term: Term) {
        self.holder = Some(term);
    }

    fn given(&mut self) {
        self.given = self.holder;
    }

    fn awaited(&self) -> Option<Term> {
        self.holder.filter(|holder| Some(*holder) != self.given)
    }
}

/// Returns when the store says that the grant is over, and else never.
async fn vacant(handle: &Handle, name: &LeaseName, term: Option<Term>, until: Monotonic) {
    if let (Some(term), Some(vacancy)) = (term, handle.leases.store.vacancy()) {
        match vacancy.watch(name, term, handle.now().until(until)).await {
            Ok(Watch::Fallen) => return,
            Ok(Watch::StillUp) => {}
            Err(error) => tracing::debug!(%error, "the lease cannot be watched; looking every poll instead"),
        }
    }
    std::future::pending().await
}

enum Watched {
    Fell,
    TimeToLook,
    Failed,
}

/// Watches a flag on a connection that serves nothing else: dropping this drops the connection with it.
async fn watch(handle: &Handle, flag: &Flag, until: Monotonic) -> Watched {
    let Some(presence) = handle.leases.store.presence() else { return Watched::Failed };
    let patience = handle.now().until(until);
    tokio::select! {
        watched = presence.watch(flag, patience) => match watched {
            Ok(Watch::Fallen) => Watched::Fell,
            Ok(Watch::StillUp) => Watched::TimeToLook,
            Err(error) => {
                tracing::debug!(%error, "the holder's presence cannot be watched; looking at the row instead");
                Watched::Failed
            }
        },
        // The store keeps to our patience by itself, and keeps its connection; this is for one that does not.
        () = sleep_until(handle, until.after(WATCH_GRACE)) => Watched::TimeToLook,
    }
}

/// Sleeps by the steady clock, which goes on while the machine sleeps; the timer's clock may not.
async fn sleep_until(handle: &Handle, until: Monotonic) {
    loop {
        let left = handle.now().until(until);
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(Duration::from_secs(1))).await;
    }
}
