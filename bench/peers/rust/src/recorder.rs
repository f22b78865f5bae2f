//! What the handlers do: nothing, except to be counted.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);
static HANDLED: AtomicU64 = AtomicU64::new(0);
static STARTS: LazyLock<Vec<AtomicU64>> =
    LazyLock::new(|| (0..STARTS_MAX).map(|_| AtomicU64::new(0)).collect());

/// More messages than any run of the latency sends.
const STARTS_MAX: usize = 200_000;

/// Nanoseconds since the process looked at the clock first; never 0.
pub(crate) fn now() -> u64 {
    u64::try_from(EPOCH.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// A handler of a backlog was started.
pub(crate) fn handled() {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// The handler of a certain order was started: the first start counts.
pub(crate) fn started(order: u64) {
    if let Some(start) = usize::try_from(order).ok().and_then(|at| STARTS.get(at)) {
        let _ = start.compare_exchange(0, now(), Ordering::Relaxed, Ordering::Relaxed);
    }
    handled();
}

pub(crate) fn count() -> u64 {
    HANDLED.load(Ordering::Relaxed)
}

/// When the handler of an order started; none if it did not.
pub(crate) fn start_of(order: u64) -> Option<u64> {
    let start = STARTS.get(usize::try_from(order).ok()?)?.load(Ordering::Relaxed);
    (start > 0).then_some(start)
}
