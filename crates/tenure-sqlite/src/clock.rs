//! The store's clock: every process that shares a SQLite file shares a machine, and with it two clocks.
//!
//! The wall clock is what people read, but it can be set, and then a lease would end hours early or hours late. So every
//! grant and renewal also notes the machine's steady clock, which goes on while the machine sleeps and is the same for
//! all processes until the next start of the machine:
//!
//! ```text
//!   row:  renewed_at (wall)  clock_boot  clock_us          on the same start of the machine, the time of this row is
//!             │                             │                  renewed_at + (steady now − clock_us)
//!             └── taken together ───────────┘              otherwise it is the wall clock
//! ```
//!
//! So a step of the wall clock neither ends nor prolongs a lease. What is *written* is always wall time, for people.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use tenure_core::time::StoreTime;

/// What a store judges time by. Tests bring their own, with a wall clock that steps.
pub trait Clocks: Send + Sync + fmt::Debug {
    /// Both clocks, now.
    fn read(&self) -> Reading;
}

/// Both clocks at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The wall clock.
    pub wall: StoreTime,
    /// The steady clock, where the system has one that all its processes share.
    pub steady: Option<Steady>,
}

/// A reading of the steady clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steady {
    /// Names what it counts from: readings can be compared only when this is equal.
    pub boot: Arc<str>,
    /// Microseconds since then.
    pub micros: i64,
}

impl Reading {
    /// The time now for something that was stamped with both clocks at `stamped`.
    pub(crate) fn since(&self, stamped: StoreTime, then: Option<&Steady>) -> StoreTime {
        match (&self.steady, then) {
            // A steady clock that went back is none; then the wall clock is all there is.
            (Some(now), Some(then)) if now.boot == then.boot && now.micros >= then.micros => {
                StoreTime::from_micros(stamped.as_micros().saturating_add(now.micros - then.micros))
            }
            _ => self.wall,
        }
    }
}

/// The clocks of this machine.
#[derive(Debug, Clone)]
pub struct SystemClocks {
    boot: Option<Arc<str>>,
}

impl SystemClocks {
    /// Finds out once which start of the machine this is.
    pub fn new() -> Self {
        Self { boot: boot_id() }
    }
}

impl Default for SystemClocks {
    fn default() -> Self {
        Self::new()
    }
}

impl Clocks for SystemClocks {
    fn read(&self) -> Reading {
        let steady = self.boot.as_ref().zip(steady_micros());
        Reading {
            wall: wall_clock(),
            steady: steady.map(|(boot, micros)| Steady { boot: boot.clone(), micros }),
        }
    }
}

fn wall_clock() -> StoreTime {
    let micros = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    };
    StoreTime::from_micros(micros)
}

/// The kernel's id of this start, and the time namespace: a container may count its steady clock from elsewhere.
#[cfg(target_os = "linux")]
fn boot_id() -> Option<Arc<str>> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    Some(format!("{} {}", boot.trim(), namespace.display()).trim().into())
}

#[cfg(target_os = "linux")]
fn steady_micros() -> Option<i64> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME).ok()?;
    now.tv_sec().checked_mul(1_000_000)?.checked_add(now.tv_nsec() / 1_000)
}

#[cfg(not(target_os = "linux"))]
fn boot_id() -> Option<Arc<str>> {
    None
}

#[cfg(not(target_os = "linux"))]
fn steady_micros() -> Option<i64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(wall: i64, boot: &str, micros: i64) -> Reading {
        Reading { wall: StoreTime::from_micros(wall), steady: Some(Steady { boot: boot.into(), micros }) }
    }

    #[test]
    fn c12_on_one_start_of_the_machine_the_steady_clock_decides() {
        let then = reading(1_000, "a", 50);
        let stepped = reading(9_000_000, "a", 60);
        assert_eq!(stepped.since(then.wall, then.steady.as_ref()), StoreTime::from_micros(1_010));
    }

    #[test]
    fn otherwise_the_wall_clock_decides() {
        let then = reading(1_000, "a", 50);
        for now in [reading(2_000, "b", 60), reading(2_000, "a", 49)] {
            assert_eq!(now.since(then.wall, then.steady.as_ref()), now.wall);
        }
        assert_eq!(reading(2_000, "a", 60).since(then.wall, None), StoreTime::from_micros(2_000));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_a_steady_clock() {
        let clocks = SystemClocks::new();
        let (first, second) = (clocks.read().steady.unwrap(), clocks.read().steady.unwrap());
        assert_eq!(first.boot, second.boot);
        assert!(first.micros <= second.micros);
    }
}
