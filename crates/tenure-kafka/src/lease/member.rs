//! A member of a lease's group: one consumer with a thread of its own, from joining to leaving.
//!
//! The thread polls whatever else happens, so that a member is never put out for its silence; it commits when someone wants
//! a proof; it rejoins at once when the topic tells that the lease is free; and it leaves, by LeaveGroup, when the lease was
//! given back, was not renewed, or is not wanted.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::FutureProducer;
use rdkafka::{Offset, TopicPartitionList};
use tenure_core::StoreError;
use tenure_core::lease::LeaseName;
use tenure_core::time::Monotonic;
use tokio::sync::{oneshot, watch};

use super::group::Group;
use super::options::KafkaLeaseOptions;
use super::publish;
use super::record::{Sign, What};
use super::state::{Leave, Proof, State};
use super::store::INTEREST_MIN;
use super::tail::{Quiet, Tail};
use crate::clock;
use crate::error::{ends_membership, explain};

/// How often a member tells the group that it lives, at least: so soon one who waits learns that the holder has left.
const HEARTBEAT: Duration = Duration::from_millis(250);
/// How long the thread waits for word from the group before it looks what else is to be done.
const TURN: Duration = Duration::from_millis(20);
/// How long leaving waits for a commit that is under way.
const COMMIT_MAX: Duration = Duration::from_secs(1);
/// How long a poll may take a member before it is put out; the client wants it above the session timeout.
const POLL_MAX: Duration = Duration::from_secs(300);

/// A member, as its store sees it.
pub(crate) struct Member {
    pub(crate) seat: Arc<Seat>,
    pub(crate) tail: Arc<Tail>,
    /// One claim at a time.
    pub(crate) claiming: tokio::sync::Mutex<()>,
}

/// What the store, the thread and the consumer's callbacks share.
pub(crate) struct Seat {
    pub(crate) lease: LeaseName,
    state: Mutex<State>,
    /// For callbacks that wait for the holder to stop.
    stopped: Condvar,
    changed: watch::Sender<u64>,
}

impl Seat {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everyone that the state has changed.
    pub(crate) fn notify(&self) {
        self.stopped.notify_all();
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Waits, on the consumer's own thread, until the holder has stopped or must have.
    pub(crate) fn wait_out(&self, until: Monotonic) {
        let mut state = self.lock();
        while state.leave.is_none() && state.holding.is_some() {
            let left = clock::now().until(until);
            if left.is_zero() {
                return;
            }
            let waited = self.stopped.wait_timeout(state, left.min(TURN));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Asks the thread to leave.
    pub(crate) fn leave(&self, why: Leave) {
        self.lock().leave.get_or_insert(why);
        self.notify();
    }

    /// Follows changes of the state.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Asks for a proof that begins from now on.
    pub(crate) fn prove(&self) -> oneshot::Receiver<Proof> {
        let (ask, answer) = oneshot::channel();
        self.lock().asking.push(ask);
        answer
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("lease", &self.seat.lease).finish_non_exhaustive()
    }
}

impl Member {
    /// Joins the group of this lease.
    pub(crate) fn join(
        options: &KafkaLeaseOptions,
        lease: &LeaseName,
        tail: Arc<Tail>,
        producer: FutureProducer<Quiet>,
        wanted: Monotonic,
    ) -> Result<Self, StoreError> {
        let label = options.kafka.label();
        let failed = |error: KafkaError| explain(&label, "joining the lease's group", &error);
        let millis = |span: Duration| span.as_millis().to_string();
        let mut config = options.kafka.client();
        config
            .set("group.id", options.group_of(lease))
            // By its heartbeat one who waits learns that the holder has left. To make the client rejoin sooner, by another
            // subscription, is no way: librdkafka (2.12) ends the whole process when that comes while it is joining.
            .set("heartbeat.interval.ms", millis(options.heartbeat.min(HEARTBEAT)))
            .set("session.timeout.ms", millis(options.session_timeout))
            .set("max.poll.interval.ms", millis(options.session_timeout.max(POLL_MAX)))
            // The one that leaves the partition where it is when others come and go.
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("group.protocol", "classic")
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "latest")
            .set("allow.auto.create.topics", "false")
            // Nothing is to be fetched: the topic is read elsewhere.
            .set("queued.min.messages", "1");
        let seat = Arc::new(Seat {
            lease: lease.clone(),
            state: Mutex::new(State::new(wanted)),
            stopped: Condvar::new(),
            changed: watch::Sender::new(0),
        });
        let group = Group::new(Arc::clone(&seat), options.topic.clone());
        let consumer = BaseConsumer::from_config_and_context(&config, group).map_err(failed)?;
        consumer.subscribe(&[&options.topic]).map_err(failed)?;
        let (commits, to_commit) = channel();
        let thread = Thread {
            options: options.clone(),
            seat: Arc::clone(&seat),
            tail: Arc::clone(&tail),
            producer,
            consumer: Arc::new(consumer),
            commits,
        };
        let spawn = |name: &str| thread::Builder::new().name(name.into());
        let committing = Arc::clone(&seat);
        let running = spawn("tenure-kafka-commit")
            .spawn(move || commit_all(&committing, &to_commit))
            .and_then(|_| spawn("tenure-kafka").spawn(move || thread.run()));
        match running {
            Ok(_) => Ok(Self { seat, tail, claiming: tokio::sync::Mutex::new(()) }),
            Err(error) => {
                let message = format!("no thread for the lease's consumer: {error}");
                Err(StoreError::Failed { store: label, message, source: None })
            }
        }
    }
}

/// A store that is dropped leaves all its groups.
impl Drop for Member {
    fn drop(&mut self) {
        self.seat.leave(Leave::Unwanted);
    }
}

/// Counts as one who waits as long as it lives.
pub(crate) struct Waiting(Arc<Seat>);

impl Waiting {
    pub(crate) fn begin(seat: &Arc<Seat>) -> Self {
        seat.lock().waiting += 1;
        Self(Arc::clone(seat))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.waiting -= 1;
        // Long enough to claim what was waited for.
        state.wanted = state.wanted.max(clock::now().after(INTEREST_MIN));
    }
}

/// What the thread has.
struct Thread {
    options: KafkaLeaseOptions,
    seat: Arc<Seat>,
    tail: Arc<Tail>,
    producer: FutureProducer<Quiet>,
    consumer: Arc<BaseConsumer<Group>>,
    commits: Sender<Commit>,
}

/// A commit to be made. It waits for the coordinator, and so has a thread of its own.
struct Commit {
    consumer: Arc<BaseConsumer<Group>>,
    offsets: TopicPartitionList,
}

/// Makes one commit after another until the member leaves.
fn commit_all(seat: &Seat, commits: &Receiver<Commit>) {
    while let Ok(Commit { consumer, offsets }) = commits.recv() {
        let answer = consumer.commit(&offsets, CommitMode::Sync);
        // Let go first: the member's own thread takes the consumer down.
        drop(consumer);
        let answer = answer.map_err(|error| error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail));
        seat.lock().end_proof(answer);
        seat.notify();
    }
}

impl Thread {
    fn run(self) {
        let why = loop {
            self.poll();
            if let Some(why) = self.seat.lock().time_to_leave(clock::now()) {
                break why;
            }
            self.commit();
        };
        self.leave(why);
    }

    /// Waits a turn for word from the group. The callbacks of a rebalance are served here.
    fn poll(&self) {
        match self.consumer.poll(TURN) {
            Some(Err(error)) if ends_membership(&error) => {
                let mut state = self.seat.lock();
                state.failure = Some(error.to_string());
                state.failure_code = error.rdkafka_error_code();
                drop(state);
                self.seat.notify();
            }
            Some(Err(error)) => {
                tracing::debug!(lease = %self.seat.lease, %error, "word from the lease's group");
            }
            Some(Ok(_)) | None => {}
        }
    }

    /// Asks the coordinator, by a commit under the member's generation, whether we are still in; for all who want to know.
    fn commit(&self) {
        if !self.seat.lock().begin_proof(clock::now()) {
            return;
        }
        let mut offsets = TopicPartitionList::new();
        let offset = Offset::Offset(self.tail.view().next);
        let added = offsets.add_partition_offset(&self.options.topic, 0, offset).is_ok();
        let commit = Commit { consumer: Arc::clone(&self.consumer), offsets };
        if !added || self.commits.send(commit).is_err() {
            self.seat.lock().end_proof(Err(RDKafkaErrorCode::Fail));
            self.seat.notify();
        }
    }

    /// Ends the subscription of a member that was given nothing.
    ///
    /// To close the client is not enough: librdkafka (2.12) tells the coordinator only of members that have partitions to
    /// give up, where the assignor is a cooperative one. The group would wait for this member until its session has ended.
    fn unsubscribe(&self) {
        self.consumer.unsubscribe();
        // The client puts it off until the group has settled, which takes a heartbeat of the others.
        let until = clock::now().after(self.options.heartbeat + COMMIT_MAX);
        let subscribed = || self.consumer.subscription().is_ok_and(|topics| topics.count() > 0);
        while subscribed() && clock::now() < until {
            self.consumer.poll(Duration::from_millis(5));
        }
    }

    /// Leaves the group, and says so on the topic: those who wait rejoin at once. The order matters, since one who rejoins
    /// before we have left finds everything as it was.
    fn leave(self, why: Leave) {
        let lease = &self.seat.lease;
        let until = clock::now().after(COMMIT_MAX);
        while self.seat.lock().proving.is_some() && clock::now() < until {
            self.consumer.poll(Duration::from_millis(5));
        }
        if self.seat.lock().proving.is_some() {
            // The commit keeps the consumer; it leaves all the same.
            self.consumer.unsubscribe();
            self.consumer.poll(COMMIT_MAX);
        }
        if !self.seat.lock().has_partition() {
            self.unsubscribe();
        }
        // Where nothing else keeps it, this waits until the coordinator knows.
        drop((self.consumer, self.commits));
        let mut state = self.seat.lock();
        let over = match why {
            Leave::Expired => What::Expired,
            Leave::Released | Leave::Unwanted | Leave::Failed => What::Released,
        };
        if let Some(holding) = state.holding.take()
            && holding.over.is_none()
        {
            let mut sign =
                Sign::of(&holding.grant, over, holding.kind.as_deref(), self.options.session_timeout);
            sign.renewals = holding.renewals;
            sign.renewed_at = self.tail.view().leases.get(lease).map(|seen| seen.at.as_micros());
            match publish::say(&self.producer, &self.options, lease, &sign) {
                Ok(farewell) => state.farewell = Some(farewell),
                Err(error) => tracing::debug!(%lease, %error, "the end of the term is not on the topic"),
            }
        }
        state.end_proof(Err(RDKafkaErrorCode::AssignmentLost));
        state.asking.clear();
        state.closed = true;
        drop(state);
        tracing::debug!(%lease, ?why, "left the lease's group");
        self.seat.notify();
    }
}
