//! What daemons write under their fences: each row in a transaction of its own that checks the fence first.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};
use tenure::core::naming::Naming;
use tenure::postgres::{PostgresOptions, PostgresStore};
use tenure::sqlite::{SqliteOptions, SqliteStore};
use tenure::{Duty, FenceError};
use tokio_postgres::{Client, NoTls};

use super::mysql::MySqlLedger;
use super::statements::{named, postgres, sqlite};
use crate::args::Global;
use crate::output::Failure;
use crate::{mysql, store};

/// How long a write waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// What became of a write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It was committed.
    Done,
    /// The fence refused it.
    Refused,
    /// Nobody knows, or nothing was done.
    Failed(String),
}

/// Where daemons write.
#[derive(Debug)]
pub(super) enum Ledger {
    MySql(Box<MySqlLedger>),
    Postgres {
        url: String,
        fencing: tenure::postgres::Fencing,
        write: String,
        client: Box<tokio::sync::Mutex<Option<Client>>>,
    },
    Sqlite {
        fencing: tenure::sqlite::Fencing,
        write: String,
        file: PathBuf,
        connection: Arc<Mutex<Option<Connection>>>,
    },
}

impl Ledger {
    /// The ledger beside the tables that the command line names; made if it is not there.
    pub(super) async fn open(global: &Global) -> Result<Self, Failure> {
        let (url, naming) = (store::database_url(global)?, store::naming(global)?);
        if url.starts_with("sqlite:") {
            return Self::sqlite(url, &naming).await;
        }
        if mysql::is_named_by(url) {
            return Ok(Self::MySql(Box::new(MySqlLedger::open(url, &naming).await?)));
        }
        if !url.starts_with("postgres") {
            let kinds = "this is measured on sqlite:, postgres:, mysql: and mariadb: databases";
            return Err(Failure::Usage(kinds.into()));
        }
        let mut options = PostgresOptions::from_url(url)?;
        options.naming = naming.clone();
        let fencing = PostgresStore::connect(options).await?.fencing();
        let mut client = connect(url).await.map_err(failed)?;
        let transaction = client.transaction().await.map_err(failed)?;
        transaction.batch_execute(postgres::LOCK).await.map_err(failed)?;
        transaction.batch_execute(&named(postgres::CREATE, &naming)).await.map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
        let (url, write) = (url.to_owned(), named(postgres::WRITE, &naming));
        Ok(Self::Postgres { url, fencing, write, client: Box::new(tokio::sync::Mutex::new(Some(client))) })
    }

    async fn sqlite(url: &str, naming: &Naming) -> Result<Self, Failure> {
        let options = SqliteOptions { naming: naming.clone(), ..SqliteOptions::from_url(url)? };
        let file = options.path.clone();
        let fencing = SqliteStore::connect(options).await?.fencing();
        let opened = open(&file).map_err(failed)?;
        opened.execute_batch(&named(sqlite::CREATE, naming)).map_err(failed)?;
        let write = named(sqlite::WRITE, naming);
        Ok(Self::Sqlite { fencing, write, file, connection: Arc::new(Mutex::new(Some(opened))) })
    }

    /// Writes a row under the fence of a daemon.
    pub(super) async fn write(&self, duty: &Duty, seq: i64) -> Written {
        let written = match self {
            Self::MySql(ledger) => ledger.write(duty, seq).await,
            Self::Postgres { url, fencing, write, client } => {
                // One write at a time; a session that broke is opened anew.
                let mut client = client.lock().await;
                let mut session = match client.take() {
                    Some(session) if !session.is_closed() => session,
                    _ => match connect(url).await {
                        Ok(session) => session,
                        Err(error) => return Written::Failed(error.to_string()),
                    },
                };
                let written = write_postgres(&mut session, fencing, write, duty, seq).await;
                *client = Some(session);
                written
            }
            Self::Sqlite { fencing, write, file, connection } => {
                let (fencing, write, file) = (fencing.clone(), write.clone(), file.clone());
                let (connection, duty) = (connection.clone(), duty.clone());
                let job = move || {
                    let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                    if connection.is_none() {
                        *connection = Some(open(&file)?);
                    }
                    match connection.as_mut() {
                        Some(connection) => write_sqlite(connection, &fencing, &write, &duty, seq),
                        None => Err(FailedWrite::Unknown("no connection".into())),
                    }
                };
                match tokio::task::spawn_blocking(job).await {
                    Ok(written) => written,
                    Err(error) => Err(FailedWrite::Unknown(error.to_string())),
                }
            }
        };
        match written {
            Ok(()) => Written::Done,
            Err(FailedWrite::Refused) => Written::Refused,
            Err(FailedWrite::Unknown(reason)) => Written::Failed(reason),
        }
    }
}

pub(super) enum FailedWrite {
    Refused,
    Unknown(String),
}

impl From<FenceError> for FailedWrite {
    fn from(error: FenceError) -> Self {
        match error {
            FenceError::Fenced(_) => Self::Refused,
            error => Self::Unknown(error.to_string()),
        }
    }
}

impl From<tokio_postgres::Error> for FailedWrite {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Unknown(error.to_string())
    }
}

impl From<rusqlite::Error> for FailedWrite {
    fn from(error: rusqlite::Error) -> Self {
        Self::Unknown(error.to_string())
    }
}

async fn write_postgres(
    client: &mut Client,
    fencing: &tenure::postgres::Fencing,
    write: &str,
    duty: &Duty,
    seq: i64,
) -> Result<(), FailedWrite> {
    let transaction = client.transaction().await?;
    fencing.check(&transaction, &duty.fence).await?;
    let generation = i64::try_from(duty.fence.term.get()).unwrap_or(i64::MAX);
    transaction.execute(write, &[&duty.daemon.as_str(), &generation, &duty.node.as_str(), &seq]).await?;
    Ok(transaction.commit().await?)
}

fn write_sqlite(
    connection: &mut Connection,
    fencing: &tenure::sqlite::Fencing,
    write: &str,
    duty: &Duty,
    seq: i64,
) -> Result<(), FailedWrite> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    fencing.check(&transaction, &duty.fence)?;
    let generation = i64::try_from(duty.fence.term.get()).unwrap_or(i64::MAX);
    transaction.execute(write, params![duty.daemon.as_str(), generation, duty.node.as_str(), seq])?;
    Ok(transaction.commit()?)
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(postgres::OPENING).await?;
    Ok(client)
}

fn open(file: &std::path::Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(format!("the ledger: {error}"))
}
