//! The cluster in `tenure status`: nodes, who leads, daemons in numbers.

use serde_json::{Value, json};
use tenure::DaemonState;
use tenure::core::cluster::{ClusterLook, Daemon, Standing};
use tenure::core::outbox::{Health, Level};

use crate::daemon::{daemon_json, is_orphaned};
use crate::lease;
use crate::output::{self, Table};

/// How many daemons that are nowhere are named.
const NAMED: usize = 20;

pub(crate) struct Overview<'a> {
    look: &'a ClusterLook,
    daemons: Vec<&'a Daemon>,
}

impl<'a> Overview<'a> {
    /// Of what is there to stay: one that goes for good is as good as gone.
    pub(crate) fn of(look: &'a ClusterLook, daemons: &'a [Daemon]) -> Self {
        Self { look, daemons: daemons.iter().filter(|daemon| !daemon.retired).collect() }
    }

    fn alive(&self, standing: &Standing) -> bool {
        standing.is_alive(self.look.now)
    }

    fn state(&self, standing: &Standing) -> &'static str {
        match (self.alive(standing), standing.member.leaving) {
            (false, _) => "gone",
            (true, true) => "leaving",
            (true, false) => "up",
        }
    }

    /// How many daemons a node has.
    fn load(&self, standing: &Standing) -> usize {
        let here = |daemon: &&&Daemon| daemon.node() == Some(&standing.member.node.name);
        self.daemons.iter().filter(here).count()
    }

    fn in_state(&self, state: DaemonState) -> usize {
        self.daemons.iter().filter(|daemon| daemon.state == state).count()
    }

    /// Those that should run and do not.
    fn nowhere(&self) -> impl Iterator<Item = &'a Daemon> {
        let look = self.look;
        self.daemons
            .iter()
            .copied()
            .filter(move |daemon| daemon.is_wanted() && (daemon.place.is_none() || is_orphaned(daemon, look)))
    }

    fn paused(&self) -> impl Iterator<Item = (&'a Daemon, &'a str)> {
        self.daemons.iter().copied().filter_map(|daemon| Some((daemon, daemon.paused_by.as_deref()?)))
    }

    /// A cluster without a leader, or with daemons that nobody runs, is not well; one without a node is dead.
    pub(crate) fn judge(&self, health: &mut Health) {
        let any_alive = self.look.nodes.iter().any(|standing| self.alive(standing));
        if !any_alive && self.daemons.iter().any(|daemon| daemon.is_wanted()) {
            health.level = Level::Unhealthy;
            health.reasons.push(
                "daemons are to run and no node is there: start one, or have them gone by `tenure daemon retire`".to_owned(),
            );
            return;
        }
        let mut worse = |reason: String| {
            if health.level == Level::Healthy {
                health.level = Level::Degraded;
            }
            health.reasons.push(reason);
        };
        if any_alive && self.look.leads().is_none() {
            worse("nodes are there, but nobody leads".to_owned());
        }
        let nowhere = self.nowhere().count();
        if nowhere > 0 {
            worse(format!("{nowhere} daemons run nowhere; `tenure daemon list` says why"));
        }
    }

    pub(crate) fn nodes_json(&self) -> Vec<Value> {
        let node = |standing: &Standing| {
            let member = &standing.member;
            json!({
                "name": member.node.name, "state": self.state(standing), "machine": member.node.machine,
                "pid": member.node.pid, "incarnation": member.node.incarnation, "term": member.term,
                "version": member.version, "labels": member.labels, "capacity": member.capacity,
                "may_lead": member.leads, "daemons": self.load(standing),
                "joined_at": member.joined_at.to_string(),
                "seen_at": standing.lease.as_ref().map(|lease| lease.renewed_at.to_string()),
            })
        };
        self.look.nodes.iter().map(node).collect()
    }

    pub(crate) fn leader_json(&self) -> Value {
        let since = self.look.leader.as_ref().map(|lease| lease.acquired_at.to_string());
        self.look
            .leads()
            .map_or(Value::Null, |(node, term)| json!({"node": node, "term": term, "since": since}))
    }

    pub(crate) fn daemons_json(&self) -> Value {
        json!({
            "total": self.daemons.len(), "active": self.in_state(DaemonState::Active),
            "assigning": self.in_state(DaemonState::Assigning), "revoking": self.in_state(DaemonState::Revoking),
            "unassigned": self.in_state(DaemonState::Unassigned), "paused": self.paused().count(),
            "nowhere": self.nowhere().take(NAMED).map(|daemon| daemon_json(daemon, self.look)).collect::<Vec<_>>(),
        })
    }

    /// Says nothing where there is no cluster.
    pub(crate) fn print(&self) {
        if self.look.nodes.is_empty() && self.daemons.is_empty() {
            return;
        }
        let now = self.look.now;
        match (self.look.leads(), &self.look.leader) {
            (Some((node, term)), Some(lease)) => {
                output::line(format_args!(
                    "leader    {node}, term {term}, since {}",
                    lease::ago(lease.acquired_at, now)
                ));
            }
            _ => output::line("leader    nobody"),
        }
        output::line(format_args!(
            "daemons   {} of {} run, {} on their way, {} paused",
            self.in_state(DaemonState::Active),
            self.daemons.len(),
            self.in_state(DaemonState::Assigning) + self.in_state(DaemonState::Revoking),
            self.paused().count()
        ));
        for (daemon, by) in self.paused().take(NAMED) {
            output::line(format_args!("          {} is paused by {by}", daemon.name()));
        }
        for daemon in self.nowhere().take(NAMED) {
            output::line(format_args!("          {} runs nowhere: {}", daemon.name(), daemon.reason));
        }
        if self.look.nodes.is_empty() {
            return;
        }
        output::line("");
        let mut table =
            Table::new(&["NODE", "STATE", "DAEMONS", "VERSION", "LABELS", "MACHINE/PID", "JOINED"]);
        for standing in &self.look.nodes {
            let member = &standing.member;
            let labels = member.labels.0.iter().map(|(key, value)| format!("{key}={value}"));
            table.row(vec![
                member.node.name.to_string(),
                self.state(standing).to_owned(),
                self.load(standing).to_string(),
                if member.version.is_empty() { "-".to_owned() } else { member.version.clone() },
                labels.collect::<Vec<_>>().join(","),
                format!("{}/{}", member.node.machine, member.node.pid),
                lease::ago(member.joined_at, now),
            ]);
        }
        table.print();
    }
}
