//! Terms rise, strictly and for ever: over releases, expiry, crashes, a deleted row and restarts of the store.

use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{Fact, Moment};

/// Every new grant has a higher term than all before it.
#[derive(Debug, Default)]
pub struct TokenMonotonic {
    highest: Option<Term>,
}

impl Invariant for TokenMonotonic {
    fn name(&self) -> &'static str {
        "token_monotonic"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Granted { term } = fact else { continue };
            if let Some(highest) = self.highest
                && *term <= highest
            {
                return Err(format!("term {term} was granted after term {highest}"));
            }
            self.highest = Some(*term);
        }
        Ok(())
    }
}
