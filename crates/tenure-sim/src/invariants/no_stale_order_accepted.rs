//! An order is carried out only for whoever holds the lease that it names: a deposed leader places nothing, and a node that
//! is over says nothing.

use std::collections::BTreeMap;

use tenure_core::cluster::Answer;
use tenure_core::lease::{LeaseName, Term};

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment};

/// An order that was carried out carries the newest term of its lease.
#[derive(Debug, Default)]
pub struct NoStaleOrderAccepted {
    newest: BTreeMap<LeaseName, Term>,
}

impl Invariant for NoStaleOrderAccepted {
    fn name(&self) -> &'static str {
        "no_stale_order_accepted"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Cluster(ClusterFact::Granted { lease, term }) => {
                    let newest = self.newest.entry(lease.clone()).or_insert(*term);
                    *newest = (*newest).max(*term);
                }
                Fact::Cluster(ClusterFact::Ordered(ordered)) => {
                    let done = matches!(ordered.answer, Answer::Done(_));
                    if let Some(fence) = ordered.order.fence().filter(|_| done)
                        && self.newest.get(&fence.lease) != Some(&fence.term)
                    {
                        let newest = self.newest.get(&fence.lease);
                        return Err(format!(
                            "an order under {fence} was taken; the newest term is {newest:?}"
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
