//! The steady clock by which a membership is believed in.
//!
//! It goes on counting while the machine sleeps: a holder that was suspended must see, on waking, that its proofs are old.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use tenure_core::time::Monotonic;

#[cfg(target_os = "linux")]
const STEADY: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const STEADY: ClockId = ClockId::CLOCK_MONOTONIC;

/// The present reading.
pub(crate) fn now() -> Monotonic {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    match clock_gettime(STEADY) {
        Ok(time) => Monotonic::from_origin(Duration::from(time)),
        // Only a kernel without this clock can fail here, and then the process's own clock is as good.
        Err(_) => Monotonic::from_origin(ORIGIN.get_or_init(Instant::now).elapsed()),
    }
}
