//! Delivery to Kafka, as CloudEvents in binary mode.
//!
//! ```text
//!   batch ──▶ records, all of a source in order ──▶ producer (idempotent, no gaps) ──▶ partition of the key
//!   verdicts ◀── one delivery report per record ◀──────────┘
//!                  │ refused for good, and not alone in its request
//!                  └──▶ each once more in a request of its own: which one was meant?
//! ```

mod answer;
mod batch;
#[cfg(feature = "bench")]
mod plain;
mod producer;
mod record;
mod topic;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use rdkafka::ClientConfig;
use rdkafka::types::RDKafkaErrorCode as Code;
use tenure_core::StoreError;
use tenure_core::contract::Sink;
use tenure_core::outbox::cloudevents::EventSource;
use tenure_core::outbox::{Message, Verdict};
use tokio::time::{Instant, timeout};

use self::answer::{Meaning, meaning};
use self::batch::{Batch, Report};
use self::producer::{Producer, Sharing};
use self::topic::Topic;
use crate::options::{refuse, unknown_option};
use crate::url::KafkaUrl;

#[cfg(feature = "bench")]
pub use self::plain::Plain;

/// How long reports may take, unless the user says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many messages are taken at once.
const BATCH: usize = 512;
/// How long to wait for the reports of what was taken out of a producer.
const PURGE_PATIENCE: Duration = Duration::from_secs(2);

/// Produces each message as a record: a CloudEvent in the binary mode of the Kafka binding.
///
/// The URL is `kafka://[user:password@]broker[:9092][,broker…]/TOPIC[?…]`; its options are those of
/// [`KafkaOptions`](crate::KafkaOptions). In the topic, `{topic}` stands for the message's; a message whose topic gives no
/// name of a Kafka topic is poison.
///
/// # What is written
///
/// The key is the message's source, none if it has none; the value is the payload; the headers are `ce_` and the attributes
/// that [`EventSource`] lists, `content-type`, and the trace context also as plain `traceparent` and `tracestate`. The
/// timestamp is when the message was enqueued. A row whose content type begins with `application/cloudevents` is poison.
///
/// # What the reports mean
///
/// | report | verdict |
/// |---|---|
/// | written by all replicas that are in sync | accepted |
/// | too large, or invalid, and alone in its request | rejected: the message is dead at once |
/// | never sent, because another record ended the producer, or another batch had no report in time | withheld: it is delivered again, and no attempt is burnt |
/// | anything else, or none in time | transient, with what to do |
///
/// The producer is idempotent and waits for all replicas in sync. After a message that was not accepted, none of its source is
/// written by this delivery; see `producer.rs` for how.
pub struct KafkaSink {
    topic: Topic,
    source: EventSource,
    timeout: Duration,
    name: String,
    many: Client,
    alone: Client,
}

/// A producer that is made when it is needed, and again when it is over.
struct Client {
    config: ClientConfig,
    current: Mutex<Option<Arc<Producer>>>,
}

impl Client {
    fn producer(&self) -> Result<Arc<Producer>, String> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(producer) = current.as_ref().filter(|producer| !producer.is_over()) {
            return Ok(producer.clone());
        }
        // The error names a setting at most by its name and value; ours hold no secret.
        let made =
            Producer::new(&self.config).map_err(|error| format!("no producer can be made: {error}"))?;
        Ok(current.insert(Arc::new(made)).clone())
    }
}

impl KafkaSink {
    /// A sink that produces as `url` says. Connects when the first message is delivered.
    pub fn from_url(url: &str, source: EventSource) -> Result<Self, StoreError> {
        let KafkaUrl { options, topic, rest } = KafkaUrl::parse_loosely(url)?;
        if !rest.is_empty() {
            return refuse(unknown_option("none"));
        }
        let Some(topic) = topic else {
            return refuse("the Kafka URL names no topic; write kafka://broker:9092/topic");
        };
        let topic = Topic::parse(topic)?;
        let name = format!("{}/{}", options.label(), topic.pattern());
        let client = |sharing| Client {
            config: producer::config(&options, sharing, DEFAULT_TIMEOUT),
            current: Mutex::new(None),
        };
        let (many, alone) = (client(Sharing::Many), client(Sharing::Alone));
        // A property that librdkafka does not know is to be heard of now, and not with the first message.
        if [&many, &alone].iter().any(|client| client.config.create_native_config().is_err()) {
            return refuse("a property in the Kafka URL is not one of librdkafka's, or has no such value");
        }
        Ok(Self { topic, source, timeout: DEFAULT_TIMEOUT, name, many, alone })
    }

    /// With another limit on how long reports may take. Let it be less than half of the relay's deadline: when a request is
    /// refused, one more may take as long.
    #[must_use]
    pub fn with_timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit.clamp(Duration::from_millis(10), Duration::from_secs(3600));
        self.alone.config.set("message.timeout.ms", self.timeout.as_millis().to_string());
        self
    }

    /// Hands over messages, of each source in order until one is refused at once; waits for the reports.
    async fn produce(&self, client: &Client, messages: &[&Message]) -> Result<Produced, String> {
        let producer = client.producer()?;
        let batch = Arc::new(Batch::of(messages.len()));
        let mut poison = HashMap::new();
        let mut stopped: HashSet<&str> = HashSet::new();
        for (at, message) in messages.iter().enumerate() {
            let source = message.source.as_deref();
            if source.is_some_and(|source| stopped.contains(source)) {
                continue;
            }
            let sent = match record::build(&self.topic, &self.source, message) {
                Ok(record) => producer.send(record, source, message.body.as_bytes(), &batch, at).is_ok(),
                Err(reason) => {
                    poison.insert(at, reason);
                    false
                }
            };
            if let (false, Some(source)) = (sent, source) {
                stopped.insert(source);
            }
        }
        batch.close();
        let late = timeout(self.timeout, batch.done()).await.is_err();
        if late {
            producer.give_up();
            let _ = timeout(PURGE_PATIENCE, batch.done()).await;
        }
        Ok(Produced { reports: batch.reports(), poison, producer, late })
    }

    /// The verdicts on messages that shared requests. `None` is for one that is to be produced alone.
    fn judge(&self, messages: &[Message], produced: Produced) -> Vec<Option<Verdict>> {
        let Produced { reports, mut poison, producer, late } = produced;
        let mut stopped: HashSet<&str> = HashSet::new();
        let mut verdicts = Vec::with_capacity(messages.len());
        for (at, (message, report)) in messages.iter().zip(reports).enumerate() {
            let source = message.source.as_deref();
            if source.is_some_and(|source| stopped.contains(source)) {
                verdicts.push(Some(Verdict::Withheld));
                continue;
            }
            let verdict = match (poison.remove(&at), report) {
                (Some(reason), _) => Some(Verdict::Poison { reason }),
                (None, Some(Ok(()))) => Some(Verdict::Accepted),
                (None, report) => self.failed(report, &producer, late),
            };
            if let (Some(source), true) = (source, verdict != Some(Verdict::Accepted)) {
                stopped.insert(source);
            }
            verdicts.push(verdict);
        }
        verdicts
    }

    /// The verdict on one that was not written; `None` if it is not known whether it was the one that was refused. `late` if
    /// its own batch had no report in time.
    fn failed(&self, report: Option<Report>, producer: &Producer, late: bool) -> Option<Verdict> {
        let no_report = || self.transient(format!("no report within {:?}", self.timeout), producer);
        match report {
            Some(Ok(())) => Some(Verdict::Accepted),
            None => Some(no_report()),
            Some(Err(Code::PurgeQueue | Code::PurgeInflight)) if late => Some(no_report()),
            Some(Err(code)) => match meaning(code) {
                // With no record at fault none would ever be tried, and none would say why.
                Meaning::Unsent => Some(match producer.ended_by_itself() {
                    Some(why) => self.transient(why, producer),
                    None => Verdict::Withheld,
                }),
                Meaning::Refused => None,
                Meaning::MayPass(what) => Some(self.transient(format!("{code}; {what}"), producer)),
            },
        }
    }

    fn transient(&self, what: String, producer: &Producer) -> Verdict {
        let trouble =
            producer.trouble().map_or_else(String::new, |text| format!(" (the client says: {text})"));
        Verdict::transient(format!("{}: {what}{trouble}", self.name))
    }

    /// Produces messages of one source in requests of their own, each when the one before it is written; none is begun when
    /// the batch, which began then, has used its time up.
    async fn produce_alone(&self, messages: Vec<(usize, &Message)>, began: Instant) -> Vec<(usize, Verdict)> {
        let mut verdicts = Vec::with_capacity(messages.len());
        let mut stopped = false;
        for (at, message) in messages {
            // Past the relay's deadline all of it would count as failed, also what was written. The first one is tried in any
            // case, or a slow broker would see to it that none ever is.
            let verdict = match stopped || !verdicts.is_empty() && began.elapsed() > self.timeout {
                true => Verdict::Withheld,
                false => self.deliver_alone(message).await,
            };
            stopped |= verdict != Verdict::Accepted;
            verdicts.push((at, verdict));
        }
        verdicts
    }

    async fn deliver_alone(&self, message: &Message) -> Verdict {
        let produced = match self.produce(&self.alone, &[message]).await {
            Ok(produced) => produced,
            Err(reason) => return Verdict::transient(format!("{}: {reason}", self.name)),
        };
        let Produced { mut reports, mut poison, producer, late } = produced;
        if let Some(reason) = poison.remove(&0) {
            return Verdict::Poison { reason };
        }
        let report = reports.pop().flatten();
        let refused = || match report {
            Some(Err(code)) => Verdict::Rejected { reason: format!("{}: {code}", self.name) },
            _ => Verdict::Withheld,
        };
        self.failed(report, &producer, late).unwrap_or_else(refused)
    }
}

/// What came of handing messages over.
struct Produced {
    /// In the order of the messages; none for one that was not handed over, or not reported.
    reports: Vec<Option<Report>>,
    /// Those that can be no record, and why.
    poison: HashMap<usize, String>,
    producer: Arc<Producer>,
    /// Whether reports did not come in time, so that all was taken out of the producer.
    late: bool,
}

impl fmt::Debug for KafkaSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaSink")
            .field("name", &self.name)
            .field("source", &self.source)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Sink for KafkaSink {
    fn name(&self) -> &str {
        &self.name
    }

    async fn deliver(&self, message: &Message) -> Verdict {
        let verdict = self.deliver_batch(std::slice::from_ref(message)).await.pop();
        verdict.unwrap_or(Verdict::Withheld)
    }

    fn batch_size(&self) -> usize {
        BATCH
    }

    async fn deliver_batch(&self, messages: &[Message]) -> Vec<Verdict> {
        let began = Instant::now();
        let all: Vec<&Message> = messages.iter().collect();
        let judged = match self.produce(&self.many, &all).await {
            Ok(produced) => self.judge(messages, produced),
            Err(reason) => {
                let mut tried = HashSet::new();
                let verdict = |message: &Message| match message.source.as_deref() {
                    Some(source) if !tried.insert(source.to_owned()) => Verdict::Withheld,
                    _ => Verdict::transient(format!("{}: {reason}", self.name)),
                };
                return messages.iter().map(verdict).collect();
            }
        };
        // A source goes on alone from the first record that may be the one that was meant.
        let mut lanes: Vec<Vec<(usize, &Message)>> = Vec::new();
        let mut lane_of: HashMap<&str, usize> = HashMap::new();
        for (at, (message, verdict)) in messages.iter().zip(&judged).enumerate() {
            match (verdict, message.source.as_deref()) {
                (None, source) => {
                    lane_of.extend(source.map(|source| (source, lanes.len())));
                    lanes.push(vec![(at, message)]);
                }
                (Some(Verdict::Withheld), Some(source)) => {
                    if let Some(lane) = lane_of.get(source).and_then(|lane| lanes.get_mut(*lane)) {
                        lane.push((at, message));
                    }
                }
                _ => {}
            }
        }
        let mut verdicts: Vec<_> =
            judged.into_iter().map(|verdict| verdict.unwrap_or(Verdict::Withheld)).collect();
        if !lanes.is_empty() {
            tracing::warn!(
                sink = self.name,
                messages = lanes.iter().map(Vec::len).sum::<usize>(),
                "the broker refused a request as too large or invalid: each message is sent alone to see which is meant; \
                 if that happens often, lower property.batch.size below the topic's max.message.bytes"
            );
            for (at, verdict) in
                join_all(lanes.into_iter().map(|lane| self.produce_alone(lane, began))).await.concat()
            {
                verdicts[at] = verdict;
            }
        }
        verdicts
    }
}
