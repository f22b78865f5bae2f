//! A connection that only reads, on a thread of its own: what takes long here holds up no renewal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{CachedStatement, Connection};
use tenure_core::StoreError;
use tenure_core::time::StoreTime;

use crate::access::{Access, Footing};
use crate::clock::{Clocks, Reading};
use crate::cluster::statements::ClusterStatements;
use crate::database::keep_plans;
use crate::error::Fault;
use crate::events::statements::EventStatements;
use crate::files::Files;
use crate::outbox::statements::OutboxStatements;
use crate::statements::Statements;
use crate::trace;

/// As many prepared statements as there are, and some.
const STATEMENT_CACHE: usize = 64;

/// What a reading connection is made of.
#[derive(Debug, Clone)]
pub(crate) struct ReaderOptions {
    pub(crate) label: String,
    pub(crate) statements: Arc<Statements>,
    pub(crate) clocks: Arc<dyn Clocks>,
    pub(crate) files: Arc<Files>,
    pub(crate) busy_timeout: Duration,
    /// How long one job may take; `None` for as long as it takes.
    pub(crate) patience: Option<Duration>,
}

/// The connection. Lives on its thread.
pub(crate) struct Reader {
    connection: Connection,
    footing: Footing,
    options: ReaderOptions,
}

/// A reading transaction: all its statements see the same. (Of a glance there is only one.)
pub(crate) struct Snapshot<'a> {
    connection: &'a Connection,
    options: &'a ReaderOptions,
}

impl Reader {
    /// Opens the files that the store has open.
    pub(crate) fn open(options: ReaderOptions) -> Result<Self, StoreError> {
        let (connection, footing) = connect(&options).map_err(|fault| fault.at(&options.label))?;
        Ok(Self { connection, footing, options })
    }

    /// Runs `job` by one snapshot of the files that were opened.
    pub(crate) fn read<T>(
        &mut self,
        job: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.read_unless(|_| Ok(None), job)
    }

    /// The same, unless `glance` has an answer already: one statement, which needs no transaction around it.
    pub(crate) fn read_unless<T>(
        &mut self,
        glance: impl FnOnce(&Snapshot<'_>) -> Result<Option<T>, Fault>,
        job: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let files = self.options.files.clone();
        files.check()?;
        if self.footing.has_moved(files.path()) {
            (self.connection, self.footing) = connect(&self.options)?;
        }
        let _watch =
            self.options.patience.map(|patience| Watch::over(&self.connection, patience)).transpose()?;
        let read = || -> Result<T, Fault> {
            if let Some(answer) = glance(&Snapshot { connection: &self.connection, options: &self.options })?
            {
                return Ok(answer);
            }
            let transaction = self.connection.unchecked_transaction()?;
            let answer = job(&Snapshot { connection: &transaction, options: &self.options })?;
            transaction.commit()?;
            Ok(answer)
        };
        let answer = read().map_err(|fault| match files.check() {
            Err(Fault::Replaced) => Fault::Replaced,
            _ => fault,
        });
        self.footing.check(files.path())?;
        answer
    }
}

/// Opens the files as the store has them: a reader of a write-ahead log writes to its index.
fn connect(options: &ReaderOptions) -> Result<(Connection, Footing), Fault> {
    let files = &options.files;
    files.check()?;
    let open = |access: Access| -> Result<Connection, Fault> {
        let connection = access.open(files.path(), false)?;
        trace::follow(&connection);
        connection.busy_timeout(options.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
        connection.execute_batch("pragma query_only = on")?;
        keep_plans(&connection)?;
        if access != Access::Write {
            // SQLite opens the file, and its log, with the first page.
            connection.execute_batch("select count(*) from sqlite_master")?;
        }
        Ok(connection)
    };
    if !files.looking() {
        return Ok((open(Access::Write)?, Footing::WRITE));
    }
    let (connection, footing) = Footing::to_look(files.path(), open)?;
    files.opened(footing.access());
    Ok((connection, footing))
}

/// How many steps of its machine SQLite takes between two looks at the clock: a millisecond or so.
const STEPS: i32 = 10_000;

/// Ends what takes too long. Dropped with the job.
struct Watch<'a>(&'a Connection);

impl<'a> Watch<'a> {
    fn over(connection: &'a Connection, patience: Duration) -> Result<Self, Fault> {
        let began = Instant::now();
        connection.progress_handler(STEPS, Some(move || began.elapsed() > patience))?;
        Ok(Self(connection))
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let _ = self.0.progress_handler(0, None::<fn() -> bool>);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.options.files.check().is_err() {
            // The last connection removes the log by its name, which may be another's.
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

impl Snapshot<'_> {
    pub(crate) fn prepare(&self, statement: &str) -> Result<CachedStatement<'_>, Fault> {
        Ok(self.connection.prepare_cached(statement)?)
    }

    pub(crate) fn outbox(&self) -> &OutboxStatements {
        &self.options.statements.outbox
    }

    pub(crate) fn statements(&self) -> &Statements {
        &self.options.statements
    }

    pub(crate) fn events(&self) -> &EventStatements {
        &self.options.statements.events
    }

    pub(crate) fn cluster(&self) -> &ClusterStatements {
        &self.options.statements.cluster
    }

    /// Both clocks.
    pub(crate) fn reading(&self) -> Reading {
        self.options.clocks.read()
    }

    /// The wall clock, which rows are stamped by.
    pub(crate) fn now(&self) -> StoreTime {
        self.options.clocks.read().wall
    }
}
