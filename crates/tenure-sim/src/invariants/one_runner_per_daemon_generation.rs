//! At no true moment do two copies of a daemon believe that they may run, as long as clocks drift no more than documented;
//! and no process ever runs two generations of one daemon at once, told or not.
//!
//! One overlap is the documented price: a node that holds its lease and sees nothing of what the store says, or has no turn
//! to act on it, is told to stop, does not, and loses the daemon by force when the time to stop is over. Its copy is there
//! until the node sees; the fence refuses what it writes. A copy that had heard of it has no such excuse.

use std::collections::BTreeSet;

use tenure_core::cluster::DaemonName;
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
            if let Fact::Cluster(ClusterFact::Ordered(ordered)) = fact {
                self.forced.extend(ordered.forced());
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
                    let excused = runner.may_not_know()
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
