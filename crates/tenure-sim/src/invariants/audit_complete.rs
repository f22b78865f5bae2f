//! What an operator changes he is told of, and it is written down: each message once, however many ask at once.

use super::Invariant;
use crate::oracle::{Fact, Moment};

/// One change, one line.
#[derive(Debug, Default)]
pub struct AuditComplete;

impl Invariant for AuditComplete {
    fn name(&self) -> &'static str {
        "audit_complete"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            if let Fact::Steered { changed, told, audited } = fact
                && (changed != audited || told > changed)
            {
                return Err(format!("{changed} messages changed, {told} were told, {audited} lines written"));
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
    fn a_missing_line_is_seen() {
        let judge = |changed, told, audited| {
            let facts = [Fact::Steered { changed, told, audited }];
            let now = StoreTime::from_micros(0);
            AuditComplete.check(&Moment { now, facts: &facts, believers: &[], runners: &[] })
        };
        // A row whose id is no UUID cannot be told of.
        assert!(judge(2, 2, 2).is_ok() && judge(2, 1, 2).is_ok());
        assert!(judge(2, 2, 1).is_err() && judge(0, 1, 0).is_err());
    }
}
