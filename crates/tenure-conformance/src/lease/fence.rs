//! Fences: a write carries the term it was made under, and the store refuses the terms that are over.

use tenure_core::lease::{Fence, FenceCheck, Fenced, Loss, Renew, Term};

use super::player::{LONG, Player, announcing, fresh, outlive, renewal, unique};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// A leader sleeps longer than its ttl, another is elected, the old one wakes in the middle of its write.
pub async fn s01_writes_of_an_old_term_are_refused_after_a_takeover(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("fenced");
    let old = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &bob, &name).await;
    let new = bob.takes(&name, LONG).await;
    let Some(check) = backend.check_fence(&old.fence()).await else { return skip(backend, Need::Fence) };
    let loss = Loss::Taken { term: new.term, by: bob.node.name.clone() };
    assert_eq!(check, FenceCheck::Refused(Fenced { fence: old.fence(), loss }));
    assert_eq!(backend.check_fence(&new.fence()).await, Some(FenceCheck::Holds));
}

/// The same, where the takeover came by evidence and the old ttl has not ended.
pub async fn s01_writes_of_a_deposed_holder_are_refused(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let (name, session) = (fresh("deposed"), unique());
    let old = ann.takes(&name, LONG).await;
    assert_eq!(ann.renews(&old, &announcing(1, session)).await, Renew::Extended);
    let Some(check) = backend.check_fence(&old.fence()).await else { return skip(backend, Need::Fence) };
    assert_eq!(check, FenceCheck::Holds);
    let evidence = tenure_core::lease::Evidence { term: old.term, session };
    let new = bob.deposes(&name, evidence).await;
    assert!(refused(backend, &old.fence()).await);
    assert!(!refused(backend, &new.fence()).await);
}

/// A fence holds from the grant to its end, over renewals.
pub async fn a_fence_holds_while_its_grant_does(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("holds");
    let grant = ann.takes(&name, LONG).await;
    let Some(check) = backend.check_fence(&grant.fence()).await else { return skip(backend, Need::Fence) };
    assert_eq!(check, FenceCheck::Holds);
    assert_eq!(ann.renews(&grant, &renewal(1)).await, Renew::Extended);
    assert!(!refused(backend, &grant.fence()).await);
}

/// Nobody took the lease yet, but its holder must have stopped by now; someone may be about to.
pub async fn a_fence_is_refused_once_its_ttl_has_ended(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("fence-expired");
    let grant = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &ann, &name).await;
    let Some(check) = backend.check_fence(&grant.fence()).await else { return skip(backend, Need::Fence) };
    assert_eq!(check, FenceCheck::Refused(Fenced { fence: grant.fence(), loss: Loss::Expired }));
}

/// Who gave a lease back does not write under it.
pub async fn a_fence_is_refused_after_the_release(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let grant = ann.takes(&fresh("fence-released"), LONG).await;
    ann.releases(&grant).await;
    let Some(check) = backend.check_fence(&grant.fence()).await else { return skip(backend, Need::Fence) };
    assert_eq!(check, FenceCheck::Refused(Fenced { fence: grant.fence(), loss: Loss::Released }));
}

/// A lease that never was, and a term that was never granted: both are refused, also the one that will come next.
pub async fn a_fence_that_was_never_granted_is_refused(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    let unknown = Fence { lease: fresh("fence-unknown"), term: Term::FIRST };
    let Some(check) = backend.check_fence(&unknown).await else { return skip(backend, Need::Fence) };
    assert_eq!(check, FenceCheck::Refused(Fenced { fence: unknown, loss: Loss::Unknown }));
    let name = fresh("fence-future");
    let grant = ann.takes(&name, LONG).await;
    let future = Fence { lease: name, term: grant.term.next().expect("a term") };
    assert!(refused(backend, &future).await);
    let other = Fence { lease: fresh("fence-other"), term: grant.term };
    ann.takes(&other.lease, LONG).await;
    assert!(!refused(backend, &other).await, "terms count per lease");
}

async fn refused(backend: &dyn Backend, fence: &Fence) -> bool {
    match backend.check_fence(fence).await.expect("a backend with fences") {
        FenceCheck::Holds => false,
        FenceCheck::Refused(fenced) => {
            assert_eq!(fenced.fence, *fence, "the refusal names the fence");
            true
        }
    }
}
