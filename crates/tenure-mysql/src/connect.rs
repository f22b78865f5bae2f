//! Opening connections.
//!
//! The socket always lives on the runtime on which the store was opened, whichever runtime a call comes from: a connection
//! must not die with a short-lived runtime of a caller.

use std::sync::Arc;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tenure_core::StoreError;
use tenure_sql::{Call, Columns as _, Session as _};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::error::{fault, unreachable};
use crate::options::MySqlOptions;
use crate::session::Link;
use crate::statements::{GREETING, Limits, PRIMARIES};

/// How much longer than the server's own limit we wait for an answer.
const GRACE: Duration = Duration::from_secs(2);

/// Which of the two it is: they differ in the names of a few settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    MySql,
    MariaDb,
}

/// Opens connections to one server.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    server: MySqlConnectOptions,
    handle: Handle,
    label: Arc<str>,
    limit: Duration,
    patience: Duration,
}

impl Connector {
    pub(crate) fn new(options: &MySqlOptions, handle: Handle) -> Self {
        Self {
            server: options.server().clone().disable_statement_logging(),
            handle,
            label: options.label().into(),
            limit: options.connect_timeout,
            patience: options.statement_timeout + GRACE,
        }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Opens a connection as the server has it.
    pub(crate) async fn open(&self) -> Result<Link, StoreError> {
        let server = self.server.clone();
        let mut task = self.handle.spawn(async move { MySqlConnection::connect_with(&server).await });
        match timeout(self.limit, &mut task).await {
            Ok(Ok(Ok(connection))) => Ok(Link::new(connection, self.handle.clone(), self.patience)),
            Ok(Ok(Err(error))) => Err(fault(&error).into_error(&self.label)),
            Ok(Err(_)) => Err(unreachable(&self.label, "the runtime of the store has ended")),
            Err(_) => {
                task.abort();
                Err(unreachable(&self.label, format!("no connection within {:?}", self.limit)))
            }
        }
    }

    /// Opens one with our limits and our isolation.
    pub(crate) async fn open_for_work(&self, limits: &Limits, flavour: Flavour) -> Result<Link, StoreError> {
        let mut link = self.open().await?;
        match link.texts(limits.session(flavour)).await {
            Ok(_) => Ok(link),
            Err(fault) => Err(fault.into_error(&self.label)),
        }
    }

    /// Asks the server what it is, and whether it can be written to.
    pub(crate) async fn greet(&self) -> Result<Greeting, StoreError> {
        let mut link = self.open().await?;
        let answers = link.run_all(&[Call::new(GREETING, []), Call::new(PRIMARIES, [])]).await;
        link.close();
        let answers = answers.map_err(|fault| fault.into_error(&self.label))?;
        let [answer, primaries] = &answers[..] else {
            return Err(unreachable(&self.label, "the server did not say what it is"));
        };
        let settings = primaries.rows.iter().map(|row| {
            let text = |column| row.text(column).ok().flatten().unwrap_or_default();
            (text("Variable_name"), text("Value"))
        });
        let several_counters = several_counters(settings);
        let row = answer
            .rows
            .first()
            .ok_or_else(|| unreachable(&self.label, "the server did not say what it is"))?;
        let version = row.text("version").ok().flatten().unwrap_or_default();
        let read_only = row.number("read_only").ok().flatten().unwrap_or_default() != 0;
        if read_only {
            let message = "read_only is on: it is a replica, or was set so; connect to the primary".into();
            return Err(StoreError::ReadOnly { store: self.label.to_string(), message });
        }
        let maria = version.to_ascii_lowercase().contains("mariadb");
        let flavour = if maria { Flavour::MariaDb } else { Flavour::MySql };
        Ok(Greeting { flavour, version, several_counters })
    }
}

/// What a server is.
pub(crate) struct Greeting {
    pub(crate) flavour: Flavour,
    pub(crate) version: String,
    /// Why its positions may not rise in time, if so.
    pub(crate) several_counters: Option<&'static str>,
}

/// Of several servers that are written to at once, each has a counter and locks of its own.
fn several_counters(settings: impl Iterator<Item = (String, String)>) -> Option<&'static str> {
    for (name, value) in settings {
        let on = matches!(value.to_ascii_uppercase().as_str(), "ON" | "1");
        match name.to_ascii_lowercase().as_str() {
            "wsrep_on" if on => {
                return Some(
                    "this server is a node of a Galera cluster: each node gives out positions of its own, and readers would \
                     miss events; keep events on a single server",
                );
            }
            "group_replication_single_primary_mode" if !on => {
                return Some(
                    "this server is one of several primaries of a group: each gives out positions of its own, and readers \
                     would miss events; set group_replication_single_primary_mode",
                );
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_primaries_are_no_place_for_events() {
        let of =
            |name: &str, value: &str| several_counters([(name.to_owned(), value.to_owned())].into_iter());
        assert_eq!(several_counters(std::iter::empty()), None);
        assert_eq!(of("wsrep_on", "OFF"), None);
        assert_eq!(of("group_replication_single_primary_mode", "ON"), None);
        assert!(of("wsrep_on", "ON").is_some_and(|why| why.contains("Galera")));
        let group = of("group_replication_single_primary_mode", "OFF");
        assert!(group.is_some_and(|why| why.contains("primaries")));
    }
}
