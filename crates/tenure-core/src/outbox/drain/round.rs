//! How often to search for sources while others keep the relay busy.
//!
//! A search goes past all that have something pending: those that are held already, those of other parts, those that rest. Where
//! there are very many, that takes long. But after a round over all of them, only what has come since can be found. So a slow one is
//! not followed by the next at once, the less so if it has found nothing; unless there is known to be something.

use std::time::Duration;

use crate::time::Monotonic;

/// A round that takes less than this costs nothing worth speaking of.
const SLOW: Duration = Duration::from_millis(10);
/// How much longer the pause after a slow one is than the round was: if it has found something, and if not.
const PAUSE_FACTORS: (u32, u32) = (2, 20);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A round over all sources, from one look to the next.
#[derive(Debug, Default)]
pub(super) struct Round {
    took: Duration,
    found: bool,
    /// Something is known that this round may have passed by already.
    again: bool,
    next: Option<Monotonic>,
}

impl Round {
    /// A look of the round is over: how long it took, and whether it found a source.
    pub(super) fn looked(&mut self, took: Duration, found: bool) {
        self.took = self.took.saturating_add(took);
        self.found |= found;
    }

    /// The round has come to its end. Answers whether another one is to begin at once.
    #[must_use]
    pub(super) fn ended(&mut self, now: Monotonic) -> bool {
        let round = std::mem::take(self);
        let factor = if round.found { PAUSE_FACTORS.0 } else { PAUSE_FACTORS.1 };
        let pause = round.took.saturating_mul(factor).min(PAUSE_MAX);
        self.next = (round.took >= SLOW && !round.again).then(|| now.after(pause));
        round.again
    }

    /// There is known to be something that only a search can find. One that is `begun` may be past it.
    pub(super) fn hurry(&mut self, begun: bool) {
        self.next = None;
        self.again |= begun;
    }

    /// Until when the next round has time, if it has.
    pub(super) fn pause(&self, now: Monotonic) -> Option<Monotonic> {
        self.next.filter(|next| *next > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_origin(Duration::from_millis(millis))
    }

    /// A round of some looks: how long each took, and whether it found something. When the pause after it ends.
    fn pause_after(round: &mut Round, looks: &[(u64, bool)]) -> Option<Monotonic> {
        for (took, found) in looks {
            round.looked(Duration::from_millis(*took), *found);
        }
        assert!(!round.ended(at(10)));
        round.pause(at(10))
    }

    #[test]
    fn only_slow_rounds_are_paid_for_and_less_so_if_they_were_good_for_something() {
        let mut round = Round::default();
        assert_eq!(pause_after(&mut round, &[(9, false)]), None);
        assert_eq!(pause_after(&mut round, &[(100, true)]), Some(at(210)));
        assert_eq!(pause_after(&mut round, &[(10, false)]), Some(at(210)));
        assert_eq!(round.pause(at(210)), None, "it is over");
        assert_eq!(pause_after(&mut round, &[(500, false)]), Some(at(2_010)), "no longer than the longest");
        round.hurry(false);
        assert_eq!(round.pause(at(11)), None);
    }

    #[test]
    fn a_round_is_all_its_looks() {
        let mut round = Round::default();
        assert_eq!(pause_after(&mut round, &[(8, false), (8, false)]), Some(at(330)));
        assert_eq!(pause_after(&mut round, &[(8, false)]), None, "the next one stands for itself");
        assert_eq!(pause_after(&mut round, &[(50, true), (50, false)]), Some(at(210)));
    }

    #[test]
    fn what_comes_while_a_round_is_under_way_is_looked_for_by_the_next() {
        let mut round = Round::default();
        round.looked(Duration::from_millis(100), false);
        round.hurry(true);
        assert!(round.ended(at(10)));
        assert_eq!(round.pause(at(10)), None);
        assert_eq!(pause_after(&mut round, &[(100, false)]), Some(at(2_010)), "once");
    }
}
