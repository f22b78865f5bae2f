//! From the client's errors to the contract's.
//!
//! Only what the server or the system said is repeated; neither ever holds a password.

use etcd_client::Error;
use tenure_core::StoreError;

/// The codes of gRPC that mean something here. The client does not re-export the type that has names for them.
mod code {
    pub(super) const CANCELLED: i32 = 1;
    pub(super) const UNKNOWN: i32 = 2;
    pub(super) const DEADLINE_EXCEEDED: i32 = 4;
    pub(super) const PERMISSION_DENIED: i32 = 7;
    pub(super) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(super) const ABORTED: i32 = 10;
    pub(super) const UNAVAILABLE: i32 = 14;
    pub(super) const UNAUTHENTICATED: i32 = 16;
}

/// What etcd says of a lease that has ended.
const LEASE_NOT_FOUND: &str = "requested lease not found";
/// What it says when its quota of space is used up: it takes no writes until a person has made room.
const NO_SPACE: &str = "database space exceeded";
/// What it says of a wrong user or password, as an invalid argument; of no user at all; and of one who is not needed.
const NOT_LET_IN: [&str; 3] =
    ["authentication failed", "user name is empty", "authentication is not enabled"];

/// Turns an error of the client into one of `store`.
pub(crate) fn store_error(store: &str, doing: &str, error: Error) -> StoreError {
    let store = store.to_owned();
    match &error {
        Error::GRpcStatus(status) => {
            let message = format!("{doing}: {}", status.message());
            match status.code() as i32 {
                _ if NOT_LET_IN.iter().any(|words| status.message().contains(words)) => {
                    StoreError::Refused { store, message }
                }
                code::PERMISSION_DENIED | code::UNAUTHENTICATED => StoreError::Refused { store, message },
                code::RESOURCE_EXHAUSTED if status.message().contains(NO_SPACE) => {
                    StoreError::ReadOnly { store, message }
                }
                code::RESOURCE_EXHAUSTED => StoreError::Busy { store, message },
                code::CANCELLED
                | code::UNKNOWN
                | code::DEADLINE_EXCEEDED
                | code::ABORTED
                | code::UNAVAILABLE => StoreError::Unreachable { store, message },
                _ => StoreError::Failed { store, message, source: Some(Box::new(error)) },
            }
        }
        Error::TransportError(_) | Error::IoError(_) => {
            StoreError::Unreachable { store, message: format!("{doing}: {}", innermost(&error)) }
        }
        Error::InvalidArgs(message) => StoreError::Refused { store, message: message.clone() },
        _ => StoreError::Failed { store, message: format!("{doing}: {error}"), source: None },
    }
}

/// Whether the member that was asked is of no use just now.
pub(crate) fn is_unreachable(error: &Error) -> bool {
    match error {
        Error::GRpcStatus(status) => {
            matches!(status.code() as i32, code::CANCELLED | code::UNKNOWN | code::UNAVAILABLE)
        }
        Error::TransportError(_) | Error::IoError(_) | Error::Internal(_) => true,
        _ => false,
    }
}

/// Whether no connection was had for a request, so that it cannot have taken effect.
pub(crate) fn was_never_sent(error: &Error) -> bool {
    const NO_CONNECTION: [&str; 2] = ["tcp connect error", "dns error"];
    match error {
        Error::GRpcStatus(status) => NO_CONNECTION.iter().any(|words| status.message().contains(words)),
        _ => false,
    }
}

/// Whether etcd says that a lease has ended.
pub(crate) fn is_lease_gone(error: &Error) -> bool {
    match error {
        Error::GRpcStatus(status) => status.message().contains(LEASE_NOT_FOUND),
        Error::LeaseKeepAliveError(message) => message.contains("lease not found"),
        _ => false,
    }
}

/// The transport says only that there was an error of the transport; what is below says which.
fn innermost(error: &Error) -> String {
    let mut inner: &dyn std::error::Error = match error {
        Error::TransportError(error) => error,
        error => return error.to_string(),
    };
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
