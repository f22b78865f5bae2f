//! The two ways to relay: the whole outbox by one, or its parts by many.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tenure::core::contract::{LeaseStore, Sink};
use tenure::{
    Classifier, Cluster, ClusterError, ClusterSettings, Database, LeaseName, LeaseSettings, Leases, Node,
    NodeName, OutboxParts, Relay, RelaySettings, RelayStatus, Retention, Stop, Sweeper,
};
use tokio::task::JoinHandle;

use crate::output::Failure;

/// How often it is looked whether the sink is gone for good.
const SINK_EVERY: Duration = Duration::from_millis(200);

/// How many relays on one machine find a name by themselves.
const NAMES_MAX: u32 = 100;

/// Tells what is done at the moment.
pub(super) type Status = Arc<dyn Fn() -> RelayStatus + Send + Sync>;

/// What is to be done, whoever does it.
pub(super) struct Plan {
    pub(super) node: Node,
    /// Whether the node's name was given; otherwise it is made unique.
    pub(super) named: bool,
    pub(super) sink: Arc<dyn Sink>,
    pub(super) settings: RelaySettings,
    pub(super) retention: Retention,
    pub(super) keep_history: Duration,
    /// The lease of one that relays the whole.
    pub(super) lease: LeaseName,
    /// Who grants it, or the right to lead the cluster, where that is not the database.
    pub(super) leases: Option<Arc<dyn LeaseStore>>,
    pub(super) lease_settings: LeaseSettings,
}

/// What was begun.
pub(super) struct Work {
    pub(super) status: Status,
    pub(super) task: JoinHandle<Result<(), Failure>>,
}

/// Relays everything, alone or under a lease.
pub(super) fn whole(database: &Database, plan: Plan, exclusive: bool, stop: &Stop) -> Result<Work, Failure> {
    let mut relay = Relay::new(database.outbox(), plan.sink, plan.node.name.clone(), plan.settings)
        .and_then(|relay| relay.with_retention(plan.retention))?
        .keeping_history(database.admin(), plan.keep_history)
        .not_beside_parts(database.cluster());
    if exclusive {
        // Whatever the lease is called: who looks at it sees that it is a relay's.
        let kind = Classifier::new(|_| Some("outbox".to_owned()));
        let store = plan.leases.unwrap_or_else(|| database.leases());
        let leases = Leases::with_classifier(store, plan.node, kind);
        relay = relay.exclusive(leases.lease(plan.lease.as_str(), plan.lease_settings)?);
    }
    let (told, stop) = (relay.clone(), stop.clone());
    let task = tokio::spawn(async move { Ok(relay.run(&stop).await?) });
    Ok(Work { status: Arc::new(move || told.status()), task })
}

/// Joins the cluster and relays the parts that are assigned to this node.
pub(super) fn parts(database: &Database, plan: Plan, count: u32, stop: &Stop) -> Result<Work, Failure> {
    let Plan { node, named, sink, settings, retention, keep_history, lease, leases, lease_settings } = plan;
    let cluster = ClusterSettings {
        heartbeat: lease_settings.ttl / 4,
        node_ttl: lease_settings.ttl,
        margin: lease_settings.margin,
        election: lease_settings,
        ..ClusterSettings::default()
    };
    cluster.validate()?;
    let sweeper = Sweeper::new(database.outbox(), retention, &settings)?
        .keeping_history(database.admin(), keep_history);
    let parts = OutboxParts::new(database.outbox(), sink.clone(), node.name.clone(), settings)?.not_beside(
        database.leases(),
        database.cluster(),
        lease,
    );
    let (stop, told, database) = (stop.clone(), parts.clone(), database.clone());
    let task = tokio::spawn(async move {
        let mut taken = HashSet::new();
        let cluster = loop {
            let node = if named { node.clone() } else { free_name(&database, &node, &taken).await? };
            let mut builder = Cluster::builder(database.leases(), database.cluster(), node.clone());
            if let Some(leases) = &leases {
                builder = builder.elected_by(Leases::new(Arc::clone(leases), node));
            }
            let builder = builder.settings(cluster.clone()).version(env!("CARGO_PKG_VERSION")).outbox(
                count,
                &told,
                Some(sweeper.clone()),
            )?;
            match builder.start().await {
                // Another one that looked for a name at the same moment.
                Err(ClusterError::NameTaken { name, pid, .. }) if !named => {
                    tracing::info!(%name, pid, "another process has taken this name; trying another one");
                    taken.insert(name);
                }
                started => break started?,
            }
        };
        let gone = loop {
            if let Some(reason) = sink.gone() {
                break Some(reason);
            }
            tokio::select! {
                () = stop.stopped() => break None,
                () = tokio::time::sleep(SINK_EVERY) => {}
            }
        };
        cluster.stop().await;
        gone.map_or(Ok(()), |reason| Err(tenure::RelayError::SinkGone { reason }.into()))
    });
    Ok(Work { status: Arc::new(move || parts.status()), task })
}

/// The machine's name, or the first of `NAME-2`, `NAME-3` … that no living node has. A name of its own for each process
/// would leave a lease behind for each that ever ran.
async fn free_name(database: &Database, node: &Node, taken: &HashSet<NodeName>) -> Result<Node, Failure> {
    let look = database.cluster().look().await?;
    let lives = |name: &NodeName| look.node(name).is_some_and(|standing| standing.is_alive(look.now));
    let taken = |name: &NodeName| taken.contains(name) || lives(name);
    let base = node.name.to_string();
    for number in 1..=NAMES_MAX {
        let name = match number {
            1 => node.name.clone(),
            more => NodeName::new(format!("{base}-{more}"))?,
        };
        if !taken(&name) {
            return Ok(Node { name, ..node.clone() });
        }
    }
    Err(Failure::Failed(format!("{NAMES_MAX} relays run on {base}; give this one a --name")))
}
