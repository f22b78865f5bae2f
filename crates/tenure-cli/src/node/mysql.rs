//! The ledger on MySQL and MariaDB.

use sqlx::mysql::MySqlConnectOptions;
use sqlx::{Connection as _, MySqlConnection};
use tenure::core::naming::Naming;
use tenure::mysql::{Fencing, MySqlOptions, MySqlStore};
use tenure::{Duty, FenceError};
use tokio::sync::Mutex;

use super::ledger::FailedWrite;
use super::statements::{for_sqlx, mysql, named_in_backticks};
use crate::mysql::{connect, failed, options};
use crate::output::Failure;

/// One connection, and how it is opened anew.
#[derive(Debug)]
pub(super) struct MySqlLedger {
    server: MySqlConnectOptions,
    fencing: Fencing,
    write: String,
    connection: Mutex<Option<MySqlConnection>>,
}

impl MySqlLedger {
    pub(super) async fn open(url: &str, naming: &Naming) -> Result<Self, Failure> {
        let mut tenures = MySqlOptions::from_url(url)?;
        tenures.naming = naming.clone();
        let fencing = MySqlStore::connect(tenures).await?.fencing();
        let server = options(url)?;
        let mut connection = opened(&server).await?;
        let create = named_in_backticks(mysql::CREATE, naming);
        sqlx::raw_sql(for_sqlx(create)).execute(&mut connection).await.map_err(failed)?;
        let write = named_in_backticks(mysql::WRITE, naming);
        Ok(Self { server, fencing, write, connection: Mutex::new(Some(connection)) })
    }

    /// Writes a row under the fence of a daemon. One write at a time; a connection on which anything went wrong, or on
    /// which a write was left half-way, is dropped and opened anew.
    pub(super) async fn write(&self, duty: &Duty, seq: i64) -> Result<(), FailedWrite> {
        let mut kept = self.connection.lock().await;
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => opened(&self.server).await.map_err(|error| FailedWrite::Unknown(error.to_string()))?,
        };
        let written = self.write_on(&mut connection, duty, seq).await;
        if !matches!(written, Err(FailedWrite::Unknown(_))) {
            *kept = Some(connection);
        }
        written
    }

    async fn write_on(
        &self,
        connection: &mut MySqlConnection,
        duty: &Duty,
        seq: i64,
    ) -> Result<(), FailedWrite> {
        let unknown = |error: sqlx::Error| FailedWrite::Unknown(failed(error).to_string());
        let mut transaction = connection.begin().await.map_err(unknown)?;
        if let Err(error) = self.fencing.check(&mut transaction, &duty.fence).await {
            if matches!(error, FenceError::Fenced(_)) {
                transaction.rollback().await.map_err(unknown)?;
            }
            return Err(error.into());
        }
        let generation = i64::try_from(duty.fence.term.get()).unwrap_or(i64::MAX);
        let write = sqlx::query(for_sqlx(self.write.clone()))
            .bind(duty.daemon.as_str())
            .bind(generation)
            .bind(duty.node.as_str())
            .bind(seq);
        write.execute(&mut *transaction).await.map_err(unknown)?;
        transaction.commit().await.map_err(unknown)
    }
}

async fn opened(server: &MySqlConnectOptions) -> Result<MySqlConnection, Failure> {
    let mut connection = connect(server).await?;
    sqlx::raw_sql(mysql::OPENING).execute(&mut connection).await.map_err(failed)?;
    Ok(connection)
}
