//! Opening connections.
//!
//! A connection is driven by a task of its own. That task, and the socket, always live on the runtime on which the store
//! was opened, whichever runtime a call comes from: a connection must not die with a short-lived runtime of a caller.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deadpool_postgres::Connect;
use tenure_core::StoreError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::timeout;
use tokio_postgres::types::FromSqlOwned;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{store_error, unreachable};
use crate::options::PostgresOptions;
use crate::{statements, tls};

/// How long unanswered bytes may be on their way before the connection counts as broken.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(5);
/// When an idle connection is asked for signs of life, how often, and how many silences end it.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_RETRIES: u32 = 3;
/// How long an idle link may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);
/// How long the end of a connection is waited for.
const GOODBYE: Duration = Duration::from_secs(1);

/// Opens connections to one server.
#[derive(Clone)]
pub(crate) struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
    handle: Handle,
    label: Arc<str>,
    application_name: Arc<str>,
    limit: Duration,
    /// What is said on every connection of the pool right after it was opened; nothing behind a pooler, where it would
    /// stick to a server connection that others use next.
    opening: Option<Arc<str>>,
    /// Rung when the server notifies.
    bell: Option<Arc<Notify>>,
}

impl Connector {
    pub(crate) fn new(options: &PostgresOptions, handle: Handle) -> Result<Self, StoreError> {
        let mut config = options.server().clone();
        config
            .connect_timeout(options.connect_timeout)
            .ssl_mode(tls::ssl_mode(options.tls))
            .tcp_user_timeout(TCP_USER_TIMEOUT)
            .keepalives(true)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES)
            .application_name(&options.application_name);
        Ok(Self {
            config,
            tls: tls::connector(options)?,
            handle,
            label: options.label().into(),
            application_name: options.application_name.as_str().into(),
            limit: options.connect_timeout,
            opening: None,
            bell: None,
        })
    }

    /// The same, saying `opening` on each new connection of the pool.
    pub(crate) fn with_opening(&self, opening: String) -> Self {
        Self { opening: Some(opening.into()), ..self.clone() }
    }

    /// The same with its connections on another runtime.
    pub(crate) fn on(&self, handle: Handle) -> Self {
        Self { handle, ..self.clone() }
    }

    /// The same, ringing `bell` for each notification that comes on a connection.
    pub(crate) fn with_bell(&self, bell: Arc<Notify>) -> Self {
        Self { bell: Some(bell), ..self.clone() }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Opens a connection that is not of the pool; `role` is shown in `pg_stat_activity` behind the application's name.
    pub(crate) async fn open(&self, role: &str) -> Result<Link, StoreError> {
        let mut config = self.config.clone();
        config.application_name(format!("{} {role}", self.application_name));
        match timeout(self.limit, self.dial(config, None)).await {
            Ok(Ok((client, task, ended))) => {
                Ok(Link { client, ended, task: task.abort_handle(), label: Arc::clone(&self.label) })
            }
            Ok(Err(error)) => Err(store_error(&self.label, error)),
            Err(_) => Err(unreachable(&self.label, format!("no connection within {:?}", self.limit))),
        }
    }

    /// Dials on the store's runtime; if that has ended, on the caller's.
    async fn dial(&self, config: Config, opening: Option<Arc<str>>) -> Result<Dialled, Error> {
        let dialling = || dial(config.clone(), self.tls.clone(), opening.clone(), self.bell.clone());
        let task = self.handle.spawn(dialling());
        let _stop = StopOnDrop(task.abort_handle());
        match task.await {
            Ok(outcome) => outcome,
            Err(_) => dialling().await,
        }
    }
}

/// Lets the pool open its connections.
impl Connect for Connector {
    fn connect(
        &self,
        config: &Config,
    ) -> Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + '_>> {
        let config = config.clone();
        Box::pin(async move {
            let (client, task, _) = self.dial(config, self.opening.clone()).await?;
            Ok((client, task))
        })
    }
}

/// A client, the task that drives its connection, and what tells when that has ended.
type Dialled = (Client, JoinHandle<()>, watch::Receiver<()>);

async fn dial(
    config: Config,
    tls: MakeRustlsConnect,
    opening: Option<Arc<str>>,
    bell: Option<Arc<Notify>>,
) -> Result<Dialled, Error> {
    let (client, connection) = config.connect(tls).await?;
    let (ending, ended) = watch::channel(());
    let task = tokio::spawn(async move {
        // Dropped when the connection ends, and that is the message.
        let _ending = ending;
        if let Err(error) = drive(connection, bell).await {
            tracing::debug!(%error, "a connection to Postgres ended");
        }
    });
    if let Some(opening) = opening {
        client.batch_execute(&opening).await?;
    }
    Ok((client, task, ended))
}

/// Drives a connection to its end.
async fn drive<S, T>(mut connection: Connection<S, T>, bell: Option<Arc<Notify>>) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let Some(bell) = bell else { return connection.await };
    while let Some(message) = std::future::poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(_) = message? {
            bell.notify_one();
        }
    }
    Ok(())
}

/// Ends a task that nobody waits for any more.
struct StopOnDrop(AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection that is not of the pool: one session with the server.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) client: Client,
    ended: watch::Receiver<()>,
    task: AbortHandle,
    label: Arc<str>,
}

impl Link {
    /// Which server process answers. It never changes unless a pooler stands between.
    pub(crate) async fn server_process(&self) -> Result<i32, StoreError> {
        self.value(statements::SERVER_PROCESS).await
    }

    /// The server's clock.
    pub(crate) async fn server_clock(&self) -> Result<SystemTime, StoreError> {
        self.value(statements::SERVER_CLOCK).await
    }

    /// When the server process that answers was started.
    pub(crate) async fn server_start(&self) -> Result<SystemTime, StoreError> {
        self.value(statements::SERVER_START).await
    }

    /// Runs a statement without parameters that answers with one value.
    pub(crate) async fn value<T: FromSqlOwned>(&self, sql: &str) -> Result<T, StoreError> {
        self.one(sql).await?.try_get(0).map_err(|error| store_error(&self.label, error))
    }

    /// Whether the server is a standby. Locks can be had there, and mean nothing: no holder's session is with it.
    pub(crate) async fn refuse_standby(&self) -> Result<(), StoreError> {
        if self.value(statements::IN_RECOVERY).await? {
            let message = "it is a standby, which knows of no sessions with the primary".into();
            return Err(StoreError::ReadOnly { store: self.label.to_string(), message });
        }
        Ok(())
    }

    /// Whether the connection is known to have ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Whether the server still answers on a link that has been idle: it may have gone without a word.
    pub(crate) async fn is_alive(&self) -> bool {
        !self.is_closed() && matches!(timeout(SIGN_OF_LIFE, self.server_process()).await, Ok(Ok(_)))
    }

    /// Runs a statement without parameters that answers with one row.
    pub(crate) async fn one(&self, sql: &str) -> Result<Row, StoreError> {
        self.client.query_typed_one(sql, &[]).await.map_err(|error| store_error(&self.label, error))
    }

    /// Runs statements whose answers do not matter.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.client.batch_execute(sql).await.map_err(|error| store_error(&self.label, error))
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Tells when the connection has ended.
    pub(crate) fn ended(&self) -> watch::Receiver<()> {
        self.ended.clone()
    }

    /// Ends the connection at once, without a word.
    pub(crate) fn cut(&self) {
        self.task.abort();
    }

    /// What ends the connection from elsewhere.
    pub(crate) fn cutter(&self) -> AbortHandle {
        self.task.clone()
    }

    /// Ends the connection, and waits until that is done.
    pub(crate) async fn close(self) {
        self.cut();
        // Nothing is ever sent: the wait ends when the sender is gone.
        let _ = timeout(GOODBYE, self.ended().changed()).await;
    }
}

/// The driver would wait for answers that are still due. Whoever drops a link does not, and the server shall know.
impl Drop for Link {
    fn drop(&mut self) {
        self.cut();
    }
}
