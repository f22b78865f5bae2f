//! Callers that may go away while they wait, and what becomes of what they waited for.

use std::sync::Arc;

use super::handle::Handle;
use crate::error::LeaseError;
use crate::heart;
use crate::stop::Stop;

/// A caller that waits. When it goes away, what it wanted is given up.
pub(super) struct Wanted {
    pub(super) given_up: Stop,
}

impl Wanted {
    pub(super) fn new() -> Self {
        Self { given_up: Stop::new() }
    }

    pub(super) fn below(stop: &Stop) -> Self {
        Self { given_up: stop.child() }
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.given_up.stop();
    }
}

/// A holding on its way to the caller. If it does not arrive, nobody would ever act under it or give it back.
pub(super) struct Unclaimed {
    handle: Option<Arc<Handle>>,
}

impl Unclaimed {
    pub(super) fn of(handle: &Arc<Handle>, granted: bool) -> Self {
        Self { handle: granted.then(|| handle.clone()) }
    }

    pub(super) fn claim(mut self) {
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
pub(super) async fn in_task<T: Send + 'static>(
    work: impl Future<Output = Result<T, LeaseError>> + Send + 'static,
) -> Result<T, LeaseError> {
    tokio::spawn(work).await.unwrap_or(Err(LeaseError::Aborted))
}
