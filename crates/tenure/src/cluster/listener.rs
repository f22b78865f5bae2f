//! Hints that the cluster changed, from the store. They may all be lost: looking is the truth.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_core::contract::Wakeup;
use tenure_core::observe::RunnerKind;

use super::Inner;
use crate::runners::runners;
use crate::stop::Stop;

/// How long to wait before listening anew.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

pub(super) async fn listen(inner: Arc<Inner>, stop: Stop) {
    let beat = runners().register(RunnerKind::Listener, "cluster", AGAIN_AFTER);
    let _watch = beat.watch();
    while !stop.is_stopped() {
        match beat.during(inner.store.watch()).await {
            Ok(None) => return,
            Ok(Some(wakeup)) => {
                inner.wakes.store(true, Ordering::Relaxed);
                beat.state("listening");
                beat.trouble(None);
                beat.waiting(hear(&inner, &*wakeup, &stop)).await;
                inner.wakes.store(false, Ordering::Relaxed);
                beat.state("not listening");
            }
            Err(error) => {
                tracing::warn!(%error, "this node cannot be woken by the store; it polls");
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
async fn hear(inner: &Inner, wakeup: &dyn Wakeup, stop: &Stop) {
    wakeup.arm(true);
    loop {
        // What changed while nobody listened is found by a look now.
        inner.nudge.notify_one();
        tokio::select! {
            () = stop.stopped() => return,
            hint = wakeup.hint() => if let Err(error) = hint {
                tracing::warn!(%error, "this node is no longer woken by the store; it polls until it is again");
                return;
            },
        }
    }
}
