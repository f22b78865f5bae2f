//! When one who waits should rejoin its group without waiting for a heartbeat to tell it so.

use std::time::Duration;

use tenure_core::time::Monotonic;

use super::tail::Seen;

/// Between the first tries after the lease was given back; doubled each time, up to a heartbeat.
const FIRST: Duration = Duration::from_millis(200);
/// Between tries when the holder has gone silent.
const SILENT: Duration = Duration::from_millis(500);

/// Remembers what was tried.
#[derive(Debug, Default)]
pub(crate) struct Poker {
    /// The last word that was acted upon, by its offset.
    acted: Option<i64>,
    next: Option<Monotonic>,
    pause: Duration,
}

impl Poker {
    /// Whether to rejoin now, after this last word on the lease.
    pub(crate) fn is_due(&mut self, seen: &Seen, heartbeat: Duration, now: Monotonic) -> bool {
        if self.acted != Some(seen.offset) {
            *self = Self { acted: Some(seen.offset), next: None, pause: FIRST };
        }
        let held = seen.sign.what.is_held();
        // Of a dead holder nothing is told. Those who have rejoined when the coordinator puts it out are given its place at
        // that moment; while it lives, rejoining changes nothing for it.
        let silent = seen.sign.session().saturating_sub(heartbeat).max(seen.sign.ttl());
        let from = if held { seen.read.after(silent) } else { seen.read };
        if now < self.next.map_or(from, |next| next.max(from)) {
            return false;
        }
        self.next = Some(now.after(if held { SILENT.min(heartbeat) } else { self.pause.min(heartbeat) }));
        self.pause = self.pause.saturating_mul(2);
        true
    }
}
