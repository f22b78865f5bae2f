//! Opening connections.
//!
//! The socket always lives on the runtime on which the store was opened, whichever runtime a call comes from: a connection
//! must not die with a short-lived runtime of a caller.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_sql::{Call, Columns as _, Row, Session as _};
use tiberius::Client;
use tiberius::error::Error;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::compat::TokioAsyncWriteCompatExt as _;

use crate::error::{fault, unreachable};
use crate::options::SqlServerOptions;
use crate::session::{Connection, Link, Trips};
use crate::statements::{BEGIN, COMMIT, GREETING, OPEN_TRANSACTIONS, session};

/// How much longer than a statement may take we wait for word of it.
const GRACE: Duration = Duration::from_secs(2);
/// SQL Server 2019.
const OLDEST: i64 = 15;
/// What Azure calls its own, which have other version numbers: SQL Database and Managed Instance.
const AZURE: [i64; 2] = [5, 8];
/// Below this, a database does not know `OPENJSON`.
const COMPATIBILITY: i64 = 130;
/// How often a server may send us to another address.
const ROUTES_MAX: usize = 2;

/// What a server said of itself.
#[derive(Debug, Clone)]
pub(crate) struct Greeting {
    pub(crate) version: String,
    /// Where tables without a schema go.
    pub(crate) schema: String,
    pub(crate) trips: Trips,
    /// Whether readers see what was committed before, and wait for nobody (READ_COMMITTED_SNAPSHOT).
    pub(crate) versions: bool,
}

/// Opens connections to one server.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    options: Arc<SqlServerOptions>,
    handle: Handle,
    label: Arc<str>,
}

impl Connector {
    pub(crate) fn new(options: &SqlServerOptions, handle: Handle) -> Self {
        Self { options: Arc::new(options.clone()), handle, label: options.label().into() }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Opens a connection with our settings.
    pub(crate) async fn open(&self) -> Result<Link, StoreError> {
        let (options, limit) = (Arc::clone(&self.options), self.options.connect_timeout);
        let mut task = self.handle.spawn(async move { dial(&options).await });
        let connection = match timeout(limit, &mut task).await {
            Ok(Ok(Ok(connection))) => connection,
            Ok(Ok(Err(error))) => return Err(fault(&error).into_error(&self.label)),
            Ok(Err(_)) => return Err(unreachable(&self.label, "the runtime of the store has ended")),
            Err(_) => {
                task.abort();
                return Err(unreachable(&self.label, format!("no connection within {limit:?}")));
            }
        };
        let mut link = Link::new(connection, self.handle.clone(), self.options.statement_timeout + GRACE);
        match link.text(session(self.options.lock_timeout)).await {
            Ok(()) => Ok(link),
            Err(fault) => Err(fault.into_error(&self.label)),
        }
    }

    /// Asks the server what it is, and whether it can be used.
    pub(crate) async fn greet(&self) -> Result<Greeting, StoreError> {
        let mut link = self.open().await?;
        let answer = link.run(&Call::new(GREETING, [])).await;
        let answer = answer.map_err(|fault| fault.into_error(&self.label))?;
        let row = answer
            .rows
            .first()
            .ok_or_else(|| unreachable(&self.label, "the server did not say what it is"))?;
        self.refuse(row)?;
        let text = |column| row.text(column).ok().flatten().unwrap_or_default();
        let (version, schema) = (text("version"), text("own_schema"));
        let versions = row.number("versions").ok().flatten() == Some(1);
        let trips = trips(&mut link).await;
        link.close();
        Ok(Greeting { version, schema, trips, versions })
    }

    fn refuse(&self, row: &Row) -> Result<(), StoreError> {
        let number = |column| row.number(column).ok().flatten().unwrap_or_default();
        let store = self.label.to_string();
        if row.text("updateability").ok().flatten().as_deref() == Some("READ_ONLY") {
            let message = "the database is read-only: a secondary replica, or set so; connect to the primary";
            return Err(StoreError::ReadOnly { store, message: message.into() });
        }
        let mut refusal = None;
        if !AZURE.contains(&number("edition")) && number("major") < OLDEST {
            refusal = Some("this is a server older than SQL Server 2019".to_owned());
        } else if number("compatibility") < COMPATIBILITY {
            refusal = Some(format!(
                "the database's compatibility level is {}, and {COMPATIBILITY} at least is needed: ALTER DATABASE … SET \
                 COMPATIBILITY_LEVEL = 150",
                number("compatibility")
            ));
        }
        refusal.map_or(Ok(()), |message| Err(StoreError::Refused { store, message }))
    }
}

/// Connects, logs in, and follows where the server sends us.
async fn dial(options: &SqlServerOptions) -> Result<Connection, Error> {
    let mut address = options.address();
    let mut routes = 0;
    loop {
        let (host, port) = &address;
        let stream = TcpStream::connect((host.as_str(), *port)).await?;
        stream.set_nodelay(true)?;
        match Client::connect(options.config(&address), stream.compat_write()).await {
            Err(Error::Routing { host, port }) if routes < ROUTES_MAX => {
                routes += 1;
                address = (host, port);
            }
            connected => return connected,
        }
    }
}

/// Finds out whether a text with parameters may leave a transaction open. If anything about it is odd, it may not.
async fn trips(link: &mut Link) -> Trips {
    let open = |answer: tenure_sql::Answer| {
        answer.rows.first().and_then(|row| row.number("transactions").ok().flatten())
    };
    let ask = || [Call::new(OPEN_TRANSACTIONS, [])];
    let probe = link.probe(&[Call::new(BEGIN, [])]).await.is_ok()
        && link.probe(&ask()).await.ok().and_then(open) == Some(1)
        && link.probe(&[Call::new(COMMIT, [])]).await.is_ok()
        && link.probe(&ask()).await.ok().and_then(open) == Some(0);
    if probe { Trips::One } else { Trips::Apart }
}
