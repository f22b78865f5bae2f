//! The fence holds: what a former holder sends, however late it arrives, changes nothing.
//!
//! This one has no premise about clocks. It holds when clocks drift beyond every ratio, when an operator forces a
//! holder out, and when someone deletes the row.

use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{Fact, Moment};

/// An accepted write carries the newest term there is.
#[derive(Debug, Default)]
pub struct NoStaleWriteAccepted {
    newest: Option<Term>,
}

impl Invariant for NoStaleWriteAccepted {
    fn name(&self) -> &'static str {
        "no_stale_write_accepted"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Granted { term } => self.newest = self.newest.max(Some(*term)),
                Fact::Write { term, accepted: true } if self.newest != Some(*term) => {
                    let newest = self.newest.map_or_else(|| "none".into(), |newest| newest.to_string());
                    return Err(format!(
                        "a write under term {term} was accepted; the newest term is {newest}"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
