//! Releases: of exactly one grant, and the lease is free at once.

use tenure_core::lease::{Grant, Release, Renew};

use super::player::{LONG, Player, fresh, outlive, renewal};
use crate::backend::Backend;

/// The same process holds the lease again, and a release of its former term is still under way.
pub async fn s04_release_of_a_former_term_of_the_same_node_changes_nothing(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("former-release");
    let old = ann.takes(&name, LONG).await;
    assert_eq!(ann.releases(&old).await, Release::Released);
    let new = ann.takes(&name, LONG).await;
    let before = ann.row(&name).await;
    assert_eq!(ann.releases(&old).await, Release::NotHeld);
    assert_eq!(ann.row(&name).await, before, "the new term is intact");
    assert_eq!(ann.renews(&new, &renewal(1)).await, Renew::Extended);
}

/// The answer to a release was lost, and by the time it is repeated someone else holds the lease.
pub async fn s05_repeated_release_after_a_takeover_changes_nothing(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("release-again");
    let old = ann.takes(&name, LONG).await;
    assert_eq!(ann.releases(&old).await, Release::Released);
    let new = bob.takes(&name, LONG).await;
    let before = bob.row(&name).await;
    assert_eq!(ann.releases(&old).await, Release::NotHeld);
    assert_eq!(bob.row(&name).await, before, "a repeated release changes nothing");
    assert_eq!(bob.renews(&new, &renewal(1)).await, Renew::Extended);
}

/// A node that slept through its ttl gives back a lease that another has taken.
pub async fn s05_release_after_expiry_and_takeover_changes_nothing(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("release-late");
    let old = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &bob, &name).await;
    bob.takes(&name, LONG).await;
    let before = bob.row(&name).await;
    assert_eq!(ann.releases(&old).await, Release::NotHeld);
    assert_eq!(bob.row(&name).await, before);
}

/// A release that is repeated while nobody took the lease is harmless too, and so is one of an unknown lease.
pub async fn a_release_may_be_repeated(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("release-twice");
    let grant = ann.takes(&name, LONG).await;
    assert_eq!(ann.releases(&grant).await, Release::Released);
    let before = ann.row(&name).await;
    assert_eq!(ann.releases(&grant).await, Release::NotHeld);
    assert_eq!(ann.row(&name).await, before);
    let unknown = Grant { name: fresh("unknown"), ..grant };
    assert_eq!(ann.releases(&unknown).await, Release::NotHeld);
    assert_eq!(ann.looks(&unknown.name).await, None, "a release makes no row");
}

/// A hand-over costs one look, not one ttl.
pub async fn s25_a_released_lease_is_granted_at_once(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("hand-over");
    let mut last = ann.takes(&name, LONG).await;
    for (from, to) in [(&ann, &bob), (&bob, &ann), (&ann, &bob)] {
        to.finds_held(&name).await;
        assert_eq!(from.releases(&last).await, Release::Released);
        let next = to.takes(&name, LONG).await;
        assert!(next.term > last.term);
        last = next;
    }
}
