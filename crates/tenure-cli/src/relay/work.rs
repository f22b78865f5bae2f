//! The two ways to relay: the whole outbox by one, or its parts by many.

use std::sync::Arc;
use std::time::Duration;

use tenure::core::contract::Sink;
use tenure::{
    Cluster, ClusterSettings, Database, LeaseName, LeaseSettings, Leases, Node, OutboxParts, Relay,
    RelaySettings, RelayStatus, Retention, Stop, Sweeper,
};
use tokio::task::JoinHandle;

use crate::output::Failure;

/// How often it is looked whether the sink is gone for good.
const SINK_EVERY: Duration = Duration::from_millis(200);
/// How much longer than a relay a node has to stop.
const DRAIN_MORE: Duration = Duration::from_secs(20);

/// Tells what is done at the moment.
pub(super) type Status = Arc<dyn Fn() -> RelayStatus + Send + Sync>;

/// What is to be done, whoever does it.
pub(super) struct Plan {
    pub(super) node: Node,
    pub(super) sink: Arc<dyn Sink>,
    pub(super) settings: RelaySettings,
    pub(super) retention: Retention,
    /// The lease of one that relays the whole.
    pub(super) lease: LeaseName,
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
        .and_then(|relay| relay.with_retention(plan.retention))?;
    if exclusive {
        let leases = Leases::new(database.leases(), plan.node);
        relay = relay.exclusive(leases.lease(plan.lease.as_str(), plan.lease_settings)?);
    }
    let (told, stop) = (relay.clone(), stop.clone());
    let task = tokio::spawn(async move { Ok(relay.run(&stop).await?) });
    Ok(Work { status: Arc::new(move || told.status()), task })
}

/// Joins the cluster and relays the parts that are assigned to this node.
pub(super) fn parts(database: &Database, plan: Plan, count: u32, stop: &Stop) -> Result<Work, Failure> {
    let Plan { node, sink, settings, retention, lease, lease_settings } = plan;
    let cluster = ClusterSettings {
        heartbeat: lease_settings.ttl / 4,
        node_ttl: lease_settings.ttl,
        margin: lease_settings.margin,
        drain: ClusterSettings::default().drain.max(settings.drain + DRAIN_MORE),
        election: lease_settings,
        ..ClusterSettings::default()
    };
    cluster.validate()?;
    let sweeper = Sweeper::new(database.outbox(), retention, &settings)?;
    let parts = OutboxParts::new(database.outbox(), sink.clone(), node.name.clone(), settings)?.not_beside(
        database.leases(),
        database.cluster(),
        lease,
    );
    let builder = Cluster::builder(database.leases(), database.cluster(), node)
        .settings(cluster)
        .version(env!("CARGO_PKG_VERSION"))
        .outbox(count, &parts, Some(sweeper))?;
    let stop = stop.clone();
    let task = tokio::spawn(async move {
        let cluster = builder.start().await?;
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
