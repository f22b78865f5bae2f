//! What must hold after every step, one file each. The names are those of the catalogue of failures.

mod history_complete;
mod lease_changed_only_by_term;
mod no_stale_write_accepted;
mod one_believer_within_drift;
mod token_monotonic;

use std::fmt;

pub use history_complete::HistoryComplete;
pub use lease_changed_only_by_term::LeaseChangedOnlyByTerm;
pub use no_stale_write_accepted::NoStaleWriteAccepted;
pub use one_believer_within_drift::OneBelieverWithinDrift;
pub use token_monotonic::TokenMonotonic;

use crate::oracle::Moment;

/// One thing that must always hold.
pub trait Invariant: fmt::Debug {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Looks at one step; says what is wrong, if something is.
    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String>;
}

/// Every invariant of leases.
pub fn all() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::<TokenMonotonic>::default(),
        Box::<LeaseChangedOnlyByTerm>::default(),
        Box::<NoStaleWriteAccepted>::default(),
        Box::<OneBelieverWithinDrift>::default(),
        Box::<HistoryComplete>::default(),
    ]
}
