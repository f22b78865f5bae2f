//! The stop signal: one value that is handed down, and that work selects on.

use tokio_util::sync::CancellationToken;

/// A signal to stop. Clones share it; a [child](Stop::child) also stops when its parent does.
#[derive(Debug, Clone, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    /// A signal that has not been given.
    pub fn new() -> Self {
        Self::default()
    }

    /// A signal that is given when this one is, and can be given on its own.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Gives the signal. It cannot be taken back.
    pub fn stop(&self) {
        self.0.cancel();
    }

    /// Whether the signal was given.
    pub fn is_stopped(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits for the signal. Dropping the future is harmless.
    pub async fn stopped(&self) {
        self.0.cancelled().await;
    }
}
