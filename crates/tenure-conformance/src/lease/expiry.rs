//! Expiry: by the store's clock, by the holder's ttl, and not a moment before.

use std::time::Duration;

use tenure_core::lease::{Loss, Renew};

use super::player::{LONG, Player, fresh, outlive, renewal};
use crate::backend::Backend;

/// A crashed holder loses its lease when its ttl ends, and the next one has a higher term.
pub async fn c07_a_lease_is_free_once_its_ttl_has_ended(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("expires");
    let old = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &bob, &name).await;
    let new = bob.takes(&name, LONG).await;
    assert!(new.term > old.term);
}

/// A lease is not free before its holder's ttl has ended, however often and long others ask.
pub async fn s12_a_lease_is_not_free_before_its_ttl_has_ended(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("not-early");
    let grant = ann.takes(&name, LONG).await;
    // A store without a clock of its own counts from this first look.
    let mut left = bob.finds_held(&name).await.expires_in;
    assert!(left <= LONG, "{left:?} of {LONG:?}");
    for _ in 0..5 {
        backend.pass(Duration::from_millis(50)).await;
        let holder = bob.finds_held(&name).await;
        assert_eq!(holder.term, grant.term);
        assert!(holder.expires_in < left, "what is left grows smaller by the store's clock");
        left = holder.expires_in;
    }
}

/// Times in the row come from one clock: the store's, which only goes on.
pub async fn s12_times_in_the_row_are_the_stores(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("times");
    let grant = ann.takes(&name, LONG).await;
    let row = bob.row(&name).await;
    assert_eq!(row.acquired_at, grant.acquired_at);
    assert_near(row.acquired_at.until(row.expires_at), LONG);
    backend.pass(Duration::from_millis(50)).await;
    assert_eq!(ann.renews(&grant, &renewal(1)).await, Renew::Extended);
    let renewed = bob.row(&name).await;
    assert_eq!(renewed.acquired_at, row.acquired_at, "a renewal is no new beginning");
    assert!(row.renewed_at.until(renewed.renewed_at) >= Duration::from_millis(40));
    assert!(row.expires_at.until(renewed.expires_at) >= Duration::from_millis(40));
    assert_near(renewed.renewed_at.until(renewed.expires_at), LONG);
}

/// Candidates with different settings: what counts is the ttl the holder was granted, not the one a contender has.
pub async fn s14_the_holders_ttl_decides_not_the_contenders(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let patient = fresh("long-holder");
    ann.takes(&patient, LONG).await;
    let hasty = fresh("short-holder");
    ann.takes(&hasty, backend.short_ttl()).await;
    bob.row(&patient).await;
    outlive(backend, &bob, &hasty).await;
    bob.finds_held_by(&bob.claim(&patient, backend.short_ttl())).await;
    bob.takes(&hasty, LONG).await;
}

/// A grant that has expired is over, even if nobody took the lease since: others may be about to.
pub async fn an_expired_grant_cannot_be_renewed(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("renew-late");
    let grant = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &ann, &name).await;
    let before = ann.row(&name).await;
    assert_eq!(ann.renews(&grant, &renewal(1)).await, Renew::Lost(Loss::Expired));
    assert_eq!(ann.row(&name).await, before, "a late renewal changes nothing");
}

/// A renewal carries the grant's own ttl from the moment of the renewal.
pub async fn a_renewed_lease_outlives_its_first_ttl(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let (name, ttl) = (fresh("renewed"), Duration::from_secs(4));
    let grant = ann.takes(&name, ttl).await;
    for number in 1..=2 {
        backend.pass(Duration::from_millis(2400)).await;
        assert_eq!(bob.finds_held(&name).await.term, grant.term);
        assert_eq!(ann.renews(&grant, &renewal(number)).await, Renew::Extended);
    }
    let left = bob.finds_held(&name).await.expires_in;
    assert!(left <= ttl && left > ttl / 2, "{left:?} of {ttl:?}");
}

/// Everything was restarted, and a former incarnation's grant has not ended: the first leader comes with its end.
pub async fn s26_after_a_total_restart_the_wait_ends_with_the_old_ttl(backend: &dyn Backend) {
    let before = Player::enter(backend, "ann").await;
    let (name, ttl) = (fresh("restart"), Duration::from_secs(2));
    let old = before.takes(&name, ttl).await;
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let holder = ann.finds_held(&name).await;
    assert_eq!((&holder.node, holder.term), (&before.node, old.term));
    assert!(holder.expires_in <= ttl, "nobody has to wait longer than the old ttl: {:?}", holder.expires_in);
    backend.pass(holder.expires_in + Duration::from_millis(50)).await;
    assert!(ann.takes(&name, LONG).await.term > old.term);
    bob.finds_held(&name).await;
}

/// Stores may read their clock twice within a statement.
fn assert_near(span: Duration, expected: Duration) {
    assert!(span.abs_diff(expected) < Duration::from_secs(1), "{span:?} is not about {expected:?}");
}
