//! Revocation: an operator has a holder out of office, politely or at once.

use std::sync::Arc;

use tenure_core::contract::LeaseAdmin;
use tenure_core::lease::{Cause, FenceCheck, Grant, LeaseName, Loss, Release, Renew, Revoke};

use super::history::oldest_first;
use super::player::{LONG, Player, fresh, outlive, renewal};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// Asked to go, the holder is told at its next renewal; nobody else gets in before it has gone.
pub async fn a_revoked_holder_is_told_and_others_wait_for_its_release(backend: &dyn Backend) {
    let Some(Scene { admin, ann, bob, name, claim, grant }) = scene(backend).await else { return };
    let asked = Revoke::Asked { term: grant.term, node: ann.node.name.clone() };
    assert_eq!(revoke(&admin, &name, false).await, asked);
    let row = ann.row(&name).await;
    assert!(row.revoked_at.is_some() && row.released_at.is_none(), "{row:?}");
    assert_eq!(ann.renews(&grant, &renewal(1)).await, Renew::Lost(Loss::Revoked));
    bob.finds_held(&name).await;
    assert_eq!(ann.finds_held_by(&claim).await.term, grant.term, "a repeated claim does not undo it");
    assert_eq!(revoke(&admin, &name, false).await, asked, "asking twice is asking once");
    assert_eq!(ann.row(&name).await, row);
    assert_eq!(ann.releases(&grant).await, Release::Released);
    assert_eq!(last_cause(&admin, &name).await, Cause::Resigned);
    bob.takes(&name, LONG).await;
}

/// From the moment of the revocation no write of that term passes.
pub async fn a_revoked_fence_is_refused(backend: &dyn Backend) {
    let Some(Scene { admin, name, grant, .. }) = scene(backend).await else { return };
    revoke(&admin, &name, false).await;
    let Some(check) = backend.check_fence(&grant.fence()).await else { return skip(backend, Need::Fence) };
    let FenceCheck::Refused(fenced) = check else { panic!("a revoked fence must be refused") };
    assert_eq!(fenced.loss, Loss::Revoked);
}

/// A holder that does not hear of it keeps others out no longer than its ttl.
pub async fn a_revoked_holder_that_does_not_answer_ends_with_its_ttl(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("revoked-deaf");
    let old = ann.takes(&name, backend.short_ttl()).await;
    revoke(&admin, &name, false).await;
    outlive(backend, &bob, &name).await;
    let new = bob.takes(&name, LONG).await;
    assert!(new.term > old.term);
    assert_eq!(bob.row(&name).await.revoked_at, None, "the revocation does not pass to the next holder");
    assert_eq!(bob.renews(&new, &renewal(1)).await, Renew::Extended);
}

/// By force the lease is free at once, and the former holder's writes are refused from then on.
pub async fn a_forced_revocation_frees_the_lease_at_once(backend: &dyn Backend) {
    let Some(Scene { admin, ann, bob, name, grant, .. }) = scene(backend).await else { return };
    let forced = Revoke::Forced { term: grant.term, node: ann.node.name.clone() };
    assert_eq!(revoke(&admin, &name, true).await, forced);
    assert_eq!(last_cause(&admin, &name).await, Cause::Fenced);
    assert!(matches!(ann.renews(&grant, &renewal(1)).await, Renew::Lost(_)));
    assert_eq!(ann.releases(&grant).await, Release::NotHeld);
    if let Some(check) = backend.check_fence(&grant.fence()).await {
        assert!(matches!(check, FenceCheck::Refused(_)), "{check:?}");
    }
    assert!(bob.takes(&name, LONG).await.term > grant.term);
}

/// First politely, then not.
pub async fn a_revocation_can_be_forced_afterwards(backend: &dyn Backend) {
    let Some(Scene { admin, ann, bob, name, grant, .. }) = scene(backend).await else { return };
    revoke(&admin, &name, false).await;
    let forced = Revoke::Forced { term: grant.term, node: ann.node.name.clone() };
    assert_eq!(revoke(&admin, &name, true).await, forced);
    bob.takes(&name, LONG).await;
}

/// There is nobody to revoke: unknown, given back, expired.
pub async fn revoking_what_nobody_holds_changes_nothing(backend: &dyn Backend) {
    let Some(Scene { admin, ann, name, grant, .. }) = scene(backend).await else { return };
    let expired = fresh("revoke-expired");
    ann.takes(&expired, backend.short_ttl()).await;
    ann.releases(&grant).await;
    outlive(backend, &ann, &expired).await;
    for force in [false, true] {
        assert_eq!(revoke(&admin, &fresh("never"), force).await, Revoke::NotHeld);
        for name in [&name, &expired] {
            let before = ann.row(name).await;
            assert_eq!(revoke(&admin, name, force).await, Revoke::NotHeld);
            assert_eq!(ann.row(name).await, before);
        }
    }
}

struct Scene {
    admin: Arc<dyn LeaseAdmin>,
    ann: Player,
    bob: Player,
    name: LeaseName,
    claim: tenure_core::lease::Claim,
    /// What `ann` holds.
    grant: Grant,
}

async fn scene(backend: &dyn Backend) -> Option<Scene> {
    let Some(admin) = backend.admin().await else {
        skip(backend, Need::Admin);
        return None;
    };
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("revoked");
    let claim = ann.claim(&name, LONG);
    let grant = ann.takes_by(&claim).await;
    Some(Scene { admin, ann, bob, name, claim, grant })
}

async fn revoke(admin: &Arc<dyn LeaseAdmin>, name: &LeaseName, force: bool) -> Revoke {
    admin.revoke(name, "conformance", force).await.expect("an answer to a revocation")
}

async fn last_cause(admin: &Arc<dyn LeaseAdmin>, name: &LeaseName) -> Cause {
    oldest_first(admin, name).await.pop().expect("a change").cause
}
