//! The registry: holdings that were granted elsewhere, written down with a term of this store.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::LeaseRegistry;
use tenure_core::lease::{Cause, Fence, FenceCheck, LeaseName, Loss, Term};
use tenure_core::registry::{Entry, Origin, Recorded, Touched};

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
    assert!(touches(&registry, &entry, term).await);
    backend.pass(stale_after + Duration::from_millis(200)).await;
    registry.sweep().await.expect("swept");
    let row = look.row(&entry.name).await;
    assert_eq!(row.released_at, None, "a touched holding lives");
    assert!(touches(&registry, &entry, term).await);
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
    assert!(!touches(&registry, &entry, term).await, "what was released does not live again");
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
        assert!(!touches(&registry, entry, term).await);
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
    assert!(touches(&registry, &entry, first).await);
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
    let taken = registry.record(&entry, LONG).await.expect("an answer");
    assert_eq!(taken, Recorded::NameTaken { by: grant.node.name.clone(), place: None });
    assert!(!touches(&registry, &entry, grant.term).await);
    assert!(!registry.stamp_released(&entry, grant.term).await.expect("an answer"));
    assert_eq!(look.row(&entry.name).await, before);
    look.releases(&grant).await;
    assert!(record(&registry, &entry, LONG).await > grant.term);
}

/// What a holding was granted as is written down and shown; a lease of the store's own has none.
pub async fn a05_what_a_holding_was_granted_as_is_seen(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let counted = granted_as(&entry.name, "3f2c", 41);
    let term = record(&registry, &counted, LONG).await;
    assert_eq!(look.row(&entry.name).await.origin, counted.origin);
    assert!(touches(&registry, &counted, term).await);
    assert_eq!(look.row(&entry.name).await.origin, counted.origin, "a touch leaves it as it is");
    assert!(registry.stamp_released(&counted, term).await.expect("stamped"));
    assert_eq!(look.row(&entry.name).await.origin, counted.origin, "it is remembered after a release");
    let plain = Origin { epoch: None, term: Term::new(7).expect("a term") };
    let without_epoch = Entry { origin: Some(plain), backend: "another".into(), ..entry_for(&entry.name) };
    let anew = registry.record(&without_epoch, LONG).await.expect("recorded");
    assert!(matches!(anew, Recorded::Anew { .. }), "{anew:?}");
    assert_eq!(look.row(&entry.name).await.origin, without_epoch.origin);
    let native = fresh("native");
    look.takes(&native, LONG).await;
    assert_eq!(look.row(&native).await.origin, None);
}

/// The store's term rises with every holding, however far the foreign number jumps, and the same holding keeps its term.
pub async fn s15_terms_rise_with_the_numbers_of_whoever_granted(backend: &dyn Backend) {
    let Some(Scene { registry, entry, .. }) = scene(backend).await else { return };
    let (first, second) = (granted_as(&entry.name, "a", 41), granted_as(&entry.name, "a", 1_000_000_000_000));
    let one = record(&registry, &first, LONG).await;
    assert_eq!(record(&registry, &first, LONG).await, one, "the same holding again");
    let two = record(&registry, &second, LONG).await;
    assert!(two > one, "{one}, {two}");
    assert_eq!(record(&registry, &second, LONG).await, two);
    assert!(!touches(&registry, &first, one).await);
    assert!(touches(&registry, &second, two).await);
    // The same claim under a number of its own is a holding of its own.
    let again = Entry { origin: granted_as(&entry.name, "a", 1_000_000_000_001).origin, ..second };
    assert!(record(&registry, &again, LONG).await > two);
}

/// A holder that comes late is refused by its number, and so is one whose store has gone back; also when the later holder
/// has left.
pub async fn s15_a_number_that_went_back_is_refused(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let present = granted_as(&entry.name, "a", 41);
    let term = record(&registry, &present, LONG).await;
    for released in [false, true] {
        let before = look.row(&entry.name).await;
        for number in [1, 40, 41] {
            let late = granted_as(&entry.name, "a", number);
            let answer = registry.record(&late, LONG).await.expect("an answer");
            let behind = Recorded::Behind {
                recorded: present.origin.clone().expect("an origin"),
                by: present.node.name.clone(),
            };
            assert_eq!(answer, behind, "{number}, released: {released}");
            assert!(!touches(&registry, &late, term).await);
        }
        assert_eq!(look.row(&entry.name).await, before, "nothing was written");
        if !released {
            assert!(registry.stamp_released(&present, term).await.expect("stamped"));
        }
    }
    assert!(record(&registry, &granted_as(&entry.name, "a", 42), LONG).await > term);
}

/// Numbers of another epoch cannot be compared: the store's own term still goes up, and it is said.
pub async fn s15_another_epoch_gets_a_higher_term(backend: &dyn Backend) {
    let Some(Scene { registry, entry, .. }) = scene(backend).await else { return };
    let old = granted_as(&entry.name, "a", 41);
    let first = record(&registry, &old, LONG).await;
    assert!(registry.stamp_released(&old, first).await.expect("stamped"));
    let new = granted_as(&entry.name, "b", 1);
    let second = match registry.record(&new, LONG).await.expect("recorded") {
        Recorded::Anew { term, before } => {
            assert_eq!(Some(before), old.origin);
            term
        }
        other => panic!("{other:?}"),
    };
    assert!(second > first);
    assert_eq!(record(&registry, &new, LONG).await, second, "the same holding again");
    assert!(!touches(&registry, &old, first).await);
    // Another place altogether counts for itself, and is not compared either.
    assert!(registry.stamp_released(&new, second).await.expect("stamped"));
    let elsewhere = Entry { backend: "another".into(), ..granted_as(&entry.name, "b", 1) };
    match registry.record(&elsewhere, LONG).await.expect("recorded") {
        Recorded::Anew { term, before } => {
            assert_eq!(Some(before), new.origin);
            assert!(term > second);
        }
        other => panic!("{other:?}"),
    }
}

/// Two places that grant one lease, because not all processes were told the same; or one that was set up anew while the holder
/// lives: only whoever granted it knows that the holder is gone, so it is waited for, and not deposed.
pub async fn s15_who_was_granted_elsewhere_is_not_deposed_from_another_place(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let present = granted_as(&entry.name, "a", 41);
    let short = backend.short_ttl();
    let first = record(&registry, &present, LONG).await;
    let before = look.row(&entry.name).await;
    let anew = granted_as(&entry.name, "b", 1);
    let elsewhere = Entry { backend: "another".into(), ..granted_as(&entry.name, "a", 1_000) };
    for other in [&anew, &elsewhere] {
        let taken = registry.record(other, LONG).await.expect("an answer");
        let by = present.node.name.clone();
        assert_eq!(taken, Recorded::NameTaken { by, place: Some(present.backend.clone()) });
    }
    assert_eq!(look.row(&entry.name).await, before, "nothing was written");
    assert!(touches(&registry, &present, first).await);
    // Its own claim, granted anew, is no other holder.
    let own = Entry { origin: anew.origin.clone(), ..present.clone() };
    let second = match registry.record(&own, short).await.expect("recorded") {
        Recorded::Anew { term, .. } => term,
        other => panic!("{other:?}"),
    };
    assert!(second > first);
    backend.pass(short + Duration::from_millis(300)).await;
    match registry.record(&elsewhere, LONG).await.expect("an answer") {
        Recorded::Anew { term, .. } => assert!(term > second, "{second}, {term}"),
        other => panic!("its time is over: {other:?}"),
    }
}

/// Two who record at once: whichever is first, the later number stays.
pub async fn s15_of_two_who_record_at_once_the_later_number_stays(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let Some(other) = backend.registry().await else { return skip(backend, Need::Registry) };
    for round in 0..10 {
        let late = granted_as(&entry.name, "a", 2 * round + 1);
        let present = granted_as(&entry.name, "a", 2 * round + 2);
        let (one, two) = tokio::join!(registry.record(&late, LONG), other.record(&present, LONG));
        let two = match two.expect("recorded") {
            Recorded::At(term) => term,
            other => panic!("the later number is recorded: {other:?}"),
        };
        match one.expect("an answer") {
            Recorded::At(term) => assert!(term < two, "{term} before {two}"),
            Recorded::Behind { recorded, .. } => assert_eq!(Some(recorded), present.origin),
            other => panic!("{other:?}"),
        }
        assert_eq!(look.row(&entry.name).await.origin, present.origin);
        assert!(touches(&registry, &present, two).await);
    }
}

/// An operator's wish reaches a holder that is only recorded here, and is told as such in the history.
pub async fn a_revoked_recorded_holder_is_told(backend: &dyn Backend) {
    let Some(Scene { registry, entry, .. }) = scene(backend).await else { return };
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let entry = granted_as(&entry.name, "a", 1);
    let term = record(&registry, &entry, LONG).await;
    admin.revoke(&entry.name, "ada", false).await.expect("revoked");
    let touched = registry.touch(&entry, term, LONG).await.expect("an answer");
    assert_eq!(touched, Touched::Over(Loss::Revoked));
    assert!(registry.stamp_released(&entry, term).await.expect("stamped"));
    let told: Vec<_> = oldest_first(&admin, &entry.name).await.iter().map(|c| (c.term, c.cause)).collect();
    assert_eq!(told, [(term, Cause::Acquired), (term, Cause::Resigned)]);
    let touched = registry.touch(&entry, term, LONG).await.expect("an answer");
    assert_eq!(touched, Touched::Over(Loss::Released));
}

/// A store of the same kind as this one is another place all the same: what it granted is recorded here, and swept here.
pub async fn a_holding_of_another_store_of_the_same_kind_is_no_lease_of_this_one(backend: &dyn Backend) {
    let Some(Scene { registry, look, entry, .. }) = scene(backend).await else { return };
    let native = fresh("native");
    look.takes(&native, LONG).await;
    let same_kind = look.row(&native).await.backend;
    let of = |number| Entry { backend: same_kind.clone(), ..granted_as(&entry.name, "a", number) };
    let first = record(&registry, &of(1), LONG).await;
    assert!(record(&registry, &of(2), LONG).await > first, "its next holder takes its place");
    let forgotten = Entry { name: fresh("forgotten"), ..of(1) };
    record(&registry, &forgotten, backend.short_ttl()).await;
    backend.pass(backend.short_ttl() + Duration::from_millis(200)).await;
    registry.sweep().await.expect("swept");
    assert!(look.row(&forgotten.name).await.released_at.is_some(), "it is swept like any other");
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
        origin: None,
    }
}

/// The same, as the foreign store counts it.
fn granted_as(name: &LeaseName, epoch: &str, number: u64) -> Entry {
    let origin = Origin { epoch: Some(epoch.into()), term: Term::new(number).expect("a term") };
    Entry { origin: Some(origin), ..entry_for(name) }
}

async fn touches(registry: &Arc<dyn LeaseRegistry>, entry: &Entry, term: Term) -> bool {
    registry.touch(entry, term, LONG).await.expect("an answer") == Touched::Living
}

async fn record(registry: &Arc<dyn LeaseRegistry>, entry: &Entry, stale_after: Duration) -> Term {
    match registry.record(entry, stale_after).await.expect("recorded") {
        Recorded::At(term) => term,
        other => panic!("{} was not recorded: {other:?}", entry.name),
    }
}
