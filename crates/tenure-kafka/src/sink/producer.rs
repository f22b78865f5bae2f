//! A producer whose records of one source are written without a gap, or not at all.
//!
//! Records of one source follow one another into the queue without waiting for reports. That keeps their order only as long
//! as none of them fails while a later one is written. So:
//!
//! - idempotence numbers the records of a partition, and retries keep their order;
//! - the client never gives a record up by its age (`message.timeout.ms=0`), which would let the next one pass. The sink has a
//!   deadline of its own, and then takes *everything* out of the producer;
//! - one request at a time is under way to a broker: to a partition that knows nothing of a new producer, a second request
//!   could be written although the first was refused;
//! - a record that a broker refuses for good ends the producer (`enable.gapless.guarantee`): what is queued behind it comes
//!   back unsent.
//!
//! Whatever a broker still has of an old producer begins where the new one begins, and has no gap either: in any mixture of
//! the two the first of each record comes in order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::{FromClientConfigAndContext as _, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::producer::{
    BaseRecord, DeliveryResult, Producer as _, ProducerContext, PurgeConfig, ThreadedProducer,
};
use rdkafka::types::RDKafkaErrorCode;

use super::answer::{Meaning, meaning};
use super::batch::{Batch, Ticket};
use super::record::Record;
use crate::options::KafkaOptions;

/// The largest record that is handed to a broker: the broker's own limit is to decide.
const RECORD_MAX_BYTES: &str = "67108864";
/// The longest complaint of the client that is kept.
const TROUBLE_MAX_CHARS: usize = 200;

/// What librdkafka also calls the properties that are set here, and what would weaken them: of two names for one property,
/// chance would decide which counts.
const OTHER_NAMES: [&str; 5] =
    ["request.required.acks", "max.in.flight", "delivery.timeout.ms", "retries", "message.send.max.retries"];

/// How records may share a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Many in one; when it is refused, nobody knows which of them was meant.
    Many,
    /// Each has its own; of one source, the next is handed over when the one before it is written.
    Alone,
}

/// The client's settings.
pub(super) fn config(options: &KafkaOptions, sharing: Sharing, timeout: Duration) -> ClientConfig {
    let mut config = options.client();
    let mut unless_given = |name: &str, value: &str| {
        if !options.properties.contains_key(name) {
            config.set(name, value);
        }
    };
    // As Kafka's own clients choose a partition, so that consumers find the same keys at the same place.
    unless_given("partitioner", "murmur2_random");
    unless_given("message.max.bytes", RECORD_MAX_BYTES);
    if !options.properties.contains_key("queue.buffering.max.ms") {
        unless_given("linger.ms", "1");
    }
    unless_given("retry.backoff.ms", "50");
    unless_given("reconnect.backoff.max.ms", "1000");
    for name in OTHER_NAMES {
        config.remove(name);
    }
    config
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("max.in.flight.requests.per.connection", "1")
        .set("queuing.strategy", "fifo");
    match sharing {
        Sharing::Many => config.set("enable.gapless.guarantee", "true").set("message.timeout.ms", "0"),
        Sharing::Alone => config
            .set("batch.num.messages", "1")
            .set("linger.ms", "0")
            .set("message.timeout.ms", timeout.as_millis().max(1).to_string()),
    };
    config
}

/// A producer, until it is retired.
pub(super) struct Producer {
    /// Gone when dropped.
    inner: Option<ThreadedProducer<Reports>>,
    /// Takes no more; another is to be made.
    retired: AtomicBool,
    /// All was taken out of it because no report came in time.
    given_up: AtomicBool,
    heard: Arc<Heard>,
}

impl Producer {
    pub(super) fn new(config: &ClientConfig) -> KafkaResult<Self> {
        let heard = Arc::new(Heard::default());
        let inner = ThreadedProducer::from_config_and_context(config, Reports { heard: heard.clone() })?;
        Ok(Self {
            inner: Some(inner),
            retired: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            heard,
        })
    }

    /// Hands a record over; its report goes to `batch`, also when it is refused at once, which is answered too.
    pub(super) fn send(
        &self,
        record: Record,
        key: Option<&str>,
        payload: &[u8],
        batch: &Arc<Batch>,
        at: usize,
    ) -> Result<(), RDKafkaErrorCode> {
        batch.expect();
        let ticket = Box::new(Ticket { batch: batch.clone(), at });
        let mut base: BaseRecord<'_, str, [u8], Box<Ticket>> =
            BaseRecord::with_opaque_to(&record.topic, ticket).payload(payload).headers(record.headers);
        (base.key, base.timestamp) = (key, record.timestamp);
        let sent = match &self.inner {
            Some(inner) => inner.send(base).map_err(|(error, _)| code(&error)),
            None => Err(RDKafkaErrorCode::Fail),
        };
        sent.inspect_err(|code| batch.report(at, Err(*code)))
    }

    /// Takes everything out of it: what was not sent comes back as such, what is under way as unknown.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.retired.store(true, Ordering::Relaxed);
        if let Some(inner) = &self.inner {
            inner.purge(PurgeConfig::default().queue().inflight().non_blocking());
        }
    }

    /// Why it is over, and what to do, if neither we nor a record ended it: the cluster will not have it.
    pub(super) fn ended_by_itself(&self) -> Option<String> {
        if self.given_up.load(Ordering::Relaxed) || self.heard.fault.load(Ordering::Relaxed) {
            return None;
        }
        let (code, text) = self.inner.as_ref()?.client().fatal_error()?;
        let what = match meaning(code) {
            Meaning::MayPass(what) => what,
            Meaning::Unsent | Meaning::Refused => "it is tried again with another producer",
        };
        Some(format!("the producer has failed for good: {code}: {}; {what}", plain(&text)))
    }

    /// Whether another one is to be made: it was given up, or has failed for good.
    pub(super) fn is_over(&self) -> bool {
        let fatal = || self.inner.as_ref().is_none_or(|inner| inner.client().fatal_error().is_some());
        if !self.retired.load(Ordering::Relaxed) && fatal() {
            self.retired.store(true, Ordering::Relaxed);
        }
        self.retired.load(Ordering::Relaxed)
    }

    /// What the client last complained of.
    pub(super) fn trouble(&self) -> Option<String> {
        self.heard.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // That waits for the client's threads, which no task may. Without a thread to give, it has to wait here.
        if let Some(inner) = self.inner.take() {
            let _ = std::thread::Builder::new().name("tenure-kafka-end".into()).spawn(move || drop(inner));
        }
    }
}

/// What was heard from the client.
#[derive(Default)]
struct Heard {
    /// What it last complained of.
    trouble: Mutex<Option<String>>,
    /// Whether a record of its own failed; one that is told of another's end did not.
    fault: AtomicBool,
}

/// Hears from the client.
struct Reports {
    heard: Arc<Heard>,
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(?level, facility, "{message}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, "{reason}");
        *self.heard.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(plain(reason));
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<Ticket>;

    fn delivery(&self, result: &DeliveryResult<'_>, ticket: Box<Ticket>) {
        let report = match result {
            Ok(_) => Ok(()),
            Err((error, _)) => Err(code(error)),
        };
        if report.is_err_and(|code| meaning(code) != Meaning::Unsent) {
            self.heard.fault.store(true, Ordering::Relaxed);
        }
        ticket.batch.report(ticket.at, report);
    }
}

/// What the client says, on one line and not for ever.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TROUBLE_MAX_CHARS).collect()
}

fn code(error: &KafkaError) -> RDKafkaErrorCode {
    error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_order_stands_on_cannot_be_set_otherwise() {
        let mut options = KafkaOptions::new(vec!["h:1".into()]).unwrap();
        let ours = [
            ("enable.idempotence", "true"),
            ("acks", "all"),
            ("max.in.flight.requests.per.connection", "1"),
            ("enable.gapless.guarantee", "true"),
            ("message.timeout.ms", "0"),
        ];
        for (name, _) in ours {
            options.properties.insert(name.into(), "5".into());
        }
        for name in OTHER_NAMES {
            options.properties.insert(name.into(), "5".into());
        }
        options.properties.insert("linger.ms".into(), "7".into());
        let many = config(&options, Sharing::Many, Duration::from_secs(3));
        for (name, value) in ours {
            assert_eq!(many.get(name), Some(value), "{name}");
        }
        assert!(OTHER_NAMES.iter().all(|name| many.get(name).is_none()), "by no other name either");
        assert_eq!(many.get("linger.ms"), Some("7"), "what is a matter of taste is the user's");
        let alone = config(&options, Sharing::Alone, Duration::from_secs(3));
        assert_eq!(alone.get("batch.num.messages"), Some("1"));
        assert_eq!(alone.get("message.timeout.ms"), Some("3000"));
        assert_eq!(alone.get("enable.idempotence"), Some("true"));
    }
}
