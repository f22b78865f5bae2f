//! Catalogue 23 and what goes with it: conflicts, 5xx, slow and lost answers.

use std::time::{Duration, Instant};

use serde_json::json;
use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore, Vacancy, Watch};
use tenure_core::lease::{Acquire, Loss, Release, Renew};

use crate::api::Fault;
use crate::bed::{Bed, LONG, NAMESPACE, granted, lease};

const QUICK: Duration = Duration::from_millis(300);

/// Asks until the server has served so many requests with this verb.
async fn served(bed: &Bed, verb: &str, count: u64) {
    let began = Instant::now();
    while bed.api.served(verb) < count {
        assert!(began.elapsed() < Duration::from_secs(20), "there are not {count} requests to {verb}");
        tokio::task::yield_now().await;
    }
}

/// Someone labelled the object between two renewals. The first try meets 409; the grant is still ours.
#[tokio::test]
async fn s23_a_renewal_that_meets_another_writer_tries_again() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("labelled"));
    let grant = ann.takes(&name, LONG).await;
    assert_eq!(ann.renews(&grant, 1).await, Renew::Extended);
    assert_eq!((bed.api.served("update"), bed.api.served("get")), (1, 1), "a quiet renewal is one request");
    bed.api.edit(NAMESPACE, name.as_str(), |object| {
        object["metadata"]["labels"] = json!({"team": "shop"});
    });
    assert_eq!(ann.renews(&grant, 2).await, Renew::Extended);
    assert_eq!(bed.api.served("update"), 3);
    let object = bed.api.object(NAMESPACE, name.as_str()).expect("an object");
    assert_eq!(object["metadata"]["labels"]["team"], json!("shop"), "what others wrote stays");
}

/// client-go 500bfe00c: the release reads, a renewal under way lands, the release's write meets 409.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s23_a_release_that_meets_a_renewal_under_way_still_releases() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("release-conflict"));
    let grant = ann.takes(&name, LONG).await;
    bed.api.fault("update", [Fault::Slow(QUICK)]);
    let releasing = tokio::spawn({
        let (ann, grant) = (ann.clone(), grant.clone());
        async move { ann.releases(&grant).await }
    });
    served(&bed, "update", 1).await;
    assert_eq!(ann.renews(&grant, 1).await, Renew::Extended, "it overtakes the release");
    assert_eq!(releasing.await.expect("it ends"), Release::Released);
    assert_eq!(bed.spec(&name, "holderIdentity"), json!(""));
    bob.takes(&name, LONG).await;
}

/// client-go 1b1630d32: a renewal under way arrives after the release. What was given back does not come back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s23_a_renewal_that_arrives_after_the_release_brings_nothing_back() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("renewal-late"));
    let grant = ann.takes(&name, LONG).await;
    bed.api.fault("update", [Fault::Slow(QUICK)]);
    let renewing = tokio::spawn({
        let (ann, grant) = (ann.clone(), grant.clone());
        async move { ann.renews(&grant, 1).await }
    });
    served(&bed, "update", 1).await;
    assert_eq!(ann.releases(&grant).await, Release::Released);
    let next = bob.takes(&name, LONG).await;
    let taken = Loss::Taken { term: next.term, by: bob.node.name.clone() };
    assert_eq!(renewing.await.expect("it ends"), Renew::Lost(taken));
    assert_eq!(bob.renews(&next, 1).await, Renew::Extended);
}

/// An API that fails answers with errors that may pass, and nothing is lost or gained by them.
#[tokio::test]
async fn s23_an_api_that_fails_is_an_error_that_may_pass() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("failing"));
    for (verb, code) in [("get", 500), ("create", 503), ("create", 429)] {
        bed.api.fault(verb, [Fault::Fail(code)]);
        let error = ann.tries(&ann.claim(&name, LONG)).await.expect_err("it failed");
        assert!(error.is_transient() && error.to_string().contains(&code.to_string()), "{error}");
    }
    let grant = ann.takes(&name, LONG).await;
    assert_eq!(grant.term.get(), 1, "what failed has granted nothing");
    for (number, code) in [(1, 500), (2, 502), (3, 504)] {
        bed.api.fault("update", [Fault::Fail(code)]);
        let error = ann.tries_to_renew(&grant, number).await.expect_err("it failed");
        assert!(error.is_transient(), "{error}");
    }
    assert_eq!(ann.renews(&grant, 4).await, Renew::Extended);
    bob.finds_held(&name).await;
}

/// The answer to a claim is lost after it took effect; the claim is repeated.
#[tokio::test]
async fn s16_a_claim_whose_answer_was_lost_is_learned_by_repeating_it() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("lost-claim"));
    let claim = ann.claim(&name, LONG);
    bed.api.fault("create", [Fault::Lose]);
    assert!(ann.tries(&claim).await.is_err());
    assert_eq!(bob.finds_held(&name).await.node, ann.node, "it took effect");
    let first = granted(ann.tries(&claim).await.expect("an answer"));
    assert_eq!(first.term.get(), 1);
    // The same once more, with an answer to an update that is lost.
    bed.api.fault("update", [Fault::Lose]);
    assert!(ann.tries(&claim).await.is_err());
    assert_eq!(granted(ann.tries(&claim).await.expect("an answer")), first);
    assert_eq!(ann.renews(&first, 1).await, Renew::Extended);
}

/// A repeated claim is written anew: its holder counts from the repetition, and so must everyone else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s16_a_repeated_claim_is_seen_as_a_change() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("repeated"));
    let claim = ann.claim(&name, Duration::from_secs(2));
    ann.tries(&claim).await.expect("an answer");
    bob.finds_held(&name).await;
    crate::bed::pass(Duration::from_millis(1200)).await;
    ann.tries(&claim).await.expect("an answer");
    let left = bob.finds_held(&name).await.expires_in;
    assert!(left > Duration::from_millis(1500), "others count from the repetition too: {left:?}");
}

/// A renewal takes effect and its answer is lost: the next one finds the grant its own.
#[tokio::test]
async fn s23_a_renewal_whose_answer_was_lost_costs_nothing() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("lost-renewal"));
    let grant = ann.takes(&name, LONG).await;
    bed.api.fault("update", [Fault::Lose]);
    assert!(ann.tries_to_renew(&grant, 1).await.is_err());
    assert_eq!(ann.renews(&grant, 2).await, Renew::Extended);
}

/// The answer to a release is lost, someone else takes the lease, the release is repeated.
#[tokio::test]
async fn s05_a_release_repeated_after_a_lost_answer_ends_nobody_elses_grant() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("lost-release"));
    let old = ann.takes(&name, LONG).await;
    bed.api.fault("update", [Fault::Lose]);
    assert!(ann.store.release(&old).await.is_err());
    let new = bob.takes(&name, LONG).await;
    assert_eq!(ann.releases(&old).await, Release::NotHeld);
    assert_eq!(bob.renews(&new, 1).await, Renew::Extended);
}

/// A call has an end, however slow the API is; what it asked for may have taken effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s23_a_slow_api_is_an_error_within_the_deadline() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.hasty_node("ann", QUICK).await, lease("slow"));
    let grant = ann.takes(&name, LONG).await;
    bed.api.fault("update", [Fault::Late(Duration::from_secs(20))]);
    let before = Instant::now();
    let error = ann.tries_to_renew(&grant, 1).await.expect_err("there was no answer");
    let took = before.elapsed();
    assert!(took >= QUICK && took < Duration::from_secs(5), "{took:?}");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("may have taken effect"), "{error}");
    assert_eq!(ann.renews(&grant, 2).await, Renew::Extended);
}

/// A renewal does not wait longer than the grant lasts, whatever the timeout is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_ends_with_the_ttl_of_its_grant() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("short"));
    let grant = ann.takes(&name, Duration::from_secs(1)).await;
    bed.api.fault("update", [Fault::Slow(Duration::from_secs(20))]);
    let before = Instant::now();
    assert!(ann.tries_to_renew(&grant, 1).await.is_err());
    assert!(before.elapsed() < Duration::from_secs(4), "{:?}", before.elapsed());
}

/// Conflict upon conflict: within bounds they cost nothing, beyond them the store is busy; no call goes on for ever.
#[tokio::test]
async fn s23_a_storm_of_conflicts_has_an_end() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("conflicts"));
    let grant = ann.takes(&name, LONG).await;
    bed.api.fault("update", [Fault::Fail(409); 8]);
    assert_eq!(ann.renews(&grant, 1).await, Renew::Extended);
    bed.api.fault("update", [Fault::Fail(409); 8]);
    assert_eq!(ann.releases(&grant).await, Release::Released);
    bed.api.fault("update", [Fault::Fail(409); 8]);
    let grant = ann.takes(&name, LONG).await;
    bed.api.fault("update", [Fault::Fail(409); 100]);
    let before = bed.api.served("update");
    let error = ann.tries_to_renew(&grant, 1).await.expect_err("it never ended");
    assert!(matches!(error, StoreError::Busy { .. }) && error.is_transient(), "{error:?}");
    assert!(bed.api.served("update") - before < 50);
}

/// Two claims of one process at once, on one handle: each looks with its own eyes, and no look is taken for a step back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_that_share_a_handle_do_not_confuse_each_other() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("shared-handle"));
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let (ann, name) = (ann.clone(), name.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..40 {
                let claim = ann.claim(&name, LONG);
                if let Acquire::Granted(grant) = ann.tries(&claim).await.expect("no step back") {
                    assert_eq!(ann.releases(&grant).await, Release::Released);
                }
            }
        }));
    }
    for task in tasks {
        task.await.expect("it ends");
    }
}

/// The API forgot the version that a watch goes on from. That is no end of the grant and no end of the watch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s23_a_watch_that_is_told_410_looks_and_goes_on() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("gone"));
    let grant = ann.takes(&name, LONG).await;
    bed.api.fault("watch", [Fault::Fail(410)]);
    let watching = tokio::spawn({
        let (bob, name, term) = (bob.clone(), name.clone(), grant.term);
        async move { bob.store.watch(&name, term, Duration::from_secs(30)).await }
    });
    served(&bed, "watch", 2).await;
    bed.api.compact();
    served(&bed, "watch", 3).await;
    assert!(!watching.is_finished(), "the grant holds");
    ann.releases(&grant).await;
    assert_eq!(watching.await.expect("it ends").expect("an answer"), Watch::Fallen);
}

/// A watch answers at once where there is nothing to wait for, and keeps to its patience where there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_answers_at_once_or_with_its_patience() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("watched"));
    let first = ann.takes(&name, LONG).await;
    let watch = |term, patience| {
        let (bob, name) = (bob.clone(), name.clone());
        async move { bob.store.watch(&name, term, patience).await }
    };
    let before = Instant::now();
    assert_eq!(watch(first.term, Duration::from_millis(400)).await.expect("an answer"), Watch::StillUp);
    assert!(before.elapsed() >= Duration::from_millis(400) && before.elapsed() < Duration::from_secs(3));
    assert_eq!(watch(first.term, Duration::ZERO).await.expect("an answer"), Watch::StillUp);
    ann.releases(&first).await;
    assert_eq!(watch(first.term, LONG).await.expect("an answer"), Watch::Fallen);
    let second = ann.takes(&name, LONG).await;
    assert_eq!(watch(first.term, LONG).await.expect("an answer"), Watch::Fallen, "another grant");
    bed.api.fault("watch", [Fault::Fail(500)]);
    assert!(watch(second.term, LONG).await.is_err(), "a watch that cannot be had is no hang");
    let deleting = tokio::spawn(watch(second.term, LONG));
    served(&bed, "watch", 3).await;
    bed.api.delete(NAMESPACE, name.as_str());
    assert_eq!(deleting.await.expect("it ends").expect("an answer"), Watch::Fallen);
}
