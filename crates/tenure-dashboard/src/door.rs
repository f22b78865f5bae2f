//! The door of the server: how many connections there are at once, over all and from one address, and who goes when there is
//! no place.
//!
//! ```text
//!   comes ──▶ a place is free, over all and for its address ──▶ in: pages, API, live views, probes
//!         └─▶ else the reserve: one request, for probes only ──▶ full: the longest that has not asked for anything goes
//! ```
//!
//! A probe says at once what it wants, so it is answered while browsers, or idle connections of a flood, have all places: nobody
//! restarts a process because many look at it.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, watch};

/// Who is in.
#[derive(Debug)]
pub(crate) struct Door {
    bounds: Bounds,
    book: Mutex<Book>,
    /// How many are in, the reserve among them.
    crowd: watch::Sender<usize>,
}

/// How many may be in at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) places: usize,
    /// Of those, for one address.
    pub(crate) each: usize,
    pub(crate) reserve: usize,
}

#[derive(Debug, Default)]
struct Book {
    taken: usize,
    by_peer: HashMap<IpAddr, usize>,
    /// Those in the reserve, the longest first.
    reserve: VecDeque<Arc<Guest>>,
}

/// One in the reserve.
#[derive(Debug, Default)]
struct Guest {
    /// It has said what it wants, and is answered: such a one is not sent away.
    asks: AtomicBool,
    away: Notify,
}

/// A place, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    door: Arc<Door>,
    of: Of,
}

#[derive(Debug)]
enum Of {
    Peer(IpAddr),
    Reserve(Arc<Guest>),
}

impl Door {
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, book: Mutex::default(), crowd: watch::Sender::new(0) })
    }

    /// A place for a connection from an address; none where even the reserve is full of those who are being answered.
    pub(crate) fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let peer = neighbourhood(peer);
        let mut guard = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let book = &mut *guard;
        let of_peer = book.by_peer.get(&peer).copied().unwrap_or_default();
        let of = if book.taken < self.bounds.places && of_peer < self.bounds.each {
            book.taken += 1;
            book.by_peer.insert(peer, of_peer + 1);
            Of::Peer(peer)
        } else {
            if book.reserve.len() >= self.bounds.reserve {
                let idle = book.reserve.iter().position(|guest| !guest.asks.load(SeqCst))?;
                book.reserve.remove(idle)?.away.notify_one();
            }
            let guest = Arc::<Guest>::default();
            book.reserve.push_back(Arc::clone(&guest));
            Of::Reserve(guest)
        };
        drop(guard);
        self.crowd.send_modify(|crowd| *crowd += 1);
        Some(Place { door: Arc::clone(self), of })
    }

    /// Until all have left.
    pub(crate) async fn empty(&self) {
        let _ = self.crowd.subscribe().wait_for(|crowd| *crowd == 0).await;
    }
}

impl Place {
    /// Whether it is one of the reserve.
    pub(crate) const fn is_reserve(&self) -> bool {
        matches!(self.of, Of::Reserve(_))
    }

    /// It has asked for something, and stays until it is answered.
    pub(crate) fn asks(&self) {
        if let Of::Reserve(guest) = &self.of {
            guest.asks.store(true, SeqCst);
        }
    }

    /// Until it is sent away, for one that came later.
    pub(crate) async fn sent_away(&self) {
        match &self.of {
            Of::Peer(_) => std::future::pending().await,
            Of::Reserve(guest) => guest.away.notified().await,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut book = self.door.book.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.of {
            Of::Peer(peer) => {
                book.taken -= 1;
                if let Some(count) = book.by_peer.get_mut(peer) {
                    *count -= 1;
                    if *count == 0 {
                        book.by_peer.remove(peer);
                    }
                }
            }
            Of::Reserve(guest) => book.reserve.retain(|other| !Arc::ptr_eq(other, guest)),
        }
        drop(book);
        self.door.crowd.send_modify(|crowd| *crowd -= 1);
    }
}

/// Addresses that count as one: with IPv6 everyone has a whole network of them.
fn neighbourhood(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn door() -> Arc<Door> {
        Door::new(Bounds { places: 3, each: 2, reserve: 2 })
    }

    #[test]
    fn places_are_bounded_over_all_and_for_each_address() {
        let door = door();
        let one = door.enter(peer(1)).unwrap();
        let two = door.enter(peer(1)).unwrap();
        let third = door.enter(peer(1)).unwrap();
        assert!(!one.is_reserve() && !two.is_reserve() && third.is_reserve(), "two for one address");
        let other = door.enter(peer(2)).unwrap();
        assert!(!other.is_reserve(), "another address has a place");
        assert!(door.enter(peer(3)).unwrap().is_reserve(), "three over all");
        drop(one);
        assert!(!door.enter(peer(3)).unwrap().is_reserve(), "a place that was left is free");
        drop((two, third, other));
        assert_eq!(*door.crowd.borrow(), 0);
        assert!(door.book.lock().unwrap().by_peer.is_empty(), "no address is remembered");
    }

    #[tokio::test]
    async fn the_longest_idle_one_of_the_reserve_goes_and_one_that_asks_stays() {
        let door = Door::new(Bounds { places: 0, each: 0, reserve: 2 });
        let asks = door.enter(peer(1)).unwrap();
        asks.asks();
        let idle = door.enter(peer(1)).unwrap();
        let newer = door.enter(peer(1)).unwrap();
        idle.sent_away().await;
        drop(idle);
        newer.asks();
        assert!(door.enter(peer(2)).is_none(), "all of the reserve are being answered");
        drop(asks);
        assert!(door.enter(peer(2)).is_some());
        drop(newer);
        door.empty().await;
    }

    #[test]
    fn one_who_has_a_network_of_addresses_counts_once() {
        let address = |text: &str| neighbourhood(text.parse().unwrap());
        assert_eq!(address("2001:db8:1:2:3::1"), address("2001:db8:1:2:ffff::9"));
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
        assert_eq!(address("::ffff:10.0.0.1"), address("10.0.0.1"));
        assert_ne!(address("10.0.0.1"), address("10.0.0.2"));
    }
}
