//! The topic: made, shared, refused, told apart from another of the same name.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tenure_core::StoreError;
use tenure_core::contract::LeaseStore;
use tenure_core::lease::{Acquire, Grant, Renew};
use tenure_kafka::{KafkaLeaseOptions, KafkaLeases};

use crate::place::{Place, Player, lease};

const TTL: Duration = Duration::from_millis(1500);

fn admin(place: &Place) -> AdminClient<DefaultClientContext> {
    let brokers = place.options.kafka.brokers().join(",");
    ClientConfig::new().set("bootstrap.servers", brokers).create().unwrap()
}

/// The brokers of the tests know no passwords, and refuse to hear one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_is_refused_is_told_as_such_and_not_as_an_outage() {
    let Some(place) = Place::real() else { return };
    let url = format!("kafka://u:c4nary@{}/{}", place.options.kafka.brokers().join(","), place.options.topic);
    let error = KafkaLeases::connect(KafkaLeaseOptions::from_url(&url).unwrap()).await.unwrap_err();
    let told = error.to_string();
    assert!(matches!(error, StoreError::Refused { .. }), "{told}");
    assert!(told.contains("SASL") && !told.contains("c4nary"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_come_first_make_one_topic_and_agree_on_its_epoch() {
    let Some(mut place) = Place::quick() else { return };
    place.options.replication_factor = Some(1);
    let players: Vec<_> = (0..4).map(|number| place.enter(&format!("node-{number}"))).collect();
    let claims = players.iter().map(|player| async move {
        let name = lease("first");
        let grant = player.takes(&name, TTL).await;
        (grant.term, player.store.epoch(&grant).unwrap())
    });
    let granted = futures_util::future::join_all(claims).await;
    let (_, epoch) = &granted[0];
    assert!(granted.iter().all(|(_, other)| other == epoch), "{granted:?}");
    let mut terms: Vec<_> = granted.iter().map(|(term, _)| *term).collect();
    terms.sort();
    terms.dedup();
    assert_eq!(terms.len(), 4, "every claim has an offset of its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_with_two_partitions_is_refused() {
    let Some(place) = Place::quick() else { return };
    let topic = NewTopic::new(&place.options.topic, 2, TopicReplication::Fixed(1));
    admin(&place).create_topics([&topic], &AdminOptions::new()).await.unwrap();
    let ann = place.enter("ann");
    let answer = ann.store.try_acquire(&ann.claim(&lease("two"), TTL)).await;
    let Err(StoreError::Refused { message, .. }) = answer else { panic!("{answer:?}") };
    assert!(message.contains("2 partitions") && message.contains(&place.options.topic), "{message}");
}

/// Nothing is written among somebody's orders because a URL names the wrong topic.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_with_records_of_others_is_refused_and_left_alone() {
    let Some(place) = Place::quick() else { return };
    let name = &place.options.topic;
    let topic = NewTopic::new(name, 1, TopicReplication::Fixed(1));
    admin(&place).create_topics([&topic], &AdminOptions::new()).await.unwrap();
    let brokers = place.options.kafka.brokers().join(",");
    let orders: FutureProducer = ClientConfig::new().set("bootstrap.servers", brokers).create().unwrap();
    let order = FutureRecord::to(name).key("order-7").payload("{}");
    orders.send(order, Duration::from_secs(10)).await.unwrap();
    let ann = place.enter("ann");
    let answer = ann.store.try_acquire(&ann.claim(&lease("job"), TTL)).await;
    let Err(StoreError::Refused { message, .. }) = answer else { panic!("{answer:?}") };
    assert!(message.contains("not Tenure's") && message.contains(name.as_str()), "{message}");
    let (_, end) = orders.client().fetch_watermarks(name, 0, Duration::from_secs(10)).unwrap();
    assert_eq!(end, 1, "nothing was written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_was_made_again_has_another_epoch() {
    let Some(place) = Place::quick() else { return };
    let ann = place.enter("ann");
    let name = lease("again");
    let first = ann.takes(&name, TTL).await;
    let before = ann.store.epoch(&first).unwrap();
    ann.releases(&first).await;
    admin(&place).delete_topics(&[&place.options.topic], &AdminOptions::new()).await.unwrap();
    let bob = place.enter("bob");
    let claim = bob.claim(&name, TTL);
    let mut last = None;
    for _ in 0..50 {
        match bob.store.try_acquire(&claim).await {
            Ok(Acquire::Granted(grant)) => {
                assert_ne!(bob.store.epoch(&grant).unwrap(), before);
                return;
            }
            other => last = Some(other),
        }
        // passes time: a cluster forgets a topic little by little
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("never granted: {last:?}");
}

/// Has one join the group of a lease that another holds, and go on holding.
async fn joins_behind(waiter: &Player, holder: &Player, grant: &Grant) {
    let renewing = async {
        for number in 1.. {
            assert_eq!(holder.renews(grant, number).await, Renew::Extended);
            // passes time: renewals come as a keeper makes them
            tokio::time::sleep(TTL / 5).await;
        }
    };
    tokio::select! {
        () = renewing => {}
        _ = waiter.finds_held(&grant.name, TTL) => {}
    }
}

/// One who has waited since before the topic was deleted makes it again, and does not wait for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_waits_outlives_the_topic() {
    let Some(mut place) = Place::quick() else { return };
    place.options.replication_factor = Some(1);
    let (ann, bob) = (place.enter("ann"), place.enter("bob"));
    let name = lease("outlives");
    let grant = ann.takes(&name, TTL).await;
    let before = ann.store.epoch(&grant).unwrap();
    joins_behind(&bob, &ann, &grant).await;
    admin(&place).delete_topics(&[&place.options.topic], &AdminOptions::new()).await.unwrap();
    // Nobody releases anything, and no other store makes the topic again.
    let claim = bob.claim(&name, TTL);
    let mut last = None;
    for _ in 0..150 {
        match bob.store.try_acquire(&claim).await {
            Ok(Acquire::Granted(grant)) => {
                assert_ne!(bob.store.epoch(&grant).unwrap(), before);
                return;
            }
            other => last = Some(other),
        }
        // passes time: a cluster forgets a topic little by little
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("never granted: {last:?}");
}

/// The mock keeps its topics; it can say that there is none. One who is told so while it waits leaves, and begins anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_is_told_that_the_topic_is_gone_begins_anew() {
    let mut place = Place::mock();
    place.options.join_timeout = Duration::from_secs(1);
    let mock = place.mock.as_ref().unwrap();
    let busy = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS; 100];
    mock.request_errors(RDKafkaApiKey::JoinGroup, &busy);
    let bob = place.enter("bob");
    let claim = bob.claim(&lease("away"), TTL);
    let waits = bob.store.try_acquire(&claim).await;
    assert!(!matches!(waits, Ok(Acquire::Granted(_))), "{waits:?}");
    let gone = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART; 50];
    mock.request_errors(RDKafkaApiKey::ListOffsets, &gone);
    let answer = bob.store.try_acquire(&claim).await;
    let told = answer.as_ref().map_err(ToString::to_string);
    assert!(
        told.is_err_and(|told| told.contains("the end of the lease's topic")),
        "nobody noticed: {answer:?}"
    );
    mock.clear_request_errors(RDKafkaApiKey::ListOffsets);
    mock.clear_request_errors(RDKafkaApiKey::JoinGroup);
    let mut last = None;
    for _ in 0..60 {
        match bob.store.try_acquire(&claim).await {
            Ok(Acquire::Granted(_)) => return,
            other => last = Some(other),
        }
    }
    panic!("never granted: {last:?}");
}

#[tokio::test]
async fn a_ttl_that_outlives_the_session_is_refused_before_anything_is_asked() {
    let place = Place::mock();
    let ann = place.enter("ann");
    let answer = ann.store.try_acquire(&ann.claim(&lease("long"), Duration::from_secs(6))).await;
    let Err(StoreError::Refused { message, .. }) = answer else { panic!("{answer:?}") };
    assert!(message.contains("ttl 6s") && message.contains("session_timeout 5s"), "{message}");
}
