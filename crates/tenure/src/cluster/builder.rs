//! What a node says of itself before it joins.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_core::cluster::{
    Answer, ClusterSettings, DaemonName, DaemonSpec, Group, LEADER_LEASE, Labels, MemberError, node_lease,
};
use tenure_core::contract::{ClusterStore, LeaseStore};
use tenure_core::id::Node;
use tenure_core::lease::{Fence, Term};
use tokio::sync::{Notify, watch};

use super::agent::Agent;
use super::observer::Observers;
use super::shards::shard_name;
use super::status::Gauge;
use super::{Cluster, ClusterError, Inner, Life, Shared};
use crate::lease::{Acquired, Lease, Leases};
use crate::stop::Stop;

/// How much longer than its ttl another holder of the node's name is waited for.
const NAME_GRACE: Duration = Duration::from_secs(1);
/// How often it is asked meanwhile.
const NAME_AGAIN: Duration = Duration::from_millis(200);

/// How many daemons and shards one node may bring along; others are declared by [`Cluster::declare`].
const SPECS_MAX: usize = 10_000;

/// A node that has not joined yet.
#[derive(Debug)]
pub struct ClusterBuilder {
    leases: Leases,
    election: Option<Leases>,
    pub(super) inner: Inner,
}

impl Cluster {
    /// A node that keeps itself in `store`, beside the leases of the same database.
    pub fn builder(leases: Arc<dyn LeaseStore>, store: Arc<dyn ClusterStore>, node: Node) -> ClusterBuilder {
        ClusterBuilder {
            leases: Leases::new(leases, node.clone()),
            election: None,
            inner: Inner {
                store,
                node,
                settings: ClusterSettings::default(),
                labels: Labels::default(),
                version: String::new(),
                capacity: 1,
                leads: true,
                agents: BTreeMap::new(),
                families: BTreeMap::new(),
                specs: Vec::new(),
                look: watch::Sender::new(None),
                leadership: watch::Sender::new(None),
                observers: Observers::default(),
                nudge: Notify::new(),
                wakes: AtomicBool::new(false),
                leader_in_motion: AtomicBool::new(false),
                gauge: Gauge::default(),
                declared: AtomicBool::new(false),
            },
        }
    }
}

impl ClusterBuilder {
    /// With other settings.
    #[must_use]
    pub fn settings(mut self, settings: ClusterSettings) -> Self {
        self.inner.settings = settings;
        self
    }

    /// With a label.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.inner.labels.0.insert(key.into(), value.into());
        self
    }

    /// With the version of the program.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.inner.version = version.into();
        self
    }

    /// With another capacity than 1: a node of capacity 2 gets twice the weight of one of capacity 1.
    #[must_use]
    pub fn capacity(mut self, capacity: u32) -> Self {
        self.inner.capacity = capacity;
        self
    }

    /// A node that never leads.
    #[must_use]
    pub fn never_leads(mut self) -> Self {
        self.inner.leads = false;
        self
    }

    /// Elects the leader by a lease that is granted elsewhere. Its terms must be recorded in the cluster's own store under
    /// the name `tenure/leader`, or the store refuses what the leader does.
    #[must_use]
    pub fn elected_by(mut self, leases: Leases) -> Self {
        self.election = Some(leases);
        self
    }

    /// Brings a daemon along: it is to run, and this node has code for it.
    pub fn daemon(self, name: &str, agent: impl Agent) -> Result<Self, ClusterError> {
        self.daemon_of(DaemonSpec::new(DaemonName::new(name)?), agent)
    }

    /// The same with a weight, labels that its node must have, or a group.
    pub fn daemon_of(mut self, spec: DaemonSpec, agent: impl Agent) -> Result<Self, ClusterError> {
        spec.check()?;
        if self.inner.agents.contains_key(&spec.name) {
            return Err(ClusterError::Twice(spec.name.to_string()));
        }
        self.inner.agents.insert(spec.name.clone(), Arc::new(agent));
        self.inner.specs.push(spec);
        Ok(self)
    }

    /// This node has code for all daemons whose name begins with `family` and a `/`. Which ones there are is said by
    /// [`Cluster::declare`].
    pub fn family(mut self, family: &str, agent: impl Agent) -> Result<Self, ClusterError> {
        DaemonName::new(format!("{family}/x"))?;
        if self.inner.families.contains_key(family) {
            return Err(ClusterError::Twice(format!("{family}/…")));
        }
        self.inner.families.insert(family.to_owned(), Arc::new(agent));
        Ok(self)
    }

    /// Divides something into shards: `count` daemons, each of which runs on one node. Nodes that were started with
    /// another count follow the one that came last; those of the old count stop before those of the new one start.
    pub fn shards(self, kind: &str, count: u32, agent: impl Agent) -> Result<Self, ClusterError> {
        const SHARDS_MAX: u32 = 10_000;
        if !(1..=SHARDS_MAX).contains(&count) {
            let too_many =
                MemberError::TooMany { what: "shards", count: count as usize, limit: SHARDS_MAX as usize };
            return Err(too_many.into());
        }
        let mut builder = self.family(kind, agent)?;
        for index in 0..count {
            let group = Group { name: kind.to_owned(), layout: count };
            let spec = DaemonSpec::new(DaemonName::new(shard_name(kind, index, count))?).in_group(group);
            builder.inner.specs.push(spec);
        }
        Ok(builder)
    }

    /// Joins: takes the node's lease, and returns when it has it.
    ///
    /// A process that has crashed under the same name is waited for until its lease is over; one that lives is an error.
    pub async fn start(self) -> Result<Cluster, ClusterError> {
        let Self { leases, election, inner } = self;
        inner.settings.validate()?;
        inner.member(Term::FIRST, false).check()?;
        check_specs(&inner.specs)?;
        let seat = leases.lease(node_lease(&inner.node.name)?.as_str(), inner.settings.membership())?;
        let elections = election.unwrap_or_else(|| leases.clone());
        let election = match inner.leads {
            true => Some(elections.lease(LEADER_LEASE, inner.settings.election.clone())?),
            false => None,
        };
        let fence = join(&inner, &seat).await?;
        if let Err(error) = register(&inner, &fence).await {
            // Stop acting first, then release: nothing has begun.
            let _ = seat.release().await;
            return Err(error);
        }
        let (inner, stop, gone) = (Arc::new(inner), Stop::new(), Stop::new());
        let life = Life { inner: inner.clone(), leases: leases.clone(), seat, election, stop: stop.clone() };
        // In a task of its own, so that whoever waits for the end hears of a panic too.
        let (task, told) = (tokio::spawn(life.live(fence)), gone.clone());
        tokio::spawn(async move {
            if let Err(error) = task.await {
                tracing::error!(%error, "the node ended without leaving");
            }
            told.stop();
        });
        let singletons = std::sync::Mutex::default();
        Ok(Cluster { shared: Arc::new(Shared { inner, leases, stop, gone, singletons }) })
    }
}

/// Registers for the first time. What waiting cannot mend (missing rights, a refusal) is an error at once; a store that is
/// away is ridden out in office.
async fn register(inner: &Inner, fence: &Fence) -> Result<(), ClusterError> {
    match inner.store.apply(&inner.registration(fence, false)).await {
        Ok(Answer::Done(_)) => {
            inner.declared.store(true, Ordering::Relaxed);
            Ok(())
        }
        Ok(Answer::Refused(refusal)) => Err(refusal.into()),
        // Lost in this very moment: it is noticed in office.
        Ok(Answer::Fenced(_)) => Ok(()),
        Err(error) if error.is_transient() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What one node brings along is declared in one order, and each daemon once.
fn check_specs(specs: &[DaemonSpec]) -> Result<(), ClusterError> {
    if specs.len() > SPECS_MAX {
        let too_many = MemberError::TooMany { what: "daemons", count: specs.len(), limit: SPECS_MAX };
        return Err(too_many.into());
    }
    let mut names: Vec<_> = specs.iter().map(|spec| &spec.name).collect();
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ClusterError::Twice(pair[0].to_string())),
        None => Ok(()),
    }
}

/// Takes the node's lease; an error when another process of this name lives.
async fn join(inner: &Inner, seat: &Lease) -> Result<Fence, ClusterError> {
    let patience = inner.settings.node_ttl + NAME_GRACE;
    let (mut first, mut waited) = (None, tokio::time::Instant::now());
    loop {
        match seat.acquire().await? {
            Acquired::Granted(fence) => return Ok(fence),
            Acquired::Held(holder) => {
                if first != Some(holder.term) {
                    // Someone else has come: it gets as long as the one before.
                    (first, waited) = (Some(holder.term), tokio::time::Instant::now());
                }
                if waited.elapsed() >= patience {
                    let (name, machine) = (inner.node.name.clone(), holder.node.machine);
                    return Err(ClusterError::NameTaken { name, machine, pid: holder.node.pid });
                }
            }
        }
        tokio::time::sleep(NAME_AGAIN).await;
    }
}
