//! What the leader may do with a daemon.

use std::fmt;

use super::{Desk, Part};
use crate::cluster::{Daemon, DaemonName, DaemonState, Deadlines, Member, Placement, Refusal};
use crate::id::NodeName;
use crate::lease::{Cause, LeaseRecord, Term};
use crate::mutation::{Rule, off};
use crate::outbox::shorten;
use crate::time::StoreTime;

/// A daemon's lease has no ttl of its own: it ends with the placement, and the placement with its node's lease. The last
/// second of the year 9999, which every database can hold.
const NEVER: StoreTime = StoreTime::from_micros(253_402_300_799_000_000);
/// What stands in the column `backend` of a daemon's lease: the cluster granted it.
const BACKEND: &str = "cluster";
/// What stands in its column `kind`.
const KIND: &str = "daemon";

impl Desk {
    pub(super) fn place(&mut self, placement: &Placement, deadlines: Deadlines) -> Part {
        match placement {
            Placement::Assign { daemon, generation, to, term, reason, group } => {
                let (row, forced) = self.free(daemon, *generation)?;
                // Only the rows of the group that was named were looked at.
                if row.spec.group.as_ref().map(|its| &its.name) != group.as_ref() {
                    return Err(Refusal::Stale { daemon: daemon.clone() });
                }
                if !row.is_wanted() {
                    return Err(Refusal::NotWanted(daemon.clone()));
                }
                self.fits(&row, to, Some(*term))?;
                self.no_other_layout(&row)?;
                let mut row = row;
                if let Some(silent) = forced {
                    row.avoid(silent, deadlines.acknowledge, self.now);
                }
                self.grant(row, to, reason, deadlines)
            }
            Placement::Unassign { daemon, generation, reason } => {
                let (row, _) = self.free(daemon, Some(*generation))?;
                self.take_back(row, Cause::Expired, reason);
                Ok(())
            }
            Placement::Revoke { daemon, generation, next, reason } => {
                self.revoke(daemon, *generation, next.as_ref(), reason, deadlines)
            }
            Placement::Explain { daemon, reason } => {
                let (row, reason) = (self.daemon(daemon)?, shorten(reason));
                if row.state == DaemonState::Unassigned && row.reason != reason {
                    let row = Daemon { reason, ..row.clone() };
                    self.put(row);
                }
                Ok(())
            }
            Placement::Remove { daemon } => {
                let row = self.daemon(daemon)?;
                if !row.retired || row.place.is_some() {
                    return Err(Refusal::Stale { daemon: daemon.clone() });
                }
                self.drop_row(daemon);
                Ok(())
            }
            Placement::Forget { node, term } => {
                let known = self.nodes.get(node).is_some_and(|member| member.term == *term);
                if !known {
                    return Ok(());
                }
                if self.lives(node, *term) {
                    return Err(Refusal::NodeLives(node.clone()));
                }
                self.forget(node);
                Ok(())
            }
        }
    }

    /// A daemon that may be given to another node; and the node, if it lives and has merely not answered in time.
    fn free(
        &self,
        name: &DaemonName,
        generation: Option<Term>,
    ) -> Result<(Daemon, Option<NodeName>), Refusal> {
        let daemon = self.daemon(name)?;
        if daemon.generation != generation {
            return Err(Refusal::Stale { daemon: name.clone() });
        }
        self.not_in_use(name)?;
        let Some((node, term)) = &daemon.place else { return Ok((daemon.clone(), None)) };
        if !self.lives(node, *term) || off(Rule::OwnerOver) {
            return Ok((daemon.clone(), None));
        }
        let late = daemon.deadline.is_some_and(|deadline| self.now >= deadline);
        let leaves = self.nodes.get(node).is_some_and(|member| member.leaving);
        match daemon.state {
            // It runs nothing that the store did not confirm, and the store confirms nothing of this generation from now on.
            DaemonState::Assigning if late => Ok((daemon.clone(), Some(node.clone()))),
            DaemonState::Assigning if leaves => Ok((daemon.clone(), None)),
            // Its own deadline was earlier; what runs there still is refused by its fence.
            DaemonState::Revoking if late => Ok((daemon.clone(), Some(node.clone()))),
            state => Err(Refusal::StillHeld { daemon: name.clone(), state }),
        }
    }

    pub(super) fn not_in_use(&self, name: &DaemonName) -> Part {
        if self.in_use.contains(name) { Err(Refusal::InUse(name.clone())) } else { Ok(()) }
    }

    /// Whether a node may be given a daemon now; under exactly this term, where one is named.
    pub(super) fn fits(&self, daemon: &Daemon, to: &NodeName, term: Option<Term>) -> Part {
        let member = self.nodes.get(to).ok_or_else(|| Refusal::NoNode(to.clone()))?;
        if term.is_some_and(|term| term != member.term) || !self.lives(to, member.term) {
            return Err(Refusal::NodeOver(to.clone()));
        }
        if member.leaving {
            return Err(Refusal::Leaving(to.clone()));
        }
        match unfit(daemon, member) {
            None => Ok(()),
            Some(reason) => {
                let (node, daemon) = (to.clone(), daemon.name().clone());
                Err(Refusal::Unfit { node, daemon, reason })
            }
        }
    }

    pub(super) fn no_other_layout(&self, daemon: &Daemon) -> Part {
        let Some(group) = &daemon.spec.group else { return Ok(()) };
        let other = self.daemons.values().find(|other| {
            other.place.is_some()
                && other
                    .spec
                    .group
                    .as_ref()
                    .is_some_and(|theirs| theirs.name == group.name && theirs.layout != group.layout)
        });
        match other {
            Some(other) if !off(Rule::OneLayout) => Err(Refusal::OtherLayout { other: other.name().clone() }),
            _ => Ok(()),
        }
    }

    /// Gives a daemon to a node that fits, under the next generation.
    pub(super) fn grant(
        &mut self,
        mut daemon: Daemon,
        to: &NodeName,
        reason: &str,
        deadlines: Deadlines,
    ) -> Part {
        let name = daemon.name().clone();
        let invalid = |error: crate::id::NameError| Refusal::Invalid(error.to_string());
        let lease = name.lease().map_err(invalid)?;
        let member = self.nodes.get(to).ok_or_else(|| Refusal::NoNode(to.clone()))?.clone();
        self.end_lease(&name, Cause::Expired);
        // Above everything that was ever granted, also when rows were deleted by hand or came back from a backup.
        let last = self.leases.get(&name).map(|lease| lease.term).max(daemon.generation);
        let term = Term::new(self.revision.0).max(last.and_then(Term::next));
        let term =
            term.ok_or_else(|| Refusal::Invalid(format!("daemon {name} has used up all generations")))?;
        let record = LeaseRecord {
            name: lease,
            term,
            node: member.node.clone(),
            claim: member.node.incarnation,
            renewals: 0,
            kind: Some(KIND.to_owned()),
            backend: BACKEND.to_owned(),
            acquired_at: self.now,
            renewed_at: self.now,
            expires_at: NEVER,
            released_at: None,
            revoked_at: None,
            presence: None,
            origin: None,
        };
        self.history.push(record.change(Cause::Acquired, self.now));
        self.leases.insert(name.clone(), record);
        self.changed_leases.insert(name);
        daemon.state = DaemonState::Assigning;
        daemon.place = Some((to.clone(), member.term));
        daemon.generation = Some(term);
        daemon.next = None;
        daemon.deadline = Some(self.now.after(deadlines.acknowledge));
        daemon.reason = reason.to_owned();
        daemon.since = self.now;
        daemon.moves += 1;
        self.put(daemon);
        Ok(())
    }

    /// Ends the lease of a daemon, if it holds.
    fn end_lease(&mut self, name: &DaemonName, cause: Cause) {
        if let Some(lease) = self.leases.get_mut(name).filter(|lease| lease.released_at.is_none()) {
            self.history.push(lease.change(cause, self.now));
            lease.released_at = Some(self.now);
            self.changed_leases.insert(name.clone());
            // It may be another one than the row says, or there was no row: whoever had it is told.
            let holder = lease.node.name.clone();
            self.touch(vec![holder]);
        }
    }

    /// A daemon is nowhere from now on.
    pub(super) fn take_back(&mut self, mut daemon: Daemon, cause: Cause, reason: &str) {
        self.end_lease(&daemon.name().clone(), cause);
        daemon.state = DaemonState::Unassigned;
        daemon.place = None;
        daemon.next = None;
        daemon.deadline = None;
        daemon.reason = reason.to_owned();
        daemon.since = self.now;
        self.put(daemon);
    }

    fn revoke(
        &mut self,
        name: &DaemonName,
        generation: Term,
        next: Option<&NodeName>,
        reason: &str,
        deadlines: Deadlines,
    ) -> Part {
        let daemon = self.daemon(name)?.clone();
        if daemon.generation != Some(generation) || daemon.place.is_none() {
            return Err(Refusal::Stale { daemon: name.clone() });
        }
        // One that is on its way to a node that can run it goes there: an operator may have said so a moment ago.
        let goes = |next: &NodeName| self.fits(&daemon, next, None).is_ok();
        if daemon.state == DaemonState::Revoking && daemon.next.as_ref().is_some_and(goes) {
            return Ok(());
        }
        self.ask_to_stop(daemon, next, reason, deadlines);
        Ok(())
    }

    /// Tells a daemon's node to stop it. The deadline of one that was told before stays.
    pub(super) fn ask_to_stop(
        &mut self,
        mut daemon: Daemon,
        next: Option<&NodeName>,
        reason: &str,
        deadlines: Deadlines,
    ) {
        if daemon.state != DaemonState::Revoking {
            daemon.state = DaemonState::Revoking;
            daemon.deadline = Some(self.now.after(deadlines.drain));
            daemon.since = self.now;
        }
        daemon.next = next.cloned();
        daemon.reason = reason.to_owned();
        self.put(daemon);
    }
}

/// Why a node cannot run a daemon, whether or not it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cluster) enum Misfit<'d> {
    /// It has no code for it.
    NoAgent,
    /// It lacks a label that the daemon asks for.
    NoLabel(&'d str, &'d str),
}

impl fmt::Display for Misfit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAgent => f.write_str("it has no agent for it"),
            Self::NoLabel(key, value) => write!(f, "it is not labelled {key}={value}"),
        }
    }
}

/// Why a node cannot run a daemon, if it cannot.
pub(in crate::cluster) fn misfit<'d>(daemon: &'d Daemon, member: &Member) -> Option<Misfit<'d>> {
    if !member.agents.can_run(daemon.name()) {
        return Some(Misfit::NoAgent);
    }
    member.labels.missing(&daemon.spec.labels).map(|(key, value)| Misfit::NoLabel(key, value))
}

/// The same in words.
pub(in crate::cluster) fn unfit(daemon: &Daemon, member: &Member) -> Option<String> {
    misfit(daemon, member).map(|misfit| misfit.to_string())
}
