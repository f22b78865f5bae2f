//! Deleting what is old enough: bounded steps, by the one relay that is in office.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::lease::Fence;
use tenure_core::outbox::Retention;

use super::Shared;
use crate::stop::Stop;

/// The pause between two steps of a sweep.
const BETWEEN_STEPS: Duration = Duration::from_millis(10);

/// Sweeps again and again until `stop` is given.
pub(super) async fn sweep(shared: Arc<Shared>, office: Option<Fence>, retention: Retention, stop: Stop) {
    loop {
        let mut resume = None;
        loop {
            if stop.is_stopped() {
                return;
            }
            match shared.store.sweep(office.as_ref(), &retention, resume).await {
                Ok(swept) if swept.fenced => return,
                Ok(swept) => {
                    shared.gauge.swept(&swept);
                    resume = swept.resume;
                }
                Err(error) => {
                    tracing::warn!(%error, "retention will try again");
                    resume = None;
                }
            }
            if resume.is_none() {
                break;
            }
            // Others want to write too.
            tokio::time::sleep(BETWEEN_STEPS).await;
        }
        tokio::select! {
            () = stop.stopped() => return,
            () = tokio::time::sleep(retention.every) => {}
        }
    }
}
