//! Writing to the topic, acknowledged by all brokers that keep it.

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::producer::future_producer::Delivery;
use rdkafka::producer::{DeliveryFuture, FutureProducer, FutureRecord};
use tenure_core::StoreError;
use tenure_core::lease::LeaseName;

use super::options::KafkaLeaseOptions;
use super::record::{Key, Sign};
use super::tail::Quiet;
use crate::error::explain;

/// The producer of a store. A record is on the topic once, and in the order of writing.
pub(crate) fn producer(options: &KafkaLeaseOptions) -> Result<FutureProducer<Quiet>, StoreError> {
    let mut config = options.kafka.client();
    config
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("linger.ms", "0")
        .set("message.timeout.ms", options.kafka.request_timeout.as_millis().to_string());
    FutureProducer::from_config_and_context(&config, Quiet::default())
        .map_err(|error| explain(&options.kafka.label(), "opening a producer", &error))
}

/// Marks a topic.
pub(crate) async fn mark(
    producer: &FutureProducer<Quiet>,
    options: &KafkaLeaseOptions,
    mark: &str,
) -> Result<(), StoreError> {
    let sending = send(producer, options, &Key::of_epoch(mark), b"{}")?;
    delivered(options, sending).await.map(|_| ())
}

/// Writes what is to be said of a lease.
pub(crate) fn say(
    producer: &FutureProducer<Quiet>,
    options: &KafkaLeaseOptions,
    lease: &LeaseName,
    sign: &Sign,
) -> Result<DeliveryFuture, StoreError> {
    let payload = serde_json::to_vec(sign).map_err(|error| StoreError::Failed {
        store: options.kafka.label(),
        message: format!("writing to the lease's topic: {error}"),
        source: None,
    })?;
    send(producer, options, &Key::of(lease), &payload)
}

/// Where the record stands on the topic, once it does.
pub(crate) async fn delivered(
    options: &KafkaLeaseOptions,
    sending: DeliveryFuture,
) -> Result<i64, StoreError> {
    let doing = "writing to the lease's topic";
    match sending.await {
        Ok(Ok(Delivery { offset, .. })) => Ok(offset),
        Ok(Err((error, _))) => Err(explain(&options.kafka.label(), doing, &error)),
        Err(_) => Err(StoreError::Unreachable {
            store: options.kafka.label(),
            message: format!("{doing}: the producer was closed"),
        }),
    }
}

fn send(
    producer: &FutureProducer<Quiet>,
    options: &KafkaLeaseOptions,
    key: &str,
    payload: &[u8],
) -> Result<DeliveryFuture, StoreError> {
    let record = FutureRecord::to(&options.topic).partition(0).key(key).payload(payload);
    producer
        .send_result(record)
        .map_err(|(error, _)| explain(&options.kafka.label(), "writing to the lease's topic", &error))
}
