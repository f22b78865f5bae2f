//! What the cluster may do to a holder, on the client's own mock: it answers as it is told to.

use std::time::{Duration, Instant};

use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tenure_core::contract::LeaseStore;
use tenure_core::lease::{Acquire, Renew, Renewal};

use crate::place::{Place, lease};

const TTL: Duration = Duration::from_millis(1500);

/// s22, brod#649: put out of the group without a word, the member learns it by its next commit and extends nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s22_a_member_that_the_coordinator_does_not_know_has_lost_its_lease() {
    let place = Place::mock();
    let ann = place.enter("ann");
    let grant = ann.takes(&lease("evicted"), TTL).await;
    assert_eq!(ann.renews(&grant, 1).await, Renew::Extended);
    let mock = place.mock.as_ref().unwrap();
    let unknown = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID; 4];
    mock.request_errors(RDKafkaApiKey::OffsetCommit, &unknown);
    mock.request_errors(RDKafkaApiKey::Heartbeat, &unknown);
    let mut answer = Renew::Extended;
    for number in 2..20 {
        answer = ann.renews(&grant, number).await;
        if answer != Renew::Extended {
            break;
        }
        // passes time: an earlier proof covers a renewal until the client has taken the partition away
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(matches!(answer, Renew::Lost(_)), "{answer:?}");
    assert!(matches!(ann.renews(&grant, 30).await, Renew::Lost(_)), "for good");
}

/// A member that was put out before it could prove its claim takes it back: it would hide who holds the lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_is_not_proven_is_taken_back() {
    let place = Place::mock();
    let (ann, bob) = (place.enter("ann"), place.enter("bob"));
    let name = lease("unproven");
    let unknown = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID];
    place.mock.as_ref().unwrap().request_errors(RDKafkaApiKey::OffsetCommit, &unknown);
    let answer = ann.store.try_acquire(&ann.claim(&name, TTL)).await;
    assert!(!matches!(answer, Ok(Acquire::Granted(_))), "{answer:?}");
    let seen = bob.store.observe(&name).await.unwrap().unwrap();
    assert!(seen.released_at.is_some(), "{seen:?}");
}

/// A commit that is refused because the group settles costs nothing while an earlier one covers the renewal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_while_the_group_settles_is_covered_by_the_last_proof() {
    let place = Place::mock();
    let ann = place.enter("ann");
    let grant = ann.takes(&lease("settles"), TTL).await;
    let mock = place.mock.as_ref().unwrap();
    let settling = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS; 2];
    mock.request_errors(RDKafkaApiKey::OffsetCommit, &settling);
    for number in 1..=4 {
        assert_eq!(ann.renews(&grant, number).await, Renew::Extended, "renewal {number}");
    }
}

/// A holder that is cut off stops before the coordinator can give its place away, whatever it tries.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s22_a_holder_that_is_cut_off_is_not_extended_beyond_its_last_proof() {
    let place = Place::mock();
    let ann = place.enter("ann");
    let grant = ann.takes(&lease("cut-off"), TTL).await;
    let proven = Instant::now();
    assert_eq!(ann.renews(&grant, 1).await, Renew::Extended);
    place.mock.as_ref().unwrap().broker_down(1).unwrap();
    let cover = place.options.session_timeout - place.options.session_timeout / 10;
    let mut trusted = proven + TTL;
    for number in 2_u64.. {
        let begun = Instant::now();
        if begun > trusted {
            break;
        }
        match ann.store.renew(&grant, &Renewal { number, presence: None }).await {
            Ok(Renew::Extended) => trusted = begun + TTL,
            Ok(Renew::Lost(_)) | Err(_) => break,
        }
        // passes time: renewals come as a keeper makes them
        tokio::time::sleep(TTL / 4).await;
    }
    // The proof was begun a little after the first reading and a little before the second.
    assert!(trusted <= proven + cover + Duration::from_millis(500), "{:?} beyond", trusted - proven);
}

/// A broker that is slow for a while costs nothing but time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_coordinator_does_not_cost_the_lease() {
    let place = Place::mock();
    let ann = place.enter("ann");
    let grant = ann.takes(&lease("slow"), TTL).await;
    let mock = place.mock.as_ref().unwrap();
    mock.broker_round_trip_time(1, Duration::from_millis(300)).unwrap();
    for number in 1..=6 {
        assert_eq!(ann.renews(&grant, number).await, Renew::Extended, "renewal {number}");
    }
    mock.broker_round_trip_time(1, Duration::ZERO).unwrap();
    assert_eq!(ann.renews(&grant, 7).await, Renew::Extended);
}
