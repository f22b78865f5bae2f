//! How much faster several relays are that share an outbox in parts than one relay is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure::core::contract::Sink;
use tenure::sink::{self, SinkOptions};
use tenure::{
    Cluster, ClusterSettings, DaemonState, Database, OutboxParts, Relay, RelaySettings, Stop, local_node,
};

use super::Size;
use crate::bench::outbox::measure::round;
use crate::bench::outbox::receiver::{Counter, Receiver};
use crate::bench::outbox::rig::Rig;
use crate::output::Failure;

/// How long the receiver takes for each message.
const TAKES: Duration = Duration::from_millis(5);
/// How many deliveries each relay has under way, alone or with parts.
const CONCURRENCY: usize = 8;
/// How many messages each is measured with, and of how many sources they are.
const MESSAGES: u64 = 24_000;
const SOURCES: u32 = 512;
/// What takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) async fn parts(rig: &dyn Rig, size: Size) -> Result<Value, Failure> {
    let (mut alone, mut shared) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        alone.push(one(rig).await?);
        shared.push(many(rig, size).await?);
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let (one, many) = (median(&mut alone), median(&mut shared));
    Ok(json!({
        "relays": size.nodes, "parts": size.daemons, "concurrency_each": CONCURRENCY,
        "receiver_ms": TAKES.as_millis() as u64, "messages": MESSAGES, "sources": SOURCES,
        "rate_of_one": round(one), "rate": round(many), "ratio": round(many / one),
        "goals": { "ratio": "at least 3" },
    }))
}

fn settings() -> RelaySettings {
    RelaySettings { concurrency: CONCURRENCY, ..RelaySettings::default() }
}

async fn receiver() -> Result<(Counter, Arc<dyn Sink>), Failure> {
    let counter = Counter::default();
    let receiver = Receiver::slow(counter.clone(), TAKES).await?;
    let sink = sink::from_url(&receiver.url(), SinkOptions::default());
    Ok((counter, sink.map_err(|error| Failure::Failed(error.to_string()))?))
}

/// Messages per second from the first to the last, once they were inserted.
async fn rate(rig: &dyn Rig, counter: &Counter) -> Result<f64, Failure> {
    rig.fill(MESSAGES, SOURCES, false).await?;
    let began = Instant::now();
    loop {
        let (count, span) = counter.came();
        if count >= MESSAGES {
            return Ok(count as f64 / span.as_secs_f64());
        }
        if began.elapsed() > PATIENCE {
            return Err(Failure::Failed(format!("{count} of {MESSAGES} messages came within {PATIENCE:?}")));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn one(rig: &dyn Rig) -> Result<f64, Failure> {
    let (counter, sink) = receiver().await?;
    let node = local_node(Some("one"))?.name;
    let relay = Relay::new(rig.database().outbox(), sink, node, settings())?;
    let stop = Stop::new();
    let running = tokio::spawn({
        let (relay, stop) = (relay.clone(), stop.clone());
        async move { relay.run(&stop).await }
    });
    let rate = rate(rig, &counter).await;
    stop.stop();
    running.await.map_err(|error| Failure::Failed(error.to_string()))??;
    rate
}

async fn many(rig: &dyn Rig, size: Size) -> Result<f64, Failure> {
    let (counter, sink) = receiver().await?;
    let database = rig.database();
    let mut nodes = Vec::new();
    for number in 0..size.nodes {
        let node = local_node(Some(&format!("relay-{number}")))?;
        let parts = OutboxParts::new(database.outbox(), sink.clone(), node.name.clone(), settings())?;
        // Spread as soon as all are there.
        let quick = ClusterSettings { settle: Duration::from_millis(500), ..ClusterSettings::default() };
        let builder = Cluster::builder(database.leases(), database.cluster(), node).settings(quick);
        nodes.push(builder.outbox(size.daemons, &parts, None)?.start().await?);
    }
    let spread = spread(database, size).await;
    let rate = match spread {
        Ok(()) => rate(rig, &counter).await,
        Err(error) => Err(error),
    };
    for node in nodes {
        node.stop().await;
    }
    rate
}

/// Waits until each node has its share.
async fn spread(database: &Database, size: Size) -> Result<(), Failure> {
    let began = Instant::now();
    let share = size.daemons.div_ceil(size.nodes) as usize;
    loop {
        let rows = database.cluster().daemons(&OutboxParts::filter()).await?;
        let active = rows.iter().filter(|row| row.state == DaemonState::Active);
        let mut nodes: Vec<_> = active.filter_map(|row| row.node()).collect();
        nodes.sort();
        let fits = nodes.chunk_by(|a, b| a == b).all(|of_one| of_one.len() <= share);
        if nodes.len() == size.daemons as usize && fits {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err(Failure::Failed("the parts were not spread in time".into()));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
