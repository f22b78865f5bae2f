//! The history tells the whole story: each grant begins once, ends once, and ends before the next begins.
//!
//! Only a row deleted by hand leaves a beginning without an end; nobody can write a line about a row that is not there.

use std::collections::BTreeSet;

use tenure_core::lease::{Cause, Change, Term};

use super::Invariant;
use crate::oracle::{Asker, Fact, Moment};

/// Every grant has its lines.
#[derive(Debug, Default)]
pub struct HistoryComplete {
    begun: Option<Term>,
    /// Whether the grant that began last has ended, or lost its row.
    closed: bool,
    ended: BTreeSet<Term>,
}

impl Invariant for HistoryComplete {
    fn name(&self) -> &'static str {
        "history_complete"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let mut announced = None;
        for fact in moment.facts {
            match fact {
                Fact::Line(line) => self.line(line)?,
                Fact::Row(change) if change.asker == Asker::Hand => self.closed = true,
                Fact::Granted { term } => announced = Some(*term),
                _ => {}
            }
        }
        match announced {
            Some(term) if self.begun != Some(term) => {
                Err(format!("term {term} began without a line of history"))
            }
            _ => Ok(()),
        }
    }
}

impl HistoryComplete {
    fn line(&mut self, line: &Change) -> Result<(), String> {
        if line.cause == Cause::Acquired { self.begins(line.term) } else { self.ends(line) }
    }

    fn begins(&mut self, term: Term) -> Result<(), String> {
        if let Some(begun) = self.begun {
            if term <= begun {
                return Err(format!("the history lets term {term} begin after term {begun}"));
            }
            if !self.closed {
                return Err(format!("term {term} began, but term {begun} never ended"));
            }
        }
        (self.begun, self.closed) = (Some(term), false);
        Ok(())
    }

    fn ends(&mut self, line: &Change) -> Result<(), String> {
        let Change { term, cause, .. } = line;
        if self.begun != Some(*term) {
            return Err(format!("term {term} was {cause}, but it is not the one that began last"));
        }
        if !self.ended.insert(*term) {
            return Err(format!("term {term} was {cause}, but had ended before"));
        }
        self.closed = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::id::{Node, NodeName, Unique};
    use tenure_core::lease::LeaseName;
    use tenure_core::time::StoreTime;

    use super::*;

    fn line(term: u64, cause: Cause) -> Fact {
        let node = Node {
            name: NodeName::new("n0").unwrap(),
            incarnation: Unique::from_u128(1),
            machine: "m".into(),
            pid: 1,
        };
        let name = LeaseName::new("lease").unwrap();
        Fact::Line(Change {
            name,
            term: Term::new(term).unwrap(),
            cause,
            node,
            at: StoreTime::from_micros(0),
            id: None,
        })
    }

    fn judge(facts: &[Fact]) -> Result<(), String> {
        let now = StoreTime::from_micros(0);
        HistoryComplete::default().check(&Moment { now, facts, believers: &[], runners: &[] })
    }

    #[test]
    fn a_missing_line_and_a_line_too_many_are_seen() {
        use Cause::{Acquired, Expired, Released};
        assert_eq!(judge(&[line(1, Acquired), line(1, Expired), line(2, Acquired)]), Ok(()));
        assert!(judge(&[line(1, Acquired), line(2, Acquired)]).unwrap_err().contains("never ended"));
        assert!(
            judge(&[line(1, Acquired), line(1, Released), line(1, Expired)])
                .unwrap_err()
                .contains("ended before")
        );
        assert!(judge(&[line(2, Acquired), line(2, Released), line(1, Acquired)]).is_err());
        assert!(judge(&[line(1, Released)]).is_err());
        assert!(judge(&[Fact::Granted { term: Term::FIRST }]).unwrap_err().contains("without a line"));
    }
}
