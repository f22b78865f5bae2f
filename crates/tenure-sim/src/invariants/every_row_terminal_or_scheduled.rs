//! Every committed message is finished, or has a time at which it is tried; nothing is forgotten, and nothing is deleted that is
//! not finished.

use std::collections::BTreeSet;

use tenure_core::outbox::{RowId, State};

use super::Invariant;
use crate::oracle::{Fact, Moment, Standing};

/// No message is lost from sight.
#[derive(Debug, Default)]
pub struct EveryRowTerminalOrScheduled {
    /// Rows that were committed in this step and must show up.
    announced: BTreeSet<RowId>,
}

impl Invariant for EveryRowTerminalOrScheduled {
    fn name(&self) -> &'static str {
        "every_row_terminal_or_scheduled"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Committed(commitment) => {
                    self.announced.insert(commitment.row);
                }
                Fact::Moved { row, before, after, .. } => {
                    self.announced.remove(row);
                    judge(*row, before.as_ref(), after.as_ref())?;
                }
                _ => {}
            }
        }
        match self.announced.pop_first() {
            Some(row) => Err(format!("row {} was committed, but is not to be found", row.0)),
            None => Ok(()),
        }
    }
}

fn judge(row: RowId, before: Option<&Standing>, after: Option<&Standing>) -> Result<(), String> {
    match (before, after) {
        (_, Some(Standing { state: State::Pending, due_at: None, .. })) => {
            Err(format!("row {} is pending, but never due", row.0))
        }
        (Some(Standing { state: State::Pending, .. } | Standing { halts: true, .. }), None) => {
            Err(format!("row {} was deleted while it was pending or held its source", row.0))
        }
        _ => Ok(()),
    }
}
