//! A daemon is taken from a node by the leader only when the node is over, has not answered in time, or leaves without
//! having said yes; and no row of a node that lives is removed.

use tenure_core::cluster::{DaemonState, Order};

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment, Ordered};

/// The leader takes nothing from a node that lives and does what it is told.
#[derive(Debug, Default)]
pub struct NoLiveNodeLost;

impl Invariant for NoLiveNodeLost {
    fn name(&self) -> &'static str {
        "no_live_node_lost"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Cluster(ClusterFact::Ordered(ordered)) = fact else { continue };
            if matches!(*ordered.order, Order::Place { .. }) {
                nothing_taken(ordered)?;
                let (before, after) = (&ordered.nodes_before, &ordered.nodes_after);
                if let Some(lost) = before.difference(after).find(|node| ordered.living.contains(*node)) {
                    return Err(format!("node {lost:?} lives, and its row was removed"));
                }
            }
        }
        Ok(())
    }
}

fn nothing_taken(ordered: &Ordered) -> Result<(), String> {
    for before in ordered.before.values().filter(|before| before.place.is_some()) {
        let after = ordered.after.get(before.name());
        let kept =
            after.is_some_and(|after| after.place == before.place && after.generation == before.generation);
        let may = match before.state {
            DaemonState::Unassigned => true,
            DaemonState::Active => false,
            DaemonState::Assigning => ordered.is_late(before) || ordered.leaves(before),
            DaemonState::Revoking => ordered.is_late(before),
        };
        if !kept && !may && ordered.lives(before) {
            return Err(format!("taken from a node that lives and is not late: {before:?}; now {after:?}"));
        }
    }
    Ok(())
}
