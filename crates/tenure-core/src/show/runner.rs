//! The loops of all processes.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::millis;
use super::schema::{Shape, map_of, maybe, object, text, whole, word};
use crate::observe::{RunnerKind, RunnerRow};

/// A loop of some process, as it last told of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunnerShape {
    /// How long before `seen_at` it got on with its work.
    pub advanced_ago_ms: Option<u64>,
    /// What it has done since it was started, by fixed names.
    pub counters: BTreeMap<String, u64>,
    /// How long before `seen_at` it went round.
    pub cycled_ago_ms: Option<u64>,
    /// How often it goes round when nothing happens.
    pub every_ms: u64,
    /// The random number of its process.
    pub incarnation: String,
    /// What kind of loop.
    pub kind: RunnerKind,
    /// The machine it runs on.
    pub machine: String,
    /// What it is called: the lease, the subscription, the daemon.
    pub name: String,
    /// Its node.
    pub node: String,
    /// The process id.
    pub pid: u32,
    /// When it was last reported.
    pub seen_at: String,
    /// When it was first reported.
    pub started_at: String,
    /// In a word or two.
    pub state: String,
    /// Why it does not get on, if so.
    pub trouble: Option<String>,
}

impl From<&RunnerRow> for RunnerShape {
    fn from(row: &RunnerRow) -> Self {
        let report = &row.report;
        Self {
            advanced_ago_ms: report.advanced_ago.map(millis),
            counters: report.counters.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
            cycled_ago_ms: report.cycled_ago.map(millis),
            every_ms: millis(report.every),
            incarnation: row.node.incarnation.to_string(),
            kind: report.kind,
            machine: row.node.machine.clone(),
            name: report.name.clone(),
            node: row.node.name.to_string(),
            pid: row.node.pid,
            seen_at: row.seen_at.to_string(),
            started_at: row.started_at.to_string(),
            state: report.state.clone(),
            trouble: report.trouble.clone(),
        }
    }
}

impl Shape for RunnerShape {
    const NAME: &'static str = "Runner";
    fn schema() -> Value {
        object(vec![
            ("advanced_ago_ms", maybe(whole())),
            ("counters", map_of(whole())),
            ("cycled_ago_ms", maybe(whole())),
            ("every_ms", whole()),
            ("incarnation", text()),
            ("kind", word(&RunnerKind::ALL.map(RunnerKind::as_str))),
            ("machine", text()),
            ("name", text()),
            ("node", text()),
            ("pid", whole()),
            ("seen_at", text()),
            ("started_at", text()),
            ("state", text()),
            ("trouble", maybe(text())),
        ])
    }
}
