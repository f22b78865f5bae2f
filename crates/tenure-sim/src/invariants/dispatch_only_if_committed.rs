//! Nothing leaves a relay for a message that is not a committed row.

use std::collections::BTreeSet;

use tenure_core::outbox::RowId;

use super::Invariant;
use crate::oracle::{Fact, Moment};

/// What is sent was committed.
#[derive(Debug, Default)]
pub struct DispatchOnlyIfCommitted {
    committed: BTreeSet<RowId>,
}

impl Invariant for DispatchOnlyIfCommitted {
    fn name(&self) -> &'static str {
        "dispatch_only_if_committed"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Committed(commitment) => {
                    self.committed.insert(commitment.row);
                }
                Fact::Sent { row } if !self.committed.contains(row) => {
                    return Err(format!("row {} was sent, but never committed", row.0));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
