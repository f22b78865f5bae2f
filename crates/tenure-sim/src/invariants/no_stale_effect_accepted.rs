//! The fence of a daemon holds: what a former generation sends, however late it arrives, changes nothing.

use std::collections::BTreeMap;

use tenure_core::cluster::DaemonName;
use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment};

/// An accepted effect carries the newest generation there is.
#[derive(Debug, Default)]
pub struct NoStaleEffectAccepted {
    newest: BTreeMap<DaemonName, Term>,
}

impl Invariant for NoStaleEffectAccepted {
    fn name(&self) -> &'static str {
        "no_stale_effect_accepted"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Cluster(ClusterFact::Granted { lease, term }) => {
                    if let Some(daemon) = DaemonName::of_lease(lease) {
                        let newest = self.newest.entry(daemon).or_insert(*term);
                        *newest = (*newest).max(*term);
                    }
                }
                Fact::Cluster(ClusterFact::Effect { daemon, generation, accepted: true }) => {
                    let newest = self.newest.get(daemon);
                    if newest != Some(generation) {
                        return Err(format!(
                            "an effect of {daemon}, generation {generation}, was accepted; the newest is {newest:?}"
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
