//! Generations of a daemon rise, strictly and for ever: over moves, failures, retirement and a new beginning.

use std::collections::BTreeMap;

use tenure_core::cluster::DaemonName;
use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment};

/// Every placement has a higher generation than all before it.
#[derive(Debug, Default)]
pub struct GenerationsRise {
    highest: BTreeMap<DaemonName, Term>,
}

impl Invariant for GenerationsRise {
    fn name(&self) -> &'static str {
        "generations_rise"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Cluster(ClusterFact::Ordered(ordered)) = fact else { continue };
            for (_, daemon) in ordered.granted() {
                let (name, Some(generation)) = (daemon.name(), daemon.generation) else { continue };
                if let Some(highest) = self.highest.insert(name.clone(), generation)
                    && generation <= highest
                {
                    return Err(format!("{name} was placed as generation {generation} after {highest}"));
                }
            }
        }
        Ok(())
    }
}
