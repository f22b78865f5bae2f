//! How often wrong tokens may come.
//!
//! Whoever has had too many refused in a minute is told so for the rest of it, whatever else is sent; the right token is let in
//! all the same, for behind a proxy all have one address. (A token has 256 random bits: guessing is no way in. The bound is for
//! logs, the audit table, and what an application asks elsewhere.)

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::tokens::locked;

/// How many may be refused to one address in a minute.
pub(crate) const PER_PEER: u32 = 10;
/// How many in all.
pub(crate) const IN_ALL: u32 = 100;
/// How many addresses are remembered.
const PEERS_MAX: usize = 1_000;
const MINUTE: Duration = Duration::from_secs(60);

/// What was refused in this minute.
pub(crate) struct Attempts(Mutex<Minute>);

struct Minute {
    began: Instant,
    peers: HashMap<Option<IpAddr>, u32>,
    all: u32,
    noted: bool,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Minute::new()))
    }

    /// Whether an address is heard.
    pub(crate) fn heard(&self, peer: Option<IpAddr>) -> bool {
        let mut minute = locked(&self.0);
        minute.turn();
        let its = minute.peers.get(&peer).copied().unwrap_or(0);
        its < PER_PEER && (its == 0 || minute.all < IN_ALL)
    }

    /// Counts a refused attempt. True for the first of a minute, which is written to the audit table.
    pub(crate) fn refused(&self, peer: Option<IpAddr>) -> bool {
        let mut minute = locked(&self.0);
        minute.turn();
        minute.all = minute.all.saturating_add(1);
        // When too many are remembered the one with the fewest goes: it has the least to lose.
        if minute.peers.len() >= PEERS_MAX && !minute.peers.contains_key(&peer) {
            let least = minute.peers.iter().min_by_key(|(_, count)| **count).map(|(peer, _)| *peer);
            least.and_then(|least| minute.peers.remove(&least));
        }
        let its = minute.peers.entry(peer).or_default();
        *its = its.saturating_add(1);
        !std::mem::replace(&mut minute.noted, true)
    }
}

impl Minute {
    fn new() -> Self {
        Self { began: Instant::now(), peers: HashMap::new(), all: 0, noted: false }
    }

    fn turn(&mut self) {
        if self.began.elapsed() >= MINUTE {
            *self = Self::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u32) -> Option<IpAddr> {
        Some(IpAddr::from(number.to_be_bytes()))
    }

    #[test]
    fn an_address_is_not_heard_after_ten_and_others_are() {
        let attempts = Attempts::new();
        for number in 0..PER_PEER {
            assert!(attempts.heard(peer(1)), "{number}");
            assert_eq!(attempts.refused(peer(1)), number == 0);
        }
        assert!(!attempts.heard(peer(1)));
        assert!(attempts.heard(peer(2)) && attempts.heard(None));
    }

    #[test]
    fn a_flood_does_not_lock_out_who_has_done_nothing() {
        let attempts = Attempts::new();
        for number in 0..100_000 {
            attempts.refused(peer(number % 5_000));
        }
        assert!(!attempts.heard(peer(4_999)));
        assert!(attempts.heard(peer(1 << 30)));
        assert!(locked(&attempts.0).peers.len() <= PEERS_MAX);
    }

    #[test]
    fn the_next_minute_begins_anew() {
        let attempts = Attempts::new();
        for _ in 0..PER_PEER {
            attempts.refused(peer(1));
        }
        if let Some(before) = Instant::now().checked_sub(MINUTE) {
            locked(&attempts.0).began = before;
            assert!(attempts.heard(peer(1)));
        }
    }
}
