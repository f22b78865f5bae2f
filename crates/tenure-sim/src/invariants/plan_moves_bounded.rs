//! A daemon is placed once for each cause: it is new, its node is gone, leaves, did not answer or failed, an operator wants
//! it, or the load is uneven. Moves for the last reason are few at once, and each daemon is moved at most twice for it while
//! nobody comes or goes and nothing else changes.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::cluster::{Answer, Daemon, DaemonName, DaemonState, Order};
use tenure_core::id::NodeName;
use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment, Ordered};

/// How often a daemon may be moved to even the load while nothing else changes.
const SPREADS: u32 = 2;

/// Every placement has a cause of its own.
#[derive(Debug, Default)]
pub struct PlanMovesBounded {
    moves_at_once: usize,
    causes: BTreeMap<DaemonName, u64>,
    spreads: BTreeMap<DaemonName, u32>,
    nodes: BTreeSet<(NodeName, Term)>,
}

impl Invariant for PlanMovesBounded {
    fn name(&self) -> &'static str {
        "plan_moves_bounded"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Cluster(ClusterFact::Kept { moves_at_once, .. }) => self.moves_at_once = *moves_at_once,
                Fact::Cluster(ClusterFact::RowDeleted) => self.spreads.clear(),
                Fact::Cluster(ClusterFact::Ordered(ordered)) => self.ordered(ordered)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl PlanMovesBounded {
    fn ordered(&mut self, ordered: &Ordered) -> Result<(), String> {
        if ordered.living != self.nodes || is_change(ordered) {
            self.nodes.clone_from(&ordered.living);
            self.spreads.clear();
        }
        if let (Order::Steer { daemon, .. }, Answer::Done(_)) = (&*ordered.order, &ordered.answer) {
            *self.causes.entry(daemon.clone()).or_default() += 1;
        }
        for after in ordered.after.values() {
            let before = ordered.before.get(after.name());
            if before.is_none_or(|before| before.spec != after.spec || before.retired != after.retired) {
                *self.causes.entry(after.name().clone()).or_default() += 1;
            }
            let Some(before) = before else { continue };
            let causes = self.causes.entry(after.name().clone()).or_default();
            *causes += u64::from(is_taken(before, after) && is_cause(ordered, before));
            if before.state != DaemonState::Revoking && after.state == DaemonState::Revoking {
                self.revoked(ordered, after)?;
            }
        }
        for (_, after) in ordered.granted() {
            let causes = self.causes.entry(after.name().clone()).or_default();
            let Some(left) = causes.checked_sub(1) else {
                return Err(format!("it is placed once more, and nothing has happened to it: {after:?}"));
            };
            *causes = left;
        }
        let moving = ordered.after.values().filter(|daemon| is_spread(daemon)).count();
        if moving > self.moves_at_once.max(1) {
            return Err(format!("{moving} daemons are on their way to even the load"));
        }
        Ok(())
    }

    fn revoked(&mut self, ordered: &Ordered, after: &Daemon) -> Result<(), String> {
        if !matches!(*ordered.order, Order::Place { .. }) {
            return Ok(());
        }
        let name = after.name();
        if is_spread(after) {
            let spreads = self.spreads.entry(name.clone()).or_default();
            *spreads += 1;
            if *spreads > SPREADS {
                return Err(format!("{name} is moved again and again to even the load: {after:?}"));
            }
        } else if !is_asked_for(after) {
            return Err(format!("{name} is told to stop, and nothing asks for it: {after:?}"));
        }
        *self.causes.entry(name.clone()).or_default() += 1;
        Ok(())
    }
}

/// Whether an order changes what there is to be spread, and does not merely spread it.
fn is_change(ordered: &Ordered) -> bool {
    match &*ordered.order {
        Order::Acknowledge { .. } | Order::Confirm { .. } => false,
        Order::Place { .. } => ordered.before.values().any(|before| {
            let after = ordered.after.get(before.name());
            after.is_none_or(|after| is_taken(before, after) || after.generation != before.generation)
        }),
        _ => true,
    }
}

/// Whether an operator wants it elsewhere, its node leaves or cannot run it any more; or so it was when the leader last
/// looked.
fn is_asked_for(daemon: &Daemon) -> bool {
    let causes = ["an operator wants it", "is leaving", "cannot run it any more"];
    causes.iter().any(|cause| daemon.reason.contains(cause))
}

fn is_spread(daemon: &Daemon) -> bool {
    daemon.state == DaemonState::Revoking && daemon.reason.contains("to even the load")
}

/// Whether a daemon was taken from where it was.
fn is_taken(before: &Daemon, after: &Daemon) -> bool {
    before.place.is_some() && (after.place.is_none() || after.generation != before.generation)
}

/// Whether that is a cause of its own: one that was told to stop has its cause already.
fn is_cause(ordered: &Ordered, before: &Daemon) -> bool {
    let failed = matches!(*ordered.order, Order::Fail { .. });
    // A node that leaves stops what it was not told to stop.
    let given_up = matches!(*ordered.order, Order::Confirm { .. }) && before.state != DaemonState::Revoking;
    failed || given_up || !ordered.lives(before) || ordered.is_late(before) || ordered.leaves(before)
}
