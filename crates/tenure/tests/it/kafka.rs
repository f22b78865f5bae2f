//! The sink of Kafka by its URL, behind a relay over SQLite. What is written, and its order, is tested in `tenure-kafka`.

use std::time::{Duration, Instant};

use tenure::core::outbox::NewMessage;
use tenure::sink::{KafkaSinkOptions, SinkError, SinkOptions, from_url};
use tenure::{Relay, RelaySettings, Stop};

use crate::server::{Place, given};

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_over_sqlite_delivers_everything_to_a_real_kafka() {
    let Some(brokers) = given("TENURE_TEST_KAFKA_URL") else { return };
    let database = Place::of("sqlite").unwrap();
    let database = database.open().await;
    let messages: Vec<_> = (0..600)
        .map(|number| NewMessage::json("orders", "A", number.to_string()))
        .enumerate()
        .map(|(at, message)| if at % 3 == 0 { message } else { message.from_source(format!("s{}", at % 3)) })
        .collect();
    database.outbox().enqueue(&messages, &Default::default()).await.unwrap();
    let topic = format!("t{:012x}", fastrand::u64(..1 << 48));
    let sink = from_url(&format!("{brokers}/{topic}-{{topic}}"), SinkOptions::default()).unwrap();
    assert!(sink.name().ends_with(&format!("/{topic}-{{topic}}")), "{}", sink.name());
    let node = tenure::local_node(None).unwrap().name;
    let relay = Relay::new(database.outbox(), sink, node, RelaySettings::default()).unwrap();
    let stop = Stop::new();
    let (runs, until) = (relay.clone(), stop.clone());
    let task = tokio::spawn(async move { runs.run(&until).await });
    let began = Instant::now();
    while database.outbox_admin().stats().await.unwrap().pending > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", relay.status());
        // passes time: the relay works meanwhile
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.stop();
    task.await.unwrap().unwrap();
    assert_eq!((relay.status().delivered, relay.status().dead), (600, 0));
}

#[test]
fn what_a_url_or_an_option_cannot_say_is_refused_without_a_secret() {
    for bad in
        ["kafka://us3r:c4nary@h:1/a b", "kafka://us3r:c4nary@h:1", "kafka://us3r:c4nary@h:1/t?c4nary=1"]
    {
        let error = from_url(bad, SinkOptions::default()).unwrap_err();
        assert!(matches!(error, SinkError::BadUrl { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("c4nary"), "{error}");
    }
    let kafka = KafkaSinkOptions { timeout: Duration::ZERO };
    let error = from_url("kafka://h/t", SinkOptions { kafka, ..SinkOptions::default() }).unwrap_err();
    assert!(error.to_string().starts_with("kafka timeout: 0ns"), "{error}");
}
