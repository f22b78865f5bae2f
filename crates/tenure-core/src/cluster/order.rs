//! What may be asked of a cluster's store: orders, each decided in one transaction.

use std::time::Duration;

use super::{DaemonName, DaemonSpec, Member};
use crate::id::NodeName;
use crate::lease::{Fence, Fenced, Term};

/// How long nodes have to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// To say yes to a daemon.
    pub acknowledge: Duration,
    /// To stop a daemon and say so.
    pub drain: Duration,
}

/// A change to a cluster. Whoever repeats one after a lost answer gets the answer of the first, or learns that what it
/// wanted is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// A node registers, or says anew what it can do. The fence is that of its own lease. Daemons that it names and that
    /// are not there are declared.
    Register {
        /// The fence of the node's lease.
        fence: Fence,
        /// The row; what the store fills in is ignored.
        member: Box<Member>,
        /// Daemons that the node brings along.
        declares: Vec<DaemonSpec>,
        /// How long nodes have to answer, should a layout change.
        deadlines: Deadlines,
    },
    /// A node is about to leave: it gets nothing more, and its daemons are to be moved.
    Leave {
        /// The fence of the node's lease.
        fence: Fence,
        /// The node.
        node: NodeName,
    },
    /// A node has left: its row goes.
    Depart {
        /// The fence of the node's lease.
        fence: Fence,
        /// The node.
        node: NodeName,
    },
    /// The leader places daemons.
    Place {
        /// The fence of the leader's lease.
        fence: Fence,
        /// What is to be done; each is done or refused by itself.
        placements: Vec<Placement>,
        /// How long nodes have to answer.
        deadlines: Deadlines,
    },
    /// A node says yes to daemons. It runs none before the store has taken this.
    Acknowledge {
        /// The fence of the node's lease.
        fence: Fence,
        /// The node.
        node: NodeName,
        /// The daemons, and their generations.
        daemons: Vec<(DaemonName, Term)>,
    },
    /// A node says that daemons have stopped, or never ran: those that it was told to stop, or those that it gives up
    /// because it leaves.
    Confirm {
        /// The fence of the node's lease.
        fence: Fence,
        /// The node.
        node: NodeName,
        /// The daemons, and their generations.
        daemons: Vec<(DaemonName, Term)>,
        /// How long the next node has to answer.
        deadlines: Deadlines,
    },
    /// A node says that a daemon cannot be run there; it has stopped.
    Fail {
        /// The fence of the node's lease.
        fence: Fence,
        /// The node.
        node: NodeName,
        /// The daemon.
        daemon: DaemonName,
        /// Its generation.
        generation: Term,
        /// What went wrong.
        reason: String,
        /// For how long other nodes are preferred.
        cool_down: Duration,
    },
    /// Someone declares daemons: they are to run from now on.
    Declare {
        /// What they are. Those that are there already are changed.
        specs: Vec<DaemonSpec>,
        /// How long nodes have to answer, should a layout change.
        deadlines: Deadlines,
    },
    /// Someone retires daemons: they stop for good.
    Retire {
        /// Their names.
        daemons: Vec<DaemonName>,
        /// The operator who wants it, for the audit table; `None` for a program that declared them itself.
        by: Option<String>,
        /// How long nodes have to answer.
        deadlines: Deadlines,
    },
    /// An operator steers a daemon. Written to the audit table.
    Steer {
        /// Which.
        daemon: DaemonName,
        /// Where to.
        steering: Steering,
        /// Who.
        by: String,
        /// How long nodes have to answer.
        deadlines: Deadlines,
    },
}

/// What a leader does with one daemon or node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Assigns a daemon that is nowhere, or whose node is over, or has not answered in time.
    Assign {
        /// The daemon.
        daemon: DaemonName,
        /// Its last generation, as the leader knows it.
        generation: Option<Term>,
        /// The node.
        to: NodeName,
        /// The term of that node's lease.
        term: Term,
        /// Why.
        reason: String,
        /// Which group it belongs to, so that the rows of that group are looked at.
        group: Option<String>,
    },
    /// Tells a daemon's node to stop it.
    Revoke {
        /// The daemon.
        daemon: DaemonName,
        /// Its generation.
        generation: Term,
        /// Where it goes then.
        next: Option<NodeName>,
        /// Why.
        reason: String,
    },
    /// Takes a daemon back from a node that is over, or has not answered in time, and gives it to nobody: there is none
    /// that could run it, or it is paused, or it goes for good.
    Unassign {
        /// The daemon.
        daemon: DaemonName,
        /// Its generation.
        generation: Term,
        /// Why, and why it is given to nobody.
        reason: String,
    },
    /// Removes the row of a daemon that goes for good and is nowhere.
    Remove {
        /// The daemon.
        daemon: DaemonName,
    },
    /// Says why a daemon is nowhere.
    Explain {
        /// The daemon.
        daemon: DaemonName,
        /// Why.
        reason: String,
    },
    /// Removes the row of a node that is over.
    Forget {
        /// The node.
        node: NodeName,
        /// The term under which it had registered.
        term: Term,
    },
}

/// What an operator wants of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steering {
    /// It stops, and stays stopped until it is resumed.
    Pause,
    /// It may run again.
    Resume,
    /// It goes to this node, and stays there as long as that node can run it.
    Move {
        /// Where.
        to: NodeName,
    },
    /// It may be anywhere again.
    Unpin,
}

/// The store's answer to an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The order was carried out: for orders with several parts, one verdict for each, in their order.
    Done(Vec<Verdict>),
    /// Whoever gave the order is out of office; nothing was done.
    Fenced(Fenced),
    /// The order cannot be carried out; nothing was done.
    Refused(Refusal),
}

/// What became of one part of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is so now, or was before.
    Taken,
    /// It is not.
    Refused(Refusal),
}

impl Verdict {
    /// Whether it is so.
    pub fn is_taken(&self) -> bool {
        *self == Self::Taken
    }
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such daemon.
    #[error("there is no daemon {0}; `tenure daemon list` shows all there are")]
    NoDaemon(DaemonName),
    /// There is no such node.
    #[error("there is no node {0} in the cluster; `tenure status` shows all there are")]
    NoNode(NodeName),
    /// The node does not hold the lease that was named.
    #[error("node {0} is no longer the one that was meant")]
    NodeOver(NodeName),
    /// The node is leaving.
    #[error("node {0} is about to leave")]
    Leaving(NodeName),
    /// The daemon is of another generation by now.
    #[error("daemon {daemon} is of another generation by now")]
    Stale {
        /// Which daemon.
        daemon: DaemonName,
    },
    /// The daemon's node lives and has time left to answer.
    #[error("daemon {daemon} is {state} on a node that lives")]
    StillHeld {
        /// Which daemon.
        daemon: DaemonName,
        /// How far it is.
        state: super::DaemonState,
    },
    /// The daemon is paused or retired.
    #[error("daemon {0} is not to run: it is paused, or it goes for good")]
    NotWanted(DaemonName),
    /// The node cannot run the daemon.
    #[error("node {node} cannot run daemon {daemon}: {reason}")]
    Unfit {
        /// The node.
        node: NodeName,
        /// The daemon.
        daemon: DaemonName,
        /// Why.
        reason: String,
    },
    /// Parts of another layout are not gone yet.
    #[error("daemon {other} of another layout is not gone yet")]
    OtherLayout {
        /// One of them.
        other: DaemonName,
    },
    /// A transaction under the daemon's fence is open; later.
    #[error("a transaction under the fence of daemon {0} is open")]
    InUse(DaemonName),
    /// The node lives, and its row stays.
    #[error("node {0} lives")]
    NodeLives(NodeName),
    /// A text or number of it is not acceptable.
    #[error("{0}")]
    Invalid(String),
}

impl Order {
    /// The fence under which the order is given; daemons are declared and steered by anyone.
    pub fn fence(&self) -> Option<&Fence> {
        match self {
            Self::Register { fence, .. }
            | Self::Leave { fence, .. }
            | Self::Depart { fence, .. }
            | Self::Place { fence, .. }
            | Self::Acknowledge { fence, .. }
            | Self::Confirm { fence, .. }
            | Self::Fail { fence, .. } => Some(fence),
            Self::Declare { .. } | Self::Retire { .. } | Self::Steer { .. } => None,
        }
    }

    /// The node whose lease must be looked at although it may have no row.
    pub fn node(&self) -> Option<&NodeName> {
        match self {
            Self::Register { member, .. } => Some(&member.node.name),
            Self::Leave { node, .. } | Self::Depart { node, .. } => Some(node),
            _ => None,
        }
    }

    /// The daemons whose rows must be looked at, and their leases with them.
    pub fn daemons(&self) -> Vec<&DaemonName> {
        match self {
            Self::Register { declares: specs, .. } | Self::Declare { specs, .. } => {
                specs.iter().map(|spec| &spec.name).collect()
            }
            Self::Leave { .. } | Self::Depart { .. } => Vec::new(),
            Self::Place { placements, .. } => placements.iter().filter_map(Placement::daemon).collect(),
            Self::Acknowledge { daemons, .. } | Self::Confirm { daemons, .. } => {
                daemons.iter().map(|(daemon, _)| daemon).collect()
            }
            Self::Retire { daemons, .. } => daemons.iter().collect(),
            Self::Fail { daemon, .. } | Self::Steer { daemon, .. } => vec![daemon],
        }
    }

    /// How many things are asked for at once.
    pub fn parts(&self) -> usize {
        match self {
            Self::Register { declares: specs, .. } | Self::Declare { specs, .. } => specs.len(),
            Self::Place { placements, .. } => placements.len(),
            Self::Acknowledge { daemons, .. } | Self::Confirm { daemons, .. } => daemons.len(),
            Self::Retire { daemons, .. } => daemons.len(),
            Self::Leave { .. } | Self::Depart { .. } | Self::Fail { .. } | Self::Steer { .. } => 1,
        }
    }

    /// The groups all of whose rows must be looked at.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = match self {
            Self::Register { declares: specs, .. } | Self::Declare { specs, .. } => {
                specs.iter().filter_map(|spec| Some(spec.group.as_ref()?.name.as_str())).collect()
            }
            Self::Place { placements, .. } => placements
                .iter()
                .filter_map(|placement| match placement {
                    Placement::Assign { group, .. } => group.as_deref(),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        groups.sort_unstable();
        groups.dedup();
        groups
    }
}

impl Placement {
    /// Where its daemon goes, if it is about that.
    pub fn to(&self) -> Option<&NodeName> {
        match self {
            Self::Assign { to, .. } => Some(to),
            Self::Revoke { next, .. } => next.as_ref(),
            _ => None,
        }
    }

    /// The daemon, if it is about one.
    pub fn daemon(&self) -> Option<&DaemonName> {
        match self {
            Self::Assign { daemon, .. }
            | Self::Revoke { daemon, .. }
            | Self::Unassign { daemon, .. }
            | Self::Remove { daemon }
            | Self::Explain { daemon, .. } => Some(daemon),
            Self::Forget { .. } => None,
        }
    }
}
