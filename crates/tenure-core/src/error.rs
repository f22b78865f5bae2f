//! What a store can answer instead of yes or no.
//!
//! Outcomes such as "someone else holds it" are not errors; they are variants of the outcome enums. An error means that
//! the outcome is **unknown**: for acting it counts as "no", for cleaning up as "maybe yes".

use std::error::Error;

type Source = Box<dyn Error + Send + Sync + 'static>;

/// A store could not give an answer.
///
/// Messages never hold a connection string or a payload.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be reached, or the connection broke: the call may or may not have taken effect.
    #[error("{store} cannot be reached: {message}")]
    Unreachable {
        /// Which store, without secrets.
        store: String,
        /// What went wrong.
        message: String,
    },
    /// The store refused the credentials or the permission; trying again will not help.
    #[error("{store} refused: {message}")]
    Refused {
        /// Which store, without secrets.
        store: String,
        /// What it said.
        message: String,
    },
    /// The store cannot be written to: a replica, a read-only file or a read-only transaction.
    #[error("{store} is read-only: {message}; Tenure needs a store that can be written to")]
    ReadOnly {
        /// Which store, without secrets.
        store: String,
        /// What it said.
        message: String,
    },
    /// Tenure's tables are not there.
    #[error("{store} has no Tenure schema; create it with `tenure migrate --db URL`")]
    SchemaMissing {
        /// Which store, without secrets.
        store: String,
    },
    /// Tenure's tables are older than this program needs.
    #[error(
        "{store} has Tenure schema version {found}, this program needs {known}; run `tenure migrate --db URL`"
    )]
    SchemaOlder {
        /// Which store, without secrets.
        store: String,
        /// The version found.
        found: u32,
        /// The version this program needs.
        known: u32,
    },
    /// Tenure's tables were made by a newer program.
    #[error(
        "{store} has Tenure schema version {found}, but this program knows only up to {known}; use a newer tenure"
    )]
    SchemaNewer {
        /// Which store, without secrets.
        store: String,
        /// The version found.
        found: u32,
        /// The newest version this program knows.
        known: u32,
    },
    /// The store is busy: a lock was not had in time.
    #[error("{store} is busy: {message}")]
    Busy {
        /// Which store, without secrets.
        store: String,
        /// What it said.
        message: String,
    },
    /// Sessions are not real here: a transaction pooler stands between.
    #[error(
        "{store}: a transaction pooler stands between this program and the database, so {what} cannot work: \
         the server's session changes from statement to statement; {instead}"
    )]
    Pooled {
        /// Which store, without secrets.
        store: String,
        /// What was asked for.
        what: String,
        /// What to do instead.
        instead: String,
    },
    /// A row or a file holds what no version of Tenure wrote, or a term went back.
    #[error("{store} cannot be trusted: {message}")]
    Corrupt {
        /// Which store, without secrets.
        store: String,
        /// What is wrong with it.
        message: String,
    },
    /// Anything else the driver reported.
    #[error("{store}: {message}")]
    Failed {
        /// Which store, without secrets.
        store: String,
        /// What was being done and what went wrong.
        message: String,
        /// The driver's own error.
        #[source]
        source: Option<Source>,
    },
}

impl StoreError {
    /// Whether the same call may succeed later without anyone changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Busy { .. } | Self::Failed { .. })
    }
}
