//! The one connection: how it is opened, what is made sure of, and how it writes.
//!
//! - The journal is a write-ahead log, so that readers and the writer do not block each other, and every commit reaches
//!   the disk (`synchronous = full`): a grant that was answered survives a power cut.
//! - Every writing transaction is `begin immediate`. A deferred one fails at once, without waiting, when it has read and
//!   another process wrote before its own first write.
//! - The database file is never opened other than by SQLite: closing any descriptor of a file drops all POSIX locks that
//!   this process has on it.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, TransactionBehavior};
use tenure_core::StoreError;

use crate::access::{Access, Footing};
use crate::clock::Clocks;
use crate::error::{Fault, file_system};
use crate::files::Files;
use crate::options::SqliteOptions;
use crate::renewal::Remembered;
use crate::statements::Statements;
use crate::trace;
use crate::wakeup::OwnWrites;
use crate::writing::Writing;

/// How long to wait before asking again for a lock that SQLite does not wait for by itself.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(10);
/// For how long others count as active after one of them has written.
const OTHERS_ACTIVE_FOR: Duration = Duration::from_secs(5);
/// As many prepared statements as there are, and some.
const STATEMENT_CACHE: usize = 96;
/// How much of the file a connection keeps in memory: 8 MiB, which SQLite wants as a negative number.
const CACHE_KIB: i64 = -8 * 1024;

/// The connection with what its jobs need. Lives on the worker's thread.
pub(crate) struct Database {
    pub(crate) connection: Connection,
    pub(crate) statements: Arc<Statements>,
    pub(crate) clocks: Arc<dyn Clocks>,
    files: Arc<Files>,
    footing: Footing,
    busy_timeout: Duration,
    own_writes: Arc<OwnWrites>,
    pub(crate) remembered: Remembered,
    /// The database's version when it was last asked for: it changes when another connection has committed.
    version: Option<i64>,
    /// When another connection was last found to have written.
    others_at: Option<Instant>,
}

impl Database {
    /// Opens the file, and makes sure that it can be written to, unless it is only to be looked at.
    pub(crate) fn open(
        options: &SqliteOptions,
        label: &str,
        statements: Arc<Statements>,
        clocks: Arc<dyn Clocks>,
        own_writes: Arc<OwnWrites>,
    ) -> Result<Self, StoreError> {
        let path = &options.path;
        if path.is_dir() {
            let message = "it is a directory; name a file in it".into();
            return Err(StoreError::Refused { store: label.into(), message });
        }
        let (connection, footing) = open_somehow(options).map_err(|fault| explain(fault, path, label))?;
        let path = fs::canonicalize(path).map_err(|error| file_system(label, "its path", &error))?;
        let files = Arc::new(Files::of(&path, footing.access()));
        let busy_timeout = options.busy_timeout;
        Ok(Self {
            connection,
            statements,
            clocks,
            files,
            footing,
            busy_timeout,
            own_writes,
            remembered: Remembered::default(),
            version: None,
            others_at: None,
        })
    }

    /// The files that it has open, by their real paths, whatever links lead to them.
    pub(crate) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// Runs `job` on the files that were opened; on others, nothing it could say would count.
    pub(crate) fn run<T>(&mut self, job: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.files.check()?;
        if self.footing.has_moved(self.files.path()) {
            self.open_anew()?;
        }
        let answer = job(self).map_err(|fault| match self.files.check() {
            // SQLite stumbles over files that are gone in many ways; this is the reason.
            Err(Fault::Replaced) => Fault::Replaced,
            _ => fault,
        });
        self.footing.check(self.files.path())?;
        answer
    }

    /// Looks at what is there now, where it was written to a file that nobody should have changed.
    fn open_anew(&mut self) -> Result<(), Fault> {
        let (path, busy_timeout) = (self.files.path(), self.busy_timeout);
        (self.connection, self.footing) = Footing::to_look(path, |access| look(access, path, busy_timeout))?;
        self.files.opened(self.footing.access());
        Ok(())
    }

    /// Runs `job` in one writing transaction, and commits it unless it fails.
    pub(crate) fn write<T>(
        &mut self,
        job: impl FnOnce(&Writing<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let _own = self.own_writes.begin();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Again, now that the lock was had: waiting for it may have taken a while.
        self.files.check()?;
        // So is the clock read.
        let now = self.clocks.read();
        let answer = job(&Writing { connection: &transaction, statements: &self.statements, now })?;
        transaction.commit()?;
        Ok(answer)
    }

    /// Runs one statement that commits by itself and answers, if it wrote, with the database's version. Answers whether it
    /// wrote: it does not when the lock is not to be had at once.
    pub(crate) fn write_at_once(
        &mut self,
        run: impl FnOnce(&Connection, &Statements) -> Result<Option<i64>, Fault>,
    ) -> Result<bool, Fault> {
        let own_writes = self.own_writes.clone();
        self.connection.busy_timeout(Duration::ZERO)?;
        let quiet = own_writes.begin_quietly();
        let written = run(&self.connection, &self.statements);
        let alone = quiet.end();
        self.connection.busy_timeout(self.busy_timeout)?;
        // Who committed before us shows by the version; one who may have done so right after us is asked for. Not where
        // nobody else writes: should one begin at this very moment, the next renewal tells.
        let others_before = self.is_changed(written.as_ref().ok().copied().flatten());
        let active = self.others_at.is_some_and(|at| at.elapsed() < OTHERS_ACTIVE_FOR);
        if others_before || (!alone && active && self.is_changed_by_another()) {
            own_writes.ring();
        }
        match written {
            Ok(version) => Ok(version.is_some()),
            Err(fault) if fault.is_busy() => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Whether another connection is writing, or has committed since this was last asked. When in doubt, it is.
    pub(crate) fn is_changed_by_another(&mut self) -> bool {
        let read = || -> rusqlite::Result<i64> {
            self.connection.busy_timeout(Duration::ZERO)?;
            // Who holds the lock may have written to the log what does not show yet. Once nobody has it, everything shows
            // that was written before.
            self.connection.prepare_cached(&self.statements.lock_probe)?.execute([])?;
            self.connection.prepare_cached(&self.statements.data_version)?.query_row([], |row| row.get(0))
        };
        let version = read().ok();
        let restored = self.connection.busy_timeout(self.busy_timeout);
        self.is_changed(version) || restored.is_err()
    }

    /// Whether the version is another than it was when last asked for. One that could not be had is.
    fn is_changed(&mut self, version: Option<i64>) -> bool {
        let before = std::mem::replace(&mut self.version, version);
        let changed = version.is_none() || version != before;
        if changed && before.is_some() {
            self.others_at = Some(Instant::now());
        }
        changed
    }

    /// Moves what is in the log into the database file, so that a copy of that file alone has it too. Best effort, and
    /// without waiting for anyone: what stays in the log is safe there.
    pub(crate) fn empty_log(&self) {
        let emptied = self
            .connection
            .busy_timeout(Duration::ZERO)
            .and_then(|()| self.checkpoint("pragma wal_checkpoint(truncate)"));
        if let Err(error) = emptied.and(self.connection.busy_timeout(self.busy_timeout)) {
            tracing::debug!(%error, "the log was not emptied");
        }
    }

    fn checkpoint(&self, pragma: &str) -> rusqlite::Result<()> {
        self.connection.query_row(pragma, [], |_| Ok(()))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let ours = self.files.check().is_ok();
        self.files.close();
        let left = if ours {
            self.checkpoint("pragma wal_checkpoint(passive)")
        } else {
            // The last connection writes its log into the file and removes the log by its name: both may be another's.
            self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
        };
        if let Err(error) = left {
            tracing::debug!(%error, "the log was left as it is");
        }
    }
}

/// Opens the file to write, or, where only looking is wanted and nothing else can be had, to read.
fn open_somehow(options: &SqliteOptions) -> Result<(Connection, Footing), Fault> {
    let (path, busy_timeout) = (&options.path, options.busy_timeout);
    let open = || -> Result<Connection, Fault> {
        let connection = Access::Write.open(path, options.create)?;
        trace::follow(&connection);
        settle(&connection, busy_timeout)?;
        Ok(connection)
    };
    match open() {
        Err(fault) if options.looking && fault.is_about_rights() => {
            Footing::to_look(path, |access| look(access, path, busy_timeout))
        }
        opened => Ok((opened?, Footing::WRITE)),
    }
}

/// Opens the file only to read, and makes sure that it can be read.
fn look(access: Access, path: &Path, busy_timeout: Duration) -> Result<Connection, Fault> {
    let connection = access.open(path, false)?;
    trace::follow(&connection);
    settle_to_look(&connection, busy_timeout)?;
    Ok(connection)
}

/// Keeps the plan of a statement whatever is bound to it, and enough of the file in memory: where SQLite was built with
/// statistics of values it would otherwise plan a look anew for each of its parts.
pub(crate) fn keep_plans(connection: &Connection) -> Result<(), Fault> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    Ok(())
}

/// Sets the connection up, and proves that it can write.
fn settle(connection: &Connection, busy_timeout: Duration) -> Result<(), Fault> {
    connection.busy_timeout(busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    keep_plans(connection)?;
    if connection.is_readonly(MAIN_DB)? {
        return Err(read_only());
    }
    // For the change to a write-ahead log SQLite does not wait, and many processes may start at once.
    let deadline = Instant::now() + busy_timeout;
    loop {
        match prove(connection) {
            Err(fault) if fault.is_busy() && Instant::now() < deadline => thread::sleep(ASK_AGAIN_AFTER),
            settled => return settled,
        }
    }
}

/// Sets a connection up that only reads, and proves that it can.
fn settle_to_look(connection: &Connection, busy_timeout: Duration) -> Result<(), Fault> {
    connection.busy_timeout(busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    keep_plans(connection)?;
    connection.execute_batch("pragma query_only = on; select count(*) from sqlite_master")?;
    Ok(())
}

fn prove(connection: &Connection) -> Result<(), Fault> {
    let mode: String = connection.query_row("pragma journal_mode = wal", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::Failed(format!(
            "the journal stays in mode {mode}; leases need a write-ahead log"
        )));
    }
    connection.execute_batch("pragma synchronous = full; begin immediate; rollback")?;
    Ok(())
}

fn read_only() -> Fault {
    Fault::Sqlite(rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error { code: ErrorCode::ReadOnly, extended_code: rusqlite::ffi::SQLITE_READONLY },
        Some("the file cannot be written to".into()),
    ))
}

/// SQLite says only that it "cannot open": finds out what a person can do about it.
fn explain(fault: Fault, path: &Path, label: &str) -> StoreError {
    let cannot_open =
        matches!(&fault, Fault::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen));
    if !cannot_open {
        return fault.at(label);
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let unreachable =
        |message: &str| StoreError::Unreachable { store: label.into(), message: message.into() };
    if !directory.is_dir() {
        return unreachable("its directory does not exist");
    }
    match try_directory(directory) {
        Err(error) => file_system(label, "its directory cannot be written to", &error),
        Ok(()) if !path.exists() => unreachable("no such file, and it is not to be created"),
        Ok(()) => fault.at(label),
    }
}

/// Whether files can be created in the directory, found out by doing it.
fn try_directory(directory: &Path) -> io::Result<()> {
    let probe = directory.join(format!(".tenure-probe-{}", std::process::id()));
    OpenOptions::new().write(true).create(true).truncate(false).open(&probe)?;
    fs::remove_file(&probe)
}
