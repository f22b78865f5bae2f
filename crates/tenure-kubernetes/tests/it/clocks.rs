//! Clocks: each node's own steady one counts, and no wall clock does.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tenure_core::lease::{Acquire, Grant, LeaseName};
use tenure_core::time::StoreTime;

use crate::bed::{Bed, LONG, NAMESPACE, Player, lease, pass};

/// Asks until the lease is had, and says how long after `since` that was.
async fn asks_until_granted(player: &Player, name: &LeaseName, since: Instant) -> (Grant, Duration) {
    let claim = player.claim(name, LONG);
    loop {
        match player.tries(&claim).await.expect("an answer") {
            Acquire::Granted(grant) => return (grant, since.elapsed()),
            Acquire::Held(holder) => {
                assert!(holder.expires_in <= Duration::from_secs(600));
                // passes time: a dead holder's duration.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

fn shifted(hours: i64) -> serde_json::Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64;
    json!(StoreTime::from_micros(now + hours * 3_600_000_000).to_string())
}

/// The holder's wall clock is a day behind or ahead of the contender's: no early and no late takeover.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s12_a_dead_holder_is_replaced_after_its_duration_with_clocks_a_day_apart() {
    let bed = Bed::start().await;
    let rounds = [-24, 0, 24].map(|hours| {
        let bed = &bed;
        async move {
            let name = lease(&format!("clocks-{}", hours + 24));
            let (ann, bob) = (bed.node("ann").await, bed.node("bob").await);
            let old = ann.takes(&name, Duration::from_secs(2)).await;
            bed.api.edit(NAMESPACE, name.as_str(), |object| {
                object["spec"]["renewTime"] = shifted(hours);
                object["spec"]["acquireTime"] = shifted(hours);
            });
            let before = Instant::now();
            let left = bob.finds_held(&name).await.expires_in;
            assert!(left > Duration::from_millis(1900), "a first sight waits a whole duration: {left:?}");
            let (new, after) = asks_until_granted(&bob, &name, before).await;
            assert!(new.term > old.term);
            assert!(after >= Duration::from_secs(2), "{hours} h apart: taken early, after {after:?}");
            assert!(after < Duration::from_millis(2900), "{hours} h apart: taken late, after {after:?}");
        }
    });
    futures_util::future::join_all(rounds).await;
}

/// A holder that lives renews, whatever time it writes: even one that lies in the past, or stands still.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s12_a_holder_whose_wall_clock_is_wrong_keeps_its_lease() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("wrong-clock"));
    let grant = ann.takes(&name, Duration::from_secs(1)).await;
    bob.finds_held(&name).await;
    for number in 1..=4 {
        pass(Duration::from_millis(450)).await;
        ann.renews(&grant, number).await;
        // As if it had been written by a clock that is a day behind and stands still.
        bed.api.edit(NAMESPACE, name.as_str(), |object| {
            object["spec"]["renewTime"] = json!("2001-01-01T00:00:00.000000Z");
        });
        assert_eq!(bob.finds_held(&name).await.term, grant.term);
    }
}

/// A Lease records whole seconds: 1.2 s become 2, for the object and for everyone who waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ttl_of_less_than_a_second_more_counts_a_whole_one() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("fraction"));
    let grant = ann.takes(&name, Duration::from_millis(1200)).await;
    assert_eq!(grant.ttl, Duration::from_millis(1200), "the holder's own trust is not longer for it");
    assert_eq!(bed.spec(&name, "leaseDurationSeconds"), json!(2));
    let object = bed.api.object(NAMESPACE, name.as_str()).expect("an object");
    assert_eq!(object["metadata"]["annotations"]["tenure.dev/ttl"], json!("1.2s"));
    let before = Instant::now();
    bob.finds_held(&name).await;
    let (_, after) = asks_until_granted(&bob, &name, before).await;
    assert!(after >= Duration::from_secs(2), "taken after {after:?}");
}

/// k8s#47671: each candidate has its own duration; the one in the object counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s14_the_duration_in_the_object_counts_and_not_the_contenders() {
    let bed = Bed::start().await;
    let (ann, bob, name) = (bed.node("ann").await, bed.node("bob").await, lease("durations"));
    ann.takes(&name, Duration::from_secs(2)).await;
    let before = Instant::now();
    bob.finds_held(&name).await;
    let hasty = bob.claim(&name, Duration::from_millis(1));
    pass(Duration::from_millis(1200)).await;
    assert!(matches!(bob.tries(&hasty).await.expect("an answer"), Acquire::Held(_)));
    let (_, after) = asks_until_granted(&bob, &name, before).await;
    assert!(after >= Duration::from_secs(2) && after < Duration::from_millis(2900), "taken after {after:?}");
    assert_eq!(bed.spec(&name, "leaseDurationSeconds"), json!(600), "the next holder's own");
}
