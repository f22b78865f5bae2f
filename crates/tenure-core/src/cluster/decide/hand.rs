//! What a node may say of the daemons that were given to it.

use std::time::Duration;

use super::{Desk, Part};
use crate::cluster::{Daemon, DaemonName, DaemonState, Deadlines, Refusal};
use crate::id::NodeName;
use crate::lease::{Cause, Term};
use crate::mutation::{Rule, off};
use crate::outbox::shorten;

/// A daemon that ran for so long has failed for the first time when it fails.
const FAILURES_FORGOTTEN: Duration = Duration::from_secs(600);
/// The longest time for which a daemon avoids a node.
const COOL_DOWN_MAX: Duration = Duration::from_secs(3600);

impl Desk {
    /// A daemon that is placed on this node under exactly this generation.
    fn held_by(
        &self,
        node: &NodeName,
        term: Term,
        name: &DaemonName,
        generation: Term,
        rule: Rule,
    ) -> Result<Daemon, Refusal> {
        let daemon = self.daemon(name)?;
        let place = daemon.place.as_ref().is_some_and(|(at, under)| at == node && *under == term);
        if (place && daemon.generation == Some(generation)) || off(rule) {
            Ok(daemon.clone())
        } else {
            Err(Refusal::Stale { daemon: name.clone() })
        }
    }

    pub(super) fn acknowledge(
        &mut self,
        node: &NodeName,
        term: Term,
        name: &DaemonName,
        generation: Term,
    ) -> Part {
        let mut daemon = self.held_by(node, term, name, generation, Rule::AcknowledgeByGeneration)?;
        match daemon.state {
            DaemonState::Active => Ok(()),
            DaemonState::Assigning if self.nodes.get(node).is_none_or(|member| member.leaving) => {
                Err(Refusal::Leaving(node.clone()))
            }
            DaemonState::Assigning => {
                daemon.state = DaemonState::Active;
                daemon.deadline = None;
                daemon.since = self.now;
                // Its node has said so itself, and need not be told.
                self.put_quietly(daemon);
                Ok(())
            }
            DaemonState::Unassigned | DaemonState::Revoking => {
                Err(Refusal::StillHeld { daemon: name.clone(), state: daemon.state })
            }
        }
    }

    pub(super) fn confirm(
        &mut self,
        node: &NodeName,
        term: Term,
        name: &DaemonName,
        generation: Term,
        deadlines: Deadlines,
    ) -> Part {
        let daemon = self.held_by(node, term, name, generation, Rule::ConfirmByGeneration)?;
        let leaves = self.nodes.get(node).is_none_or(|member| member.leaving);
        if daemon.state == DaemonState::Active && !leaves {
            return Err(Refusal::StillHeld { daemon: name.clone(), state: daemon.state });
        }
        self.stopped(daemon, deadlines)
    }

    /// A daemon has stopped: it goes where it was to go.
    fn stopped(&mut self, daemon: Daemon, deadlines: Deadlines) -> Part {
        self.not_in_use(daemon.name())?;
        if daemon.retired {
            self.take_back(daemon, Cause::Released, "it goes for good");
            return Ok(());
        }
        if let Some(by) = &daemon.paused_by {
            let reason = format!("paused by {by}");
            self.take_back(daemon, Cause::Released, &reason);
            return Ok(());
        }
        let next = daemon.next.clone();
        let (reason, from) = (daemon.reason.clone(), daemon.node().cloned());
        let stopped = from.map_or_else(String::new, |from| format!("it has stopped on {from}; "));
        self.take_back(daemon.clone(), Cause::Released, &format!("{stopped}waits for the leader"));
        let Some(next) = next else { return Ok(()) };
        let Some(row) = self.daemons.get(daemon.name()).cloned() else { return Ok(()) };
        // What the leader decided then may be impossible by now; then it decides anew.
        if self.fits(&row, &next, None).is_ok() && self.no_other_layout(&row).is_ok() {
            self.grant(row, &next, &reason, deadlines)?;
        }
        Ok(())
    }

    pub(super) fn fail(
        &mut self,
        (node, term): (&NodeName, Term),
        name: &DaemonName,
        generation: Term,
        reason: &str,
        cool_down: Duration,
    ) -> Part {
        let mut daemon = self.held_by(node, term, name, generation, Rule::ConfirmByGeneration)?;
        self.not_in_use(name)?;
        if daemon.since.until(self.now) > FAILURES_FORGOTTEN {
            daemon.failures = 0;
        }
        let span = cool_down.saturating_mul(1 << daemon.failures.min(10)).min(COOL_DOWN_MAX);
        daemon.failures = daemon.failures.saturating_add(1);
        daemon.avoid(node.clone(), span, self.now);
        if daemon.retired || daemon.paused_by.is_some() {
            // It has stopped, which is what was wanted.
            let deadlines = Deadlines { acknowledge: Duration::ZERO, drain: Duration::ZERO };
            daemon.next = None;
            return self.stopped(daemon, deadlines);
        }
        self.take_back(daemon, Cause::Released, &format!("it failed on {node}: {}", shorten(reason)));
        Ok(())
    }
}
