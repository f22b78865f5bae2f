//! What Tenure itself does in the background, as daemons: the parts of an outbox, subscriptions, retention.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::cluster::DaemonFilter;
use tenure_core::contract::{ClusterStore, LeaseStore, OutboxStore, Sink};
use tenure_core::id::NodeName;
use tenure_core::lease::LeaseName;
use tenure_core::outbox::{Part, RelaySettings};

use super::agent::{Agent, AgentError, Duty};
use super::shards::shard_of;
use super::{ClusterBuilder, ClusterError};
use crate::mandate::Left;
use crate::relay::{Depot, Relay, RelayError, RelayStatus, Role};
use crate::subscription::Subscription;
use crate::sweeper::Sweeper;

/// The family of the parts of an outbox.
const OUTBOX: &str = "outbox";
/// The daemon that deletes what is old enough, where an outbox is divided.
const RETENTION: &str = "outbox-retention";
/// How often it is looked whether one that drains the whole outbox has stopped.
const WHOLE_AGAIN: Duration = Duration::from_secs(1);
/// How much longer than a relay its daemon has to stop.
const DRAIN_MORE: Duration = Duration::from_secs(4);
/// How long after its deadline the outcome of a delivery is recorded.
const RECORDING: Duration = Duration::from_secs(1);
/// The fewest rows that a part reads ahead.
const READ_AHEAD_MIN: usize = 512;

/// The agent behind the parts of an outbox: each part that is assigned to this node is drained here. Clones are the same.
#[derive(Debug, Clone)]
pub struct OutboxParts {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    depot: Depot,
    sink: Arc<dyn Sink>,
    node: NodeName,
    settings: RelaySettings,
    /// Relays that drain the whole outbox, which must not be at work.
    whole: Option<Whole>,
    relays: Mutex<Relays>,
}

#[derive(Debug)]
struct Whole {
    leases: Arc<dyn LeaseStore>,
    cluster: Arc<dyn ClusterStore>,
    lease: LeaseName,
}

impl Whole {
    /// Who drains the whole outbox, by the store's clock.
    async fn holder(&self) -> Result<Option<NodeName>, StoreError> {
        let now = self.cluster.look().await?.now;
        let lease = self.leases.observe(&self.lease).await?.filter(|lease| lease.is_held(now));
        Ok(lease.map(|lease| lease.node.name))
    }
}

#[derive(Debug, Default)]
struct Relays {
    at_work: BTreeMap<Part, Relay>,
    /// What those have done that are gone.
    before: RelayStatus,
}

impl OutboxParts {
    /// Drains parts of `store` into `sink`, with at most `settings.concurrency` deliveries under way on this node.
    pub fn new(
        store: Arc<dyn OutboxStore>,
        sink: Arc<dyn Sink>,
        node: NodeName,
        settings: RelaySettings,
    ) -> Result<Self, RelayError> {
        let depot = Depot::new(store, settings.concurrency)?;
        // What is under way ends and is recorded before the next node begins; its deadline bounds that.
        let drain = settings.drain.max(settings.deadline + RECORDING);
        let settings = RelaySettings { drain, ..settings };
        settings.validate()?;
        let (whole, relays) = (None, Mutex::default());
        Ok(Self { shared: Arc::new(Shared { depot, sink, node, settings, whole, relays }) })
    }

    /// The same, but its parts wait while someone holds `lease`: a relay that drains the whole outbox.
    pub fn not_beside(
        self,
        leases: Arc<dyn LeaseStore>,
        cluster: Arc<dyn ClusterStore>,
        lease: LeaseName,
    ) -> Self {
        let Shared { depot, sink, node, settings, .. } = &*self.shared;
        let (depot, sink, node) = (depot.clone(), sink.clone(), node.clone());
        let (settings, relays) = (settings.clone(), Mutex::default());
        let whole = Some(Whole { leases, cluster, lease });
        Self { shared: Arc::new(Shared { depot, sink, node, settings, whole, relays }) }
    }

    /// Which daemons the parts of an outbox are.
    pub fn filter() -> DaemonFilter {
        DaemonFilter::beginning(format!("{OUTBOX}/"))
    }

    /// What the relays of this node do and have done, all together.
    pub fn status(&self) -> RelayStatus {
        let relays = self.relays();
        let mut all = relays.before.clone();
        all.idle = !relays.at_work.is_empty();
        for relay in relays.at_work.values() {
            let status = relay.status();
            all.idle &= status.idle;
            all.add(status);
        }
        all.role = Role::Parts { parts: relays.at_work.len() as u64 };
        all
    }

    fn relays(&self) -> std::sync::MutexGuard<'_, Relays> {
        self.shared.relays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody drains the whole outbox; false when it is to stop first.
    async fn wait_for_the_whole(&self, duty: &Duty) -> Result<bool, AgentError> {
        let Some(whole) = &self.shared.whole else { return Ok(true) };
        let mut told = false;
        loop {
            match whole.holder().await {
                Ok(None) => return Ok(true),
                // A store that is away is no fault of this daemon: nothing is delivered until it is known.
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error.into()),
                Ok(Some(node)) if !std::mem::replace(&mut told, true) => {
                    tracing::warn!(daemon = %duty.daemon, %node, lease = %whole.lease,
                        "another relay drains the whole outbox; its parts wait until it has stopped");
                }
                Ok(Some(_)) => {}
            }
            tokio::select! {
                () = duty.stop.stopped() => return Ok(false),
                () = tokio::time::sleep(WHOLE_AGAIN) => {}
            }
        }
    }

    async fn drain(&self, duty: &Duty) -> Result<(), AgentError> {
        let (index, count) =
            shard_of(&duty.daemon).ok_or_else(|| format!("{} is no part of an outbox", duty.daemon))?;
        let part = Part::new(index, count)?;
        if !self.wait_for_the_whole(duty).await? {
            return Ok(());
        }
        let Shared { depot, sink, node, settings, .. } = &*self.shared;
        let read_ahead = (settings.read_ahead / count as usize).max(READ_AHEAD_MIN).min(settings.read_ahead);
        let settings = RelaySettings { part: Some(part), read_ahead, ..settings.clone() };
        let relay = depot.relay(sink.clone(), node.clone(), settings)?;
        self.relays().at_work.insert(part, relay.clone());
        let _leaving = Leaving { parts: self.clone(), part };
        ended(relay.run_under(&duty.mandate(), &duty.stop).await?).await
    }
}

/// Runs work in a task of its own: one that is cut off has lost its right before, and ends by itself, but no call to a
/// database is cut in half.
async fn apart(
    work: impl Future<Output = Result<(), AgentError>> + Send + 'static,
) -> Result<(), AgentError> {
    match tokio::spawn(work).await {
        Ok(ended) => ended,
        Err(error) => Err(error.into()),
    }
}

#[async_trait]
impl Agent for OutboxParts {
    async fn run(&self, duty: Duty) -> Result<(), AgentError> {
        let parts = self.clone();
        apart(async move { parts.drain(&duty).await }).await
    }
}

/// Takes a relay off the list when its work ends, in whatever way.
struct Leaving {
    parts: OutboxParts,
    part: Part,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut relays = self.parts.relays();
        if let Some(relay) = relays.at_work.remove(&self.part) {
            relays.before.add(RelayStatus { held: 0, in_flight: 0, trouble: None, ..relay.status() });
        }
    }
}

/// Waits for what is still under way: whoever comes next must not overlap with it.
async fn ended(left: Left) -> Result<(), AgentError> {
    match left {
        Left::Stopped => Ok(()),
        Left::Unsettled(in_air) | Left::Lost(in_air) => {
            in_air.landed().await;
            Ok(())
        }
        Left::Refused(in_air) => {
            in_air.landed().await;
            Err("the store refused its fence: it was placed anew".into())
        }
    }
}

#[async_trait]
impl Agent for Subscription {
    async fn run(&self, duty: Duty) -> Result<(), AgentError> {
        let subscription = self.clone();
        apart(async move { ended(subscription.run_under(&duty.mandate(), &duty.stop).await?).await }).await
    }
}

#[async_trait]
impl Agent for Sweeper {
    async fn run(&self, duty: Duty) -> Result<(), AgentError> {
        let sweeper = self.clone();
        apart(async move { ended(sweeper.run_under(&duty.mandate(), &duty.stop).await).await }).await
    }
}

impl ClusterBuilder {
    /// Divides an outbox into parts, each of which one node drains. Nodes that were started with another count follow the
    /// one that came last. What is old is deleted by `sweeper`, on one node.
    pub fn outbox(
        self,
        count: u32,
        parts: &OutboxParts,
        sweeper: Option<Sweeper>,
    ) -> Result<Self, ClusterError> {
        Part::new(0, count).map_err(|error| ClusterError::Parts(error.to_string()))?;
        let mut builder = self.shards(OUTBOX, count, parts.clone())?;
        // A tenth of it, up to two seconds, is the margin before which a daemon is cut off.
        let drain = parts.shared.settings.drain + DRAIN_MORE;
        builder.inner.settings.drain = builder.inner.settings.drain.max(drain);
        match sweeper {
            Some(sweeper) => builder.daemon(RETENTION, sweeper),
            None => Ok(builder),
        }
    }

    /// Reads events on one node at a time: the daemon `subscription-NAME`.
    pub fn subscription(self, subscription: &Subscription) -> Result<Self, ClusterError> {
        self.daemon(&format!("subscription-{}", subscription.name()), subscription.clone())
    }
}
