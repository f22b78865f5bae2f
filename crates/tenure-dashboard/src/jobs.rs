//! Bulk changes under way.

/// The bulk changes of this process.
#[derive(Debug, Default)]
pub(crate) struct Jobs {}
