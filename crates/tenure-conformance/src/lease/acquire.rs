//! Claims: who is the same holder and who is another, and what a claim without an answer leaves behind.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::error::StoreError;
use tenure_core::id::Node;
use tenure_core::lease::{Acquire, Claim, Fence, FenceCheck, Grant, Loss, Release, Renew};

use super::player::{LONG, Player, fresh, renewal, unique};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// The plain story: free, granted, held for everyone else.
pub async fn a_free_lease_is_granted_and_then_held(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("plain");
    let claim = ann.claim(&name, LONG);
    let grant = ann.takes_by(&claim).await;
    assert_eq!(grant.name, name);
    assert_eq!(grant.node, ann.node);
    assert_eq!((grant.claim, grant.ttl), (claim.id, LONG));
    assert!(backend.begins_with(grant.term), "{}", grant.term);
    let holder = bob.finds_held(&name).await;
    assert_eq!((holder.node, holder.term, holder.presence), (ann.node.clone(), grant.term, None));
    assert!(holder.expires_in <= LONG && holder.expires_in > LONG / 2, "{:?}", holder.expires_in);
}

/// A term that went back is an error, and an error changes nothing and grants nothing.
pub async fn s09_an_error_is_not_a_grant(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("error");
    let mut last = ann.takes(&name, LONG).await;
    for _ in 0..2 {
        ann.releases(&last).await;
        last = ann.takes(&name, LONG).await;
    }
    ann.releases(&last).await;
    if !backend.regress_term(&name).await {
        return skip(backend, Need::RegressTerm);
    }
    let before = bob.row(&name).await;
    let claim = bob.claim(&name, LONG);
    for _ in 0..2 {
        let answer = bob.store.try_acquire(&claim).await;
        assert!(matches!(answer, Err(StoreError::Corrupt { .. })), "{answer:?}");
        assert_eq!(bob.row(&name).await, before, "an error leaves the row as it was");
    }
    let hoped_for = [before.term, last.term, last.term.next().expect("a term")];
    for term in hoped_for {
        let check = backend.check_fence(&Fence { lease: name.clone(), term }).await;
        assert!(!matches!(check, Some(FenceCheck::Holds)), "term {term} must not hold");
    }
}

/// Claiming again what one has is no second lock on it: one release frees it.
pub async fn s11_a_lease_claimed_many_times_is_free_after_one_release(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("claimed-again");
    let claim = ann.claim(&name, LONG);
    let grant = ann.takes_by(&claim).await;
    for _ in 0..5 {
        assert_eq!(ann.takes_by(&claim).await.term, grant.term);
    }
    assert_eq!(ann.releases(&grant).await, Release::Released);
    bob.takes(&name, LONG).await;
}

/// The answer to a claim was lost; the claim is repeated, perhaps over another connection.
pub async fn s16_the_same_claim_gets_the_same_grant(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("same-claim");
    let claim = ann.claim(&name, LONG);
    let first = ann.takes_by(&claim).await;
    assert_eq!(ann.takes_by(&claim).await, first);
    let elsewhere = Player { store: backend.store().await, node: ann.node.clone() };
    assert_eq!(elsewhere.takes_by(&claim).await, first);
    assert_eq!(ann.renews(&first, &renewal(1)).await, Renew::Extended);
    assert_eq!(bob.finds_held(&name).await.term, first.term);
}

/// Two parts of one program want the same lease: they exclude each other like strangers.
pub async fn s16_another_claim_of_the_same_node_finds_it_held(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("other-claim");
    let grant = ann.takes(&name, LONG).await;
    assert_eq!(ann.finds_held(&name).await.term, grant.term);
}

/// A claim that was answered, and whose grant was given back, is a new grant with a new term when it comes again.
pub async fn s16_the_same_claim_after_a_release_gets_a_new_term(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("claim-after-release");
    let claim = ann.claim(&name, LONG);
    let first = ann.takes_by(&claim).await;
    ann.releases(&first).await;
    let second = ann.takes_by(&claim).await;
    assert!(second.term > first.term);
    ann.releases(&second).await;
    bob.takes(&name, LONG).await;
    ann.finds_held_by(&claim).await;
}

/// The caller went away in the middle of a claim. It took effect or it did not, and the store is as usable as before.
pub async fn s16_a_claim_dropped_half_way_leaves_nothing_half_done(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    for round in 0..24 {
        let claim = ann.claim(&fresh("dropped"), LONG);
        let (store, asked) = (Arc::clone(&ann.store), claim.clone());
        let asking = tokio::spawn(async move { store.try_acquire(&asked).await });
        tokio::time::sleep(Duration::from_micros(100 * round)).await;
        asking.abort();
        let _ = asking.await;
        match bob.tries(&bob.claim(&claim.name, LONG)).await {
            Acquire::Granted(grant) => {
                assert!(backend.begins_with(grant.term), "{}", grant.term);
                assert_eq!(ann.finds_held_by(&claim).await.term, grant.term);
            }
            Acquire::Held(holder) => {
                assert!(holder.node == ann.node && backend.begins_with(holder.term), "{holder:?}");
                assert_eq!(ann.takes_by(&claim).await.term, holder.term);
            }
        }
    }
}

/// A copied pod: same name, same machine, even the same process id. Only the incarnation tells the two apart.
pub async fn s19_two_nodes_with_one_name_are_two(backend: &dyn Backend) {
    let ann = Player::enter(backend, "twin").await;
    let twin =
        Player { store: backend.store().await, node: Node { incarnation: unique(), ..ann.node.clone() } };
    let name = fresh("twins");
    let claim = ann.claim(&name, LONG);
    let grant = ann.takes_by(&claim).await;
    assert_eq!(twin.finds_held(&name).await.node.incarnation, ann.node.incarnation);
    // Not even with the number of the other's claim, or with its term.
    twin.finds_held_by(&Claim { node: twin.node.clone(), ..claim }).await;
    let forged = Grant { node: twin.node.clone(), ..grant.clone() };
    let before = ann.row(&name).await;
    let taken = Loss::Taken { term: grant.term, by: ann.node.name.clone() };
    assert_eq!(twin.renews(&forged, &renewal(1)).await, Renew::Lost(taken));
    assert_eq!(twin.releases(&forged).await, Release::NotHeld);
    assert_eq!(ann.row(&name).await, before);
}
