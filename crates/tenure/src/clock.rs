//! The steady clock of this machine.
//!
//! On Linux it is `CLOCK_BOOTTIME`: it never steps, and it goes on counting while the machine sleeps. A holder whose
//! laptop or virtual machine was suspended must see, on waking, that its trust has ended. All processes of one boot read
//! the same numbers, so a reading can be handed to another process.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use tenure_core::memory::StoreClock;
use tenure_core::time::{Clock, Monotonic, StoreTime};

#[cfg(target_os = "linux")]
const STEADY: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const STEADY: ClockId = ClockId::CLOCK_MONOTONIC;

/// The steady clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SteadyClock;

impl SteadyClock {
    /// The clock as the contracts want it.
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(Self)
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Monotonic {
        match clock_gettime(STEADY) {
            Ok(time) => Monotonic::from_origin(Duration::from(time)),
            // Only a kernel without this clock can fail here, and then the process-local clock is as good.
            Err(_) => Monotonic::from_origin(origin().elapsed()),
        }
    }
}

fn origin() -> &'static std::time::Instant {
    static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
    ORIGIN.get_or_init(std::time::Instant::now)
}

/// The clock of an in-memory store: wall time as it was at the start, moved on by the steady clock, so that a step of
/// the wall clock neither ends nor lengthens a lease.
#[derive(Debug)]
pub struct SteadyStoreClock {
    wall: StoreTime,
    steady: Monotonic,
}

impl SteadyStoreClock {
    /// Starts from the wall clock's present time.
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall: StoreTime::from_micros(0).after(wall), steady: SteadyClock.now() }
    }
}

impl StoreClock for SteadyStoreClock {
    fn now(&self) -> StoreTime {
        self.wall.after(self.steady.until(SteadyClock.now()))
    }
}
