//! Everything at or below a checkpoint was handled or put aside by its subscription, whenever it was committed; and nobody
//! but an operator moves a checkpoint back.
//!
//! What an operator sends a subscription back over is to be handled again, also by a reader that handled it before he came and
//! whose place the checkpoint happens to have again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};

use tenure_core::event::Position;

use super::Invariant;
use crate::oracle::{EventFact, Fact, Moment};

/// Nothing is left behind.
#[derive(Debug, Default)]
pub struct CheckpointNeverSkips {
    visible: BTreeSet<Position>,
    subscriptions: BTreeMap<usize, Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    checkpoint: Position,
    /// Handled, put aside, or passed over by an operator, since he last sent the subscription back over it.
    done: BTreeSet<Position>,
}

impl Invariant for CheckpointNeverSkips {
    fn name(&self) -> &'static str {
        "checkpoint_never_skips"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Event(fact) = fact else { continue };
            match fact {
                EventFact::Visible { event, .. } => self.appeared(event.position)?,
                EventFact::Handled { subscription, position }
                | EventFact::Applied { subscription, position } => {
                    self.subscriptions.entry(*subscription).or_default().done.insert(*position);
                }
                EventFact::Stepped { subscription, from, to, parked } => {
                    let kept = self.subscriptions.entry(*subscription).or_default();
                    kept.done.extend(parked);
                    kept.checkpoint = *to;
                    let (from, to) = (*from, *to);
                    if to < from {
                        return Err(format!(
                            "a reader moved checkpoint {subscription} back from {from} to {to}"
                        ));
                    }
                    let passed = self.visible.range((Excluded(from), Included(to)));
                    for position in passed {
                        if !kept.done.contains(position) {
                            return Err(format!(
                                "checkpoint {subscription} went from {from} to {to} over {position}, which was not handled"
                            ));
                        }
                    }
                }
                EventFact::Rewound { subscription, to } => self.rewound(*subscription, *to),
                _ => {}
            }
        }
        Ok(())
    }
}

impl CheckpointNeverSkips {
    fn appeared(&mut self, position: Position) -> Result<(), String> {
        self.visible.insert(position);
        match self.subscriptions.iter().find(|(_, kept)| kept.checkpoint >= position) {
            None => Ok(()),
            Some((subscription, kept)) => Err(format!(
                "{position} has appeared below checkpoint {subscription}, which is at {}",
                kept.checkpoint
            )),
        }
    }

    fn rewound(&mut self, subscription: usize, to: Position) {
        let kept = self.subscriptions.entry(subscription).or_default();
        let passed_over = (Excluded(kept.checkpoint), Included(to));
        if kept.checkpoint < to {
            kept.done.extend(self.visible.range(passed_over));
        }
        let again: Vec<Position> = kept.done.range((Excluded(to), Unbounded)).copied().collect();
        for position in again {
            kept.done.remove(&position);
        }
        kept.checkpoint = to;
    }
}
