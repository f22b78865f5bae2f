//! What the processes of a cluster ask of the store, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::cluster::{Answer, ClusterLook, Cursor, Daemon, DaemonName, Order, Revision};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, Term};
use tenure_core::time::Monotonic;

use crate::actor::Purpose;
use crate::world::message::{Answer as LeaseAnswer, Kind, Request};

/// A call to the store.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    /// About a lease or a session.
    Lease(Request),
    Look,
    /// The daemons of a node.
    Rows(NodeName),
    /// The daemons that changed.
    Read(Cursor),
    Apply(Arc<Order>),
    /// A daemon's protected write.
    Effect(DaemonName, Fence),
}

impl Call {
    /// How the weather of a link treats it.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Lease(request) => request.kind(),
            _ => Kind::Write,
        }
    }
}

/// An answer of the store.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Lease(LeaseAnswer),
    Look(Arc<ClusterLook>),
    Rows(Vec<Daemon>),
    Applied(Answer),
    /// Whatever became of it.
    Noted,
    /// An error: the outcome is unknown.
    Doubt,
}

/// Which of a node's leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// That of the node itself.
    Seat,
    /// The leader's.
    Election,
    /// That of the node that is watched, by the number of the watch.
    Grave(u64),
}

/// What an answer is for. The term is that of the office in which it was asked.
#[derive(Debug, Clone)]
pub(crate) enum Why {
    Lease(Which, Purpose),
    Session(Purpose),
    Look { term: Term, started: Monotonic },
    Rows { term: Term, revision: Revision },
    Said(Term, Said),
    Read(Term),
    Placed(Term, Arc<Order>),
    Departed,
    Nothing,
}

/// What a node said of itself and its daemons.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    Registered,
    Leaving,
    Acknowledged(Vec<(DaemonName, Term)>),
    Confirmed(Vec<(DaemonName, Term)>),
    Failed(DaemonName, Term),
}

/// A call on its way to the store.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(super) from: usize,
    pub(super) life: u64,
    pub(super) number: u64,
    pub(super) call: Call,
    /// How long the answer will take; `None`: it is lost.
    pub(super) answer_after: Option<Duration>,
}
