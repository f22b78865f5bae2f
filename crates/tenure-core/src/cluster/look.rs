//! What a store shows of a cluster.

use serde::Serialize;

use super::{Daemon, DaemonName, Member};
use crate::id::NodeName;
use crate::lease::{LeaseRecord, Term};
use crate::time::StoreTime;

/// The number of a change to a cluster. Changes happen one after another, so numbers appear in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Revision(pub u64);

/// How far a reader of daemons has come: up to this one of this revision. The rows of one revision are read by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cursor {
    /// The revision.
    pub revision: Revision,
    /// The last daemon of that revision that was read; `None` before the first.
    pub daemon: Option<DaemonName>,
}

/// Which daemons are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonFilter {
    /// Only those that are placed on this node, or go there next.
    pub node: Option<NodeName>,
    /// Only those whose name begins with this, byte by byte.
    pub prefix: Option<String>,
    /// Only those whose name comes after this one, byte by byte.
    pub after: Option<DaemonName>,
    /// At most so many.
    pub limit: u32,
}

impl DaemonFilter {
    /// All of a node.
    pub fn of_node(node: NodeName) -> Self {
        Self { node: Some(node), prefix: None, after: None, limit: u32::MAX }
    }

    /// Those whose name begins with a text.
    pub fn beginning(prefix: impl Into<String>) -> Self {
        Self { node: None, prefix: Some(prefix.into()), after: None, limit: u32::MAX }
    }

    /// Whether a daemon passes, but for the limit.
    pub fn lets(&self, daemon: &Daemon) -> bool {
        let on = |node: &NodeName| daemon.node() == Some(node) || daemon.next.as_ref() == Some(node);
        self.node.as_ref().is_none_or(on)
            && self.prefix.as_ref().is_none_or(|prefix| daemon.name().as_str().starts_with(prefix.as_str()))
            && self.after.as_ref().is_none_or(|after| daemon.name() > after)
    }
}

/// A cluster at one moment, without its daemons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterLook {
    /// The store's clock.
    pub now: StoreTime,
    /// The last change.
    pub revision: Revision,
    /// The row of the leader's lease, if there ever was a leader.
    pub leader: Option<LeaseRecord>,
    /// All nodes, by name.
    pub nodes: Vec<Standing>,
}

impl ClusterLook {
    /// Who leads, by the store's clock.
    pub fn leads(&self) -> Option<(&NodeName, Term)> {
        let lease = self.leader.as_ref().filter(|lease| lease.is_held(self.now))?;
        Some((&lease.node.name, lease.term))
    }

    /// A node, if it is registered.
    pub fn node(&self, name: &NodeName) -> Option<&Standing> {
        self.nodes.iter().find(|standing| standing.member.node.name == *name)
    }
}

/// A node as a store shows it: its row, and the lease that says whether it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The row.
    pub member: Member,
    /// The node's lease.
    pub lease: Option<LeaseRecord>,
}

impl Standing {
    /// Whether the node holds the lease that it registered under. It goes on living for others until the store says that
    /// this very grant is over.
    pub fn is_alive(&self, now: StoreTime) -> bool {
        holds(self.lease.as_ref(), self.member.term, now)
    }

    /// Whether daemons may be placed there.
    pub fn takes_daemons(&self, now: StoreTime) -> bool {
        !self.member.leaving && self.is_alive(now)
    }
}

/// Whether a grant of a node's lease holds. One that an operator revoked goes on holding until the node has stopped, or
/// its ttl has ended: until then the node may still act.
pub(super) fn holds(lease: Option<&LeaseRecord>, term: Term, now: StoreTime) -> bool {
    lease.is_some_and(|lease| lease.term == term && lease.is_held(now))
}
