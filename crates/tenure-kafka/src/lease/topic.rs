//! The topic: made with one partition if it is missing, refused if it has more.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tenure_core::StoreError;

use super::options::KafkaLeaseOptions;
use super::tail::Quiet;
use crate::clock;
use crate::error::{explain, explain_code, explain_heard};

/// How long to wait before a new topic is looked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How many complaints of the client are listened to, at most.
const COMPLAINTS_MAX: usize = 100;

/// Sees to it that the topic is there and has exactly one partition.
///
/// It is looked for by a consumer: a producer that asks for a topic makes it on many clusters, with as many partitions as
/// the cluster likes.
pub(crate) async fn ensure(
    consumer: &Arc<BaseConsumer<Quiet>>,
    options: &KafkaLeaseOptions,
) -> Result<(), StoreError> {
    let until = clock::now().after(options.kafka.request_timeout);
    let mut made = false;
    loop {
        match partitions(consumer, options).await? {
            Some(1) => return Ok(()),
            Some(0) => {}
            Some(count) => {
                return Err(StoreError::Refused {
                    store: options.kafka.label(),
                    message: format!(
                        "the topic {} has {count} partitions, and a lease needs exactly one: with more, several members of \
                     the group would each be given one; name another topic, or delete this one if nothing else uses it",
                        options.topic
                    ),
                });
            }
            None if !made => {
                make(options).await?;
                made = true;
            }
            None => {}
        }
        if clock::now() >= until {
            return Err(StoreError::Unreachable {
                store: options.kafka.label(),
                message: format!("the topic {} was made and does not show yet", options.topic),
            });
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// How many partitions the topic has; `None` if there is no such topic.
async fn partitions(
    consumer: &Arc<BaseConsumer<Quiet>>,
    options: &KafkaLeaseOptions,
) -> Result<Option<usize>, StoreError> {
    let (consumer, name, timeout) =
        (Arc::clone(consumer), options.topic.clone(), options.kafka.request_timeout);
    let looked = tokio::task::spawn_blocking(move || {
        let fetched = consumer.fetch_metadata(Some(&name), timeout);
        let metadata = fetched.map_err(|error| {
            // What the client complains of it says to who polls it.
            // An answer of none also stands for a line of the log: so it is asked so many times.
            for _ in 0..COMPLAINTS_MAX {
                let _ = consumer.poll(Duration::ZERO);
            }
            (error, consumer.context().complaint())
        })?;
        let found = metadata.topics().iter().find(|topic| topic.name() == name);
        Ok(found.map(|topic| (topic.error().map(RDKafkaErrorCode::from), topic.partitions().len())))
    });
    let label = options.kafka.label();
    let doing = format!("looking for the topic {}", options.topic);
    match looked.await {
        Ok(Ok(None)) => Ok(None),
        Ok(Ok(Some((Some(RDKafkaErrorCode::UnknownTopicOrPartition), _)))) => Ok(None),
        Ok(Ok(Some((Some(RDKafkaErrorCode::LeaderNotAvailable), _)))) => Ok(Some(0)),
        Ok(Ok(Some((Some(code), _)))) => Err(explain_code(&label, &doing, code)),
        Ok(Ok(Some((None, count)))) => Ok(Some(count)),
        Ok(Err((error, complaint))) => Err(explain_heard(&label, &doing, &error, complaint)),
        Err(_) => Err(stopping(&label)),
    }
}

/// Makes the topic. Another node may be doing the same: that is as good.
async fn make(options: &KafkaLeaseOptions) -> Result<(), StoreError> {
    let label = options.kafka.label();
    let doing = format!("making the topic {}", options.topic);
    let failed = |error: KafkaError| explain(&label, &doing, &error);
    let admin: AdminClient<DefaultClientContext> = options.kafka.client().create().map_err(failed)?;
    let copies = TopicReplication::Fixed(options.replication_factor.unwrap_or(-1));
    let topic = NewTopic::new(&options.topic, 1, copies)
        // The last record of every lease is kept for ever, and the records before it for a while.
        .set("cleanup.policy", "compact")
        .set("segment.bytes", "1048576")
        // Times on the topic are the brokers'.
        .set("message.timestamp.type", "LogAppendTime");
    let how = AdminOptions::new().operation_timeout(Some(options.kafka.request_timeout));
    let answers = admin.create_topics([&topic], &how).await.map_err(failed)?;
    for answer in answers {
        match answer {
            Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((_, code)) => return Err(explain_code(&label, &doing, code)),
        }
    }
    // Taking a client down waits for its threads.
    let _ = tokio::task::spawn_blocking(move || drop(admin)).await;
    Ok(())
}

/// What is told when the runtime ends in the middle of a call.
pub(crate) fn stopping(label: &str) -> StoreError {
    StoreError::Failed { store: label.to_owned(), message: "the runtime is stopping".into(), source: None }
}
