//! The plainest producer, to measure the sink against: the same records by the same settings, without the sink's care.

use std::fmt;

use futures_util::future::join_all;
use rdkafka::producer::{FutureProducer, FutureRecord};
use tenure_core::StoreError;
use tenure_core::outbox::Message;

use super::{KafkaSink, record};
use crate::options::refuse;

/// What a user writes by hand: send all, wait for all reports.
pub struct Plain {
    producer: FutureProducer,
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plain")
    }
}

impl Plain {
    /// With the settings of `sink`.
    pub fn beside(sink: &KafkaSink) -> Result<Self, StoreError> {
        match sink.many.config.create() {
            Ok(producer) => Ok(Self { producer }),
            Err(error) => refuse(error.to_string()),
        }
    }

    /// Sends what `sink` would, and says how many of them were written.
    pub async fn send(&self, sink: &KafkaSink, messages: &[Message]) -> usize {
        let mut reports = Vec::with_capacity(messages.len());
        for message in messages {
            let Ok(made) = record::build(&sink.topic, &sink.source, message) else { continue };
            let mut record: FutureRecord<'_, str, [u8]> =
                FutureRecord::to(&made.topic).payload(message.body.as_bytes()).headers(made.headers);
            (record.key, record.timestamp) = (message.source.as_deref(), made.timestamp);
            reports.extend(self.producer.send_result(record).ok());
        }
        join_all(reports).await.into_iter().filter(|report| matches!(report, Ok(Ok(_)))).count()
    }
}
