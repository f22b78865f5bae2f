//! At no true moment do two copies of a daemon believe that they may run, as long as clocks drift no more than documented;
//! and no process ever runs two generations of one daemon at once, told or not.
//!
//! One overlap is the documented price: a node that goes on renewing its lease and sees nothing of what the store says is
//! told to stop, does not, and loses the daemon by force when the time to stop is over. Its copy runs on until the node
//! sees; the fence refuses what it writes. A copy that had heard of it has no such excuse.

use std::collections::BTreeSet;

use tenure_core::cluster::{DaemonName, DaemonState};
use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment};

/// At most one copy of each daemon believes.
#[derive(Debug, Default)]
pub struct OneRunnerPerDaemonGeneration {
    /// What was taken by force from a node that had not stopped it.
    forced: BTreeSet<(DaemonName, Term)>,
}

impl Invariant for OneRunnerPerDaemonGeneration {
    fn name(&self) -> &'static str {
        "one_runner_per_daemon_generation"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Cluster(ClusterFact::Ordered(ordered)) = fact else { continue };
            for (before, _) in ordered.granted() {
                if let Some(before) = before.filter(|before| before.state == DaemonState::Revoking)
                    && ordered.lives(before)
                    && ordered.is_late(before)
                    && let Some(generation) = before.generation
                {
                    self.forced.insert((before.name().clone(), generation));
                }
            }
        }
        for (at, one) in moment.runners.iter().enumerate() {
            for other in &moment.runners[at + 1..] {
                if one.spec.name != other.spec.name {
                    continue;
                }
                let what = || {
                    format!(
                        "{} runs on n{} as generation {} and on n{} as generation {}",
                        one.spec.name, one.node, one.generation, other.node, other.generation
                    )
                };
                if one.node == other.node {
                    return Err(what());
                }
                let counts = |runner: &crate::oracle::Runner| {
                    let excused = !runner.stopping
                        && self.forced.contains(&(runner.spec.name.clone(), runner.generation));
                    runner.believes && !excused
                };
                if one.believes && other.believes && counts(one) && counts(other) {
                    return Err(what());
                }
            }
        }
        Ok(())
    }
}
