//! A cluster at one look: nodes, who leads, daemons in numbers.

use super::{DaemonShape, DaemonsShape, LeaderShape, NodeShape, is_orphaned};
use crate::cluster::{ClusterLook, Daemon, DaemonState, Standing};

/// How many daemons that are nowhere are named.
const NAMED: usize = 20;

/// A cluster and its daemons, as far as they are there to stay.
#[derive(Debug, Clone)]
pub struct Overview<'a> {
    look: &'a ClusterLook,
    daemons: Vec<&'a Daemon>,
}

impl<'a> Overview<'a> {
    /// Of what is there to stay: one that goes for good is as good as gone.
    pub fn of(look: &'a ClusterLook, daemons: &'a [Daemon]) -> Self {
        Self { look, daemons: daemons.iter().filter(|daemon| !daemon.retired).collect() }
    }

    /// The cluster without its daemons.
    pub fn look(&self) -> &'a ClusterLook {
        self.look
    }

    /// How many daemons there are.
    pub fn total(&self) -> usize {
        self.daemons.len()
    }

    fn alive(&self, standing: &Standing) -> bool {
        standing.is_alive(self.look.now)
    }

    /// How a node is, in a word.
    pub fn state(&self, standing: &Standing) -> &'static str {
        match (self.alive(standing), standing.member.leaving) {
            (false, _) => "gone",
            (true, true) => "leaving",
            (true, false) => "up",
        }
    }

    /// How many daemons a node has.
    pub fn load(&self, standing: &Standing) -> usize {
        let here = |daemon: &&&Daemon| daemon.node() == Some(&standing.member.node.name);
        self.daemons.iter().filter(here).count()
    }

    /// How many daemons are in a state.
    pub fn in_state(&self, state: DaemonState) -> usize {
        self.daemons.iter().filter(|daemon| daemon.state == state).count()
    }

    /// Those that should run and do not; the first of them.
    pub fn named_nowhere(&self) -> impl Iterator<Item = &'a Daemon> {
        self.nowhere().take(NAMED)
    }

    fn nowhere(&self) -> impl Iterator<Item = &'a Daemon> {
        let look = self.look;
        self.daemons
            .iter()
            .copied()
            .filter(move |daemon| daemon.is_wanted() && (daemon.place.is_none() || is_orphaned(daemon, look)))
    }

    /// How many an operator paused.
    pub fn paused(&self) -> usize {
        self.all_paused().count()
    }

    /// Those that an operator paused, and who that was; the first of them.
    pub fn named_paused(&self) -> impl Iterator<Item = (&'a Daemon, &'a str)> {
        self.all_paused().take(NAMED)
    }

    fn all_paused(&self) -> impl Iterator<Item = (&'a Daemon, &'a str)> {
        self.daemons.iter().copied().filter_map(|daemon| Some((daemon, daemon.paused_by.as_deref()?)))
    }

    /// The nodes, by name.
    pub fn nodes(&self) -> Vec<NodeShape> {
        let node = |standing: &Standing| {
            let member = &standing.member;
            NodeShape {
                capacity: member.capacity,
                daemons: self.load(standing),
                incarnation: member.node.incarnation.to_string(),
                joined_at: member.joined_at.to_string(),
                labels: member.labels.0.clone(),
                machine: member.node.machine.clone(),
                may_lead: member.leads,
                name: member.node.name.to_string(),
                pid: member.node.pid,
                seen_at: standing.lease.as_ref().map(|lease| lease.renewed_at.to_string()),
                state: self.state(standing),
                term: member.term.get(),
                version: member.version.clone(),
            }
        };
        self.look.nodes.iter().map(node).collect()
    }

    /// Who leads, if anyone does.
    pub fn leader(&self) -> Option<LeaderShape> {
        let since = self.look.leader.as_ref().map(|lease| lease.acquired_at.to_string());
        self.look.leads().map(|(node, term)| LeaderShape { node: node.to_string(), since, term: term.get() })
    }

    /// The daemons in numbers.
    pub fn daemons(&self) -> DaemonsShape {
        DaemonsShape {
            active: self.in_state(DaemonState::Active),
            assigning: self.in_state(DaemonState::Assigning),
            nowhere: self.named_nowhere().map(|daemon| DaemonShape::of(daemon, self.look)).collect(),
            paused: self.paused(),
            revoking: self.in_state(DaemonState::Revoking),
            total: self.total(),
            unassigned: self.in_state(DaemonState::Unassigned),
        }
    }
}
