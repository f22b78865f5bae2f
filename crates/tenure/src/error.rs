//! What can go wrong with a lease, besides someone else holding it.

use tenure_core::StoreError;
use tenure_core::id::NameError;
use tenure_core::lease::{LeaseName, SettingsError, Term};

/// A lease could not be had, kept or given back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The name was refused.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The settings do not fit together.
    #[error("lease settings: {0}")]
    Settings(#[from] SettingsError),
    /// The store gave no answer; the outcome is unknown.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store granted a term that is not above one seen before: it was restored from a backup, or replaced.
    #[error(
        "lease {lease} was granted with term {granted}, but this process has already seen term {seen}: the store went \
         back in time (a restored backup, a promoted replica); refusing to lead"
    )]
    TermWentBack {
        /// The lease.
        lease: LeaseName,
        /// The term that was granted.
        granted: Term,
        /// The highest term seen before.
        seen: Term,
    },
    /// The task that made the call ended without an answer.
    #[error("the task behind this call ended without an answer")]
    Aborted,
}
