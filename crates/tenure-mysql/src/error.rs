//! From the driver's errors to faults.
//!
//! Only the server's message and its number are repeated. sqlx may put its configuration into other errors: of those only the
//! kind is told.

use sqlx::mysql::MySqlDatabaseError;
use tenure_core::StoreError;
use tenure_sql::{Fault, FaultKind};

/// Turns an error of the driver into a fault.
pub(crate) fn fault(error: &sqlx::Error) -> Fault {
    match error {
        sqlx::Error::Database(db) => match db.try_downcast_ref::<MySqlDatabaseError>() {
            Some(db) => Fault::new(kind(db.number()), format!("{} (error {})", words(db), db.number())),
            None => Fault::new(FaultKind::Other, db.message().to_owned()),
        },
        sqlx::Error::Io(error) => Fault::new(FaultKind::Gone, error.to_string()),
        sqlx::Error::Tls(error) => Fault::new(FaultKind::Refused, format!("TLS: {error}")),
        sqlx::Error::Protocol(what) => {
            Fault::new(FaultKind::Gone, format!("the server said what no server says: {what}"))
        }
        sqlx::Error::Configuration(_) => {
            Fault::new(FaultKind::Refused, "the connection's options cannot be used")
        }
        _ => Fault::new(FaultKind::Gone, "the connection gave no answer"),
    }
}

/// What the server said, without the value that it repeats where a key is there already.
fn words(db: &MySqlDatabaseError) -> String {
    if kind(db.number()) == FaultKind::Duplicate {
        let key = db.message().rsplit(" for key ").next().filter(|key| *key != db.message());
        return format!(
            "the value is there already{}",
            key.map(|key| format!(" in {key}")).unwrap_or_default()
        );
    }
    db.message().to_owned()
}

fn kind(number: u16) -> FaultKind {
    match number {
        1062 | 1586 => FaultKind::Duplicate,
        // A deadlock; a record that has changed since the snapshot was taken (MariaDB).
        1213 | 1020 => FaultKind::Deadlock,
        // A lock not had in time or at once; a statement that took too long; too many connections.
        1205 | 3572 | 3024 | 1969 | 1317 | 1040 | 1203 | 1226 => FaultKind::Busy,
        // What a statement of ours says on purpose; see must_have_met.sql.
        1690 => FaultKind::Unmet,
        // A savepoint that is not there.
        1305 => FaultKind::NoTransaction,
        1146 => FaultKind::NoTable,
        1290 | 1792 | 1836 => FaultKind::ReadOnly,
        1044 | 1045 | 1049 | 1130 | 1142 | 1143 | 1227 | 1251 | 1370 | 1410 | 1419 | 1698 => {
            FaultKind::Refused
        }
        // Sessions that an operator, a shutdown or a timeout has ended.
        1053 | 1077 | 1079 | 1080 | 1152 | 1153 | 1158..=1161 | 1184 | 1927 | 4031 => FaultKind::Gone,
        _ => FaultKind::Other,
    }
}

/// The store does not answer.
pub(crate) fn unreachable(store: &str, message: impl Into<String>) -> StoreError {
    StoreError::Unreachable { store: store.to_owned(), message: message.into() }
}
