//! A renewal or a release changes the row of the exact grant that asked, and nothing else of it than it may.

use tenure_core::id::Unique;
use tenure_core::lease::{LeaseRecord, Term};

use super::Invariant;
use crate::oracle::{Asker, Fact, Moment};

/// The row is changed only by whom it names.
#[derive(Debug, Default)]
pub struct LeaseChangedOnlyByTerm;

impl Invariant for LeaseChangedOnlyByTerm {
    fn name(&self) -> &'static str {
        "lease_changed_only_by_term"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Row(change) = fact else { continue };
            judge(&change.asker, change.before.as_ref(), change.after.as_ref())?;
        }
        Ok(())
    }
}

fn judge(asker: &Asker, before: Option<&LeaseRecord>, after: Option<&LeaseRecord>) -> Result<(), String> {
    match asker {
        Asker::Renewal { term, incarnation } => exact("renewal", *term, *incarnation, before, after),
        Asker::Release { term, incarnation } => exact("release", *term, *incarnation, before, after),
        Asker::Claim { incarnation, claim } => {
            let after = after.ok_or("a claim removed the row")?;
            let named = after.node.incarnation == *incarnation && after.claim == *claim;
            if named { Ok(()) } else { Err(format!("a claim gave term {} to someone else", after.term)) }
        }
        Asker::Operator => match (before, after) {
            (Some(before), Some(after)) if same_grant(before, after) => Ok(()),
            _ => Err("an operator's revocation changed whose row it is".into()),
        },
        Asker::Hand => Ok(()),
    }
}

fn exact(
    what: &str,
    term: Term,
    incarnation: Unique,
    before: Option<&LeaseRecord>,
    after: Option<&LeaseRecord>,
) -> Result<(), String> {
    let (Some(before), Some(after)) = (before, after) else {
        return Err(format!("a {what} of term {term} made or removed a row"));
    };
    if before.term != term || before.node.incarnation != incarnation {
        return Err(format!("a {what} of term {term} changed the row of term {}", before.term));
    }
    if same_grant(before, after) {
        Ok(())
    } else {
        Err(format!("a {what} of term {term} changed whose row it is"))
    }
}

fn same_grant(before: &LeaseRecord, after: &LeaseRecord) -> bool {
    before.term == after.term
        && before.node == after.node
        && before.claim == after.claim
        && before.acquired_at == after.acquired_at
}
