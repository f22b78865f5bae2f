//! A relay makes each attempt once: what it has recorded no look brings back to it, and before it has recorded an attempt it
//! makes no other.

use std::collections::BTreeSet;

use tenure_core::lease::Term;
use tenure_core::outbox::RowId;

use super::Invariant;
use crate::oracle::{Fact, Moment};

/// No relay repeats an attempt.
#[derive(Debug, Default)]
pub struct AttemptTriedOnce {
    tried: BTreeSet<(Term, RowId, u32)>,
}

impl Invariant for AttemptTriedOnce {
    fn name(&self) -> &'static str {
        "attempt_tried_once"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            if let Fact::Tried { term, row, attempt } = fact
                && !self.tried.insert((*term, *row, *attempt))
            {
                return Err(format!(
                    "the relay of term {term} made attempt {attempt} of row {} twice",
                    row.0
                ));
            }
        }
        Ok(())
    }
}
