//! Nodes, who leads, and daemons with the reasons for their places.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::schema::{Shape, list_of, map_of, maybe, object, text, truth, whole, word};
use crate::cluster::{ClusterLook, Daemon, DaemonState};

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeShape {
    /// How much it takes beside others.
    pub capacity: u32,
    /// How many daemons it has.
    pub daemons: usize,
    /// The random number of its process.
    pub incarnation: String,
    /// When it registered.
    pub joined_at: String,
    /// What it is labelled with.
    pub labels: BTreeMap<String, String>,
    /// The machine it runs on.
    pub machine: String,
    /// Whether it may lead.
    pub may_lead: bool,
    /// Its name.
    pub name: String,
    /// The process id.
    pub pid: u32,
    /// When it last said that it lives.
    pub seen_at: Option<String>,
    /// In a word: up, leaving or gone.
    pub state: &'static str,
    /// The term of its lease.
    pub term: u64,
    /// The version of the program that it runs.
    pub version: String,
}

impl Shape for NodeShape {
    const NAME: &'static str = "Node";
    fn schema() -> Value {
        object(vec![
            ("capacity", whole()),
            ("daemons", whole()),
            ("incarnation", text()),
            ("joined_at", text()),
            ("labels", map_of(text())),
            ("machine", text()),
            ("may_lead", truth()),
            ("name", text()),
            ("pid", whole()),
            ("seen_at", maybe(text())),
            ("state", word(&["up", "leaving", "gone"])),
            ("term", whole()),
            ("version", text()),
        ])
    }
}

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaderShape {
    /// The node.
    pub node: String,
    /// Since when.
    pub since: Option<String>,
    /// Its term.
    pub term: u64,
}

impl Shape for LeaderShape {
    const NAME: &'static str = "Leader";
    fn schema() -> Value {
        object(vec![("node", text()), ("since", maybe(text())), ("term", whole())])
    }
}

/// A node on which a daemon failed of late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AvoidShape {
    /// The node.
    pub node: String,
    /// Until when it is not placed there if there is any other.
    pub until: String,
}

impl Shape for AvoidShape {
    const NAME: &'static str = "Avoid";
    fn schema() -> Value {
        object(vec![("node", text()), ("until", text())])
    }
}

/// A daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaemonShape {
    /// Where it failed of late.
    pub avoids: Vec<AvoidShape>,
    /// Until when its node is to have acknowledged, or stopped.
    pub deadline: Option<String>,
    /// How often in a row it failed and was moved away for it.
    pub failures: u32,
    /// The number of its last placement.
    pub generation: Option<u64>,
    /// What it is a part of.
    pub group: Option<String>,
    /// What its node must be labelled with.
    pub labels: BTreeMap<String, String>,
    /// Into how many parts that is divided.
    pub layout: Option<u32>,
    /// How often it was placed.
    pub moves: u64,
    /// Its name.
    pub name: String,
    /// Where it goes once it has stopped.
    pub next_node: Option<String>,
    /// Where it is.
    pub node: Option<String>,
    /// Who paused it.
    pub paused_by: Option<String>,
    /// Where an operator wants it.
    pub pinned_to: Option<String>,
    /// Why it is where it is, or nowhere.
    pub reason: String,
    /// Whether it is to go for good.
    pub retired: bool,
    /// Since when it is in its state.
    pub since: String,
    /// Where it is on its way.
    pub state: DaemonState,
    /// How heavy it is beside others.
    pub weight: u32,
}

impl DaemonShape {
    /// A daemon in its cluster.
    pub fn of(daemon: &Daemon, look: &ClusterLook) -> Self {
        let avoid = |avoid: &crate::cluster::Avoid| AvoidShape {
            node: avoid.node.to_string(),
            until: avoid.until.to_string(),
        };
        Self {
            avoids: daemon.avoids.iter().map(avoid).collect(),
            deadline: super::text(daemon.deadline),
            failures: daemon.failures,
            generation: daemon.generation.map(|generation| generation.get()),
            group: daemon.spec.group.as_ref().map(|group| group.name.clone()),
            labels: daemon.spec.labels.0.clone(),
            layout: daemon.spec.group.as_ref().map(|group| group.layout),
            moves: daemon.moves,
            name: daemon.name().to_string(),
            next_node: daemon.next.as_ref().map(ToString::to_string),
            node: daemon.node().map(ToString::to_string),
            paused_by: daemon.paused_by.clone(),
            pinned_to: daemon.pinned_to.as_ref().map(ToString::to_string),
            reason: reason(daemon, look),
            retired: daemon.retired,
            since: daemon.since.to_string(),
            state: daemon.state,
            weight: daemon.spec.weight,
        }
    }
}

impl Shape for DaemonShape {
    const NAME: &'static str = "Daemon";
    fn schema() -> Value {
        object(vec![
            ("avoids", list_of::<AvoidShape>()),
            ("deadline", maybe(text())),
            ("failures", whole()),
            ("generation", maybe(whole())),
            ("group", maybe(text())),
            ("labels", map_of(text())),
            ("layout", maybe(whole())),
            ("moves", whole()),
            ("name", text()),
            ("next_node", maybe(text())),
            ("node", maybe(text())),
            ("paused_by", maybe(text())),
            ("pinned_to", maybe(text())),
            ("reason", text()),
            ("retired", truth()),
            ("since", text()),
            ("state", word(&["unassigned", "assigning", "active", "revoking"])),
            ("weight", whole()),
        ])
    }
}

/// The daemons of a cluster in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaemonsShape {
    /// Those that run.
    pub active: usize,
    /// Those for which a node was chosen that has not said yes.
    pub assigning: usize,
    /// Those that should run and do not; not all are named when there are many.
    pub nowhere: Vec<DaemonShape>,
    /// Those that an operator paused.
    pub paused: usize,
    /// Those that are about to stop.
    pub revoking: usize,
    /// All.
    pub total: usize,
    /// Those that are nowhere.
    pub unassigned: usize,
}

impl Shape for DaemonsShape {
    const NAME: &'static str = "Daemons";
    fn schema() -> Value {
        object(vec![
            ("active", whole()),
            ("assigning", whole()),
            ("nowhere", list_of::<DaemonShape>()),
            ("paused", whole()),
            ("revoking", whole()),
            ("total", whole()),
            ("unassigned", whole()),
        ])
    }
}

/// Why a daemon is where it is, or nowhere: what its row says, and what the cluster around it adds to that.
pub fn reason(daemon: &Daemon, look: &ClusterLook) -> String {
    let mut why = daemon.reason.clone();
    if let Some(pinned) = &daemon.pinned_to {
        why.push_str(&format!("; wanted on {pinned}"));
    }
    if is_orphaned(daemon, look) {
        why.push_str("; its node is gone");
    }
    if daemon.place.is_none() && daemon.is_wanted() && look.leads().is_none() {
        why.push_str("; nobody leads");
    }
    why
}

/// Whether its node does not live any more.
pub fn is_orphaned(daemon: &Daemon, look: &ClusterLook) -> bool {
    daemon.place.as_ref().is_some_and(|(node, term)| {
        look.node(node).is_none_or(|standing| standing.member.term != *term || !standing.is_alive(look.now))
    })
}
