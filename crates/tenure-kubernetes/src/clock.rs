//! The steady clock by which this process judges how long an object has not changed.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tenure_core::time::{Clock, Monotonic, StoreTime};

/// Counts from the moment the store was opened.
///
/// On Linux it stands still while the machine sleeps. A contender that slept then waits longer than it must, which is
/// safe; a holder that slept is stopped by its own trust window, which has a clock that goes on.
#[derive(Debug)]
pub(crate) struct SteadyClock(Instant);

impl SteadyClock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Monotonic {
        Monotonic::from_origin(self.0.elapsed())
    }
}

/// What the wall clock says, for people who read the object. No decision looks at it.
pub(crate) fn wall() -> StoreTime {
    StoreTime::from_micros(0).after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
