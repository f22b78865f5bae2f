//! What a measurement needs of a database, whichever it is.

use std::time::Duration;

use async_trait::async_trait;
use tenure::{Database, NewMessage};

use super::mysql::MySqlRig;
use super::postgres::PostgresRig;
use super::sqlite::SqliteRig;
use crate::args::Global;
use crate::output::Failure;
use crate::store;

/// How events are appended while it is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appends {
    /// By how many at once.
    pub(crate) writers: u32,
    /// Without a dispatch each.
    pub(crate) events_only: bool,
    /// For how long.
    pub(crate) lasts: Duration,
}

/// A place for one run, with a way past Tenure to the tables.
#[async_trait]
pub(in crate::bench) trait Rig: Send + Sync {
    /// What the report calls it.
    fn store(&self) -> &'static str;

    /// Tenure on this place.
    fn database(&self) -> &Database;

    /// The URL and the schema by which another process finds it.
    fn address(&self) -> (String, Option<String>);

    /// Inserts messages in one statement, as a foreign program would: `count` of them, spread over `sources`; none for
    /// messages without a source. With `parked`, all are of one source of that name.
    async fn fill(&self, count: u64, sources: u32, parked: bool) -> Result<(), Failure>;

    /// Inserts messages that were delivered long ago.
    async fn fill_finished(&self, count: u64) -> Result<(), Failure>;

    /// Removes every message.
    async fn clear(&self) -> Result<(), Failure>;

    /// Lets the database come to rest: what earlier steps left over must not be paid for by the next one.
    async fn settle(&self) -> Result<(), Failure>;

    /// Rows per second of the plainest loop: read a batch of a queue in order, delete it, note one attempt for each.
    async fn ceiling(&self, count: u64, batch: u32) -> Result<f64, Failure>;

    /// Bytes that were written to the log so far, where they can be told.
    async fn log_bytes(&self) -> Result<Option<u64>, Failure>;

    /// A connection of the user's own.
    async fn producer(&self) -> Result<Box<dyn Producer>, Failure>;

    /// Inserts so many events of earlier days, a hundred in each stream.
    async fn fill_events(&self, count: u64) -> Result<(), Failure>;

    /// Events and messages appended per second by the plainest means: the rows inserted into the same tables in one
    /// transaction, and on a server in one round trip.
    async fn by_hand(&self, appends: Appends) -> Result<f64, Failure>;

    /// Runs statements past Tenure, in the place of the run.
    async fn run(&self, statements: String) -> Result<(), Failure>;

    /// Removes everything.
    async fn remove(&self) -> Result<(), Failure>;
}

/// A user's own connection.
#[async_trait]
pub(in crate::bench) trait Producer: Send {
    /// Begins, enqueues one message, commits.
    async fn enqueue(&mut self, message: &NewMessage) -> Result<(), Failure>;

    /// The same with a bare insert of the same row into a table that nothing watches.
    async fn bare(&mut self, message: &NewMessage) -> Result<(), Failure>;
}

/// The place on the database that the command line names.
pub(in crate::bench) async fn rig(global: &Global) -> Result<Box<dyn Rig>, Failure> {
    let url = store::database_url(global)?;
    match url.split(':').next() {
        Some("postgres" | "postgresql") => Ok(Box::new(PostgresRig::new(url).await?)),
        Some("mysql" | "mariadb") => Ok(Box::new(MySqlRig::new(url).await?)),
        Some("sqlite") => Ok(Box::new(SqliteRig::new(url).await?)),
        _ => Err(Failure::Usage(
            "this is measured on sqlite:, postgres:, mysql: and mariadb: databases".into(),
        )),
    }
}
