//! The reader of the topic: who claimed which lease last, and whether it is over.
//!
//! It belongs to no group and takes no part in deciding who holds what. It tells waiters at once what they would else learn
//! from a heartbeat, and it tells one topic from another of the same name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::producer::{FutureProducer, Producer};
use rdkafka::{Offset, TopicPartitionList};
use tenure_core::StoreError;
use tenure_core::lease::{LeaseName, Term};
use tenure_core::time::{Monotonic, StoreTime};
use tokio::sync::watch;

use super::options::KafkaLeaseOptions;
use super::publish;
use super::record::{Key, Sign, What};
use super::topic;
use crate::clock;
use crate::error::{Complaint, explain};

/// How long the reader waits for a record before it looks whether it is to stop.
const TURN: Duration = Duration::from_millis(100);

/// What the topic says, as far as it was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// What tells this topic from others of the same name: the first mark on it, and where it stands.
    pub(crate) epoch: Option<(i64, String)>,
    /// Where the first record stands that is not Tenure's, if it came before any mark: the topic is somebody else's.
    pub(crate) strange: Option<i64>,
    /// The last word on every lease.
    pub(crate) leases: BTreeMap<LeaseName, Seen>,
    /// The offset that comes next.
    pub(crate) next: i64,
    /// Whether the end was reached once.
    pub(crate) whole: bool,
}

/// The last word on a lease.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) term: Term,
    pub(crate) sign: Sign,
    /// Where the last word stands.
    pub(crate) offset: i64,
    /// When it was written, by the broker's clock.
    pub(crate) at: StoreTime,
    /// When it was read, by ours.
    pub(crate) read: Monotonic,
}

impl View {
    fn take(&mut self, message: &BorrowedMessage<'_>) {
        let offset = message.offset();
        if offset < self.next {
            // The topic was deleted and made again: nothing that was read before counts.
            *self = Self::default();
        }
        self.next = offset + 1;
        let micros = message.timestamp().to_millis().unwrap_or(0).saturating_mul(1000);
        match message.key().and_then(Key::read) {
            Some(Key::Epoch(mark)) if self.epoch.is_none() => self.epoch = Some((offset, mark)),
            Some(Key::Epoch(_)) => {}
            Some(Key::Lease(lease)) => match message.payload().map(serde_json::from_slice::<Sign>) {
                Some(Ok(sign)) => self.note(lease, sign, offset, StoreTime::from_micros(micros)),
                _ => {
                    tracing::warn!(%lease, offset, "a record of the lease's topic cannot be read; passing over it")
                }
            },
            None => {
                tracing::debug!(offset, "a record of the lease's topic is not Tenure's; passing over it");
                if self.epoch.is_none() {
                    self.strange.get_or_insert(offset);
                }
            }
        }
    }

    fn note(&mut self, lease: LeaseName, sign: Sign, offset: i64, at: StoreTime) {
        let number =
            if sign.what == What::Claim { Some(term_of(offset)) } else { sign.term.and_then(Term::new) };
        let Some(term) = number else { return };
        // A former holder's late word changes nothing; but behind a claim that came to nothing it is the holder's own.
        if self.leases.get(&lease).is_none_or(|seen| term >= seen.term || seen.sign.what == What::Void) {
            self.leases.insert(lease, Seen { term, sign, offset, at, read: clock::now() });
        }
    }
}

/// The term of a claim: where it stands on the topic, counted from 1.
pub(crate) fn term_of(offset: i64) -> Term {
    u64::try_from(offset).ok().and_then(|offset| Term::new(offset + 1)).unwrap_or(Term::FIRST)
}

/// The reader. It stops when it is dropped.
pub(crate) struct Tail {
    shared: Arc<Shared>,
    /// Asks where the topic ends. The reader's own connection is no use for that: a broker answers in order, and the reader's
    /// request for more stands there for half a second.
    asker: FutureProducer<Quiet>,
    options: KafkaLeaseOptions,
}

struct Shared {
    view: watch::Sender<View>,
    stop: AtomicBool,
    /// Somebody who asked was told that there is no such topic.
    gone: AtomicBool,
}

/// Sees to it that the brokers answer and the topic is there; reads nothing yet.
pub(crate) async fn look(options: &KafkaLeaseOptions) -> Result<(), StoreError> {
    let consumer = reader(options)?;
    let looked = topic::ensure(&consumer, options).await;
    // Taking a client down waits for its threads.
    let _ = tokio::task::spawn_blocking(move || drop(consumer)).await;
    looked
}

fn reader(options: &KafkaLeaseOptions) -> Result<Arc<BaseConsumer<Quiet>>, StoreError> {
    let mut config = options.kafka.client();
    config
        // The client asks for a group's name; nothing joins it.
        .set("group.id", &options.group)
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .set("auto.offset.reset", "earliest")
        .set("allow.auto.create.topics", "false");
    let consumer = BaseConsumer::from_config_and_context(&config, Quiet::default());
    let failed = |error: KafkaError| explain(&options.kafka.label(), "reading the lease's topic", &error);
    consumer.map(Arc::new).map_err(failed)
}

impl Tail {
    /// Begins to read, once the topic is there; returns when its end was reached and it is marked.
    pub(crate) async fn start(
        options: &KafkaLeaseOptions,
        producer: &FutureProducer<Quiet>,
    ) -> Result<Self, StoreError> {
        let label = options.kafka.label();
        let failed = |error: KafkaError| explain(&label, "reading the lease's topic", &error);
        let consumer = reader(options)?;
        topic::ensure(&consumer, options).await?;
        assign(&consumer, &options.topic).map_err(failed)?;
        let shared = Arc::new(Shared {
            view: watch::Sender::new(View::default()),
            stop: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        });
        let tail = Self { shared: Arc::clone(&shared), asker: producer.clone(), options: options.clone() };
        let (topic, name) = (options.topic.clone(), "tenure-kafka-tail".to_owned());
        let reading = thread::Builder::new().name(name).spawn(move || read(&consumer, &topic, &shared));
        if let Err(error) = reading {
            let message = format!("no thread for the topic's reader: {error}");
            return Err(StoreError::Failed { store: label, message, source: None });
        }
        let found = tail.caught_up().await?;
        if let (None, Some(offset)) = (&found.epoch, found.strange) {
            let topic = &options.topic;
            let message = format!(
                "the topic {topic} holds records that are not Tenure's (the first at offset {offset}): leases need a topic of \
                 their own; name another, which is made if it is missing"
            );
            return Err(StoreError::Refused { store: label, message });
        }
        if found.epoch.is_none() {
            let mark = uuid::Uuid::new_v4().simple().to_string();
            publish::mark(producer, options, &mark).await?;
            tail.wait("its mark", |view| view.epoch.is_some()).await?;
        }
        Ok(tail)
    }

    /// Whether the topic is there and marked, as far as is known. When it was deleted only a new reader makes it again.
    pub(crate) fn is_sound(&self) -> bool {
        !self.shared.gone.load(Ordering::Acquire) && self.view().epoch.is_some()
    }

    /// What is known now. The reader waits as long as this is held.
    pub(crate) fn view(&self) -> watch::Ref<'_, View> {
        self.shared.view.borrow()
    }

    /// Follows what is known.
    pub(crate) fn follow(&self) -> watch::Receiver<View> {
        self.shared.view.subscribe()
    }

    /// What stands on the topic now: everything that was written before the call is in it.
    pub(crate) async fn caught_up(&self) -> Result<View, StoreError> {
        let (asker, topic) = (self.asker.clone(), self.options.topic.clone());
        let timeout = self.options.kafka.request_timeout;
        let looked = tokio::task::spawn_blocking(move || asker.client().fetch_watermarks(&topic, 0, timeout));
        let label = self.options.kafka.label();
        match looked.await {
            // The end is not waited for as an event: on a busy topic there is always one record more.
            Ok(Ok((first, end))) => {
                self.wait("its end", move |view| view.next >= end || view.whole && first == end).await
            }
            Ok(Err(error)) => {
                if error.rdkafka_error_code().is_some_and(is_gone) {
                    self.shared.gone.store(true, Ordering::Release);
                }
                Err(explain(&label, "looking for the end of the lease's topic", &error))
            }
            Err(_) => Err(topic::stopping(&label)),
        }
    }

    /// Waits until the record with this offset was read.
    pub(crate) async fn reached(&self, offset: i64) -> Result<View, StoreError> {
        self.wait("our own claim", move |view| view.next > offset).await
    }

    async fn wait(&self, what: &str, arrived: impl FnMut(&View) -> bool) -> Result<View, StoreError> {
        let mut follower = self.follow();
        let waited =
            tokio::time::timeout(self.options.kafka.request_timeout, follower.wait_for(arrived)).await;
        match waited {
            Ok(Ok(view)) => Ok(view.clone()),
            _ => Err(StoreError::Unreachable {
                store: self.options.kafka.label(),
                message: format!("reading the topic {} did not come to {what} in time", self.options.topic),
            }),
        }
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
    }
}

impl fmt::Debug for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tail").field("topic", &self.options.topic).finish_non_exhaustive()
    }
}

fn assign(consumer: &BaseConsumer<Quiet>, topic: &str) -> Result<(), KafkaError> {
    let mut all = TopicPartitionList::new();
    all.add_partition_offset(topic, 0, Offset::Beginning)?;
    consumer.assign(&all)
}

/// Whether the brokers know no such topic.
fn is_gone(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::UnknownTopicOrPartition
            | RDKafkaErrorCode::UnknownTopic
            | RDKafkaErrorCode::UnknownPartition
            | RDKafkaErrorCode::UnknownTopicId
    )
}

/// Reads until told to stop.
fn read(consumer: &BaseConsumer<Quiet>, topic: &str, shared: &Shared) {
    while !shared.stop.load(Ordering::Acquire) {
        match consumer.poll(TURN) {
            None => {}
            Some(Ok(message)) => shared.view.send_modify(|view| view.take(&message)),
            Some(Err(KafkaError::PartitionEOF(_))) => shared.view.send_modify(|view| view.whole = true),
            Some(Err(error)) => match error.rdkafka_error_code() {
                Some(code) if is_gone(code) => {
                    // It was deleted. Whatever comes under this name is read from its beginning.
                    tracing::warn!(topic, "the lease's topic is gone");
                    shared.view.send_modify(|view| *view = View::default());
                    thread::sleep(TURN);
                    if let Err(error) = assign(consumer, topic) {
                        tracing::warn!(topic, %error, "the lease's topic cannot be read");
                    }
                }
                _ => tracing::debug!(topic, %error, "no answer while reading the lease's topic"),
            },
        }
    }
}

/// A client that says what it has to say to the log's finer levels: those who call it are told by its answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quiet {
    complaint: Arc<Mutex<Option<Complaint>>>,
}

impl Quiet {
    /// What the client last complained of, where it says most.
    pub(crate) fn complaint(&self) -> Option<Complaint> {
        self.complaint.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ClientContext for Quiet {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, line: &str) {
        tracing::debug!(facility, "{line}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, "{reason}");
        let mut last = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        Complaint::keep(&mut last, &error, reason);
    }
}

impl ConsumerContext for Quiet {}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::id::{NodeName, Unique};

    fn sign(what: What, term: Option<u64>, node: &str) -> Sign {
        Sign {
            what,
            term,
            node: NodeName::new(node).unwrap(),
            incarnation: Unique::from_u128(1),
            machine: String::new(),
            pid: 1,
            claim: Unique::from_u128(2),
            kind: None,
            ttl_ms: 1000,
            session_ms: 1000,
            acquired_at: None,
            renewed_at: None,
            renewals: 0,
        }
    }

    #[test]
    fn a_claim_that_came_to_nothing_does_not_hide_the_holder() {
        let lease = LeaseName::new("l").unwrap();
        let mut view = View::default();
        let mut next = 0;
        let mut word = |sign: Sign| {
            view.note(lease.clone(), sign, next, StoreTime::from_micros(0));
            next += 1;
            let seen = &view.leases[&lease];
            (seen.term.get(), seen.sign.what.is_held())
        };
        assert_eq!(word(sign(What::Claim, None, "ann")), (1, true));
        assert_eq!(word(sign(What::Renewed, Some(1), "ann")), (1, true));
        assert_eq!(word(sign(What::Claim, None, "put-out")), (3, true));
        assert_eq!(word(sign(What::Renewed, Some(1), "ann")), (3, true), "who knows which of them holds");
        assert_eq!(word(sign(What::Void, Some(3), "put-out")), (3, false));
        assert_eq!(word(sign(What::Renewed, Some(1), "ann")), (1, true), "the holder shows again");
        assert_eq!(word(sign(What::Claim, None, "bob")), (7, true));
        assert_eq!(word(sign(What::Renewed, Some(1), "ann")), (7, true), "a late word");
        assert_eq!(word(sign(What::Void, Some(3), "put-out")), (7, true), "a late word");
    }
}
