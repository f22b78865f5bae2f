//! From the driver's errors to ours.
//!
//! Only the server's message and its code are repeated, never its detail: that may hold data. No driver error holds the
//! connection string, because the driver never sees one.

use std::error::Error as _;

use deadpool_postgres::{PoolError, TimeoutType};
use tenure_core::StoreError;
use tenure_core::lease::decide::TermError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Turns a driver's error into ours. `store` is the label without secrets.
pub(crate) fn store_error(store: &str, error: Error) -> StoreError {
    let store = store.to_owned();
    let message = describe(&error);
    let Some(db) = error.as_db_error() else { return without_code(store, message, error) };
    match *db.code() {
        SqlState::UNDEFINED_TABLE | SqlState::INVALID_SCHEMA_NAME => StoreError::SchemaMissing { store },
        SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::ReadOnly { store, message },
        SqlState::LOCK_NOT_AVAILABLE
        | SqlState::QUERY_CANCELED
        | SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::TOO_MANY_CONNECTIONS => StoreError::Busy { store, message },
        SqlState::INSUFFICIENT_PRIVILEGE | SqlState::INVALID_CATALOG_NAME => {
            StoreError::Refused { store, message }
        }
        ref code if code.code().starts_with("28") => StoreError::Refused { store, message },
        // PgBouncer gives this one code to everything that it has to say itself.
        SqlState::PROTOCOL_VIOLATION if is_refusal(db.message()) => StoreError::Refused { store, message },
        ref code if is_end_of_session(code.code()) => StoreError::Unreachable { store, message },
        _ => StoreError::Failed { store, message, source: Some(Box::new(error)) },
    }
}

/// Turns the pool's error into ours.
pub(crate) fn pool_error(store: &str, error: PoolError) -> StoreError {
    let store_name = || store.to_owned();
    match error {
        PoolError::Backend(error) => store_error(store, error),
        PoolError::Timeout(TimeoutType::Wait) => {
            StoreError::Busy { store: store_name(), message: "all connections of the pool are in use".into() }
        }
        PoolError::Timeout(_) => unreachable(store, "no connection was had in time"),
        other => StoreError::Failed { store: store_name(), message: other.to_string(), source: None },
    }
}

/// Turns an error of sqlx into ours.
#[cfg(feature = "sqlx")]
pub(crate) fn sqlx_error(store: &str, error: sqlx::Error) -> StoreError {
    let store = store.to_owned();
    let Some(db) = error.as_database_error() else {
        // sqlx may put its configuration into other errors: only their kind is told, the rest is in the source.
        return StoreError::Unreachable { store, message: "the connection of sqlx gave no answer".into() };
    };
    let message = db.message().to_owned();
    match db.code().as_deref() {
        Some("42P01" | "3F000") => StoreError::SchemaMissing { store },
        Some("55P03" | "57014" | "40001" | "40P01") => StoreError::Busy { store, message },
        Some("25006") => StoreError::ReadOnly { store, message },
        Some("42501") => StoreError::Refused { store, message },
        _ => StoreError::Failed { store, message, source: None },
    }
}

/// The store does not answer.
pub(crate) fn unreachable(store: &str, message: impl Into<String>) -> StoreError {
    StoreError::Unreachable { store: store.to_owned(), message: message.into() }
}

/// A row's term cannot be trusted.
pub(crate) fn corrupt(store: &str, error: &TermError) -> StoreError {
    StoreError::Corrupt { store: store.to_owned(), message: error.to_string() }
}

/// Sessions are not real here.
pub(crate) fn pooled(store: &str, what: &str) -> StoreError {
    StoreError::Pooled {
        store: store.to_owned(),
        what: what.to_owned(),
        instead:
            "use a lease (a row with a ttl), which works through a pooler, or connect directly or in session \
                  pooling mode"
                .into(),
    }
}

/// Errors that the driver has found itself; it keeps their kind to itself, so their text must tell.
fn without_code(store: String, message: String, error: Error) -> StoreError {
    const NEVER: [&str; 3] =
        ["error performing TLS handshake", "authentication error", "invalid configuration"];
    const CUT: [&str; 4] =
        ["error communicating", "connection closed", "error connecting", "timeout waiting for server"];
    let starts = |texts: &[&str]| texts.iter().any(|text| message.starts_with(text));
    if starts(&NEVER) {
        StoreError::Refused { store, message }
    } else if error.is_closed() || starts(&CUT) {
        StoreError::Unreachable { store, message }
    } else {
        StoreError::Failed { store, message, source: Some(Box::new(error)) }
    }
}

/// Connection failures (08), and sessions that an operator, a shutdown or a timeout has ended.
fn is_end_of_session(code: &str) -> bool {
    code.starts_with("08") || matches!(code, "57P01" | "57P02" | "57P03" | "57P05" | "25P03")
}

fn is_refusal(message: &str) -> bool {
    ["does not exist", "no such database", "no such user", "authentication failed", "password", "not allowed"]
        .iter()
        .any(|part| message.contains(part))
}

fn describe(error: &Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", db.message(), db.code().code());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
