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
use crate::statements::{GREETING, Limits};

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
    pub(crate) async fn greet(&self) -> Result<(Flavour, String), StoreError> {
        let mut link = self.open().await?;
        let answer = link.run(&Call::new(GREETING, [])).await;
        link.close();
        let answer = answer.map_err(|fault| fault.into_error(&self.label))?;
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
        Ok((if maria { Flavour::MariaDb } else { Flavour::MySql }, version))
    }
}
