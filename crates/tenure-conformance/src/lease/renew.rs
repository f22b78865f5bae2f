//! Renewals: of exactly one grant, and in order.

use tenure_core::lease::{Loss, Release, Renew};

use super::player::{LONG, Player, announcing, fresh, outlive, renewal, unique};
use crate::backend::Backend;

/// A node that slept through its ttl renews a lease that another has taken.
pub async fn s03_stale_renew_is_lost_and_changes_nothing(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("stale-renew");
    let old = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &bob, &name).await;
    let new = bob.takes(&name, LONG).await;
    let before = bob.row(&name).await;
    let taken = Loss::Taken { term: new.term, by: bob.node.name.clone() };
    assert_eq!(ann.renews(&old, &renewal(1)).await, Renew::Lost(taken));
    assert_eq!(bob.row(&name).await, before, "a stale renewal changes nothing");
}

/// The same process holds the lease again, and a renewal of its former term is still under way.
pub async fn s04_renewal_of_a_former_term_of_the_same_node_is_lost(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("former-renew");
    let old = ann.takes(&name, LONG).await;
    assert_eq!(ann.releases(&old).await, Release::Released);
    let new = ann.takes(&name, LONG).await;
    let before = ann.row(&name).await;
    let taken = Loss::Taken { term: new.term, by: ann.node.name.clone() };
    assert_eq!(ann.renews(&old, &announcing(9, unique())).await, Renew::Lost(taken));
    assert_eq!(ann.row(&name).await, before, "the new term is intact");
    assert_eq!(ann.renews(&new, &renewal(1)).await, Renew::Extended);
}

/// What was given back does not come back by a renewal.
pub async fn a_released_grant_cannot_be_renewed(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("renew-released");
    let grant = ann.takes(&name, LONG).await;
    ann.releases(&grant).await;
    let before = ann.row(&name).await;
    assert_eq!(ann.renews(&grant, &renewal(1)).await, Renew::Lost(Loss::Released));
    assert_eq!(ann.row(&name).await, before);
}

/// A grant of another store, or of a row that is gone.
pub async fn an_unknown_lease_cannot_be_renewed(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let grant = ann.takes(&fresh("known"), LONG).await;
    let unknown = tenure_core::lease::Grant { name: fresh("unknown"), ..grant };
    assert_eq!(ann.renews(&unknown, &renewal(1)).await, Renew::Lost(Loss::Unknown));
    assert_eq!(ann.looks(&unknown.name).await, None, "a renewal makes no row");
}

/// A slow renewal arrives after the one that withdrew what it announces. Were it to take effect, evidence about a dead
/// session could depose a living holder.
pub async fn a_renewal_that_comes_after_a_later_one_changes_nothing(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let (name, session) = (fresh("out-of-order"), unique());
    let grant = ann.takes(&name, LONG).await;
    assert_eq!(ann.renews(&grant, &announcing(1, session)).await, Renew::Extended);
    assert_eq!(ann.renews(&grant, &renewal(3)).await, Renew::Extended);
    let before = ann.row(&name).await;
    assert_eq!(before.presence, None, "the presence was withdrawn");
    for late in [announcing(2, session), announcing(3, session), renewal(1)] {
        let answer = ann.store.renew(&grant, &late).await;
        assert!(answer.is_err(), "{late:?} came late and got {answer:?}; nobody waits for its answer");
        assert_eq!(ann.row(&name).await, before, "{late:?} came late and must change nothing");
    }
    assert_eq!(bob.finds_held(&name).await.presence, None);
    assert_eq!(ann.renews(&grant, &announcing(4, session)).await, Renew::Extended);
}

/// The counting of renewals begins anew with every grant.
pub async fn renewals_are_counted_anew_for_every_grant(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("count");
    let first = ann.takes(&name, LONG).await;
    assert_eq!(ann.renews(&first, &renewal(7)).await, Renew::Extended);
    ann.releases(&first).await;
    let second = ann.takes(&name, LONG).await;
    assert_eq!(ann.renews(&second, &renewal(1)).await, Renew::Extended);
}
