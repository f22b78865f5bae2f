//! From the driver's errors to faults.
//!
//! Only the server's message and its number are repeated. sqlx may put its configuration into other errors: of those only the
//! kind is told.

use sqlx::mysql::MySqlDatabaseError;
use tenure_core::StoreError;
use tenure_sql::{Fault, FaultKind};

/// What the server says of a statement that is larger than it takes.
const TOO_LARGE: u16 = 1153;

/// Turns an error of the driver into a fault.
pub(crate) fn fault(error: &sqlx::Error) -> Fault {
    match error {
        sqlx::Error::Database(db) => match db.try_downcast_ref::<MySqlDatabaseError>() {
            Some(db) => Fault::new(kind(db.number()), format!("{} (error {})", words(db), db.number())),
            None => Fault::new(FaultKind::Other, db.message().to_owned()),
        },
        // What TLS has against the other side comes as this, and stays so.
        sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Fault::new(FaultKind::Refused, format!("TLS: {error}"))
        }
        sqlx::Error::Io(error) => Fault::new(FaultKind::Gone, error.to_string()),
        sqlx::Error::Tls(error) => Fault::new(FaultKind::Refused, format!("TLS: {error}")),
        sqlx::Error::Protocol(what) if what.contains("authentication plugin") => {
            Fault::new(FaultKind::Refused, format!("the server asks for what the driver cannot do: {what}"))
        }
        sqlx::Error::Protocol(what) => {
            Fault::new(FaultKind::Gone, format!("the server said what no server says: {what}"))
        }
        sqlx::Error::Configuration(_) => {
            let message = "the connection's options cannot be used; a password of the kind caching_sha2_password or \
                           sha256_password wants TLS: use ssl-mode=REQUIRED or VERIFY_IDENTITY";
            Fault::new(FaultKind::Refused, message)
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
    if db.number() == TOO_LARGE {
        return format!("{}: the server takes no message of this size, see max_allowed_packet", db.message());
    }
    without_account(db.message())
}

/// Without who it was, `'user'@'host'`: labels of stores name no user, and neither do their errors.
fn without_account(message: &str) -> String {
    let Some((before, after)) = message.split_once("'@'") else { return message.to_owned() };
    match (before.rsplit_once('\''), after.split_once('\'')) {
        (Some((before, _)), Some((_, after))) => format!("{}{after}", before.replace("user ", "this user")),
        _ => message.to_owned(),
    }
}

fn kind(number: u16) -> FaultKind {
    match number {
        // A key; a column or a routine that a migration would add.
        1062 | 1586 | 1060 | 1061 | 1304 => FaultKind::Duplicate,
        // A deadlock; a record that has changed since the snapshot was taken (MariaDB).
        1213 | 1020 => FaultKind::Deadlock,
        // A lock not had in time or at once; a statement that took too long; too many connections.
        1205 | 3572 | 3024 | 1969 | 1317 | 1040 | 1203 | 1226 => FaultKind::Busy,
        // What a statement of ours says on purpose; see must_have_met.sql.
        1690 => FaultKind::Unmet,
        // A text that cannot be read in the session's mode, or not be prepared, or not one more.
        1064 | 1295 | 1461 => FaultKind::Unprepared,
        // A savepoint that is not there; or a routine, which has the same number.
        1305 => FaultKind::NoTransaction,
        1146 => FaultKind::NoTable,
        1290 | 1792 | 1836 => FaultKind::ReadOnly,
        1044 | 1045 | 1049 | 1130 | 1142 | 1143 | 1227 | 1251 | 1370 | 1410 | 1419 | 1698 => {
            FaultKind::Refused
        }
        // A statement that is too large: it would be so at every try. The server closes the connection behind it.
        TOO_LARGE => FaultKind::Refused,
        // The binary log takes nothing that is written at isolation READ COMMITTED; see `statement_log`.
        1665 => FaultKind::Refused,
        // Sessions that an operator, a shutdown or a timeout has ended.
        1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1184 | 1927 | 4031 => FaultKind::Gone,
        _ => FaultKind::Other,
    }
}

/// A statement that the server would not take.
pub(crate) fn too_large(bytes: usize, most: usize) -> Fault {
    let message = format!(
        "a statement of about {bytes} bytes is more than the server takes in one piece: its max_allowed_packet is {most}. \
         Nothing was sent. Raise max_allowed_packet on the server (sessions opened from then on have it), or enqueue fewer \
         messages at once; where one alone is too large, lower the payload limit to below it"
    );
    Fault::new(FaultKind::Refused, message)
}

/// The store does not answer.
pub(crate) fn unreachable(store: &str, message: impl Into<String>) -> StoreError {
    StoreError::Unreachable { store: store.to_owned(), message: message.into() }
}

/// The server cannot be written to, and so nothing that is locked there means anything.
pub(crate) fn read_only(store: &str) -> StoreError {
    let message = "read_only is on: it is a replica, or was set so; connect to the primary".into();
    StoreError::ReadOnly { store: store.to_owned(), message }
}

/// Whatever is written by our sessions would fail there.
pub(crate) fn statement_log(store: &str) -> StoreError {
    let message = "binlog_format is STATEMENT: a server that logs so takes no writes at isolation READ COMMITTED, which \
                   Tenure uses; set binlog_format to ROW or MIXED, for the server and not only for a session"
        .into();
    StoreError::Refused { store: store.to_owned(), message }
}

/// Sessions are not real here.
pub(crate) fn pooled(store: &str, what: &str) -> StoreError {
    StoreError::Pooled {
        store: store.to_owned(),
        what: what.to_owned(),
        instead: "use a lease (a row with a ttl), which works there too, or connect directly to the one server that \
                  takes writes"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_named() {
        let said = "Access denied for user 'locked'@'127.0.0.1' (using password: YES)";
        assert_eq!(without_account(said), "Access denied for this user (using password: YES)");
        assert_eq!(without_account("it's a table"), "it's a table");
    }

    #[test]
    fn what_fails_at_every_try_is_no_broken_connection() {
        assert_eq!(kind(TOO_LARGE), FaultKind::Refused);
        for ended in [1053, 1152, 1158, 1161, 4031] {
            assert_eq!(kind(ended), FaultKind::Gone, "{ended}");
        }
    }
}
