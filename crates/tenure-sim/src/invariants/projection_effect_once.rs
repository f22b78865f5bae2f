//! A projection that moves the checkpoint in its own transaction takes each event in once, until an operator sends it back.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use tenure_core::event::Position;

use super::Invariant;
use crate::oracle::{EventFact, Fact, Moment};

/// No event is taken in twice, or out of order.
#[derive(Debug, Default)]
pub struct ProjectionEffectOnce {
    applied: BTreeMap<usize, BTreeSet<Position>>,
}

impl Invariant for ProjectionEffectOnce {
    fn name(&self) -> &'static str {
        "projection_effect_once"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Event(EventFact::Applied { subscription, position }) => {
                    let applied = self.applied.entry(*subscription).or_default();
                    if let Some(last) = applied.last().filter(|last| *last >= position) {
                        return Err(format!(
                            "subscription {subscription} has taken {position} in when it was at {last}"
                        ));
                    }
                    applied.insert(*position);
                }
                Fact::Event(EventFact::Rewound { subscription, to }) => {
                    let applied = self.applied.entry(*subscription).or_default();
                    let again: Vec<Position> = applied.range((Excluded(*to), Unbounded)).copied().collect();
                    for position in again {
                        applied.remove(&position);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::EPOCH;

    #[test]
    fn a_second_effect_is_seen_unless_an_operator_asked_for_it() {
        let applied = |position| EventFact::Applied { subscription: 0, position: Position(position) };
        let mut invariant = ProjectionEffectOnce::default();
        let mut check = |fact| {
            let facts = [Fact::Event(fact)];
            invariant.check(&Moment { now: EPOCH, facts: &facts, believers: &[], runners: &[] })
        };
        assert_eq!((check(applied(1)), check(applied(2))), (Ok(()), Ok(())));
        assert_eq!(check(EventFact::Rewound { subscription: 0, to: Position(1) }), Ok(()));
        assert_eq!(check(applied(2)), Ok(()));
        assert!(check(applied(2)).is_err() && check(applied(1)).is_err());
    }
}
