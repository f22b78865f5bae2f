//! The nodes that may be given daemons, and what each has: counted once, and kept up to date while the plan grows.

use std::collections::{BTreeMap, BTreeSet};

use super::Picture;
use super::load::Load;
use crate::cluster::decide::misfit;
use crate::cluster::look::holds;
use crate::cluster::{Daemon, DaemonState, Member, Standing};
use crate::id::NodeName;
use crate::lease::Term;
use crate::time::StoreTime;

/// A node that may be given daemons.
#[derive(Debug)]
pub(super) struct Spot<'a> {
    pub(super) member: &'a Member,
    pub(super) load: Load,
    pub(super) daemons: u64,
    /// Nodes of one kind have the same agents and labels, so one look answers for all of them.
    pub(super) kind: usize,
}

/// All nodes, and the load of those that may be given daemons.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) now: StoreTime,
    /// Those that may be given daemons, by name.
    pub(super) spots: Vec<Spot<'a>>,
    /// One of each kind.
    kinds: Vec<&'a Member>,
    nodes: BTreeMap<&'a NodeName, &'a Standing>,
    /// The load that each node had, were everything that is to run spread over all of them.
    pub(super) mean: Load,
    /// While a deploy goes on, the version that it brings.
    pub(super) newest: Option<&'a str>,
}

impl<'a> Field<'a> {
    pub(super) fn new(picture: &Picture<'a>) -> Self {
        let nodes: BTreeMap<_, _> = picture.nodes.iter().map(|node| (&node.member.node.name, node)).collect();
        let mut field = Self {
            now: picture.now,
            spots: Vec::new(),
            kinds: Vec::new(),
            mean: Load { weight: 0, capacity: 0 },
            newest: None,
            nodes,
        };
        for standing in field.nodes.values().filter(|standing| standing.takes_daemons(picture.now)) {
            let member = &standing.member;
            let same = |kind: &&Member| kind.agents == member.agents && kind.labels == member.labels;
            let kind = field.kinds.iter().position(same).unwrap_or(field.kinds.len());
            if kind == field.kinds.len() {
                field.kinds.push(member);
            }
            let load = Load { weight: 0, capacity: u64::from(member.capacity.max(1)) };
            field.spots.push(Spot { member, load, daemons: 0, kind });
        }
        for daemon in picture.daemons.values() {
            if let Some(spot) = field.counted_at(daemon) {
                field.put(daemon, spot);
            }
        }
        let wanted = picture.daemons.values().filter(|daemon| daemon.is_wanted());
        let weight = wanted.map(|daemon| u64::from(daemon.spec.weight)).sum();
        field.mean = Load { weight, ..Load::sum(field.spots.iter().map(|spot| spot.load)) };
        field.newest = if picture.quiet { None } else { field.newest_version() };
        field
    }

    /// The version of the node that joined last, if there is more than one.
    fn newest_version(&self) -> Option<&'a str> {
        let versions: BTreeSet<&str> = self.spots.iter().map(|spot| spot.member.version.as_str()).collect();
        let last = self.spots.iter().max_by_key(|spot| (spot.member.joined_at, &spot.member.node.name))?;
        (versions.len() > 1).then_some(last.member.version.as_str())
    }

    /// Whether a node goes on living under exactly this term. One without a row does not: nothing says what it can do.
    pub(super) fn lives(&self, node: &NodeName, term: Term) -> bool {
        self.nodes.get(node).is_some_and(|standing| holds(standing.lease.as_ref(), term, self.now))
    }

    /// The node's row, whatever has become of it.
    pub(super) fn member(&self, node: &NodeName) -> Option<&'a Member> {
        self.nodes.get(node).map(|standing| &standing.member)
    }

    /// The nodes that live, also those that leave.
    pub(super) fn living(&self) -> impl Iterator<Item = &'a Member> {
        let now = self.now;
        self.nodes.values().filter(move |node| node.is_alive(now)).map(|node| &node.member)
    }

    /// A node, if it may be given daemons.
    pub(super) fn spot(&self, node: &NodeName) -> Option<usize> {
        self.spots.binary_search_by(|spot| spot.member.node.name.cmp(node)).ok()
    }

    /// Which kinds of nodes can run a daemon.
    pub(super) fn fitting_kinds(&self, daemon: &Daemon) -> Vec<bool> {
        self.kinds.iter().map(|kind| misfit(daemon, kind).is_none()).collect()
    }

    /// Whether a daemon may be given to this node now.
    pub(super) fn takes(&self, daemon: &Daemon, node: &NodeName) -> Option<usize> {
        let spot = self.spot(node)?;
        let fits = misfit(daemon, self.spots[spot].member).is_none();
        (fits && !daemon.avoids(node, self.now)).then_some(spot)
    }

    /// The node to whose load a daemon is counted: the one that it is on, or goes to.
    pub(super) fn counted_at(&self, daemon: &Daemon) -> Option<usize> {
        match daemon.state {
            DaemonState::Unassigned => None,
            DaemonState::Assigning | DaemonState::Active => {
                let (node, term) = daemon.place.as_ref()?;
                self.spot(node).filter(|spot| self.spots[*spot].member.term == *term)
            }
            DaemonState::Revoking => self.spot(daemon.next.as_ref()?),
        }
    }

    /// Counts a daemon to a node.
    pub(super) fn put(&mut self, daemon: &Daemon, spot: usize) {
        let spot = &mut self.spots[spot];
        spot.load = spot.load.plus(daemon.spec.weight);
        spot.daemons += 1;
    }

    /// Counts it there no longer.
    pub(super) fn lift(&mut self, daemon: &Daemon) {
        if let Some(spot) = self.counted_at(daemon) {
            let spot = &mut self.spots[spot];
            spot.load = spot.load.minus(daemon.spec.weight);
            spot.daemons = spot.daemons.saturating_sub(1);
        }
    }
}
