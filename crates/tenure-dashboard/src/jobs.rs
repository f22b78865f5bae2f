//! Bulk changes under way.

use serde_json::{Value, json};

/// The most messages that one job changes.
pub(crate) const LIMIT_MAX: u32 = 1_000_000;

/// The bulk changes of this process.
#[derive(Debug, Default)]
pub(crate) struct Jobs {}

/// What a job looks like to programs.
pub(crate) fn schema() -> Value {
    json!({ "type": "object" })
}
