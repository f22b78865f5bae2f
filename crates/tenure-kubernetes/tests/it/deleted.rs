//! An object that is deleted, made again, or edited by hand.

use serde_json::json;
use tenure_core::StoreError;
use tenure_core::contract::LeaseStore;
use tenure_core::lease::{Loss, Release, Renew};

use crate::bed::{Bed, LONG, NAMESPACE, lease};

/// Its holder is out of office, and does not bring it back.
#[tokio::test]
async fn s23_a_holder_whose_object_was_deleted_is_out_of_office() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("deleted"));
    let old = ann.takes(&name, LONG).await;
    let old_epoch = ann.store.epoch(&old).expect("an epoch");
    assert!(bed.api.delete(NAMESPACE, name.as_str()));
    assert_eq!(ann.renews(&old, 1).await, Renew::Lost(Loss::Unknown));
    assert_eq!(ann.releases(&old).await, Release::NotHeld);
    assert_eq!(bed.api.object(NAMESPACE, name.as_str()), None, "nobody but a claim makes an object");
    let new = bob.takes(&name, LONG).await;
    let new_epoch = bob.store.epoch(&new).expect("an epoch");
    assert_ne!(new_epoch, old_epoch, "the terms of the new object are counted from something else");
    assert_eq!(new.term, old.term, "and begin anew for one who never saw the old one");
    let taken = Loss::Taken { term: new.term, by: bob.node.name.clone() };
    assert_eq!(ann.renews(&old, 2).await, Renew::Lost(taken));
    assert_eq!(bob.renews(&new, 1).await, Renew::Extended);
}

/// A backup of the object was applied: word for word the same, and yet another object.
#[tokio::test]
async fn s23_an_object_made_again_from_a_backup_is_not_the_old_holders() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("backup"));
    let grant = ann.takes(&name, LONG).await;
    let backup = bed.api.object(NAMESPACE, name.as_str()).expect("an object");
    bed.api.delete(NAMESPACE, name.as_str());
    bed.api.edit(NAMESPACE, name.as_str(), |object| {
        let uid = object["metadata"]["uid"].clone();
        *object = backup;
        object["metadata"]["uid"] = uid;
    });
    assert_eq!(ann.renews(&grant, 1).await, Renew::Lost(Loss::Unknown));
    assert_eq!(ann.releases(&grant).await, Release::NotHeld);
}

/// Whoever has seen the old object goes on with its numbers.
#[tokio::test]
async fn s15_terms_rise_over_a_deleted_object_for_all_who_have_seen_it() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("rise"));
    let mut last = ann.takes(&name, LONG).await;
    for _ in 0..3 {
        ann.releases(&last).await;
        last = ann.takes(&name, LONG).await;
    }
    bob.finds_held(&name).await;
    bed.api.delete(NAMESPACE, name.as_str());
    let next = bob.takes(&name, LONG).await;
    assert!(next.term > last.term, "{} after {}", next.term, last.term);
    // One who never saw it makes it anew; bob then rises above what he has seen.
    bed.api.delete(NAMESPACE, name.as_str());
    let cat = bed.node("cat").await;
    let first = cat.takes(&name, LONG).await;
    assert_eq!(first.term.get(), 1);
    cat.releases(&first).await;
    assert!(bob.takes(&name, LONG).await.term > next.term);
}

/// The number in one and the same object went back: someone edited it, and a term might be given twice.
#[tokio::test]
async fn s15_a_number_that_went_back_in_one_object_is_refused_aloud() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("went-back"));
    for _ in 0..3 {
        let grant = ann.takes(&name, LONG).await;
        ann.releases(&grant).await;
    }
    bed.api.edit(NAMESPACE, name.as_str(), |object| object["spec"]["leaseTransitions"] = json!(0));
    let error = ann.tries(&ann.claim(&name, LONG)).await.expect_err("a number went back");
    assert!(matches!(error, StoreError::Corrupt { .. }) && !error.is_transient(), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("went-back") && said.contains("term 3"), "{said}");
    bed.api.edit(NAMESPACE, name.as_str(), |object| object["spec"]["leaseTransitions"] = json!(7));
    assert_eq!(ann.takes(&name, LONG).await.term.get(), 9, "put right by hand");
}

/// A person empties the holder with `kubectl edit`: the holder is told, and the next may come at once.
#[tokio::test]
async fn a_holder_that_was_emptied_by_hand_is_out_of_office() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("emptied"));
    let old = ann.takes(&name, LONG).await;
    bed.api.edit(NAMESPACE, name.as_str(), |object| object["spec"]["holderIdentity"] = json!(null));
    assert_eq!(ann.renews(&old, 1).await, Renew::Lost(Loss::Released));
    assert!(bob.takes(&name, LONG).await.term > old.term);
}
