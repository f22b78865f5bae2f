//! What SQLite and the file system report, in the words of the contract.
//!
//! Inside the crate a failure is a [`Fault`], which does not know which store it happened on; it becomes a [`StoreError`]
//! where it leaves. Messages name the database file, never a statement or a value.

use std::fmt;
use std::io;

use rusqlite::ErrorCode;
use tenure_core::StoreError;
use tenure_core::lease::decide::TermError;
use tenure_core::subscription::Backward;

/// Nothing that is tried again on the same connection helps.
const REPLACED: &str = "the database file or its write-ahead log was removed or replaced since it was opened; this \
                        program must be restarted to use what is there now";

/// Why a job on the connection gave no answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite said so.
    Sqlite(rusqlite::Error),
    /// A row holds what no version of Tenure wrote.
    Corrupt(String),
    /// A file of the database is not the one that was opened: what was granted there is lost.
    Replaced,
    /// The files cannot be reached now.
    Unreachable(String),
    /// Anything else.
    Failed(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<TermError> for Fault {
    fn from(error: TermError) -> Self {
        Self::Corrupt(error.to_string())
    }
}

impl From<Backward> for Fault {
    fn from(back: Backward) -> Self {
        Self::Failed(back.to_string())
    }
}

/// What the reader of rows says: it does not know the store either.
impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt { message, .. } => Self::Corrupt(message),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl Fault {
    /// This fault, as an error of the store with this label.
    pub(crate) fn at(self, label: &str) -> StoreError {
        let store = label.to_owned();
        match self {
            Self::Sqlite(error) => sqlite(store, error),
            Self::Corrupt(message) => StoreError::Corrupt { store, message },
            Self::Replaced => StoreError::Refused { store, message: REPLACED.into() },
            Self::Unreachable(message) => StoreError::Unreachable { store, message },
            Self::Failed(message) => StoreError::Failed { store, message, source: None },
        }
    }

    /// Whether a lock was not had in time.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(error) if matches!(
            error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        ))
    }

    /// Whether the file, or what belongs beside it, could not be opened as it was wanted.
    pub(crate) fn is_about_rights(&self) -> bool {
        matches!(self, Self::Sqlite(error) if matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
        ))
    }

    /// Whether Tenure's tables are not there.
    pub(crate) fn is_missing_table(&self) -> bool {
        matches!(self, Self::Sqlite(error) if message(error).starts_with("no such table"))
    }
}

fn sqlite(store: String, error: rusqlite::Error) -> StoreError {
    let message = message(&error);
    if message.starts_with("no such table") {
        return StoreError::SchemaMissing { store };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy {
            store,
            message: "another connection kept its lock for longer than busy_timeout".into(),
        },
        // Only what looks for a person is ever broken off.
        Some(ErrorCode::OperationInterrupted) => StoreError::Busy {
            store,
            message: "the question took longer than browse_timeout; ask for less".into(),
        },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { store, message },
        Some(ErrorCode::NotADatabase) => {
            StoreError::Corrupt { store, message: "the file is not a SQLite database".into() }
        }
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { store, message },
        Some(ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            StoreError::Refused { store, message }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            StoreError::Unreachable { store, message }
        }
        Some(ErrorCode::DiskFull) => {
            StoreError::Failed { store, message: "the disk is full".into(), source: Some(error.into()) }
        }
        // A column that cannot be read: the driver's words hold its place and type, not its value.
        None if is_about_a_value(&error) => StoreError::Corrupt { store, message },
        _ => StoreError::Failed { store, message, source: Some(error.into()) },
    }
}

/// What SQLite said, without the statement that the driver's own text quotes.
fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

fn is_about_a_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
    )
}

/// An error of the file system around the database.
pub(crate) fn file_system(label: &str, doing: impl fmt::Display, error: &io::Error) -> StoreError {
    let (store, message) = (label.to_owned(), format!("{doing}: {error}"));
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { store, message },
        io::ErrorKind::PermissionDenied => StoreError::Refused { store, message },
        _ => StoreError::Unreachable { store, message },
    }
}
