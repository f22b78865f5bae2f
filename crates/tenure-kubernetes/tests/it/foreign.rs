//! Leases that other clients hold, and objects that are another lease's.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_core::StoreError;
use tenure_core::contract::LeaseStore;
use tenure_core::lease::{Acquire, Loss, Release, Renew};
use tenure_kubernetes::{KubernetesOptions, KubernetesStore};

use crate::bed::{Bed, LONG, NAMESPACE, Player, lease, pass};

/// What client-go writes.
fn controllers(object: &mut Value, identity: &str, transitions: i32) {
    object["spec"] = json!({
        "holderIdentity": identity, "leaseDurationSeconds": 2, "leaseTransitions": transitions,
        "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
    });
}

/// A controller that renews is respected; one that does not is replaced after its own duration, and the count goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_clients_lease_is_respected_for_its_own_duration() {
    let bed = Bed::start().await;
    let (bob, name) = (bed.node("bob").await, lease("controller"));
    bed.api.edit(NAMESPACE, name.as_str(), |object| controllers(object, "manager_1f", 3));
    let holder = bob.finds_held(&name).await;
    assert_eq!((holder.node.name.as_str(), holder.term.get()), ("manager_1f", 4));
    pass(Duration::from_millis(1500)).await;
    bed.api.edit(NAMESPACE, name.as_str(), |object| {
        object["spec"]["renewTime"] = json!("2026-01-01T00:00:01.500000Z");
    });
    let seen = Instant::now();
    bob.finds_held(&name).await;
    pass(Duration::from_millis(1500)).await;
    bob.finds_held(&name).await;
    pass(Duration::from_secs(2).saturating_sub(seen.elapsed()) + Duration::from_millis(50)).await;
    let grant = bob.takes(&name, LONG).await;
    assert_eq!(grant.term.get(), 5);
    assert_eq!(bed.spec(&name, "leaseTransitions"), json!(4));
    assert_eq!(bob.store.observe(&name).await.expect("an answer").expect("a record").node, bob.node);
}

#[tokio::test]
async fn a_lease_that_another_client_gave_back_is_free_at_once() {
    let bed = Bed::start().await;
    let (bob, name) = (bed.node("bob").await, lease("given-back"));
    bed.api.edit(NAMESPACE, name.as_str(), |object| controllers(object, "", 3));
    assert_eq!(bob.takes(&name, LONG).await.term.get(), 5);
}

/// A controller takes over a lease of ours and keeps our annotations, as client-go does.
#[tokio::test]
async fn a_holder_that_another_client_deposed_is_told() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("deposed"));
    let grant = ann.takes(&name, LONG).await;
    bed.api.edit(NAMESPACE, name.as_str(), |object| controllers(object, "manager_1f", 1));
    let before = bed.api.object(NAMESPACE, name.as_str());
    let Renew::Lost(Loss::Taken { term, by }) = ann.renews(&grant, 1).await else { panic!("it was taken") };
    assert_eq!((term.get(), by.as_str()), (2, "manager_1f"));
    assert_eq!(ann.releases(&grant).await, Release::NotHeld);
    assert_eq!(bed.api.object(NAMESPACE, name.as_str()), before, "nothing of it was changed");
}

/// What a person sees: who, since when, how often it changed hands, for how long.
#[tokio::test]
async fn kubectl_shows_a_sensible_lease() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("shown"));
    let grant = ann.takes(&name, Duration::from_secs(6)).await;
    let identity = format!("ann_{}", ann.node.incarnation);
    assert_eq!(bed.spec(&name, "holderIdentity"), json!(identity));
    assert_eq!(bed.spec(&name, "leaseTransitions"), json!(0));
    assert_eq!(bed.spec(&name, "leaseDurationSeconds"), json!(6));
    let acquired = bed.spec(&name, "acquireTime");
    assert!(
        acquired.as_str().is_some_and(|time| time.starts_with("20") && time.ends_with('Z')),
        "{acquired}"
    );
    assert_eq!(bed.spec(&name, "renewTime"), acquired);
    ann.renews(&grant, 1).await;
    assert_eq!(bed.spec(&name, "acquireTime"), acquired, "a renewal is no new beginning");
    assert_ne!(bed.spec(&name, "renewTime"), acquired);
    let object = bed.api.object(NAMESPACE, name.as_str()).expect("an object");
    let notes = &object["metadata"]["annotations"];
    assert_eq!(notes["tenure.dev/lease"], json!("shown"));
    assert_eq!(notes["tenure.dev/claim"], json!(grant.claim.to_string()));
    assert_eq!(notes["tenure.dev/machine"], json!("rack"));
    ann.releases(&grant).await;
    assert_eq!(bed.spec(&name, "holderIdentity"), json!(""));
    assert_eq!(bed.spec(&name, "leaseTransitions"), json!(0), "the count is kept");
}

/// Two leases whose names would make one object: the second is refused, and the first is not disturbed.
#[tokio::test]
async fn s20_two_leases_never_share_an_object() {
    let bed = Bed::start().await;
    let url = format!("kubernetes://{NAMESPACE}/a?server={}", bed.api.url());
    let prefixed = KubernetesStore::connect(KubernetesOptions::from_url(&url).expect("options")).await;
    let (ann, bob) = (bed.node("ann").await, Player::new(prefixed.expect("a store"), "bob"));
    let (dotted, short) = (lease("a.b"), lease("b"));
    assert_eq!(ann.store.object_name(&dotted), bob.store.object_name(&short));
    let grant = ann.takes(&dotted, LONG).await;
    ann.releases(&grant).await;
    let before = bed.api.object(NAMESPACE, "a.b");
    let error = bob.tries(&bob.claim(&short, LONG)).await.expect_err("it is another's object");
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(error.to_string().contains("\"a.b\"") && error.to_string().contains("\"b\""), "{error}");
    assert!(bob.store.observe(&short).await.is_err());
    assert_eq!(bed.api.object(NAMESPACE, "a.b"), before);
    // Names that only look alike have objects of their own.
    let (plain, forged) = (lease("A"), lease(&ann.store.object_name(&lease("A"))));
    let first = ann.takes(&plain, LONG).await;
    assert!(matches!(ann.tries(&ann.claim(&forged, LONG)).await, Ok(Acquire::Granted(_))));
    assert_eq!(ann.renews(&first, 1).await, Renew::Extended);
}
