//! The registry: holdings that were granted elsewhere, written down with a term of this store.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::LeaseRegistry;
use tenure_core::lease::{Cause, Fence, FenceCheck, LeaseName, Term};
use tenure_core::registry::{Entry, Recorded};

use super::history::oldest_first;
use super::player::{LONG, Player, fresh, node, outlive, unique};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// One line makes the tables, and may be called by every node at every start.
pub async fn a03_the_registry_can_be_prepared_again_and_again(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    for _ in 0..2 {
        registry.prepare().await.expect("prepared");
    }
    let term = record(&registry, &entry, LONG).await;
    registry.prepare().await.expect("prepared");
    assert_eq!(look.row(&entry.name).await.term, term, "preparing loses nothing");
}

/// What was recorded is seen like any lease: holder, kind, and what granted it.
pub async fn a05_a_recorded_holding_is_seen_like_any_lease(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let term = record(&registry, &entry, LONG).await;
    let row = look.row(&entry.name).await;
    assert_eq!((&row.name, row.term, &row.node, row.claim), (&entry.name, term, &entry.node, entry.claim));
    assert_eq!((&row.backend, &row.kind, row.released_at), (&entry.backend, &entry.kind, None));
    assert_eq!(row.acquired_at, row.renewed_at);
    assert_eq!(look.finds_held(&entry.name).await.node, entry.node, "the store does not grant it to another");
}

/// A holder that keeps its lock for hours is touched, and never swept.
pub async fn a08_a_touched_holding_outlives_the_sweep(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let stale_after = Duration::from_secs(2);
    let term = record(&registry, &entry, stale_after).await;
    assert!(registry.touch(&entry, term, LONG).await.expect("touched"));
    backend.pass(stale_after + Duration::from_millis(200)).await;
    registry.sweep().await.expect("swept");
    let row = look.row(&entry.name).await;
    assert_eq!(row.released_at, None, "a touched holding lives");
    assert!(registry.touch(&entry, term, LONG).await.expect("touched"));
    assert!(look.row(&entry.name).await.renewed_at > row.acquired_at);
}

/// A release stamps the row; it stays, and is not released twice.
pub async fn a08_a_recorded_release_stamps_the_row(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let term = record(&registry, &entry, LONG).await;
    assert!(registry.stamp_released(&entry, term).await.expect("stamped"));
    let row = look.row(&entry.name).await;
    assert!(row.released_at.is_some() && row.term == term, "{row:?}");
    assert!(!registry.stamp_released(&entry, term).await.expect("an answer"), "it is released already");
    assert!(
        !registry.touch(&entry, term, LONG).await.expect("an answer"),
        "what was released does not live again"
    );
    assert_eq!(look.row(&entry.name).await, row);
}

/// The sweep stamps what nobody has touched for as long as it was said to live; nothing else.
pub async fn a03_the_sweep_stamps_only_what_was_forgotten(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry: forgotten, .. }) = scene(backend).await else { return };
    let (living, native) = (entry_for(&fresh("living")), fresh("native"));
    record(&registry, &forgotten, backend.short_ttl()).await;
    record(&registry, &living, LONG).await;
    look.takes(&native, backend.short_ttl()).await;
    outlive(backend, &look, &native).await;
    // Another test's sweep on the same server may have been first, so that the count says nothing here.
    registry.sweep().await.expect("swept");
    assert!(look.row(&forgotten.name).await.released_at.is_some(), "what was forgotten is stamped");
    assert_eq!(look.row(&living.name).await.released_at, None, "what lives is not");
    assert_eq!(look.row(&native).await.released_at, None, "leases of the store itself are not its business");
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let causes: Vec<_> =
        oldest_first(&admin, &forgotten.name).await.iter().map(|change| change.cause).collect();
    assert_eq!(causes, [Cause::Acquired, Cause::Expired]);
}

/// Whoever granted the lock says that it has a new holder: the old one's touches and releases go nowhere.
pub async fn s04_a_former_recorded_holder_changes_nothing(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry: old, .. }) = scene(backend).await else { return };
    let old_term = record(&registry, &old, LONG).await;
    let new = entry_for(&old.name);
    let new_term = record(&registry, &new, LONG).await;
    assert!(new_term > old_term);
    let before = look.row(&old.name).await;
    assert_eq!(before.node, new.node);
    for (entry, term) in [(&old, old_term), (&old, new_term), (&new, old_term)] {
        assert!(!registry.touch(entry, term, LONG).await.expect("an answer"));
        assert!(!registry.stamp_released(entry, term).await.expect("an answer"));
    }
    assert_eq!(look.row(&old.name).await, before);
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let told: Vec<_> = oldest_first(&admin, &old.name).await.iter().map(|c| (c.term, c.cause)).collect();
    assert_eq!(told, [(old_term, Cause::Acquired), (old_term, Cause::Crashed), (new_term, Cause::Acquired)]);
}

/// Terms come from this store, whoever granted the lock: they rise over recordings and over its own grants alike.
pub async fn s15_terms_of_recorded_holdings_rise(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let first = record(&registry, &entry, LONG).await;
    registry.stamp_released(&entry, first).await.expect("stamped");
    let native = look.takes(&entry.name, LONG).await;
    look.releases(&native).await;
    let again = entry_for(&entry.name);
    let third = record(&registry, &again, LONG).await;
    assert!(first < native.term && native.term < third, "{first}, {}, {third}", native.term);
    registry.stamp_released(&again, third).await.expect("stamped");
    if !backend.delete_row(&entry.name).await {
        return skip(backend, Need::DeleteRow);
    }
    assert!(record(&registry, &entry_for(&entry.name), LONG).await > third);
}

/// A recording repeated because its answer was lost keeps its term, and adds nothing to the history.
pub async fn s16_a_recording_repeated_keeps_its_term(backend: &dyn Backend) {
    let Some(Scene { registry, entry, .. }) = scene(backend).await else { return };
    let first = record(&registry, &entry, LONG).await;
    assert_eq!(record(&registry, &entry, LONG).await, first);
    assert!(registry.touch(&entry, first, LONG).await.expect("touched"));
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let told: Vec<_> = oldest_first(&admin, &entry.name).await.iter().map(|c| (c.term, c.cause)).collect();
    assert_eq!(told, [(first, Cause::Acquired)]);
}

/// A recorded term fences writes to this store like a granted one.
pub async fn s01_a_recorded_term_is_a_fence(backend: &dyn Backend) {
    let Some(Scene { registry, entry, .. }) = scene(backend).await else { return };
    let old = Fence { lease: entry.name.clone(), term: record(&registry, &entry, LONG).await };
    let Some(check) = backend.check_fence(&old).await else { return skip(backend, Need::Fence) };
    assert_eq!(check, FenceCheck::Holds);
    let new = Fence { term: record(&registry, &entry_for(&entry.name), LONG).await, ..old.clone() };
    assert!(matches!(backend.check_fence(&old).await, Some(FenceCheck::Refused(_))));
    assert_eq!(backend.check_fence(&new).await, Some(FenceCheck::Holds));
}

/// A lease that this store grants itself is not overwritten by what someone records under the same name.
pub async fn a_recording_does_not_overwrite_a_held_lease(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let grant = look.takes(&entry.name, LONG).await;
    let before = look.row(&entry.name).await;
    assert_eq!(registry.record(&entry, LONG).await.expect("an answer"), Recorded::NameTaken);
    assert!(!registry.touch(&entry, grant.term, LONG).await.expect("an answer"));
    assert!(!registry.stamp_released(&entry, grant.term).await.expect("an answer"));
    assert_eq!(look.row(&entry.name).await, before);
    look.releases(&grant).await;
    assert!(record(&registry, &entry, LONG).await > grant.term);
}

struct Scene {
    registry: Arc<dyn LeaseRegistry>,
    /// Sees the rows, and now and then takes a lease of the store's own.
    look: Player,
    entry: Entry,
}

async fn scene(backend: &dyn Backend) -> Option<Scene> {
    let Some(registry) = backend.registry().await else {
        skip(backend, Need::Registry);
        return None;
    };
    Some(Scene { registry, look: Player::enter(backend, "look").await, entry: entry_for(&fresh("recorded")) })
}

/// A new holding of `name`, granted by something that is not this store.
fn entry_for(name: &LeaseName) -> Entry {
    Entry {
        name: name.clone(),
        node: node("elsewhere"),
        claim: unique(),
        backend: "conformance".into(),
        kind: Some("singleton".into()),
    }
}

async fn record(registry: &Arc<dyn LeaseRegistry>, entry: &Entry, stale_after: Duration) -> Term {
    match registry.record(entry, stale_after).await.expect("recorded") {
        Recorded::At(term) => term,
        Recorded::NameTaken => panic!("{} is not taken by the store itself", entry.name),
    }
}
