//! The parts of one layout never run beside those of another, with the same excuse as for two copies of one daemon: what was
//! taken by force from a node that saw nothing of it.

use std::collections::BTreeSet;

use tenure_core::cluster::DaemonName;
use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment};

/// One layout of each group runs.
#[derive(Debug, Default)]
pub struct OneLayout {
    forced: BTreeSet<(DaemonName, Term)>,
}

impl Invariant for OneLayout {
    fn name(&self) -> &'static str {
        "one_layout"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            if let Fact::Cluster(ClusterFact::Ordered(ordered)) = fact {
                self.forced.extend(ordered.forced());
            }
        }
        let parts = moment.runners.iter().filter(|runner| {
            runner.believes
                && runner.spec.group.is_some()
                && (!runner.may_not_know()
                    || !self.forced.contains(&(runner.spec.name.clone(), runner.generation)))
        });
        let parts: Vec<_> = parts.collect();
        for (at, one) in parts.iter().enumerate() {
            for other in &parts[at + 1..] {
                if let (Some(a), Some(b)) = (&one.spec.group, &other.spec.group)
                    && a.name == b.name
                    && a.layout != b.layout
                {
                    return Err(format!(
                        "{} runs on n{} beside {} on n{}",
                        one.spec.name, one.node, other.spec.name, other.node
                    ));
                }
            }
        }
        Ok(())
    }
}
