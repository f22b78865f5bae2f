//! The highest terms this process has seen: a store that went back in time must not make it lead.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tenure_core::id::Unique;
use tenure_core::lease::{Grant, LeaseName, Term};

use crate::error::LeaseError;

/// One entry for every lease that this process ever asked for.
#[derive(Debug, Default)]
pub(super) struct TermMemory {
    seen: Mutex<BTreeMap<LeaseName, Seen>>,
}

/// The highest term seen of a lease, and the claim of ours that it was granted to, if it was.
#[derive(Debug, Clone, Copy)]
struct Seen {
    term: Term,
    ours: Option<Unique>,
}

impl TermMemory {
    /// Notes the term that someone else holds. A lower one than before is no harm until it is granted to us.
    pub(super) fn note_held(&self, name: &LeaseName, term: Term) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = seen.entry(name.clone()).or_insert(Seen { term, ours: None });
        if term > highest.term {
            *highest = Seen { term, ours: None };
        }
    }

    /// Notes a term granted to us; refuses one that is not above every other seen before.
    pub(super) fn note_granted(&self, grant: &Grant) -> Result<(), LeaseError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let granted = Seen { term: grant.term, ours: Some(grant.claim) };
        let highest = seen.entry(grant.name.clone()).or_insert(granted);
        if grant.term < highest.term || grant.term == highest.term && highest.ours != Some(grant.claim) {
            let lease = grant.name.clone();
            return Err(LeaseError::TermWentBack { lease, granted: grant.term, seen: highest.term });
        }
        *highest = granted;
        Ok(())
    }
}
