//! What must be done becomes placements, one daemon after another.

use super::Picture;
use super::choose::Choice;
use super::field::Field;
use super::layouts::Layouts;
use super::need::Need;
use super::words;
use crate::cluster::decide::misfit;
use crate::cluster::{Daemon, DaemonState, Placement};
use crate::id::NodeName;

/// A plan that grows.
#[derive(Debug)]
pub(super) struct Mender<'p, 'a> {
    field: &'p mut Field<'a>,
    layouts: Layouts<'a>,
    placements: Vec<Placement>,
    explained: Vec<Placement>,
}

impl<'p, 'a> Mender<'p, 'a> {
    pub(super) fn new(picture: &Picture<'a>, field: &'p mut Field<'a>) -> Self {
        let layouts = Layouts::new(picture.daemons.values());
        Self { field, layouts, placements: Vec::new(), explained: Vec::new() }
    }

    /// What is to be done, and what is merely to be explained.
    pub(super) fn done(self) -> (Vec<Placement>, Vec<Placement>) {
        (self.placements, self.explained)
    }

    pub(super) fn mend(&mut self, daemon: &'a Daemon, need: Need) {
        self.field.lift(daemon);
        match (need, daemon.node()) {
            (Need::Homeless, _) => self.assign(daemon, None, None),
            (Need::Orphaned, Some(node)) => {
                let back = self.field.member(node).is_some_and(|member| self.field.lives(node, member.term));
                let cause = if back { "was restarted" } else { "is gone" };
                self.assign(daemon, Some(format!("its node {node} {cause}")), None);
            }
            (Need::Late, Some(node)) => {
                let cause = match daemon.state {
                    DaemonState::Assigning => format!("node {node} did not acknowledge it in time"),
                    _ => format!("node {node} did not stop it in time; taken by force"),
                };
                self.assign(daemon, Some(cause), Some(node));
            }
            (Need::Leaving, Some(node)) if daemon.state == DaemonState::Assigning => {
                self.assign(daemon, Some(format!("node {node} is leaving")), None);
            }
            (Need::Leaving, Some(node)) => self.revoke(daemon, format!("node {node} is leaving")),
            (Need::Stranded, _) => {
                let next = daemon.next.as_ref().map_or("", NodeName::as_str);
                self.revoke(daemon, format!("it cannot go to {next} any more"));
            }
            (Need::Misplaced, Some(node)) => {
                let misfit = self.field.member(node).and_then(|member| misfit(daemon, member));
                let why = misfit.map_or_else(String::new, |misfit| format!(": {misfit}"));
                self.revoke(daemon, format!("node {node} cannot run it any more{why}"));
            }
            (Need::Elsewhere, _) => {
                let pinned = daemon.pinned_to.as_ref().map_or("", NodeName::as_str);
                self.revoke(daemon, format!("an operator wants it on {pinned}"));
            }
            // These are about a node, and there is none.
            (_, None) => {}
        }
    }

    /// Gives a daemon to the best node, or to none. `cause` is why it is taken from where it is. A node that lives and is
    /// `silent` gets it again only if there is no other.
    fn assign(&mut self, daemon: &'a Daemon, cause: Option<String>, silent: Option<&NodeName>) {
        if !daemon.is_wanted() {
            let idle = match &daemon.paused_by {
                Some(by) if !daemon.retired => format!("paused by {by}"),
                _ => "it goes for good".to_owned(),
            };
            return self.give_to_nobody(daemon, cause, idle);
        }
        if let Some(other) = self.layouts.other(daemon) {
            let waits = format!("it waits until daemon {other} of another layout is gone");
            return self.give_to_nobody(daemon, cause, waits);
        }
        let best = self.field.best(daemon, silent).or_else(|| self.field.best(daemon, None));
        let Some(choice) = best else {
            let nowhere = words::nowhere(daemon, self.field);
            return self.give_to_nobody(daemon, cause, nowhere);
        };
        let reason = match cause {
            Some(cause) if daemon.pinned_to.is_none() => cause,
            Some(cause) => format!("{cause}; {}", self.field.why(daemon, choice)),
            None => self.field.why(daemon, choice),
        };
        self.layouts.add(daemon);
        let to = self.put(daemon, choice);
        self.placements.push(Placement::Assign {
            daemon: daemon.name().clone(),
            generation: daemon.generation,
            term: self.field.spots[choice.spot].member.term,
            to,
            reason,
            group: daemon.spec.group.as_ref().map(|group| group.name.clone()),
        });
    }

    /// Takes it from where it is, if it is anywhere, and says why it is nowhere.
    fn give_to_nobody(&mut self, daemon: &'a Daemon, cause: Option<String>, why: String) {
        let name = daemon.name().clone();
        match (daemon.generation.filter(|_| daemon.place.is_some()), cause) {
            (Some(generation), cause) => {
                self.layouts.remove(daemon);
                let reason = cause.map_or_else(|| why.clone(), |cause| format!("{cause}; {why}"));
                self.placements.push(Placement::Unassign { daemon: name, generation, reason });
            }
            // What was said when it was taken from its node says this too, and more.
            (None, _) if daemon.reason.ends_with(&why) => {}
            (None, _) => self.explained.push(Placement::Explain { daemon: name, reason: why }),
        }
    }

    /// Tells its node to stop a daemon, and says where it goes then.
    fn revoke(&mut self, daemon: &'a Daemon, cause: String) {
        let Some(generation) = daemon.generation else { return };
        let (next, reason) = match self.field.best(daemon, None) {
            Some(choice) => (Some(self.put(daemon, choice)), cause),
            None => (None, format!("{cause}; {}", words::nowhere(daemon, self.field))),
        };
        self.placements.push(Placement::Revoke { daemon: daemon.name().clone(), generation, next, reason });
    }

    fn put(&mut self, daemon: &Daemon, choice: Choice<'_>) -> NodeName {
        self.field.put(daemon, choice.spot);
        self.field.spots[choice.spot].member.node.name.clone()
    }
}
