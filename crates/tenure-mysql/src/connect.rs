//! Opening connections.
//!
//! The socket lives on the runtime on which the store was opened, whichever runtime a call comes from: a connection must not
//! die with a short-lived runtime of a caller. Only when that runtime has ended is a caller's own used.
//!
//! The driver sets no keepalives on its sockets. What stands in for them: every call has a limit, after which its connection
//! is given up, and the server ends sessions that are silent.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tenure_core::StoreError;
use tenure_sql::{Columns as _, Fault, Row};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::error::{fault, read_only, statement_log, unreachable};
use crate::options::MySqlOptions;
use crate::session::Link;
use crate::statements::{self, GREETING, Limits};

/// How much longer than the server's own limit we wait for an answer.
const GRACE: Duration = Duration::from_secs(2);

/// What is left at least for a first statement, however long the opening took.
const LEAST: Duration = Duration::from_millis(100);

/// Which of the two it is: they differ in the names of a few settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    MySql,
    MariaDb,
}

impl Flavour {
    /// Whether the server makes one statement of several (`BEGIN NOT ATOMIC`).
    pub(crate) fn has_blocks(self) -> bool {
        self == Self::MariaDb
    }
}

/// What the server has said of itself.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) flavour: Flavour,
    pub(crate) version: String,
    /// Whether names of databases that differ only by case are one.
    pub(crate) folds_names: bool,
    /// Whether several servers take writes, each with locks of its own.
    pub(crate) many_writers: Option<&'static str>,
}

/// Opens connections to one server.
#[derive(Clone)]
pub(crate) struct Connector {
    server: MySqlConnectOptions,
    handle: Handle,
    label: Arc<str>,
    limit: Duration,
    patience: Duration,
}

/// The driver's own options would show the password.
impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("store", &self.label).finish_non_exhaustive()
    }
}

impl Connector {
    pub(crate) fn new(options: &MySqlOptions, handle: Handle) -> Result<Self, StoreError> {
        Ok(Self {
            server: options.server()?.disable_statement_logging(),
            handle,
            label: options.label().into(),
            limit: options.connect_timeout,
            patience: options.statement_timeout + GRACE,
        })
    }

    /// The same with its connections on another runtime.
    pub(crate) fn on(&self, handle: Handle) -> Self {
        Self { handle, ..self.clone() }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Opens a connection as the server has it.
    pub(crate) async fn open(&self) -> Result<Link, StoreError> {
        match self.dial(&self.handle).await {
            Some(opened) => opened,
            // The runtime of the store has ended.
            None => match Handle::try_current() {
                Ok(own) => self.dial(&own).await.unwrap_or_else(|| Err(self.runtime_ended())),
                Err(_) => Err(self.runtime_ended()),
            },
        }
    }

    /// The same, and how much of the time is left for what is said first.
    async fn open_in_time(&self) -> Result<(Link, Duration), StoreError> {
        let began = Instant::now();
        let link = self.open().await?;
        Ok((link, self.limit.saturating_sub(began.elapsed()).max(LEAST)))
    }

    /// Dials on a runtime; `None` if that has ended.
    async fn dial(&self, handle: &Handle) -> Option<Result<Link, StoreError>> {
        let (server, limit) = (self.server.clone(), self.limit);
        let task = handle.spawn(async move { timeout(limit, MySqlConnection::connect_with(&server)).await });
        let _stop = StopOnDrop(task.abort_handle());
        Some(match task.await.ok()? {
            Ok(Ok(connection)) => Ok(Link::new(connection, handle.clone(), self.patience)),
            Ok(Err(error)) => Err(fault(&error).into_error(&self.label)),
            Err(_) => Err(unreachable(&self.label, format!("no connection within {limit:?}"))),
        })
    }

    /// Opens one with our limits and our isolation.
    pub(crate) async fn open_for_work(&self, limits: &Limits, flavour: Flavour) -> Result<Link, StoreError> {
        let (mut link, left) = self.open_in_time().await?;
        match link.texts_within(left, limits.session(flavour)).await {
            Ok(_) => Ok(link.on(flavour)),
            Err(fault) => Err(self.explain(fault)),
        }
    }

    /// Opens one that only holds locks or waits for them. Answers with the number that the server knows it by.
    ///
    /// On a replica locks can be had, and mean nothing: no holder's session is with it. The address may lead to one since
    /// the start, so each of these connections asks.
    pub(crate) async fn open_for_locks(
        &self,
        role: &'static str,
        idle: Duration,
        flavour: Flavour,
    ) -> Result<(Link, i64), StoreError> {
        let (mut link, left) = self.open_in_time().await?;
        let said = link.row(left, statements::lock_session(role, idle, flavour)).await;
        let said = said.map_err(|fault| self.explain(fault))?;
        if is_on(&said, "read_only") {
            return Err(read_only(&self.label));
        }
        match said.number("id") {
            Ok(Some(id)) => Ok((link, id)),
            _ => Err(unreachable(&self.label, "the server did not number a session")),
        }
    }

    /// Asks the server what it is, and whether it can be written to.
    pub(crate) async fn greet(&self) -> Result<Greeting, StoreError> {
        let mut link = self.open().await?;
        let answers = link.texts(GREETING.into()).await.map_err(|fault| self.explain(fault))?;
        link.close().await;
        let [hello, settings] = answers.as_slice() else {
            return Err(unreachable(&self.label, "the server did not say what it is"));
        };
        let row = hello.rows.first();
        let row = row.ok_or_else(|| unreachable(&self.label, "the server did not say what it is"))?;
        if is_on(row, "read_only") {
            return Err(read_only(&self.label));
        }
        if logs_statements(&settings.rows) {
            return Err(statement_log(&self.label));
        }
        let version = row.text("version").ok().flatten().unwrap_or_default();
        let maria = version.to_ascii_lowercase().contains("mariadb");
        Ok(Greeting {
            flavour: if maria { Flavour::MariaDb } else { Flavour::MySql },
            version,
            folds_names: row.number("folds").ok().flatten().unwrap_or_default() != 0,
            many_writers: many_writers(&settings.rows),
        })
    }

    fn explain(&self, fault: Fault) -> StoreError {
        fault.into_error(&self.label)
    }

    fn runtime_ended(&self) -> StoreError {
        unreachable(&self.label, "the runtime of the store has ended")
    }
}

/// Ends a task that nobody waits for any more.
struct StopOnDrop(AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether a setting is on: a number, or a word.
fn is_on(row: &Row, column: &str) -> bool {
    let text = row.text(column).ok().flatten().unwrap_or_default();
    !matches!(text.to_ascii_uppercase().as_str(), "" | "0" | "OFF")
}

/// Whether the server writes statements, as they were said, into a binary log.
fn logs_statements(settings: &[Row]) -> bool {
    let of = |row: &Row, column| row.text(column).ok().flatten().unwrap_or_default().to_ascii_uppercase();
    let named = |name: &str| settings.iter().find(|row| of(row, "Variable_name") == name);
    named("LOG_BIN").is_some_and(|row| is_on(row, "Value"))
        && named("BINLOG_FORMAT").is_some_and(|row| of(row, "Value") == "STATEMENT")
}

/// Why the server is one of several that take writes at once, if so: each of them has locks and counters of its own.
fn many_writers(settings: &[Row]) -> Option<&'static str> {
    settings.iter().find_map(|row| {
        let name = row.text("Variable_name").ok().flatten().unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "wsrep_on" if is_on(row, "Value") => Some(
                "this server is a node of a Galera cluster: each node gives out positions of its own, and readers would \
                 miss events; keep events on a single server",
            ),
            "group_replication_single_primary_mode" if !is_on(row, "Value") => Some(
                "this server is one of several primaries of a group: each gives out positions of its own, and readers \
                 would miss events; set group_replication_single_primary_mode",
            ),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use tenure_sql::Cell;

    use super::*;

    fn setting(name: &str, value: &str) -> Row {
        let names: Arc<[String]> = ["Variable_name".to_owned(), "Value".to_owned()].into();
        Row::new(names, vec![Cell::Text(name.to_owned()), Cell::Text(value.to_owned())])
    }

    #[test]
    fn clusters_of_many_writers_are_known() {
        let why = |name, value| many_writers(&[setting(name, value)]);
        assert!(why("wsrep_on", "ON").is_some_and(|why| why.contains("Galera")));
        let group = why("group_replication_single_primary_mode", "OFF");
        assert!(group.is_some_and(|why| why.contains("primaries")));
        assert_eq!(why("wsrep_on", "OFF"), None);
        assert_eq!(why("group_replication_single_primary_mode", "ON"), None);
        assert_eq!(many_writers(&[]), None);
    }

    #[test]
    fn a_log_of_statements_is_refused_only_where_there_is_one() {
        let said = |log, format| [setting("log_bin", log), setting("binlog_format", format)];
        assert!(logs_statements(&said("ON", "STATEMENT")));
        assert!(!logs_statements(&said("ON", "ROW")) && !logs_statements(&said("ON", "MIXED")));
        assert!(!logs_statements(&said("OFF", "STATEMENT")), "MariaDB without a log says so by default");
    }

    #[tokio::test]
    async fn no_debug_text_holds_the_password() {
        let options = MySqlOptions::from_url("mysql://u:c4nary@h/d").unwrap();
        let connector = Connector::new(&options, Handle::current()).unwrap();
        assert!(!format!("{connector:?} {connector:#?}").contains("c4nary"));
    }

    #[test]
    fn a_setting_is_on_by_number_and_by_word() {
        for (value, on) in [("ON", true), ("1", true), ("NO_LOCK", true), ("OFF", false), ("0", false)] {
            assert_eq!(is_on(&setting("read_only", value), "Value"), on, "{value}");
        }
    }
}
