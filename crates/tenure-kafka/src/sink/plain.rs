//! The plainest producer, to measure the sink against: the same records by the same settings, without the sink's care.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rdkafka::client::ClientContext;
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::producer::{BaseRecord, DeliveryResult, ProducerContext, ThreadedProducer};
use tenure_core::StoreError;
use tenure_core::outbox::Message;
use tokio::sync::Notify;

use super::{KafkaSink, record};
use crate::options::refuse;

/// Sends all, and counts the reports: nothing could be leaner that still waits for them.
pub struct Plain {
    producer: ThreadedProducer<Counts>,
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plain")
    }
}

/// The reports of one call.
#[derive(Default)]
struct Count {
    left: AtomicUsize,
    written: AtomicUsize,
    done: Notify,
}

impl Count {
    fn one_less(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }
}

struct Counts;

impl ClientContext for Counts {}

impl ProducerContext for Counts {
    type DeliveryOpaque = Arc<Count>;

    fn delivery(&self, result: &DeliveryResult<'_>, count: Arc<Count>) {
        count.written.fetch_add(usize::from(result.is_ok()), Ordering::Relaxed);
        count.one_less();
    }
}

impl Plain {
    /// With the settings of `sink`.
    pub fn beside(sink: &KafkaSink) -> Result<Self, StoreError> {
        match ThreadedProducer::from_config_and_context(&sink.many.config, Counts) {
            Ok(producer) => Ok(Self { producer }),
            Err(error) => refuse(error.to_string()),
        }
    }

    /// Sends what `sink` would, and says how many of them were written.
    pub async fn send(&self, sink: &KafkaSink, messages: &[Message]) -> usize {
        let count = Arc::new(Count::default());
        // One more than is sent, so that none of them is the last before all are.
        count.left.store(1, Ordering::Relaxed);
        for message in messages {
            let Ok(made) = record::build(&sink.topic, &sink.source, message) else { continue };
            let mut base: BaseRecord<'_, str, [u8], Arc<Count>> =
                BaseRecord::with_opaque_to(&made.topic, count.clone())
                    .payload(message.body.as_bytes())
                    .headers(made.headers);
            (base.key, base.timestamp) = (message.source.as_deref(), made.timestamp);
            count.left.fetch_add(1, Ordering::Relaxed);
            if self.producer.send(base).is_err() {
                count.one_less();
            }
        }
        count.one_less();
        count.done.notified().await;
        count.written.load(Ordering::Relaxed)
    }
}
