//! The sink: what is written, in which order, and what becomes of what is not.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Headers as _, Message as _, OwnedMessage};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{Offset, TopicPartitionList};
use tenure_core::contract::Sink as _;
use tenure_core::outbox::cloudevents::EventSource;
use tenure_core::outbox::{Body, Message, MessageId, Sequence, Verdict};
use tenure_core::time::StoreTime;
use tenure_kafka::KafkaSink;

const ID: &str = "6f1c2f9e-6a0b-4c7e-9a54-0d2d7b1c8e11";

type Mock = MockCluster<'static, DefaultProducerContext>;

/// The brokers of a real Kafka. Their absence is said aloud, and fails with `CI=true`.
fn real() -> Option<String> {
    const VARIABLE: &str = "TENURE_TEST_KAFKA_URL";
    let url = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
        assert!(!ci, "{VARIABLE} is not set, and with CI=true that is a failure");
        let _ =
            writeln!(io::stderr(), "{VARIABLE} IS NOT SET: only the mock was tried, which is no real Kafka");
    }
    url.map(|url| url.trim_start_matches("kafka://").to_owned())
}

fn mock(brokers: i32, topic: &str, partitions: i32) -> Mock {
    let mock = MockCluster::new(brokers).unwrap();
    mock.create_topic(topic, partitions, brokers.min(3)).unwrap();
    mock
}

/// A topic of a test's own.
async fn topic(brokers: &str, partitions: i32, config: &[(&str, &str)]) -> String {
    let name = format!("t{:012x}", fastrand::u64(..1 << 48));
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", brokers).create().unwrap();
    let mut new = NewTopic::new(&name, partitions, TopicReplication::Fixed(1));
    for (key, value) in config {
        new = new.set(key, value);
    }
    for made in admin.create_topics([&new], &AdminOptions::new()).await.unwrap() {
        made.unwrap();
    }
    name
}

fn sink(brokers: &str, topic: &str, timeout: Duration) -> KafkaSink {
    let sink = KafkaSink::from_url(&format!("kafka://{brokers}/{topic}"), EventSource::default()).unwrap();
    sink.with_timeout(timeout)
}

fn message(source: Option<&str>, payload: &str) -> Message {
    let id = format!("{:08x}-0000-4000-8000-{:012x}", fastrand::u32(..), fastrand::u64(..1 << 48));
    Message {
        id: id.parse::<MessageId>().unwrap(),
        source: source.map(str::to_owned),
        sequence: Sequence::default(),
        topic: "orders".into(),
        kind: "OrderPlaced".into(),
        body: Body::Text(payload.into()),
        content_type: None,
        headers: BTreeMap::new(),
        // 2026-11-15T09:30:00.123Z
        created_at: StoreTime::from_micros(1_794_735_000_123_456),
        attempt: 1,
        term: None,
    }
}

/// All that is in a topic, by partition and in its order.
fn stored(brokers: &str, topic: &str) -> Vec<OwnedMessage> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", "nobody")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let patience = Duration::from_secs(20);
    let metadata = consumer.fetch_metadata(Some(topic), patience).unwrap();
    let mut all = Vec::new();
    for partition in metadata.topics()[0].partitions() {
        let (low, high) = consumer.fetch_watermarks(topic, partition.id(), patience).unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition.id(), Offset::Offset(low)).unwrap();
        consumer.assign(&list).unwrap();
        let (mut next, began) = (low, Instant::now());
        while next < high {
            assert!(began.elapsed() < patience, "{next} of {high} were read");
            if let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) {
                next = message.offset() + 1;
                all.push(message.detach());
            }
        }
    }
    all
}

/// The numbers of each source, as they stand.
fn by_source(stored: &[OwnedMessage]) -> BTreeMap<String, Vec<usize>> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for message in stored {
        let source = message.key().map_or("", |key| std::str::from_utf8(key).unwrap());
        let number = std::str::from_utf8(message.payload().unwrap()).unwrap().parse().unwrap();
        found.entry(source.to_owned()).or_default().push(number);
    }
    found
}

/// Each number where it stands first.
fn firsts(numbers: &[usize]) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    numbers.iter().copied().filter(|number| seen.insert(*number)).collect()
}

fn reason(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Rejected { reason } | Verdict::Transient { reason, .. } | Verdict::Poison { reason } => {
            reason
        }
        other => panic!("{other:?} has no reason"),
    }
}

/// Does what a relay does: of each source in order, from the first that was not accepted on, until all are.
async fn deliver_all(sink: &KafkaSink, sources: &[&str], count: usize, batch: usize) -> usize {
    let began = Instant::now();
    let lane = async |source: &str| {
        let (mut next, mut failures) = (0, 0);
        while next < count {
            assert!(began.elapsed() < Duration::from_secs(90), "{source} stands at {next}");
            let messages: Vec<_> = (next..count.min(next + batch))
                .map(|number| message(Some(source), &number.to_string()))
                .collect();
            let verdicts = sink.deliver_batch(&messages).await;
            assert_eq!(verdicts.len(), messages.len());
            let accepted = verdicts.iter().take_while(|verdict| **verdict == Verdict::Accepted).count();
            assert!(
                verdicts.iter().skip(accepted + 1).all(|verdict| *verdict == Verdict::Withheld),
                "after one that was not accepted all are withheld: {verdicts:?}"
            );
            if accepted < verdicts.len() {
                failures += 1;
                assert!(!matches!(verdicts[accepted], Verdict::Rejected { .. } | Verdict::Poison { .. }));
                // passes time: the next attempt comes after a pause
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            next += accepted;
        }
        failures
    };
    futures_util::future::join_all(sources.iter().map(|source| lane(source))).await.into_iter().sum()
}

async fn is_written_as_an_event(brokers: &str, topic: &str) {
    let sink = sink(brokers, topic, Duration::from_secs(20));
    let mut sent = message(Some("order-7"), r#"{"order":7}"#);
    sent.id = ID.parse().unwrap();
    sent.kind = "Ord \"er\" ä".into();
    sent.sequence = Sequence { version: 3, index: 1 };
    (sent.attempt, sent.term) = (2, Some(9));
    sent.headers.insert("tenant".into(), "blue".into());
    let context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    sent.headers.insert("traceparent".into(), context.into());
    assert_eq!(sink.deliver(&sent).await, Verdict::Accepted);
    let empty = Message { body: Body::Bytes(Vec::new()), ..message(None, "") };
    assert_eq!(sink.deliver(&empty).await, Verdict::Accepted);

    let stored = stored(brokers, topic);
    assert_eq!(stored.len(), 2);
    let (event, empty) = match stored[0].key() {
        Some(_) => (&stored[0], &stored[1]),
        None => (&stored[1], &stored[0]),
    };
    assert_eq!((event.key(), event.payload()), (Some(&b"order-7"[..]), Some(&br#"{"order":7}"#[..])));
    assert_eq!(event.timestamp().to_millis(), Some(1_794_735_000_123));
    let headers: HashMap<String, String> = event
        .headers()
        .unwrap()
        .iter()
        .map(|header| (header.key.to_owned(), String::from_utf8(header.value.unwrap().to_vec()).unwrap()))
        .collect();
    for (name, value) in [
        ("ce_specversion", "1.0"),
        ("ce_id", ID),
        ("ce_source", "tenure"),
        ("ce_type", "Ord \"er\" ä"),
        ("ce_subject", "orders"),
        ("ce_time", "2026-11-15T09:30:00.123Z"),
        ("ce_tenuresource", "order-7"),
        ("ce_tenureseq", "3.1"),
        ("ce_tenureattempt", "2"),
        ("ce_tenureterm", "9"),
        ("ce_tenant", "blue"),
        ("ce_traceparent", context),
        ("traceparent", context),
        ("content-type", "application/json"),
    ] {
        assert_eq!(headers.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!(empty.key(), None);
    assert_eq!(empty.payload().unwrap_or_default(), b"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_an_event_in_binary_mode_on_the_mock() {
    let mock = mock(1, "t", 1);
    is_written_as_an_event(&mock.bootstrap_servers(), "t").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_an_event_in_binary_mode_on_a_real_kafka() {
    let Some(brokers) = real() else { return };
    let topic = topic(&brokers, 1, &[]).await;
    is_written_as_an_event(&brokers, &topic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_source_is_in_order_on_a_real_kafka() {
    let Some(brokers) = real() else { return };
    let topic = topic(&brokers, 3, &[]).await;
    let sink = sink(&brokers, &topic, Duration::from_secs(20));
    let failures = deliver_all(&sink, &["a", "b", "c", "d", "e"], 3_000, 512).await;
    assert_eq!(failures, 0);
    for (source, numbers) in by_source(&stored(&brokers, &topic)) {
        assert_eq!(numbers, (0..3_000).collect::<Vec<_>>(), "{source}");
    }
}

/// What brokers answer while they change leaders, lose replicas, or are slow.
const PASSING: [RDKafkaRespErr; 5] = [
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
];

#[tokio::test(flavor = "multi_thread")]
async fn errors_that_pass_cost_no_attempt_and_not_the_order() {
    let mock = mock(3, "t", 4);
    let brokers = mock.bootstrap_servers();
    let sink = sink(&brokers, "t", Duration::from_secs(30));
    mock.request_errors(RDKafkaApiKey::Produce, &PASSING);
    let failures = deliver_all(&sink, &["a", "b", "c"], 500, 100).await;
    assert_eq!(failures, 0, "the client tried again by itself");
    for (source, numbers) in by_source(&stored(&brokers, "t")) {
        assert_eq!(firsts(&numbers), (0..500).collect::<Vec<_>>(), "{source}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_refused_for_good_leaves_no_gap() {
    use RDKafkaRespErr::{
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE as TOO_LARGE, RD_KAFKA_RESP_ERR_NO_ERROR as FINE,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED as FORBIDDEN,
    };
    let mock = mock(1, "t", 1);
    let brokers = mock.bootstrap_servers();
    // A source's batch is many requests, so that there is something to be written behind one that is refused.
    let sink = sink(&brokers, "t?property.batch.num.messages=5", Duration::from_secs(30));
    // A broker that refuses single requests: what is queued behind one must not be written before it.
    // Only the first is one that a message alone would be rejected for: which request meets the others is not known.
    let refusals = [TOO_LARGE, FINE, FORBIDDEN, FINE, FINE, FORBIDDEN, FINE, FORBIDDEN];
    mock.request_errors(RDKafkaApiKey::Produce, &refusals);
    let failures = deliver_all(&sink, &["a", "b", "c", "d"], 400, 50).await;
    assert!(failures > 0, "nothing was refused");
    for (source, numbers) in by_source(&stored(&brokers, "t")) {
        assert_eq!(firsts(&numbers), (0..400).collect::<Vec<_>>(), "{source}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_that_has_failed_for_good_is_replaced() {
    use RDKafkaRespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER as OUT_OF_ORDER;
    let mock = mock(1, "t", 1);
    let brokers = mock.bootstrap_servers();
    let sink = sink(&brokers, "t", Duration::from_secs(30));
    assert_eq!(sink.deliver(&message(Some("a"), "0")).await, Verdict::Accepted);
    // Without an error before it, that is fatal to an idempotent producer.
    mock.request_errors(RDKafkaApiKey::Produce, &[OUT_OF_ORDER]);
    let verdict = sink.deliver(&message(Some("a"), "1")).await;
    assert!(matches!(verdict, Verdict::Transient { .. } | Verdict::Withheld), "{verdict:?}");
    assert_eq!(sink.deliver(&message(Some("a"), "1")).await, Verdict::Accepted);
    assert_eq!(firsts(&by_source(&stored(&brokers, "t"))["a"]), [0, 1]);
}

/// A batch of which none was ever tried would be delivered again at once, and for ever, and nobody would know why.
#[tokio::test(flavor = "multi_thread")]
async fn a_producer_that_the_cluster_will_not_have_fails_the_first_of_each_source_and_says_why() {
    use RDKafkaRespErr::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED as FORBIDDEN;
    let mock = mock(1, "t", 1);
    let sink = sink(&mock.bootstrap_servers(), "t", Duration::from_secs(30));
    mock.request_errors(RDKafkaApiKey::InitProducerId, &[FORBIDDEN]);
    let batch = [message(Some("a"), "1"), message(Some("a"), "2"), message(None, "3"), message(None, "4")];
    let verdicts = sink.deliver_batch(&batch).await;
    for at in [0, 2, 3] {
        assert!(matches!(&verdicts[at], Verdict::Transient { .. }), "{verdicts:?}");
        let reason = reason(&verdicts[at]);
        assert!(reason.contains("let this user write") && reason.contains("uthorization"), "{reason}");
    }
    assert_eq!(verdicts[1], Verdict::Withheld);
    assert_eq!(sink.deliver(&message(Some("a"), "1")).await, Verdict::Accepted, "by another producer");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_batch_took_out_of_the_producer_costs_no_attempt() {
    let mock = mock(1, "t", 1);
    let brokers = mock.bootstrap_servers();
    let sink = sink(&brokers, "t", Duration::from_millis(1500));
    assert_eq!(sink.deliver(&message(Some("a"), "0")).await, Verdict::Accepted);
    mock.broker_down(1).unwrap();
    let (first, second) = (message(Some("a"), "1"), message(Some("b"), "0"));
    let later = async {
        // passes time: the first batch is late before the second is
        tokio::time::sleep(Duration::from_millis(700)).await;
        sink.deliver(&second).await
    };
    let (first, second) = tokio::join!(sink.deliver(&first), later);
    assert!(reason(&first).contains("no report within 1.5s"), "{first:?}");
    assert_eq!(second, Verdict::Withheld);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_broker_does_not_make_a_batch_long_when_each_goes_alone() {
    use RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE as TOO_LARGE;
    const COUNT: usize = 60;
    let mock = mock(1, "t", 1);
    let limit = Duration::from_secs(3);
    let sink = sink(&mock.bootstrap_servers(), "t", limit);
    assert_eq!(sink.deliver(&message(Some("a"), "0")).await, Verdict::Accepted);
    mock.broker_round_trip_time(1, Duration::from_millis(150)).unwrap();
    mock.request_errors(RDKafkaApiKey::Produce, &[TOO_LARGE]);
    let batch: Vec<_> = (0..COUNT).map(|number| message(Some("a"), &number.to_string())).collect();
    let began = Instant::now();
    let verdicts = sink.deliver_batch(&batch).await;
    assert!(began.elapsed() < limit * 2 + Duration::from_secs(2), "{:?}", began.elapsed());
    let accepted = verdicts.iter().take_while(|verdict| **verdict == Verdict::Accepted).count();
    assert!((1..COUNT).contains(&accepted), "{accepted} of {COUNT} were accepted");
    assert!(verdicts[accepted..].iter().all(|verdict| *verdict == Verdict::Withheld), "{verdicts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_brokers_are_down_the_first_of_each_source_fails_and_says_why() {
    let mock = mock(1, "t", 1);
    let brokers = mock.bootstrap_servers();
    let sink = sink(&brokers, "t", Duration::from_millis(700));
    // The first one has to find the broker, which may take longer than that on a busy machine.
    while sink.deliver(&message(Some("a"), "0")).await != Verdict::Accepted {}
    mock.broker_down(1).unwrap();
    let batch =
        [message(Some("a"), "1"), message(Some("a"), "2"), message(None, "3"), message(Some("b"), "0")];
    let began = Instant::now();
    let verdicts = sink.deliver_batch(&batch).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for at in [0, 2, 3] {
        assert!(matches!(&verdicts[at], Verdict::Transient { .. }), "{verdicts:?}");
        assert!(reason(&verdicts[at]).contains("no report within 700ms"), "{verdicts:?}");
    }
    assert_eq!(verdicts[1], Verdict::Withheld);
    mock.broker_up(1).unwrap();
    let failures = deliver_all(&sink, &["a", "b"], 50, 10).await;
    let found = by_source(&stored(&brokers, "t"));
    for source in ["a", "b"] {
        assert_eq!(firsts(&found[source]), (0..50).collect::<Vec<_>>(), "{source}, {failures} failures");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn brokers_that_come_and_go_and_fail_cost_nothing_and_not_the_order() {
    let mock = mock(3, "t", 4);
    let brokers = mock.bootstrap_servers();
    let sink = sink(&brokers, "t", Duration::from_millis(400));
    let trouble = async {
        for round in 0..12 {
            let broker = fastrand::i32(1..=3);
            match round % 4 {
                0 => mock.broker_down(broker).unwrap(),
                1 => mock.request_errors(RDKafkaApiKey::Produce, &PASSING),
                2 => mock.request_errors(
                    RDKafkaApiKey::Produce,
                    &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED],
                ),
                _ => mock.broker_round_trip_time(broker, Duration::from_millis(150)).unwrap(),
            }
            // passes time: deliveries meet the trouble
            tokio::time::sleep(Duration::from_millis(300)).await;
            for broker in 1..=3 {
                mock.broker_up(broker).unwrap();
                mock.broker_round_trip_time(broker, Duration::ZERO).unwrap();
            }
            // passes time: and some go through
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        mock.clear_request_errors(RDKafkaApiKey::Produce);
    };
    let sources = ["a", "b", "c", "d", "e", "f"];
    let (failures, ()) = tokio::join!(deliver_all(&sink, &sources, 4_000, 40), trouble);
    let found = by_source(&stored(&brokers, "t"));
    for source in sources {
        assert_eq!(firsts(&found[source]), (0..4_000).collect::<Vec<_>>(), "{source}, {failures} failures");
    }
    assert!(failures > 0, "no delivery met the trouble");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_rejected_alone_on_a_real_kafka() {
    let Some(brokers) = real() else { return };
    let topic = topic(&brokers, 1, &[("max.message.bytes", "4000")]).await;
    let sink = sink(&brokers, &topic, Duration::from_secs(20));
    let large = message(Some("a"), &"1".repeat(8_000));
    let mut batch = vec![message(Some("a"), "0"), large, message(Some("a"), "2"), message(None, "7")];
    // Together they are too large for a request, each alone is not.
    batch.extend((0..40).map(|number| message(Some("b"), &number.to_string())));
    let verdicts = sink.deliver_batch(&batch).await;
    assert_eq!(verdicts[0], Verdict::Accepted);
    assert!(
        matches!(&verdicts[1], Verdict::Rejected { reason } if reason.contains("too large")),
        "{:?}",
        verdicts[1]
    );
    assert_eq!(verdicts[2], Verdict::Withheld);
    assert!(verdicts[3..].iter().all(|verdict| *verdict == Verdict::Accepted), "{verdicts:?}");
    let found = by_source(&stored(&brokers, &topic));
    assert_eq!(firsts(&found["a"]), [0]);
    assert_eq!(firsts(&found["b"]), (0..40).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_not_there_is_transient_and_says_what_to_do() {
    let mock = mock(1, "t", 1);
    mock.topic_error("missing", RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    let url = format!(
        "kafka://{}/missing?property.topic.metadata.propagation.max.ms=100&property.allow.auto.create.topics=false",
        mock.bootstrap_servers()
    );
    let sink =
        KafkaSink::from_url(&url, EventSource::default()).unwrap().with_timeout(Duration::from_secs(5));
    let verdict = sink.deliver(&message(None, "1")).await;
    assert!(matches!(&verdict, Verdict::Transient { .. }), "{verdict:?}");
    assert!(reason(&verdict).contains("create the topic"), "{verdict:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_cannot_choose_what_is_no_topic_or_is_kafkas_own() {
    let mock = mock(1, "shop.orders", 1);
    let sink = sink(&mock.bootstrap_servers(), "shop.{topic}", Duration::from_secs(20));
    let to = |topic: &str| Message { topic: topic.into(), ..message(Some("a"), "1") };
    for hostile in ["a b", "ä", "a/../b", "*", "a\r\nb", &"a".repeat(245)] {
        let verdicts = sink.deliver_batch(&[to(hostile), to("orders")]).await;
        assert!(reason(&verdicts[0]).contains("gives no name"), "{verdicts:?}");
        assert_eq!(verdicts[1], Verdict::Withheld, "it comes after what is poison");
    }
    assert_eq!(sink.deliver(&to("orders")).await, Verdict::Accepted);
    let event = Message { content_type: Some("application/cloudevents+json".into()), ..to("orders") };
    assert!(matches!(sink.deliver(&event).await, Verdict::Poison { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_shows_nowhere() {
    let clean = |what: &dyn std::fmt::Debug| {
        let shown = format!("{what:?}");
        assert!(!shown.contains("c4nary") && !shown.contains("us3r"), "{shown}");
    };
    for bad in [
        "kafka://us3r:c4nary@h:1/a b",
        "kafka://us3r:c4nary@h:1/__consumer_offsets",
        "kafka://us3r:c4nary@h:1",
        "kafka://us3r:c4nary@h:1/t?c4nary=1",
        "kafka://us3r:c4nary@h:1/t?property.c4nary=1",
        "kafka://us3r:c4nary@h:1/{kind}",
    ] {
        let error = KafkaSink::from_url(bad, EventSource::default()).unwrap_err();
        clean(&error);
        clean(&error.to_string());
    }
    let misspelt = KafkaSink::from_url("kafka://h:1/t?property.compresion.type=gzip", EventSource::default());
    let error = misspelt.unwrap_err().to_string();
    assert!(error.contains("property.compresion.type") && !error.contains("gzip"), "{error}");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let sink = sink(&format!("us3r:c4nary@127.0.0.1:{port}"), "t", Duration::from_millis(500));
    clean(&sink);
    clean(&sink.name());
    let verdict = sink.deliver(&message(None, "1")).await;
    assert!(matches!(verdict, Verdict::Transient { .. }), "{verdict:?}");
    clean(&verdict);
}
