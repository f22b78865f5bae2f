//! What a store can do here and now, as plain data: shown at start, on the dashboard and in the docs.

use serde::Serialize;

/// The abilities of a store as it was found at start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// The kind of store: `postgres`, `sqlite`, `memory` …
    pub store: String,
    /// Whether a holder's death is noticed at once by the end of its session.
    pub presence: bool,
    /// Whether a frozen or cut-off holder is noticed by its silence, before its ttl ends.
    pub silence: bool,
    /// Whether a fence can be checked in the user's own transaction.
    pub fence_in_transaction: bool,
    /// What was found out at start and limits the above, for a person to read.
    pub notes: Vec<String>,
}
