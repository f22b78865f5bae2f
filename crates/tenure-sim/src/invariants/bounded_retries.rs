//! A message has its budget of attempts and not one more, until an operator gives it another.

use std::collections::BTreeMap;

use tenure_core::outbox::{RowId, State};

use super::Invariant;
use crate::oracle::{Fact, Moment, Mover};

/// Nothing is tried for ever.
#[derive(Debug, Default)]
pub struct BoundedRetries {
    budget: u32,
    /// How many attempts a message had when an operator retried it.
    forgiven: BTreeMap<RowId, u32>,
}

impl Invariant for BoundedRetries {
    fn name(&self) -> &'static str {
        "bounded_retries"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Budget(budget) => self.budget = *budget,
                Fact::Moved { row, by, after: Some(after), .. } => {
                    if *by == Mover::Retry {
                        self.forgiven.insert(*row, after.attempts);
                    }
                    let used = after.attempts.saturating_sub(self.forgiven.get(row).copied().unwrap_or(0));
                    let spent = after.state == State::Pending && used >= self.budget;
                    if spent || used > self.budget {
                        return Err(format!(
                            "row {} has used {used} of {} attempts and is {:?}",
                            row.0, self.budget, after.state
                        ));
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
    use tenure_core::time::StoreTime;

    use super::*;
    use crate::oracle::Standing;

    fn moved(by: Mover, state: State, attempts: u32) -> Fact {
        let after = Some(Standing { state, attempts, due_at: None, halts: false });
        Fact::Moved { row: RowId(1), by, before: None, after }
    }

    fn judge(facts: &[Fact]) -> Result<(), String> {
        let now = StoreTime::from_micros(0);
        BoundedRetries::default().check(&Moment { now, facts, believers: &[], runners: &[] })
    }

    #[test]
    fn one_attempt_too_many_is_seen_and_a_retry_gives_a_new_budget() {
        let budget = Fact::Budget(3);
        let spent = moved(Mover::Relay, State::Dead, 3);
        assert_eq!(judge(&[budget.clone(), moved(Mover::Relay, State::Pending, 2), spent.clone()]), Ok(()));
        assert!(judge(&[budget.clone(), moved(Mover::Relay, State::Pending, 3)]).is_err());
        assert!(judge(&[budget.clone(), moved(Mover::Relay, State::Dead, 4)]).is_err());
        let retry = moved(Mover::Retry, State::Pending, 3);
        assert_eq!(judge(&[budget, spent, retry, moved(Mover::Relay, State::Dispatched, 6)]), Ok(()));
    }
}
