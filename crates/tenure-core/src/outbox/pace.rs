//! When to look again while there is nothing known to do.
//!
//! Polling is the truth, a wake-up is a hint. After work, and after a hint, looks follow each other closely and then ever
//! more seldom, up to the poll interval: what was committed a moment after a look is found a moment later, and an idle
//! relay costs next to nothing.
//!
//! A wake-up is armed only while there is little to do: on some databases each wake-up that is sent takes a lock that all
//! commits share.

use std::time::Duration;

use crate::time::Monotonic;

/// The first pause after work or a hint.
const GAP_MIN: Duration = Duration::from_micros(500);
/// Up to here pauses double; beyond, they grow fourfold.
const GAP_CLOSE: Duration = Duration::from_millis(4);
/// So many looks in a row must find something before the relay counts as busy.
const BUSY_AFTER: u32 = 3;
/// A relay that was busy asks for wake-ups only after it found nothing for so long: arming and disarming all the time
/// would cost more than a few looks.
const REST_AFTER: Duration = Duration::from_millis(3);
/// Until then it looks at least so often.
const GAP_BUSY: Duration = Duration::from_millis(1);
/// Looks that find nothing may take up a fifth of the time: a rotation over very many parked sources is slow.
const DUTY: u32 = 4;
/// So many hints that lead to nothing are followed at once: a hint may come before what it tells of can be seen.
const FRUITLESS_FREE: u32 = 5;
/// Beyond, they are spaced ever farther, up to 32 ms.
const FRUITLESS_MAX: u32 = 6;

/// When to look next.
#[derive(Debug)]
pub struct Pace {
    poll: Duration,
    gap: Duration,
    next: Monotonic,
    last: Monotonic,
    /// When a look last found something.
    found_at: Monotonic,
    found_in_a_row: u32,
    armed: bool,
    hinted: bool,
    fruitless: u32,
    /// How long looks before their time have taken, to be made up for.
    owed: Duration,
}

impl Pace {
    /// A pace that looks at once, and sleeps for `poll` at most.
    pub fn new(poll: Duration, now: Monotonic) -> Self {
        Self {
            poll,
            gap: GAP_MIN,
            next: now,
            last: now,
            found_at: now,
            found_in_a_row: 0,
            armed: true,
            hinted: false,
            fruitless: 0,
            owed: Duration::ZERO,
        }
    }

    /// How long to sleep at most, from now on: another span with wake-ups than without.
    pub fn set_poll(&mut self, poll: Duration) {
        self.poll = poll;
        self.gap = self.gap.min(poll);
    }

    /// Whether it is time to look.
    pub fn is_due(&self, now: Monotonic) -> bool {
        self.next <= now
    }

    /// When the next look is due.
    pub fn next(&self) -> Monotonic {
        self.next
    }

    /// Whether to ask for wake-ups.
    pub fn armed(&self) -> bool {
        self.armed
    }

    /// Something may have been committed.
    pub fn hint(&mut self, now: Monotonic) {
        self.hinted = true;
        self.gap = GAP_MIN;
        // Hints that lead to nothing, such as a busy table of the user's own in the same file, are not followed at once.
        let spaced = match self.fruitless.saturating_sub(FRUITLESS_FREE) {
            0 => now,
            n => now.max(self.last.after(GAP_MIN * (1 << n.min(FRUITLESS_MAX)))),
        };
        self.next = self.next.min(spaced);
    }

    /// A look has found `found` new rows, and took a while.
    pub fn looked(&mut self, found: usize, took: Duration, now: Monotonic) {
        // A look before its time saw only a part. It must not put off the look at everything: with something to look at
        // part of the time, that one would never come.
        if found == 0 && !self.hinted && now.before(took) < self.next {
            self.owed = self.owed.saturating_add(took);
            self.found_in_a_row = 0;
            return;
        }
        self.last = now;
        let hinted = std::mem::take(&mut self.hinted);
        let took = took.saturating_add(std::mem::take(&mut self.owed));
        if found > 0 {
            (self.found_at, self.found_in_a_row) = (now, self.found_in_a_row + 1);
            self.fruitless = 0;
            self.armed = self.armed && self.found_in_a_row < BUSY_AFTER;
            self.gap = GAP_MIN;
            self.next = now.after(GAP_MIN);
            return;
        }
        self.fruitless = if hinted { self.fruitless.saturating_add(1) } else { self.fruitless };
        self.found_in_a_row = 0;
        self.armed = self.armed || self.found_at.until(now) >= REST_AFTER;
        let gap = if self.armed { self.gap } else { self.gap.min(GAP_BUSY) };
        self.next = now.after(gap.max(took.saturating_mul(DUTY)));
        let factor = if self.gap < GAP_CLOSE { 2 } else { 4 };
        self.gap = self.gap.saturating_mul(factor).min(self.poll);
    }

    /// A look has failed: the store is away.
    pub fn failed(&mut self, now: Monotonic) {
        self.last = now;
        self.found_in_a_row = 0;
        self.gap = self.gap.max(Duration::from_millis(50)).saturating_mul(2).min(self.poll);
        self.next = now.after(self.gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLL: Duration = Duration::from_secs(5);

    fn at(micros: u64) -> Monotonic {
        Monotonic::from_origin(Duration::from_micros(micros))
    }

    /// Looks that find nothing, until `end`; answers how many there were.
    fn idle(pace: &mut Pace, mut now: Monotonic, end: Monotonic) -> usize {
        let mut looks = 0;
        while pace.next() < end {
            now = now.max(pace.next());
            pace.looked(0, Duration::ZERO, now);
            looks += 1;
        }
        looks
    }

    #[test]
    fn an_idle_relay_looks_ever_more_seldom() {
        let mut pace = Pace::new(POLL, at(0));
        assert!(idle(&mut pace, at(0), at(1_000_000)) < 12);
        idle(&mut pace, at(1_000_000), at(20_000_000));
        assert!(idle(&mut pace, at(20_000_000), at(80_000_000)) <= 13);
    }

    #[test]
    fn a_hint_is_followed_at_once_and_then_closely() {
        let mut pace = Pace::new(POLL, at(0));
        idle(&mut pace, at(0), at(60_000_000));
        pace.hint(at(61_000_000));
        assert!(pace.is_due(at(61_000_000)));
        assert!(idle(&mut pace, at(61_000_000), at(61_004_000)) >= 4);
    }

    #[test]
    fn s47_a_storm_of_hints_that_lead_to_nothing_is_spaced() {
        let mut pace = Pace::new(POLL, at(0));
        let mut looks = 0;
        for micros in (0..1_000_000).step_by(100) {
            pace.hint(at(micros));
            if pace.is_due(at(micros)) {
                pace.looked(0, Duration::ZERO, at(micros));
                looks += 1;
            }
        }
        assert!(looks < 2_100, "{looks}");
    }

    #[test]
    fn wakeups_are_asked_for_only_while_there_is_little_to_do() {
        let mut pace = Pace::new(POLL, at(0));
        assert!(pace.armed());
        pace.looked(1, Duration::ZERO, at(1));
        pace.looked(1, Duration::ZERO, at(2));
        assert!(pace.armed());
        pace.looked(1, Duration::ZERO, at(3));
        assert!(!pace.armed());
        // A busy relay does not ask again at the first look that finds nothing, but looks often.
        pace.looked(0, Duration::ZERO, at(4));
        assert!(!pace.armed());
        assert!(idle(&mut pace, at(4), at(2_900)) >= 2 && !pace.armed());
        idle(&mut pace, at(2_900), at(5_000));
        assert!(pace.armed());
    }

    #[test]
    fn a_burst_does_not_leave_a_steady_trickle_without_wakeups() {
        let mut pace = Pace::new(POLL, at(0));
        for micros in 1..=3 {
            pace.looked(1, Duration::ZERO, at(micros));
        }
        // From here on something comes every 5 ms.
        for come in (5_000..50_000).step_by(5_000) {
            idle(&mut pace, at(come - 5_000), at(come));
            assert!(pace.armed(), "at {come} us");
            pace.hint(at(come));
            pace.looked(1, Duration::ZERO, at(come));
        }
    }

    #[test]
    fn slow_looks_that_find_nothing_do_not_fill_the_time() {
        let mut pace = Pace::new(POLL, at(0));
        pace.looked(0, Duration::from_secs(1), at(0));
        assert_eq!(pace.next(), at(4_000_000));
    }

    #[test]
    fn looks_before_their_time_do_not_put_off_the_one_that_is_due() {
        let mut pace = Pace::new(POLL, at(0));
        idle(&mut pace, at(0), at(60_000_000));
        let (due, took) = (pace.next(), Duration::from_millis(1));
        for early in (0..4).map(|second| at(61_000_000 + second * 1_000_000)).filter(|now| *now < due) {
            pace.looked(0, took, early);
        }
        assert_eq!(pace.next(), due);
        pace.looked(0, took, due.after(took));
        assert!(pace.next() > due);
    }

    #[test]
    fn s75_a_store_that_is_away_is_not_asked_in_a_busy_loop() {
        let mut pace = Pace::new(POLL, at(0));
        let (mut now, mut looks) = (at(0), 0);
        while now < at(60_000_000) {
            pace.failed(now);
            now = pace.next();
            looks += 1;
        }
        assert!(looks < 25, "{looks}");
    }
}
