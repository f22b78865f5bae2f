//! What the oracle is told about a cluster: orders with the rows before and after, effects of daemons, and what runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::cluster::{Answer, Daemon, DaemonName, DaemonSpec, DaemonState, Order};
use tenure_core::id::NodeName;
use tenure_core::lease::{LeaseName, Term};
use tenure_core::time::StoreTime;

/// Something that happened to a cluster.
#[derive(Debug, Clone)]
pub enum ClusterFact {
    /// How the cluster is kept.
    Kept {
        /// How many daemons may be on their way only to be spread.
        moves_at_once: usize,
        /// How long a node has to stop a daemon.
        drain: Duration,
        /// How long a node's lease lasts.
        node_ttl: Duration,
    },
    /// A new grant of any lease began.
    Granted {
        /// Which.
        lease: LeaseName,
        /// Its term.
        term: Term,
    },
    /// The store has decided an order.
    Ordered(Box<Ordered>),
    /// A daemon's protected write arrived.
    Effect {
        /// Whose.
        daemon: DaemonName,
        /// Under which generation.
        generation: Term,
        /// Whether it was let in.
        accepted: bool,
    },
    /// A process stepped down from its node's lease.
    SeatLost {
        /// Which node.
        node: usize,
        /// For how long nothing had befallen it that could cost it the lease.
        fair_for: Duration,
        /// Why.
        loss: String,
    },
    /// Someone deleted the row of a node with a database shell.
    RowDeleted,
}

/// An order, what became of it, and the rows around it.
#[derive(Debug, Clone)]
pub struct Ordered {
    /// The store's clock.
    pub now: StoreTime,
    /// The order.
    pub order: Arc<Order>,
    /// The answer.
    pub answer: Answer,
    /// All daemons before.
    pub before: BTreeMap<DaemonName, Daemon>,
    /// All daemons after.
    pub after: BTreeMap<DaemonName, Daemon>,
    /// The grants of nodes that held before.
    pub living: BTreeSet<(NodeName, Term)>,
    /// The nodes that were about to leave.
    pub leaving: BTreeSet<NodeName>,
    /// The nodes that had a row before.
    pub nodes_before: BTreeSet<(NodeName, Term)>,
    /// Those that have one after.
    pub nodes_after: BTreeSet<(NodeName, Term)>,
}

impl Ordered {
    /// The daemons that were given to a node: before, if they were there, and after.
    pub fn granted(&self) -> impl Iterator<Item = (Option<&Daemon>, &Daemon)> {
        self.after.values().filter_map(|after| {
            let before = self.before.get(after.name());
            let generation = before.and_then(|before| before.generation);
            (after.place.is_some() && after.generation != generation).then_some((before, after))
        })
    }

    /// What was taken by force from a node that lived and had not stopped it in time, with its generation.
    pub fn forced(&self) -> impl Iterator<Item = (DaemonName, Term)> {
        self.before.values().filter_map(|before| {
            let after = self.after.get(before.name());
            let kept = |after: &Daemon| after.place == before.place && after.generation == before.generation;
            let forced = before.state == DaemonState::Revoking
                && !after.is_some_and(kept)
                && self.lives(before)
                && self.is_late(before);
            Some((before.name().clone(), before.generation.filter(|_| forced)?))
        })
    }

    /// Whether the node that a daemon is placed on holds its lease.
    pub fn lives(&self, daemon: &Daemon) -> bool {
        daemon.place.as_ref().is_some_and(|place| self.living.contains(place))
    }

    /// Whether a daemon's node had not answered in time.
    pub fn is_late(&self, daemon: &Daemon) -> bool {
        daemon.deadline.is_some_and(|deadline| self.now >= deadline)
    }

    /// Whether a daemon's node was about to leave.
    pub fn leaves(&self, daemon: &Daemon) -> bool {
        daemon.node().is_some_and(|node| self.leaving.contains(node))
    }
}

impl Runner {
    /// Whether what was taken from its node by force may run on for a while: nobody there has heard of it, or nobody could
    /// act on it.
    pub fn may_not_know(&self) -> bool {
        !self.stopping || self.stuck
    }
}

/// A copy of a daemon whose code runs.
#[derive(Debug, Clone)]
pub struct Runner {
    /// In which process.
    pub node: usize,
    /// Which daemon, as its node read it.
    pub spec: Arc<DaemonSpec>,
    /// Its generation.
    pub generation: Term,
    /// Whether it believes that it may run: its process trusts its node's lease, and it was not told otherwise.
    pub believes: bool,
    /// Whether it was told to stop.
    pub stopping: bool,
    /// Whether its process has no turn: what is to stop there is cut off as soon as it has one.
    pub stuck: bool,
    /// For how long its process could see what the store says.
    pub sighted_for: Duration,
}
