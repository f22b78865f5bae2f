//! At no true moment do two nodes believe that they hold the lease, as long as clocks drift no more than documented.
//!
//! Belief begins only in a step and ends by itself, so that a look after every step sees every overlap. A term that an
//! operator ended by force, or whose row was deleted by hand, does not count: there the overlap is the documented price.

use std::collections::BTreeSet;

use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{Fact, Moment};

/// At most one node believes.
#[derive(Debug, Default)]
pub struct OneBelieverWithinDrift {
    overruled: BTreeSet<Term>,
}

impl OneBelieverWithinDrift {
    /// The name, for worlds whose clocks break the premise.
    pub const NAME: &'static str = "one_believer_within_drift";
}

impl Invariant for OneBelieverWithinDrift {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            if let Fact::Overruled { term } = fact {
                self.overruled.insert(*term);
            }
        }
        let mut counted = moment.believers.iter().filter(|believer| !self.overruled.contains(&believer.term));
        match (counted.next(), counted.next()) {
            (Some(one), Some(other)) => Err(format!(
                "n{} believes in term {} and n{} in term {}",
                one.node, one.term, other.node, other.term
            )),
            _ => Ok(()),
        }
    }
}
