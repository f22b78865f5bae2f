//! The attempts of a message are numbered 1, 2, 3 without a gap or a double, and what was written stays written.

use std::collections::BTreeMap;

use tenure_core::outbox::RowId;

use super::Invariant;
use crate::oracle::{Fact, Moment};

/// Attempts are only added.
#[derive(Debug, Default)]
pub struct AttemptsAppendOnly {
    counts: BTreeMap<RowId, usize>,
}

impl Invariant for AttemptsAppendOnly {
    fn name(&self) -> &'static str {
        "attempts_append_only"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Attempts { row, numbers } => self.judge(*row, numbers)?,
                Fact::Moved { row, after: None, .. } => {
                    self.counts.remove(row);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl AttemptsAppendOnly {
    fn judge(&mut self, row: RowId, numbers: &[u32]) -> Result<(), String> {
        let before = self.counts.insert(row, numbers.len()).unwrap_or(0);
        let in_order = numbers.iter().zip(1u32..).all(|(number, expected)| *number == expected);
        if !in_order {
            return Err(format!("the attempts of row {} are numbered {numbers:?}", row.0));
        }
        if numbers.len() < before {
            return Err(format!("row {} had {before} attempts, and has {}", row.0, numbers.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_a_double_and_a_loss_are_seen() {
        let judge = |numbers: &[u32]| AttemptsAppendOnly::default().judge(RowId(1), numbers);
        assert_eq!(judge(&[1, 2, 3]), Ok(()));
        assert!(judge(&[1, 3]).is_err() && judge(&[1, 1]).is_err() && judge(&[2]).is_err());
        let mut invariant = AttemptsAppendOnly::default();
        invariant.judge(RowId(1), &[1, 2]).unwrap();
        assert!(invariant.judge(RowId(1), &[1]).unwrap_err().contains("had 2"));
    }
}
