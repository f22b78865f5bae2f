//! History: every change of holder, with its cause, in order, for ever.

use std::sync::Arc;

use tenure_core::contract::LeaseAdmin;
use tenure_core::lease::{Cause, Change, Evidence, LeaseName, Renew};

use super::player::{LONG, Player, announcing, fresh, outlive, renewal, unique};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// The whole life of a lease: each way in and each way out.
pub async fn history_tells_every_change_of_holder_and_its_cause(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let (name, session) = (fresh("life"), unique());
    let first = ann.takes(&name, LONG).await;
    ann.releases(&first).await;
    let second = bob.takes(&name, backend.short_ttl()).await;
    outlive(backend, &ann, &name).await;
    let third = ann.takes(&name, LONG).await;
    assert_eq!(ann.renews(&third, &announcing(1, session)).await, Renew::Extended);
    let fourth = bob.deposes(&name, Evidence { term: third.term, session }).await;
    admin.revoke(&name, "operator", false).await.expect("revoked");
    bob.releases(&fourth).await;
    let fifth = ann.takes(&name, LONG).await;
    admin.revoke(&name, "operator", true).await.expect("forced");

    let changes = oldest_first(&admin, &name).await;
    let told: Vec<_> = changes.iter().map(|change| (change.term, change.cause, &change.node)).collect();
    let expected = [
        (first.term, Cause::Acquired, &ann.node),
        (first.term, Cause::Released, &ann.node),
        (second.term, Cause::Acquired, &bob.node),
        (second.term, Cause::Expired, &bob.node),
        (third.term, Cause::Acquired, &ann.node),
        (third.term, Cause::Crashed, &ann.node),
        (fourth.term, Cause::Acquired, &bob.node),
        (fourth.term, Cause::Resigned, &bob.node),
        (fifth.term, Cause::Acquired, &ann.node),
        (fifth.term, Cause::Fenced, &ann.node),
    ];
    assert_eq!(told, expected);
    assert!(changes.is_sorted_by_key(|change| change.at), "time goes on: {changes:?}");
    assert_eq!(changes[0].at, first.acquired_at);
}

/// Renewals, repeated claims and claims that lose change no holder.
pub async fn what_changes_no_holder_writes_no_history(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("quiet");
    let claim = ann.claim(&name, LONG);
    let grant = ann.takes_by(&claim).await;
    ann.takes_by(&claim).await;
    assert_eq!(ann.renews(&grant, &renewal(1)).await, Renew::Extended);
    bob.finds_held(&name).await;
    let causes = |changes: Vec<Change>| changes.into_iter().map(|change| change.cause).collect::<Vec<_>>();
    assert_eq!(causes(oldest_first(&admin, &name).await), [Cause::Acquired]);
    ann.releases(&grant).await;
    ann.releases(&grant).await;
    assert_eq!(causes(oldest_first(&admin, &name).await), [Cause::Acquired, Cause::Released]);
}

/// Newest first, not more than asked for, of one lease or of all.
pub async fn history_is_limited_and_newest_first(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let ann = Player::enter(backend, "ann").await;
    let (name, other) = (fresh("newest"), fresh("newest-other"));
    for name in [&name, &other, &name, &name] {
        let grant = ann.takes(name, LONG).await;
        ann.releases(&grant).await;
    }
    let changes = admin.history(Some(&name), None, 3).await.expect("a history");
    let told: Vec<_> = changes.iter().map(|change| (change.term.get(), change.cause)).collect();
    assert_eq!(told, [(3, Cause::Released), (3, Cause::Acquired), (2, Cause::Released)]);
    assert!(changes.iter().all(|change| change.name == name), "only of the lease that was asked for");
    let all = admin.history(None, None, 10_000).await.expect("a history");
    for name in [&name, &other] {
        assert!(all.iter().any(|change| change.name == *name), "the history of all leases has {name}");
    }
    assert_eq!(admin.history(None, None, 1).await.expect("a history").len(), 1);
    assert!(admin.history(Some(&fresh("never")), None, 10).await.expect("a history").is_empty());
}

/// The history is there for whoever comes later, even when someone deletes the row.
pub async fn history_survives_its_row(backend: &dyn Backend) {
    if backend.admin().await.is_none() {
        return skip(backend, Need::Admin);
    }
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("survives");
    let grant = ann.takes(&name, LONG).await;
    ann.releases(&grant).await;
    if !backend.delete_row(&name).await {
        return skip(backend, Need::DeleteRow);
    }
    let later = backend.admin().await.expect("an operator's view, as before");
    assert_eq!(oldest_first(&later, &name).await.len(), 2);
    ann.takes(&name, LONG).await;
    assert_eq!(oldest_first(&later, &name).await.len(), 3);
}

/// The history of one lease as it happened.
pub(super) async fn oldest_first(admin: &Arc<dyn LeaseAdmin>, name: &LeaseName) -> Vec<Change> {
    let mut changes = admin.history(Some(name), None, 1_000).await.expect("a history");
    changes.reverse();
    changes
}
