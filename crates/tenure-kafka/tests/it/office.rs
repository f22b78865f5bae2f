//! Taking office, keeping it, losing it, leaving it.

use std::time::{Duration, Instant};

use tenure_core::contract::LeaseStore;
use tenure_core::lease::{Acquire, Loss, Release, Renew};

use crate::place::{Place, lease, on_both};

const TTL: Duration = Duration::from_millis(1500);

// The mock makes every further rebalance last as long as a session, less a second: longer than a holder's proof covers.
on_both! {
    both: a_holder_that_does_not_renew_is_out_when_its_ttl_ends
    both: two_leases_on_one_topic_know_nothing_of_each_other
    real: a_free_lease_is_granted_held_renewed_released_and_granted_again
    real: a_lease_that_nobody_here_wants_any_more_goes_to_those_who_do
}

async fn a_free_lease_is_granted_held_renewed_released_and_granted_again(place: Place) {
    let (ann, bob) = (place.enter("ann"), place.enter("bob"));
    let name = lease("plain");
    let claim = ann.claim(&name, TTL);
    let first = ann.gets(&claim, Duration::from_secs(20)).await;
    assert!(ann.store.epoch(&first).is_some_and(|epoch| !epoch.is_empty()));
    let Acquire::Granted(again) = ann.store.try_acquire(&claim).await.unwrap() else {
        panic!("its own claim")
    };
    assert_eq!(again, first);
    let renewing = tokio::spawn({
        let (ann, grant) = (ann.clone(), first.clone());
        async move {
            for number in 1..=20 {
                assert_eq!(ann.renews(&grant, number).await, Renew::Extended, "renewal {number}");
                // passes time: the holder renews as a keeper does
                tokio::time::sleep(TTL / 4).await;
            }
        }
    });
    let holder = bob.finds_held(&name, TTL).await;
    assert_eq!((holder.node, holder.term), (ann.node.clone(), first.term));
    renewing.await.unwrap();
    assert_eq!(ann.releases(&first).await, Release::Released);
    assert_eq!(ann.releases(&first).await, Release::NotHeld);
    let second = bob.takes(&name, TTL).await;
    assert!(second.term > first.term);
    assert_eq!(bob.store.epoch(&second), ann.store.epoch(&first), "one topic, one epoch");
    let taken = Loss::Taken { term: second.term, by: bob.node.name.clone() };
    assert_eq!(ann.renews(&first, 21).await, Renew::Lost(taken));
    assert_eq!(bob.releases(&second).await, Release::Released);
    let third = ann.takes(&name, TTL).await;
    assert!(third.term > second.term, "the same process joins anew");
}

async fn a_holder_that_does_not_renew_is_out_when_its_ttl_ends(place: Place) {
    let (ann, bob) = (place.enter("ann"), place.enter("bob"));
    let name = lease("expires");
    let old = ann.takes(&name, TTL).await;
    let begun = Instant::now();
    let new = bob.takes(&name, TTL).await;
    assert!(begun.elapsed() + Duration::from_millis(300) > TTL, "too early: {:?}", begun.elapsed());
    assert!(new.term > old.term);
    assert!(matches!(ann.renews(&old, 1).await, Renew::Lost(_)));
    assert_eq!(ann.releases(&old).await, Release::NotHeld);
    assert_eq!(bob.renews(&new, 1).await, Renew::Extended);
}

async fn a_lease_that_nobody_here_wants_any_more_goes_to_those_who_do(place: Place) {
    let (ann, bob, cid) = (place.enter("ann"), place.enter("bob"), place.enter("cid"));
    let name = lease("unwanted");
    let grant = ann.takes(&name, TTL).await;
    // Both have joined the group; one of them has gone by the time the partition is free.
    bob.finds_held(&name, TTL).await;
    drop(bob);
    ann.releases(&grant).await;
    let next = cid.takes(&name, TTL).await;
    assert!(next.term > grant.term);
}

async fn two_leases_on_one_topic_know_nothing_of_each_other(place: Place) {
    let (ann, bob) = (place.enter("ann"), place.enter("bob"));
    let (one, two) = (lease("one"), lease("two"));
    let (first, second) = tokio::join!(ann.takes(&one, TTL), bob.takes(&two, TTL));
    assert_ne!(first.term, second.term);
    assert_eq!(ann.renews(&first, 1).await, Renew::Extended);
    assert_eq!(bob.renews(&second, 1).await, Renew::Extended);
    assert_eq!(ann.releases(&first).await, Release::Released);
    assert_eq!(bob.renews(&second, 2).await, Renew::Extended);
}
