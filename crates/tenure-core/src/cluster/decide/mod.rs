//! The decisions of a cluster's store: from rows, an order and the store's clock to an answer and rows.
//!
//! A backend takes the lock on the cluster's row, reads what [`Order::daemons`] and [`Order::groups`] name together with
//! all nodes, calls [`decide()`], and writes what it says in the same transaction. There is no other way to change a
//! cluster, so every backend decides alike.

mod hand;
mod node;
mod place;
mod specs;
mod steer;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::place::{Misfit, misfit};
use super::look::holds;
use super::{
    Answer, Daemon, DaemonName, LEADER_LEASE, Member, Order, Refusal, Revision, Verdict, node_lease,
};
use crate::id::NodeName;
use crate::lease::decide::check;
use crate::lease::{Change, FenceCheck, LeaseRecord, Term};
use crate::mutation::{Rule, off};
use crate::outbox::shorten;
use crate::time::StoreTime;

/// How many parts an order may have.
const PARTS_MAX: usize = 10_000;

/// What a decision needs to know, read under the lock.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The store's clock.
    pub now: StoreTime,
    /// The number of this change.
    pub revision: Revision,
    /// The lease of the order's fence.
    pub office: Option<LeaseRecord>,
    /// All nodes.
    pub nodes: Vec<Member>,
    /// The daemons that the order names, and all of the groups that it names.
    pub daemons: BTreeMap<DaemonName, Daemon>,
    /// The leases of those daemons, as far as there are any.
    pub leases: BTreeMap<DaemonName, LeaseRecord>,
    /// Daemons whose lease is in use by an open transaction: its row could not be locked.
    pub in_use: BTreeSet<DaemonName>,
    /// The leases of all nodes, and of those that one of these daemons is placed on, as far as there are any.
    pub node_leases: BTreeMap<NodeName, LeaseRecord>,
}

/// What must be written for an answer to be true.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writes {
    /// Nodes to write.
    pub nodes: Vec<Member>,
    /// Nodes to delete.
    pub departed: Vec<NodeName>,
    /// Daemons to write.
    pub daemons: Vec<Daemon>,
    /// Daemons to delete.
    pub gone: Vec<DaemonName>,
    /// Leases to write.
    pub leases: Vec<LeaseRecord>,
    /// Lines of history to add, oldest first.
    pub history: Vec<Change>,
    /// Lines of audit to add: who, what, about which daemon.
    pub audit: Vec<(String, String, DaemonName)>,
}

impl Writes {
    /// Whether there is nothing to write: the transaction is rolled back, and no revision is used up.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An answer, and what must be written for it to be true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The answer to whoever gave the order.
    pub answer: Answer,
    /// What is written.
    pub writes: Writes,
}

/// Decides an order.
pub fn decide(order: &Order, rows: Rows) -> Decided {
    if let Some(fence) = order.fence()
        && !off(Rule::LeaderFence)
        && let FenceCheck::Refused(fenced) = check(rows.office.as_ref(), fence, rows.now)
    {
        return Decided { answer: Answer::Fenced(fenced), writes: Writes::default() };
    }
    let parts = order.parts();
    if parts > PARTS_MAX {
        let refusal = Refusal::Invalid(format!("an order of {parts} parts; the limit is {PARTS_MAX}"));
        return Decided { answer: Answer::Refused(refusal), writes: Writes::default() };
    }
    if let Err(refusal) = in_its_office(order) {
        return Decided { answer: Answer::Refused(refusal), writes: Writes::default() };
    }
    let mut desk = Desk::new(rows);
    let done = match order {
        Order::Register { fence, member, declares, deadlines } => {
            desk.register(fence.term, member, declares, *deadlines)
        }
        Order::Leave { fence, node } => desk.leave(node, fence.term),
        Order::Depart { fence, node } => desk.depart(node, fence.term),
        Order::Place { placements, deadlines, .. } => {
            Ok(placements.iter().map(|placement| desk.place(placement, *deadlines)).collect())
        }
        Order::Acknowledge { fence, node, daemons } => {
            Ok(daemons.iter().map(|(daemon, at)| desk.acknowledge(node, fence.term, daemon, *at)).collect())
        }
        Order::Confirm { fence, node, daemons, deadlines } => Ok(daemons
            .iter()
            .map(|(daemon, at)| desk.confirm(node, fence.term, daemon, *at, *deadlines))
            .collect()),
        Order::Fail { fence, node, daemon, generation, reason, cool_down } => {
            let failed = desk.fail((node, fence.term), daemon, *generation, reason, *cool_down);
            Ok(vec![failed])
        }
        Order::Declare { specs, deadlines } => desk.declare_all(specs, *deadlines),
        Order::Retire { daemons, by, deadlines } => desk.retire_all(daemons, by.as_deref(), *deadlines),
        Order::Steer { daemon, steering, by, deadlines } => desk.steer(daemon, steering, by, *deadlines),
    };
    match done {
        Ok(verdicts) => {
            let verdicts = verdicts.into_iter().map(|verdict| match verdict {
                Ok(()) => Verdict::Taken,
                Err(refusal) => Verdict::Refused(refusal),
            });
            Decided { answer: Answer::Done(verdicts.collect()), writes: desk.writes() }
        }
        Err(refusal) => Decided { answer: Answer::Refused(refusal), writes: Writes::default() },
    }
}

/// Whether the fence of an order is of the lease that the order needs. Terms of different leases are often the same
/// number, so the number alone says nothing.
fn in_its_office(order: &Order) -> Part {
    let node = match order {
        Order::Register { member, .. } => &member.node.name,
        Order::Leave { node, .. }
        | Order::Depart { node, .. }
        | Order::Acknowledge { node, .. }
        | Order::Confirm { node, .. }
        | Order::Fail { node, .. } => node,
        Order::Place { fence, .. } if fence.lease.as_str() != LEADER_LEASE && !off(Rule::LeaderFence) => {
            return Err(Refusal::Invalid(format!("{} is not the lease of the leader", fence.lease)));
        }
        Order::Place { .. } | Order::Declare { .. } | Order::Retire { .. } | Order::Steer { .. } => {
            return Ok(());
        }
    };
    let lease = node_lease(node).map_err(|error| Refusal::Invalid(error.to_string()))?;
    match order.fence() {
        Some(fence) if fence.lease != lease && !off(Rule::LeaderFence) => {
            Err(Refusal::NodeOver(node.clone()))
        }
        _ => Ok(()),
    }
}

/// One part of an order: done, or why not.
type Part = Result<(), Refusal>;
/// A whole order: its parts, or why none of it was done.
type Whole = Result<Vec<Part>, Refusal>;

/// The rows while they are being changed.
struct Desk {
    now: StoreTime,
    revision: Revision,
    node_leases: BTreeMap<NodeName, LeaseRecord>,
    nodes: BTreeMap<NodeName, Member>,
    daemons: BTreeMap<DaemonName, Daemon>,
    leases: BTreeMap<DaemonName, LeaseRecord>,
    in_use: BTreeSet<DaemonName>,
    changed_nodes: BTreeSet<NodeName>,
    departed: BTreeSet<NodeName>,
    changed: BTreeSet<DaemonName>,
    gone: BTreeSet<DaemonName>,
    changed_leases: BTreeSet<DaemonName>,
    history: Vec<Change>,
    audit: Vec<(String, String, DaemonName)>,
}

impl Desk {
    fn new(rows: Rows) -> Self {
        let nodes = rows.nodes.into_iter().map(|member| (member.node.name.clone(), member));
        Self {
            now: rows.now,
            revision: rows.revision,
            node_leases: rows.node_leases,
            nodes: nodes.collect(),
            daemons: rows.daemons,
            leases: rows.leases,
            in_use: rows.in_use,
            changed_nodes: BTreeSet::new(),
            departed: BTreeSet::new(),
            changed: BTreeSet::new(),
            gone: BTreeSet::new(),
            changed_leases: BTreeSet::new(),
            history: Vec::new(),
            audit: Vec::new(),
        }
    }

    fn writes(self) -> Writes {
        let nodes = self.nodes.into_iter().filter(|(name, _)| self.changed_nodes.contains(name));
        let daemons = self.daemons.into_iter().filter(|(name, _)| self.changed.contains(name));
        let leases = self.leases.into_iter().filter(|(name, _)| self.changed_leases.contains(name));
        Writes {
            nodes: nodes.map(|(_, member)| Member { revision: self.revision, ..member }).collect(),
            departed: self.departed.into_iter().collect(),
            daemons: daemons.map(|(_, daemon)| Daemon { revision: self.revision, ..daemon }).collect(),
            gone: self.gone.into_iter().collect(),
            leases: leases.map(|(_, lease)| lease).collect(),
            history: self.history,
            audit: self.audit,
        }
    }

    fn daemon(&self, name: &DaemonName) -> Result<&Daemon, Refusal> {
        self.daemons.get(name).ok_or_else(|| Refusal::NoDaemon(name.clone()))
    }

    /// Writes a daemon, and tells the nodes that it concerns. Whoever gave the reason, it is cut to what is stored.
    fn put(&mut self, daemon: Daemon) {
        let before = self.daemons.get(daemon.name());
        let nodes = [daemon.node(), daemon.next.as_ref()].into_iter().flatten();
        let former = before.into_iter().flat_map(|before| [before.node(), before.next.as_ref()]).flatten();
        let concerned: Vec<NodeName> = nodes.chain(former).cloned().collect();
        self.touch(concerned);
        self.put_quietly(daemon);
    }

    /// Writes a daemon whose nodes know.
    fn put_quietly(&mut self, daemon: Daemon) {
        let daemon = Daemon { reason: shorten(&daemon.reason), ..daemon };
        self.changed.insert(daemon.name().clone());
        self.daemons.insert(daemon.name().clone(), daemon);
    }

    /// Deletes a daemon, and tells its node.
    fn drop_row(&mut self, name: &DaemonName) {
        if let Some(daemon) = self.daemons.remove(name) {
            self.touch(daemon.node().into_iter().chain(daemon.next.as_ref()).cloned().collect());
            self.changed.remove(name);
            self.gone.insert(name.clone());
        }
    }

    fn touch(&mut self, nodes: Vec<NodeName>) {
        let known = nodes.into_iter().filter(|node| self.nodes.contains_key(node));
        self.changed_nodes.extend(known);
    }

    /// Whether a grant of a node's lease holds. A node whose row was deleted is not dead for that: its lease decides.
    fn lives(&self, node: &NodeName, term: Term) -> bool {
        holds(self.node_leases.get(node), term, self.now)
    }
}
