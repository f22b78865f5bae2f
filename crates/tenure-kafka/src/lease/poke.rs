//! When one who waits should rejoin its group without waiting for a heartbeat to tell it so.

use std::time::Duration;

use tenure_core::time::Monotonic;

use super::tail::Seen;

/// Between tries as long as the group has not settled since; the client may have been busy with something else.
const AGAIN: Duration = Duration::from_millis(500);

/// Remembers what was tried.
#[derive(Debug, Default)]
pub(crate) struct Poker {
    last: Option<Try>,
}

#[derive(Debug)]
struct Try {
    /// The last word on the lease that was acted upon, by its offset.
    offset: i64,
    /// How often the group had settled by then.
    words: u64,
    at: Monotonic,
}

impl Poker {
    /// Whether to rejoin now, after this last word on the lease, where the group has settled so many times.
    pub(crate) fn is_due(&mut self, seen: &Seen, words: u64, heartbeat: Duration, now: Monotonic) -> bool {
        let sign = &seen.sign;
        // Of a dead holder nothing is told. Those who have rejoined when the coordinator puts it out are given its place at
        // that moment; while it lives, rejoining changes nothing for it.
        let silent = sign.session().saturating_sub(heartbeat).max(sign.ttl());
        let from = if sign.what.is_held() { seen.read.after(silent) } else { seen.read };
        let next = match &self.last {
            Some(last) if last.offset == seen.offset => {
                // A group that has settled since has given the partition to another, or the holder lives. To rejoin again
                // would only unsettle it: where we lead the group, everyone has to join anew.
                last.at.after(if words == last.words { AGAIN } else { sign.session() })
            }
            _ => from,
        };
        let due = now >= next.max(from);
        if due {
            self.last = Some(Try { offset: seen.offset, words, at: now });
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::record::{Sign, What};
    use tenure_core::id::{NodeName, Unique};
    use tenure_core::lease::Term;
    use tenure_core::time::StoreTime;

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_origin(Duration::from_millis(millis))
    }

    /// Read at 1 s, of a holder with a ttl of 6 s and a session of 30 s.
    fn seen(what: What, offset: i64) -> Seen {
        let sign = Sign {
            what,
            term: Some(1),
            node: NodeName::new("n").unwrap(),
            incarnation: Unique::from_u128(1),
            machine: String::new(),
            pid: 1,
            claim: Unique::from_u128(2),
            kind: None,
            ttl_ms: 6000,
            session_ms: 30_000,
            acquired_at: None,
            renewed_at: None,
            renewals: 0,
        };
        Seen { term: Term::FIRST, sign, offset, at: StoreTime::from_micros(0), read: at(1000) }
    }

    const HEARTBEAT: Duration = Duration::from_secs(3);

    #[test]
    fn a_release_is_acted_upon_at_once_and_again_only_while_the_group_has_not_settled() {
        let mut poker = Poker::default();
        let free = seen(What::Released, 5);
        assert!(poker.is_due(&free, 1, HEARTBEAT, at(1000)));
        assert!(!poker.is_due(&free, 1, HEARTBEAT, at(1499)));
        assert!(poker.is_due(&free, 1, HEARTBEAT, at(1500)));
        assert!(!poker.is_due(&free, 2, HEARTBEAT, at(9000)), "settled: another has it");
        assert!(poker.is_due(&seen(What::Released, 7), 2, HEARTBEAT, at(9000)), "another release");
    }

    #[test]
    fn a_silent_holder_is_acted_upon_shortly_before_its_session_ends() {
        let mut poker = Poker::default();
        let held = seen(What::Renewed, 5);
        assert!(!poker.is_due(&held, 1, HEARTBEAT, at(27_999)));
        assert!(poker.is_due(&held, 1, HEARTBEAT, at(28_000)));
        assert!(!poker.is_due(&held, 2, HEARTBEAT, at(29_000)), "the group settled: it lives");
    }
}
