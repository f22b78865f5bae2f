//! The contestants that append events: one file each, with the settings that it is measured with.

pub(crate) mod plain;
pub(crate) mod postgres_es;

use std::future::Future;

use crate::Result;
use crate::args::Args;

/// An event store.
pub(crate) trait Store: 'static {
    type Writer: Writer;

    /// Creates its tables in an empty database.
    fn setup(args: &Args) -> impl Future<Output = Result<()>> + Send;

    /// As many writers as there are to be connections.
    fn writers(args: &Args) -> impl Future<Output = Result<Vec<Self::Writer>>> + Send;
}

/// A user who appends.
pub(crate) trait Writer: Send + 'static {
    /// Appends one event, which becomes `version` of the stream, in a transaction of its own, and with it one message for the
    /// outbox if the store has one. Fails unless the stream is at the version before.
    fn append(&mut self, stream: &str, version: u32, order: u64) -> impl Future<Output = Result<()>> + Send;
}
