//! `tenure bench cluster`: daemons after a kill and a graceful stop, placing many of them, and how often they move.

pub(in crate::bench) mod fleet;
mod journal;
mod nodes;
mod parts;
mod processes;
mod restarts;

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tenure::core::cluster::{Answer, Order};
use tenure::{ClusterSettings, DaemonName, DaemonSpec, Database};

use super::outbox::measure::unless_ended;
use super::outbox::rig::{Rig, rig};
use crate::args::{ClusterArgs, ClusterMeasure, Global};
use crate::output::{self, Failure, Table};

/// How many daemons are declared in one order.
const DECLARED_AT_ONCE: usize = 1000;
/// How often what is left over is tried to be removed: those who were just killed may hold it for a moment.
const REMOVE_TRIES: u32 = 20;

pub(crate) async fn cluster(global: &Global, args: &ClusterArgs) -> Result<ExitCode, Failure> {
    let mut report = Map::new();
    report.insert("bench".into(), "cluster".into());
    for which in &args.measure {
        let rig = rig(global).await?;
        let measured = unless_ended(measure(&*rig, args, *which)).await;
        report.insert("store".into(), rig.store().into());
        remove(&*rig).await?;
        report.insert(which.name().into(), measured?);
    }
    let overlaps: u64 = report.values().filter_map(|measured| measured["overlaps"].as_u64()).sum();
    let report = Value::Object(report);
    if global.json {
        output::json(&report)?
    } else {
        print(&report)
    }
    Ok(if overlaps > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

async fn measure(rig: &dyn Rig, args: &ClusterArgs, which: ClusterMeasure) -> Result<Value, Failure> {
    let size = |nodes: u32, daemons: u32| Size {
        nodes: args.nodes.unwrap_or(nodes),
        daemons: args.daemons.unwrap_or(daemons),
    };
    match which {
        ClusterMeasure::Kill => processes::kill(rig, size(4, 40), args.rounds).await,
        ClusterMeasure::Stop => processes::stop(rig, size(3, 300), args.rounds).await,
        ClusterMeasure::Place => nodes::place(rig, size(20, 50_000)).await,
        ClusterMeasure::Replace => restarts::replace(rig, size(6, 600)).await,
        ClusterMeasure::Rolling => restarts::rolling(rig, size(6, 600)).await,
        ClusterMeasure::Parts => parts::parts(rig, size(4, 8)).await,
    }
}

async fn remove(rig: &dyn Rig) -> Result<(), Failure> {
    let mut removed = rig.remove().await;
    for _ in 1..REMOVE_TRIES {
        if removed.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
        removed = rig.remove().await;
    }
    removed
}

impl ClusterMeasure {
    fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Place => "place",
            Self::Replace => "replace",
            Self::Rolling => "rolling",
            Self::Parts => "parts",
        }
    }
}

/// How large the measured cluster is.
#[derive(Debug, Clone, Copy)]
struct Size {
    nodes: u32,
    daemons: u32,
}

/// Declares daemons of the family that measured nodes run.
pub(in crate::bench) async fn declare(database: &Database, count: u32) -> Result<(), Failure> {
    let deadlines = ClusterSettings::default().deadlines();
    for some in specs(count)?.chunks(DECLARED_AT_ONCE) {
        match database.cluster().apply(&Order::Declare { specs: some.to_vec(), deadlines }).await? {
            Answer::Done(_) => {}
            Answer::Refused(refusal) => return Err(Failure::Failed(refusal.to_string())),
            Answer::Fenced(fenced) => return Err(Failure::Failed(fenced.to_string())),
        }
    }
    Ok(())
}

fn specs(count: u32) -> Result<Vec<DaemonSpec>, Failure> {
    (0..count).map(|number| Ok(DaemonSpec::new(DaemonName::new(format!("bench/{number:06}"))?))).collect()
}

/// The settings under which it was measured.
fn settings_json(settings: &ClusterSettings) -> Value {
    let presence = settings.presence.as_ref();
    json!({
        "heartbeat_ms": millis(settings.heartbeat), "node_ttl_ms": millis(settings.node_ttl),
        "margin_ms": millis(settings.margin), "presence": presence.is_some(),
        "presence_ping_ms": presence.map(|presence| millis(presence.ping)),
        "presence_trust_ms": presence.map(|presence| millis(presence.trust)),
        "election_ttl_ms": millis(settings.election.ttl), "look_ms": millis(settings.look),
        "look_without_wakeup_ms": millis(settings.look_without_wakeup),
        "look_in_motion_ms": millis(settings.look_in_motion), "settle_ms": millis(settings.settle),
        "moves_at_once": settings.moves_at_once, "uneven": settings.uneven,
    })
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn print(report: &Value) {
    output::line(format_args!("cluster on {}", report["store"].as_str().unwrap_or("-")));
    let mut table = Table::new(&["MEASURE", "FIGURE", "VALUE", "GOAL"]);
    let measures = report.as_object().into_iter().flatten().filter(|(_, measured)| measured.is_object());
    for (name, measured) in measures {
        for (figure, value) in measured.as_object().into_iter().flatten() {
            let text = match value {
                Value::Object(spans) if spans.contains_key("p99") => {
                    format!(
                        "p50 {} p99 {} max {} ms ({})",
                        spans["p50"], spans["p99"], spans["max"], spans["rounds"]
                    )
                }
                Value::Object(_) | Value::Array(_) => continue,
                value => value.to_string(),
            };
            let goal = measured["goals"][figure].as_str().unwrap_or("").to_owned();
            table.row(vec![name.clone(), figure.clone(), text, goal]);
        }
    }
    table.print();
}
