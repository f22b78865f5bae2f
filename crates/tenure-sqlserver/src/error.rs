//! From the driver's errors to faults.
//!
//! Only the server's message and its number are repeated, without the values that some messages quote.

use tenure_core::StoreError;
use tenure_sql::{Fault, FaultKind};
use tiberius::error::{Error, IoErrorKind, TokenError};

/// Turns an error of the driver into a fault.
pub(crate) fn fault(error: &Error) -> Fault {
    match error {
        Error::Server(told) => {
            Fault::new(kind(told.code(), told.class()), format!("{} (error {})", words(told), told.code()))
        }
        Error::Io { kind: IoErrorKind::TimedOut, .. } => {
            Fault::new(FaultKind::Gone, "the server did not answer in time")
        }
        Error::Io { message, .. } => Fault::new(FaultKind::Gone, message.clone()),
        Error::Tls(message) => Fault::new(FaultKind::Refused, format!("TLS: {message}")),
        Error::Routing { .. } => {
            Fault::new(FaultKind::Gone, "the server sent us from one address to another")
        }
        // What the driver did not expect: whatever the server says from here on would be read wrongly.
        Error::Protocol(what) => {
            Fault::new(FaultKind::Gone, format!("the server said what no server says: {what}"))
        }
        Error::Encoding(_) | Error::Utf8 | Error::Utf16 | Error::ParseInt(_) => {
            Fault::new(FaultKind::Gone, "the server said what cannot be read")
        }
        Error::Conversion(_) | Error::BulkInput(_) => {
            Fault::new(FaultKind::Other, "a value cannot be given to the server")
        }
        #[allow(unreachable_patterns)] // Some features of the driver add kinds.
        _ => Fault::new(FaultKind::Gone, "the connection gave no answer"),
    }
}

/// What the server said, without the values that it repeats.
fn words(told: &TokenError) -> String {
    without_values(told.code(), told.message())
}

fn without_values(code: u32, message: &str) -> String {
    match code {
        // A value that cannot be converted is quoted in the middle of the sentence.
        241 | 242 | 245 | 248 | 295 | 8114 => {
            return "a value cannot be converted to its column's type".into();
        }
        13609 | 13610 | 13612 | 13614 | 13619 => {
            return "a list of values is not the JSON that it should be".into();
        }
        _ => {}
    }
    let end = [" The duplicate key value is", " Truncated value:"]
        .iter()
        .filter_map(|mark| message.find(mark))
        .min()
        .unwrap_or(message.len());
    message[..end].to_owned()
}

/// From severity 20 on, the server closes the connection.
const FATAL: u8 = 20;

fn kind(number: u32, severity: u8) -> FaultKind {
    match number {
        2627 | 2601 => FaultKind::Duplicate,
        // A deadlock; rows that have changed since a snapshot was taken, or whose tables have.
        1205 | 3960 | 3961 | 3966 => FaultKind::Deadlock,
        // A lock not had in time; no locks, memory, threads or connections left; Azure's words for the same.
        1222 | 1204 | 701 | 802 | 8645 | 8651 | 8628 | 10928 | 10929 | 40501 | 40544 | 49918..=49920 => {
            FaultKind::Busy
        }
        208 => FaultKind::NoTable,
        // To save, or to roll back to what was saved, where no transaction is open.
        628 | 3903 | 6401 => FaultKind::NoTransaction,
        // The database is read-only, or a secondary replica.
        3906 | 3908 | 978 => FaultKind::ReadOnly,
        // Logins, databases, schemas and permissions; and an isolation at which rows cannot be passed over.
        650
        | 18401
        | 18450..=18452
        | 18456..=18463
        | 18468..=18471
        | 18486..=18488
        | 4060
        | 4062..=4064
        | 229
        | 230
        | 262
        | 297
        | 300
        | 916
        | 2760
        | 15151
        | 15247
        | 40532
        | 40615 => FaultKind::Refused,
        // Sessions that an operator or a shutdown has ended; a server or a database that is on its way up or down.
        596
        | 921
        | 922
        | 924
        | 927
        | 942
        | 945
        | 952
        | 976
        | 983
        | 4014
        | 6001..=6005
        | 9001
        | 17142
        | 17187
        | 17188
        | 17197
        | 17830
        | 17892
        | 40197
        | 40613
        | 40540 => FaultKind::Gone,
        _ if severity >= FATAL => FaultKind::Gone,
        _ => FaultKind::Other,
    }
}

/// The store does not answer.
pub(crate) fn unreachable(store: &str, message: impl Into<String>) -> StoreError {
    StoreError::Unreachable { store: store.to_owned(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_kinds() {
        for (number, expected) in [
            (2627, FaultKind::Duplicate),
            (2601, FaultKind::Duplicate),
            (1205, FaultKind::Deadlock),
            (3960, FaultKind::Deadlock),
            (3961, FaultKind::Deadlock),
            (1222, FaultKind::Busy),
            (208, FaultKind::NoTable),
            (628, FaultKind::NoTransaction),
            (3903, FaultKind::NoTransaction),
            (6401, FaultKind::NoTransaction),
            (3906, FaultKind::ReadOnly),
            (3908, FaultKind::ReadOnly),
            (18456, FaultKind::Refused),
            (4060, FaultKind::Refused),
            (650, FaultKind::Refused),
            (229, FaultKind::Refused),
            (230, FaultKind::Refused),
            (262, FaultKind::Refused),
            (596, FaultKind::Gone),
            (6005, FaultKind::Gone),
            (102, FaultKind::Other),
            (266, FaultKind::Other),
        ] {
            assert_eq!(kind(number, 16), expected, "{number}");
        }
        assert_eq!(kind(3624, 20), FaultKind::Gone);
        // The number is surer than the severity.
        assert_eq!(kind(1205, 20), FaultKind::Deadlock);
    }

    #[test]
    fn no_value_is_repeated() {
        let told = "Violation of PRIMARY KEY constraint 'PK_x'. Cannot insert duplicate key in object 'dbo.t'. The \
                    duplicate key value is (c4nary).";
        assert_eq!(
            without_values(2627, told),
            "Violation of PRIMARY KEY constraint 'PK_x'. Cannot insert duplicate key in object 'dbo.t'."
        );
        let told = "String or binary data would be truncated in table 'd.dbo.t', column 'c'. Truncated value: 'c4nary'.";
        assert!(!without_values(2628, told).contains("c4nary"));
        let told = "Conversion failed when converting the nvarchar value 'c4nary' to data type int.";
        assert!(!without_values(245, told).contains("c4nary"));
        assert_eq!(without_values(208, "Invalid object name 't'."), "Invalid object name 't'.");
    }

    #[test]
    fn what_is_no_answer_of_the_server_ends_the_connection() {
        for error in [
            Error::Protocol("x".into()),
            Error::Utf8,
            Error::Io { kind: IoErrorKind::UnexpectedEof, message: "x".into() },
            Error::Io { kind: IoErrorKind::TimedOut, message: "x".into() },
        ] {
            assert_eq!(fault(&error).kind, FaultKind::Gone, "{error:?}");
        }
        assert_eq!(fault(&Error::Tls("x".into())).kind, FaultKind::Refused);
    }
}
