//! Nodes in this process, over one database; and placing many daemons on them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tenure::core::cluster::{Daemon, Picture, plan};
use tenure::{Cluster, ClusterSettings, DaemonFilter, DaemonState, Database, Duty, agent, local_node};

use super::{Size, declare, settings_json, specs};
use crate::bench::outbox::measure::round;
use crate::bench::outbox::rig::Rig;
use crate::output::Failure;

/// What takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(600);

/// Nodes in this process.
pub(super) struct Nodes {
    database: Database,
    settings: ClusterSettings,
    clusters: BTreeMap<String, Cluster>,
    /// How many daemons run.
    running: Arc<AtomicU64>,
}

impl Nodes {
    /// Nodes of these settings, whose deaths only their ttl tells: presence would have a session for each.
    pub(super) async fn start(rig: &dyn Rig, size: Size, settle: Duration) -> Result<Self, Failure> {
        let mut settings = ClusterSettings { presence: None, settle, ..ClusterSettings::default() };
        settings.election.presence = None;
        let database = rig.database().clone();
        let mut nodes = Self { database, settings, clusters: BTreeMap::new(), running: Arc::default() };
        for number in 0..size.nodes {
            nodes.join(&format!("node-{number:02}"), "1").await?;
        }
        Ok(nodes)
    }

    pub(super) fn settings(&self) -> &ClusterSettings {
        &self.settings
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.clusters.keys().cloned().collect()
    }

    pub(super) fn leads(&self, name: &str) -> bool {
        self.clusters.get(name).is_some_and(Cluster::is_leader)
    }

    /// A node joins; returns when all can see it.
    pub(super) async fn join(&mut self, name: &str, version: &str) -> Result<(), Failure> {
        let running = self.running.clone();
        let idle = agent(move |duty: Duty| {
            let running = running.clone();
            async move {
                running.fetch_add(1, Ordering::SeqCst);
                duty.stop.stopped().await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        });
        let node = local_node(Some(name))?;
        let builder = Cluster::builder(self.database.leases(), self.database.cluster(), node.clone());
        let builder = builder.settings(self.settings.clone()).version(version).family("bench", idle)?;
        let cluster = builder.start().await?;
        let began = Instant::now();
        loop {
            let look = self.database.cluster().look().await?;
            if look.node(&node.name).is_some_and(|standing| standing.takes_daemons(look.now)) {
                break;
            }
            in_time(began, "a node has joined")?;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.clusters.insert(name.to_owned(), cluster);
        Ok(())
    }

    /// A node leaves gracefully.
    pub(super) async fn leave(&mut self, name: &str) {
        if let Some(cluster) = self.clusters.remove(name) {
            cluster.stop().await;
        }
    }

    /// All leave; what they ran is of no use any more, and is not moved around on the way out.
    pub(super) async fn end(self) {
        let clusters = self.clusters.into_values();
        let leaving: Vec<_> =
            clusters.map(|cluster| tokio::spawn(async move { cluster.stop().await })).collect();
        for left in leaving {
            let _ = left.await;
        }
    }

    /// Waits until so many daemons run.
    pub(super) async fn until_running(&self, count: u32) -> Result<(), Failure> {
        let began = Instant::now();
        while self.running.load(Ordering::SeqCst) != u64::from(count) {
            in_time(began, "all daemons run")?;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// How often each daemon was placed, once all run and none has moved for longer than it takes to settle.
    pub(super) async fn moves_at_rest(&self, count: u32) -> Result<BTreeMap<String, u64>, Failure> {
        let began = Instant::now();
        let (mut last, mut since) = (BTreeMap::new(), Instant::now());
        loop {
            let rows = self.database.cluster().daemons(&DaemonFilter::beginning("")).await?;
            let all_active = rows.iter().all(|row| row.state == DaemonState::Active);
            let moves: BTreeMap<String, u64> =
                rows.iter().map(|row| (row.name().to_string(), row.moves)).collect();
            if moves != last || !all_active {
                (last, since) = (moves, Instant::now());
            } else if last.len() == count as usize
                && since.elapsed() > self.settings.settle + Duration::from_secs(2)
            {
                return Ok(last);
            }
            in_time(began, "all daemons are at rest")?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

fn in_time(began: Instant, what: &str) -> Result<(), Failure> {
    match began.elapsed() < PATIENCE {
        true => Ok(()),
        false => Err(Failure::Failed(format!("waited {PATIENCE:?} in vain until {what}"))),
    }
}

pub(super) async fn place(rig: &dyn Rig, size: Size) -> Result<Value, Failure> {
    let nodes = Nodes::start(rig, size, ClusterSettings::default().settle).await?;
    let plan_cpu_ms = plan_cpu_ms(rig.database(), size, nodes.settings()).await?;
    let began = Instant::now();
    declare(rig.database(), size.daemons).await?;
    let declared = began.elapsed();
    nodes.until_running(size.daemons).await?;
    let placed = began.elapsed();
    let rows = rig.database().cluster().daemons(&DaemonFilter::beginning("")).await?;
    let active = rows.iter().filter(|row| row.state == DaemonState::Active).count();
    let settings = settings_json(nodes.settings());
    let most = rows.iter().map(|row| row.moves).max().unwrap_or(0);
    nodes.end().await;
    Ok(json!({
        "nodes": size.nodes, "daemons": size.daemons, "active": active, "declared_s": round(declared.as_secs_f64()),
        "placed_s": round(placed.as_secs_f64()), "most_placements_of_one": most, "plan_cpu_ms": plan_cpu_ms,
        "settings": settings, "goals": { "placed_s": "at most 60", "plan_cpu_ms": "at most 1000" },
    }))
}

/// What one plan costs that has all of them to place.
async fn plan_cpu_ms(database: &Database, size: Size, settings: &ClusterSettings) -> Result<f64, Failure> {
    let look = database.cluster().look().await?;
    let daemons =
        specs(size.daemons)?.into_iter().map(|spec| (spec.name.clone(), Daemon::new(spec, look.now)));
    let daemons = daemons.collect();
    let picture = Picture { now: look.now, nodes: &look.nodes, daemons: &daemons, quiet: true, settings };
    let failed = |error: nix::Error| Failure::Failed(format!("the thread's clock: {error}"));
    let clock = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).map_err(failed);
    let began = clock()?;
    let placements = plan(&picture).len();
    let took = clock()?.saturating_sub(began);
    match placements == size.daemons as usize {
        true => Ok(round(took.as_secs_f64() * 1000.0)),
        false => Err(Failure::Failed(format!("the plan holds {placements} placements"))),
    }
}
