//! A long wait for a lock, made of short ones: a wait is noticed to be in vain, by whoever is silent, after one of them.

use std::time::{Duration, Instant};

/// The longest wait in one statement.
pub(crate) const WAIT_SLICE: Duration = Duration::from_secs(10);
/// What is left of a wait when it is not worth a statement any more.
const REMNANT: Duration = Duration::from_millis(5);
/// How long after a wait must have ended we still wait for word of it; then the link is dead.
pub(crate) const WAIT_GRACE: Duration = Duration::from_secs(2);

/// How long there is still to wait. A copy made at the start starts over with what is left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    until: Instant,
    /// Whether the first slice is yet to come: even without any patience the server is asked once.
    first: bool,
}

impl Wait {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { until: Instant::now() + patience, first: true }
    }

    /// How long the next statement waits; `None` when there is nothing left that is worth one.
    pub(crate) fn next_slice(&mut self) -> Option<Duration> {
        let left = self.left();
        (std::mem::take(&mut self.first) || left >= REMNANT).then(|| left.min(WAIT_SLICE))
    }

    /// Sits the remnant out, so that a wait never ends before its patience does.
    pub(crate) async fn rest(&self) {
        tokio::time::sleep(self.left()).await;
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_asked_once_at_least_and_never_for_a_remnant_and_never_for_long() {
        let mut none = Wait::new(Duration::ZERO);
        assert_eq!((none.next_slice(), none.next_slice()), (Some(Duration::ZERO), None));
        let mut long = Wait::new(Duration::from_secs(60));
        assert_eq!((long.next_slice(), long.next_slice()), (Some(WAIT_SLICE), Some(WAIT_SLICE)));
    }
}
