//! A message moves along its states and never back: what is finished stays finished, and only an operator revives the dead.

use std::collections::BTreeMap;

use tenure_core::outbox::{RowId, State};

use super::Invariant;
use crate::oracle::{Fact, Moment, Mover, Standing};

/// No state goes backwards.
#[derive(Debug, Default)]
pub struct StateNeverBackwards {
    last: BTreeMap<RowId, Standing>,
}

impl Invariant for StateNeverBackwards {
    fn name(&self) -> &'static str {
        "state_never_backwards"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Moved { row, by, before, after } = fact else { continue };
            if *before != self.last.get(row).copied() {
                return Err(format!("row {} changed behind everyone's back: {before:?}", row.0));
            }
            let (Some(now), Some(then)) = (after, before) else {
                match after {
                    Some(now) => self.last.insert(*row, *now),
                    None => self.last.remove(row),
                };
                continue;
            };
            if !allowed(*by, then, now) {
                return Err(format!("row {} went from {then:?} to {now:?} by {by:?}", row.0));
            }
            self.last.insert(*row, *now);
        }
        Ok(())
    }
}

fn allowed(by: Mover, before: &Standing, after: &Standing) -> bool {
    use State::{Dead, Discarded, Dispatched, Pending};
    match (by, before.state, after.state) {
        (Mover::Relay, Pending, Pending | Dispatched | Dead) => after.attempts == before.attempts + 1,
        (Mover::Retry, Dead, Pending) => after.attempts == before.attempts,
        (Mover::Discard, Dead, Discarded) => true,
        _ => false,
    }
}
