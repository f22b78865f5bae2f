//! What a node says of a daemon counts only for the very placement that it is about: the node, the term of its lease, the
//! generation.

use tenure_core::cluster::{Answer, DaemonName, Order};
use tenure_core::id::NodeName;
use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment, Ordered};

/// An acknowledgement, a confirmation or a failure that was taken is about what is there.
#[derive(Debug, Default)]
pub struct DaemonChangedOnlyByGeneration;

impl Invariant for DaemonChangedOnlyByGeneration {
    fn name(&self) -> &'static str {
        "daemon_changed_only_by_generation"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Cluster(ClusterFact::Ordered(ordered)) = fact else { continue };
            let Answer::Done(verdicts) = &ordered.answer else { continue };
            let (node, term, said) = match &*ordered.order {
                Order::Acknowledge { fence, node, daemons } | Order::Confirm { fence, node, daemons, .. } => {
                    (node, fence.term, daemons.clone())
                }
                Order::Fail { fence, node, daemon, generation, .. } => {
                    (node, fence.term, vec![(daemon.clone(), *generation)])
                }
                _ => continue,
            };
            for ((daemon, generation), verdict) in said.iter().zip(verdicts) {
                if verdict.is_taken() {
                    is_about_it(ordered, (node, term), daemon, *generation)?;
                }
            }
        }
        Ok(())
    }
}

fn is_about_it(
    ordered: &Ordered,
    (node, term): (&NodeName, Term),
    daemon: &DaemonName,
    generation: Term,
) -> Result<(), String> {
    let before = ordered.before.get(daemon);
    let place = before.and_then(|before| before.place.as_ref());
    let its = place.is_some_and(|(at, under)| at == node && *under == term)
        && before.is_some_and(|before| before.generation == Some(generation));
    if its {
        return Ok(());
    }
    let generation_there = before.and_then(|before| before.generation);
    Err(format!(
        "what {node} says of {daemon}, generation {generation}, was taken; it is at {place:?}, generation {generation_there:?}"
    ))
}
