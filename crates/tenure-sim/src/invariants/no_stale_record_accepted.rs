//! No row of the outbox is changed by a relay that is no longer in office, however late its record arrives.

use tenure_core::lease::Term;

use super::Invariant;
use crate::oracle::{Fact, Moment};

/// An accepted record carries the newest term there is.
#[derive(Debug, Default)]
pub struct NoStaleRecordAccepted {
    newest: Option<Term>,
}

impl Invariant for NoStaleRecordAccepted {
    fn name(&self) -> &'static str {
        "no_stale_record_accepted"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Granted { term } => self.newest = self.newest.max(Some(*term)),
                Fact::Recorded { term, accepted: true } if self.newest != Some(*term) => {
                    return Err(format!(
                        "a relay's record under term {term} was accepted; the newest term is {}",
                        self.newest.map_or_else(|| "none".into(), |newest| newest.to_string())
                    ));
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

    #[test]
    fn a_record_of_a_former_term_is_seen() {
        let mut invariant = NoStaleRecordAccepted::default();
        let mut judge = |fact| {
            invariant.check(&Moment {
                now: StoreTime::from_micros(0),
                facts: &[fact],
                believers: &[],
                runners: &[],
            })
        };
        let (first, second) = (Term::FIRST, Term::new(2).unwrap());
        judge(Fact::Granted { term: first }).unwrap();
        judge(Fact::Recorded { term: first, accepted: true }).unwrap();
        judge(Fact::Granted { term: second }).unwrap();
        judge(Fact::Recorded { term: first, accepted: false }).unwrap();
        assert!(judge(Fact::Recorded { term: first, accepted: true }).is_err());
    }
}
