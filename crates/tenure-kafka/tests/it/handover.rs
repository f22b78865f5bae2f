//! How long a hand-over takes, and who may have the lease meanwhile.

use std::time::{Duration, Instant};

use tenure_core::contract::LeaseStore;
use tenure_core::lease::{Grant, Renew};

use crate::place::{Place, Player, lease};

/// The default ttl of a lease.
const TTL: Duration = Duration::from_secs(6);

/// Renews every so often until told to stop; panics when the lease is lost.
fn keep(player: &Player, grant: &Grant) -> tokio::sync::oneshot::Sender<()> {
    let (stop, mut stopped) = tokio::sync::oneshot::channel();
    let (player, grant) = (player.clone(), grant.clone());
    tokio::spawn(async move {
        for number in 1.. {
            tokio::select! {
                _ = &mut stopped => return,
                // passes time: the holder renews as a keeper does
                () = tokio::time::sleep(grant.ttl / 3) => {}
            }
            assert_eq!(player.renews(&grant, number).await, Renew::Extended, "{}", player.node);
        }
    });
    stop
}

fn tell(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let (half, last) = (times[times.len() / 2], times[times.len() - 1]);
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{what}: {} rounds, p50 {half:?}, p99 = max {last:?}", times.len());
    last
}

/// Graceful hand-overs between three nodes: release begun → next one holds.
async fn hand_over(place: &Place, rounds: u32, what: &str) -> Duration {
    let players: Vec<_> = (0..3).map(|number| place.enter(&format!("node-{number}"))).collect();
    let name = lease("hand-over");
    let mut holder = 0;
    let mut grant = players[0].takes(&name, TTL).await;
    let mut times = Vec::new();
    for round in 0..rounds {
        let kept = keep(&players[holder], &grant);
        let waiting: Vec<_> = (0..3)
            .filter(|number| *number != holder)
            .map(|number| {
                let (player, name) = (players[number].clone(), name.clone());
                tokio::spawn(async move {
                    let claim = player.claim(&name, TTL);
                    (number, player.gets(&claim, Duration::from_secs(60)).await, Instant::now())
                })
            })
            .collect();
        // passes time: those who wait have joined the group, and heartbeats fall anywhere
        tokio::time::sleep(Duration::from_millis(4000 + u64::from(round * 370 % 1000))).await;
        drop(kept);
        let begun = Instant::now();
        players[holder].releases(&grant).await;
        let (first, _, rest) = futures_util::future::select_all(waiting).await;
        let (next, taken, at) = first.unwrap();
        times.push(at - begun);
        assert!(taken.term > grant.term);
        rest.into_iter().for_each(|task| task.abort());
        (holder, grant) = (next, taken);
    }
    tell(what, times)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_cluster_hands_over_within_a_second_with_the_defaults() {
    let Some(place) = Place::real() else { return };
    let rounds = std::env::var("TENURE_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3);
    let slowest = hand_over(&place, rounds, "kafka real, graceful, defaults").await;
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
}

/// The partition stays where it is while others come, one by one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_living_holder_keeps_the_lease_while_others_join() {
    let Some(place) = Place::quick() else { return };
    let name = lease("sticky");
    let ttl = Duration::from_millis(1500);
    let holder = place.enter("holder");
    let grant = holder.takes(&name, ttl).await;
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let keeping = tokio::spawn({
        let (holder, grant) = (holder.clone(), grant.clone());
        async move {
            for number in 1_u64.. {
                assert_eq!(holder.renews(&grant, number).await, Renew::Extended, "renewal {number}");
                // passes time: renewals fall into every phase of every rebalance
                let pause = tokio::time::sleep(Duration::from_millis(40));
                tokio::select! { _ = &mut stopped => return number, () = pause => {} }
            }
            0
        }
    });
    let others: Vec<_> = (0..5).map(|number| place.enter(&format!("other-{number}"))).collect();
    for other in &others {
        assert_eq!(other.finds_held(&name, ttl).await.term, grant.term);
        // passes time: the group settles before the next one comes
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    // And leave again, one by one.
    for other in others {
        drop(other);
        // passes time: the group settles before the next one goes
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    drop(stop);
    assert!(keeping.await.unwrap() > 20);
    assert_eq!(holder.store.options().topic, place.options.topic);
}

/// A member that was given nothing and goes says so; else the group would wait for it until its session has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_no_more_keeps_nobody_waiting() {
    let Some(mut place) = Place::real() else { return };
    place.options.heartbeat = Duration::from_millis(300);
    let name = lease("forgone");
    let (ann, bob, cid) = (place.enter("ann"), place.enter("bob"), place.enter("cid"));
    let grant = ann.takes(&name, TTL).await;
    bob.finds_held(&name, TTL).await;
    bob.store.forgo(&name).await.unwrap();
    ann.store.forgo(&name).await.unwrap();
    assert_eq!(ann.renews(&grant, 1).await, Renew::Extended, "whoever holds it is not touched by that");
    cid.finds_held(&name, TTL).await;
    let begun = Instant::now();
    ann.releases(&grant).await;
    assert!(cid.takes(&name, TTL).await.term > grant.term);
    let session = place.options.session_timeout;
    assert!(begun.elapsed() < session / 3, "{:?}, and a session lasts {session:?}", begun.elapsed());
}

#[tokio::test]
async fn brokers_that_are_not_there_are_an_error_of_connecting() {
    let url = "kafka://us3r:c4nary@127.0.0.1:1/topic?tls=false&request-timeout=1s";
    let options = tenure_kafka::KafkaLeaseOptions::from_url(url).unwrap();
    let error = tenure_kafka::KafkaLeases::connect(options).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("127.0.0.1:1") && !said.contains("c4nary"), "{said}");
}
