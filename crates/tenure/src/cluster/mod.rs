//! The cluster: nodes that know of each other, one that leads, and daemons that each run on one of them.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::{Cluster, agent, local_node};
//!
//! let database = tenure::open("sqlite:app.db", tenure::OpenOptions::default()).await?;
//! database.schema().migrate().await?;
//! let cluster = Cluster::builder(database.leases(), database.cluster(), local_node(None)?)
//!     .label("zone", "a")
//!     .daemon("nightly-report", agent(|duty| async move {
//!         println!("mine, under {}", duty.fence);
//!         duty.stop.stopped().await;
//!         Ok(())
//!     }))?
//!     .start()
//!     .await?;
//! // …
//! cluster.stop().await;
//! # Ok(()) }
//! ```
//!
//! **What it does not promise.** A daemon that was cut off from the database goes on until its node's trust in itself ends,
//! and a paused process goes on the moment it wakes: what must not happen twice carries the daemon's fence.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | [`Cluster`]: joining, asking, steering, leaving |
//! | `builder` | what a node says of itself before it joins |
//! | `agent` | the code behind a daemon |
//! | `office` | one time in office of a node: looking, running what is assigned to it |
//! | `leading` | standing for election, and leading |
//! | `burial` | noticing a death at once |
//! | `listener` | hints that the cluster changed |
//! | `observer` | telling those who want to know |
//! | `singleton` | work that one copy does at a time, under a lease of its own |
//! | `shards` | a thing divided among daemons: from an entity to its shard and to the node |
//! | `status` | what a node tells of itself |
//! | `work` | Tenure's own work as daemons: the parts of an outbox, subscriptions, retention |

mod agent;
mod builder;
mod burial;
mod leading;
mod listener;
mod observer;
mod office;
mod shards;
mod singleton;
mod status;
mod work;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::cluster::{
    Agents, Answer, ClusterLook, ClusterSettings, Daemon, DaemonFilter, DaemonName, DaemonSpec, Labels,
    Member, MemberError, Order, Refusal, Revision, Steering,
};
use tenure_core::contract::ClusterStore;
use tenure_core::id::{NameError, Node, NodeName};
use tenure_core::lease::{Fence, SettingsError, Term};
use tenure_core::observe::{METER, RunnerKind};
use tenure_core::time::StoreTime;
use tokio::sync::{Notify, mpsc, watch};

pub use self::agent::{Agent, AgentError, Duty, agent};
pub use self::builder::ClusterBuilder;
use self::observer::Observers;
pub use self::observer::{ClusterEvent, Observer};
use self::office::{Ended, Office};
pub use self::shards::{Shards, shard_of};
pub use self::singleton::{Singleton, SingletonSettings};
pub use self::status::ClusterStatus;
use self::status::Gauge;
pub use self::work::OutboxParts;
use crate::error::LeaseError;
use crate::lease::{Lease, Leases};
use crate::runners::runners;
use crate::stop::Stop;

/// A cluster could not be joined, asked or steered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The settings do not fit together.
    #[error("cluster settings: {0}")]
    Settings(#[from] SettingsError),
    /// A name was refused.
    #[error(transparent)]
    Name(#[from] NameError),
    /// What the node or a daemon says of itself was refused.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// An outbox cannot be divided so.
    #[error("{0}")]
    Parts(String),
    /// Two agents for one daemon.
    #[error("daemon {0} is registered twice on this node; give each agent a name of its own")]
    Twice(String),
    /// Another process has joined under this name, and lives.
    #[error(
        "node {name} is already in the cluster: process {pid} on {machine}. Give each copy a name of its own, or stop \
         the other one"
    )]
    NameTaken {
        /// The name.
        name: NodeName,
        /// Where the other one runs.
        machine: String,
        /// Its process id there.
        pid: u32,
    },
    /// The node's lease could not be had.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The store gave no answer; the outcome is unknown.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be done.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// A node of a cluster. Clones are the same node; when the last one is dropped the node leaves in the background.
#[derive(Debug, Clone)]
pub struct Cluster {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    inner: Arc<Inner>,
    leases: Leases,
    stop: Stop,
    /// Given when the node is gone.
    gone: Stop,
    singletons: Mutex<Vec<Stop>>,
}

/// The right to lead, for as long as it lasts.
#[derive(Debug, Clone)]
pub struct Leadership {
    /// The value that the leader's writes carry.
    pub fence: Fence,
    /// Given when this node does not lead any more, at the latest when its trust ends.
    pub lost: Stop,
    resign: Stop,
    seat: Lease,
}

impl Leadership {
    /// Whether it may be believed in, judged by the clock: a process that was paused asks before it acts.
    pub fn is_alive(&self) -> bool {
        !self.lost.is_stopped() && self.seat.fence().as_ref() == Some(&self.fence)
    }
}

/// What all tasks of a node share.
#[derive(Debug)]
pub(crate) struct Inner {
    store: Arc<dyn ClusterStore>,
    node: Node,
    settings: ClusterSettings,
    labels: Labels,
    version: String,
    capacity: u32,
    leads: bool,
    agents: BTreeMap<DaemonName, Arc<dyn Agent>>,
    families: BTreeMap<String, Arc<dyn Agent>>,
    specs: Vec<DaemonSpec>,
    look: watch::Sender<Option<Arc<ClusterLook>>>,
    leadership: watch::Sender<Option<Leadership>>,
    observers: Observers,
    /// Look at once.
    nudge: Notify,
    /// Whether hints can be expected.
    wakes: AtomicBool,
    leader_in_motion: AtomicBool,
    gauge: Gauge,
    /// It has said once which daemons it brings along.
    declared: AtomicBool,
}

impl Inner {
    fn agent(&self, daemon: &DaemonName) -> Option<Arc<dyn Agent>> {
        let named = self.agents.get(daemon);
        named.or_else(|| self.families.get(daemon.family()?)).cloned()
    }

    fn member(&self, term: Term, leaving: bool) -> Member {
        Member {
            node: self.node.clone(),
            term,
            labels: self.labels.clone(),
            version: self.version.clone(),
            capacity: self.capacity,
            leads: self.leads,
            agents: Agents {
                names: self.agents.keys().cloned().collect(),
                families: self.families.keys().cloned().collect(),
            },
            leaving,
            joined_at: StoreTime::from_micros(0),
            revision: Revision::default(),
        }
    }

    /// The order by which this node registers. The parts of something that is divided are declared once: a node of the former
    /// number that joins again must not turn the new one back.
    fn registration(&self, fence: &Fence, leaving: bool) -> Order {
        let again = self.declared.load(Ordering::Relaxed);
        let declares = self.specs.iter().filter(|spec| !again || spec.group.is_none());
        Order::Register {
            fence: fence.clone(),
            member: Box::new(self.member(fence.term, leaving)),
            declares: declares.cloned().collect(),
            deadlines: self.settings.deadlines(),
        }
    }

    fn looked(&self, look: &ClusterLook) {
        self.gauge.looked();
        self.observers.looked(look);
        self.look.send_replace(Some(Arc::new(look.clone())));
    }

    fn leads(&self, leadership: Option<Leadership>) {
        self.leadership.send_replace(leadership);
    }

    fn trouble(&self, what: &str, error: &StoreError) {
        tracing::warn!(%error, "this node could not {what}; it will try again");
        METER.store_error(error);
        self.gauge.trouble(Some(error.to_string()));
    }

    fn refused(&self, reason: &str) {
        tracing::error!(reason, "the cluster refused what this node said");
        self.gauge.trouble(Some(reason.to_owned()));
    }
}

impl Cluster {
    /// This node.
    pub fn node(&self) -> &Node {
        &self.shared.inner.node
    }

    /// Whether this node may believe that it leads. Local and cheap; false in any doubt.
    pub fn is_leader(&self) -> bool {
        self.leadership().is_some()
    }

    /// The term under which this node leads.
    pub fn term(&self) -> Option<Term> {
        self.leadership().map(|leadership| leadership.fence.term)
    }

    /// The right to lead, while this node has it.
    pub fn leadership(&self) -> Option<Leadership> {
        let leadership = self.shared.inner.leadership.borrow().clone();
        leadership.filter(Leadership::is_alive)
    }

    /// Waits until this node leads; `None` when it is told to leave first.
    pub async fn elected(&self) -> Option<Leadership> {
        let mut changes = self.shared.inner.leadership.subscribe();
        let leads = |leadership: &Option<Leadership>| leadership.as_ref().is_some_and(Leadership::is_alive);
        tokio::select! {
            () = self.shared.stop.stopped() => None,
            elected = changes.wait_for(leads) => elected.ok()?.clone(),
        }
    }

    /// Gives up the lead, if this node has it, and lets others go first. False when it does not lead.
    pub fn resign(&self) -> bool {
        let leadership = self.leadership();
        if let Some(leadership) = &leadership {
            leadership.resign.stop();
        }
        leadership.is_some()
    }

    /// Tells an observer every change from now on, in order, beginning with who is there. However slow it is, it holds up
    /// nobody; a very slow one is told how many changes it missed.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.shared.inner.observers.add(observer);
    }

    /// The same as a queue to read from.
    pub fn follow(&self) -> mpsc::Receiver<ClusterEvent> {
        self.shared.inner.observers.follow()
    }

    /// The cluster as this node saw it last.
    pub fn look(&self) -> Option<Arc<ClusterLook>> {
        self.shared.inner.look.borrow().clone()
    }

    /// What this node does.
    pub fn status(&self) -> ClusterStatus {
        self.shared.inner.gauge.status(&self.shared.inner, self.leadership())
    }

    /// Declares daemons: they run from now on, on nodes that have an agent for them. Those that are there are changed.
    pub async fn declare(&self, specs: Vec<DaemonSpec>) -> Result<(), ClusterError> {
        let deadlines = self.shared.inner.settings.deadlines();
        for some in specs.chunks(1000) {
            self.apply(&Order::Declare { specs: some.to_vec(), deadlines }).await?;
        }
        Ok(())
    }

    /// Retires daemons: they stop for good. One that is not there is none.
    pub async fn retire(&self, daemons: Vec<DaemonName>) -> Result<(), ClusterError> {
        let deadlines = self.shared.inner.settings.deadlines();
        for some in daemons.chunks(1000) {
            self.apply(&Order::Retire { daemons: some.to_vec(), by: None, deadlines }).await?;
        }
        Ok(())
    }

    /// Steers a daemon as an operator: pause, resume, move, unpin. It is written to the audit table, and survives every
    /// change of leader.
    pub async fn steer(
        &self,
        daemon: DaemonName,
        steering: Steering,
        by: impl Into<String>,
    ) -> Result<(), ClusterError> {
        let deadlines = self.shared.inner.settings.deadlines();
        self.apply(&Order::Steer { daemon, steering, by: by.into(), deadlines }).await
    }

    /// Daemons, where they are and why.
    pub async fn daemons(&self, filter: &DaemonFilter) -> Result<Vec<Daemon>, ClusterError> {
        Ok(self.shared.inner.store.daemons(filter).await?)
    }

    async fn apply(&self, order: &Order) -> Result<(), ClusterError> {
        let answer = self.shared.inner.store.apply(order).await?;
        self.shared.inner.nudge.notify_one();
        match answer {
            Answer::Done(_) => Ok(()),
            Answer::Refused(refusal) => Err(refusal.into()),
            // Nobody gives these orders under a fence.
            Answer::Fenced(_) => Ok(()),
        }
    }

    /// Work that one copy in the whole cluster does at a time, under a lease of its own; see [`Singleton`].
    pub fn singleton(
        &self,
        name: &str,
        agent: impl Agent,
        settings: SingletonSettings,
    ) -> Result<Singleton, ClusterError> {
        let singleton =
            Singleton::start(&self.shared.leases, name, Arc::new(agent), settings, &self.shared.stop)?;
        let mut all = self.shared.singletons.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|gone| !gone.is_stopped());
        all.push(singleton.gone());
        Ok(singleton)
    }

    /// Where the parts of something are that was given to [`ClusterBuilder::shards`].
    pub fn shards(&self, kind: &str, count: u32) -> Shards {
        Shards::new(self.shared.inner.clone(), kind, count)
    }

    /// Leaves: what runs here is handed over and stopped, then the node is gone. Returns when it is, whoever else asked for
    /// it too; a daemon that blocks its thread and cannot be cut off makes it wait.
    pub async fn stop(&self) {
        self.shared.stop.stop();
        self.shared.gone.stopped().await;
        let singletons = self.shared.singletons.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for gone in singletons {
            gone.stopped().await;
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// How long to wait before an attempt to join again is made again; doubles up to [`REJOIN_MAX`].
const REJOIN: Duration = Duration::from_millis(500);
const REJOIN_MAX: Duration = Duration::from_secs(30);

/// What a node's life needs.
struct Life {
    inner: Arc<Inner>,
    leases: Leases,
    seat: Lease,
    election: Option<Lease>,
    stop: Stop,
}

impl Life {
    /// In office, out of it, in again, until it leaves.
    async fn live(self, first: Fence) {
        let (mut fence, mut registered) = (Some(first), self.inner.declared.load(Ordering::Relaxed));
        while let Some(present) = fence.take() {
            match self.serve(&present, std::mem::take(&mut registered)).await {
                Ended::Left => {
                    depart(&self.inner, &self.seat, present).await;
                    break;
                }
                Ended::Lost => {
                    let reason =
                        self.seat.loss().map_or_else(|| "it is over".to_owned(), |loss| loss.to_string());
                    tracing::warn!(%reason, "this node's lease is lost: its daemons have stopped; it joins again");
                    self.inner.gauge.trouble(Some(format!("the node's lease was lost: {reason}")));
                }
            }
            fence = self.rejoin().await;
        }
        self.inner.wakes.store(false, Ordering::Relaxed);
        self.inner.gauge.end();
    }

    /// One time in office. Leading, watching and listening belong to it: a leader that does not see the cluster must not
    /// lead it. They end after the daemons, for a leader that leaves moves its own ones too.
    async fn serve(&self, fence: &Fence, registered: bool) -> Ended {
        let last = Stop::new();
        let mut beside = vec![
            tokio::spawn(burial::watch(self.inner.clone(), self.leases.clone(), last.child())),
            tokio::spawn(listener::listen(self.inner.clone(), last.child())),
        ];
        if let Some(lease) = &self.election {
            let stand = leading::stand(self.inner.clone(), lease.clone(), last.child());
            beside.push(tokio::spawn(stand));
        }
        let office =
            Office::new(self.inner.clone(), self.seat.clone(), fence.clone(), last.clone(), registered);
        let ended = office.run(&self.stop).await;
        last.stop();
        for task in beside {
            if let Err(error) = task.await {
                tracing::error!(%error, "a part of the node ended without being told");
            }
        }
        ended
    }

    /// Waits for the node's lease, whatever goes wrong, until it is to leave.
    async fn rejoin(&self) -> Option<Fence> {
        let mut pause = REJOIN;
        let beat = runners().register(RunnerKind::Node, self.inner.node.name.as_str(), REJOIN);
        beat.state("joining again");
        self.inner.gauge.begin(beat.clone());
        loop {
            match beat.during(self.seat.acquire_when_free(&self.stop)).await {
                Ok(fence) => return fence,
                Err(error) => {
                    tracing::error!(%error, "this node cannot join again; it goes on trying");
                    self.inner.gauge.trouble(Some(error.to_string()));
                }
            }
            tokio::select! {
                () = self.stop.stopped() => return None,
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(REJOIN_MAX),
            }
        }
    }
}

async fn depart(inner: &Inner, seat: &Lease, fence: Fence) {
    let node = inner.node.name.clone();
    if let Err(error) = inner.store.apply(&Order::Depart { fence, node }).await {
        tracing::warn!(%error, "this node's row stays until the leader removes it");
    }
    if let Err(error) = seat.release().await {
        tracing::warn!(%error, "this node's lease was not given back; its ttl will end it");
    }
}
