//! Terms: strictly increasing per name, for ever.

use tenure_core::error::StoreError;
use tenure_core::lease::{FenceCheck, Loss, Release, Renew, Term};

use super::player::{LONG, Player, fresh, outlive, renewal};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// A release ends a grant; it does not make the store forget its number.
pub async fn s15_terms_rise_over_releases(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("terms-release");
    let mut last = None;
    for player in [&ann, &bob, &ann, &ann, &bob] {
        let grant = player.takes(&name, LONG).await;
        assert!(last.is_none_or(|last| last < grant.term), "{} after {last:?}", grant.term);
        last = Some(grant.term);
        assert_eq!(player.releases(&grant).await, Release::Released);
    }
}

/// The same over grants that end by their ttl, also when the same node takes the lease again.
pub async fn s15_terms_rise_over_expiry(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("terms-expiry");
    let first = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &ann, &name).await;
    let second = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &bob, &name).await;
    let third = bob.takes(&name, LONG).await;
    assert!(first.term < second.term && second.term < third.term);
}

/// Someone deletes the row of a lease that was given back: its last term is still remembered.
pub async fn s15_terms_rise_over_a_deleted_row(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("terms-deleted");
    let mut last = Term::FIRST;
    for round in 0..3 {
        let grant = ann.takes(&name, LONG).await;
        assert!(round == 0 || grant.term > last, "{} after {last}", grant.term);
        last = grant.term;
        ann.releases(&grant).await;
        if !backend.delete_row(&name).await {
            return skip(backend, Need::DeleteRow);
        }
        assert_eq!(ann.looks(&name).await, None, "the row is gone");
    }
}

/// Someone deletes the row of a lease that is held: its holder is out of office, and the next has a higher term.
pub async fn s15_a_holder_whose_row_was_deleted_is_out_of_office(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("terms-deleted-held");
    let old = ann.takes(&name, LONG).await;
    if !backend.delete_row(&name).await {
        return skip(backend, Need::DeleteRow);
    }
    assert_eq!(ann.renews(&old, &renewal(1)).await, Renew::Lost(Loss::Unknown));
    if let Some(check) = backend.check_fence(&old.fence()).await {
        assert!(matches!(check, FenceCheck::Refused(_)), "{check:?}");
    }
    assert_eq!(ann.releases(&old).await, Release::NotHeld);
    let new = bob.takes(&name, LONG).await;
    assert!(new.term > old.term, "{} after {}", new.term, old.term);
    let taken = Loss::Taken { term: new.term, by: bob.node.name.clone() };
    assert_eq!(ann.renews(&old, &renewal(2)).await, Renew::Lost(taken));
}

/// A backup was restored: nobody may lead until a person has looked at it, for a term might be given twice.
pub async fn s15_a_term_that_went_back_is_refused_aloud(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("terms-restored");
    for _ in 0..2 {
        let grant = ann.takes(&name, LONG).await;
        ann.releases(&grant).await;
    }
    let last = ann.takes(&name, LONG).await;
    ann.releases(&last).await;
    if !backend.regress_term(&name).await {
        return skip(backend, Need::RegressTerm);
    }
    for player in [&ann, &bob] {
        let error = player.store.try_acquire(&player.claim(&name, LONG)).await.expect_err("a term went back");
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        let said = error.to_string();
        assert!(said.contains(name.as_str()), "the error names the lease: {said}");
        assert!(said.contains(&last.term.to_string()), "the error names the remembered term: {said}");
        assert!(!error.is_transient(), "waiting does not help");
    }
}
