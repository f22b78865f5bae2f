//! The fence: checked in the user's own transaction, as the first thing there.
//!
//! A confirmed fence goes on holding until that transaction has ended: the lease's row is locked FOR KEY SHARE, so nobody
//! can take the lease over in between, and the holder's own renewals pass.

use std::sync::Arc;

use tenure_core::lease::{Fence, FenceError, decide};
use tenure_sql::{Columns, Reader};
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;

use crate::error::store_error;
use crate::rows::Plain;

/// Checks fences in transactions of the user's own. Cheap to clone; got by
/// [`PostgresStore::fencing`](crate::PostgresStore::fencing).
///
/// The role that checks needs SELECT and UPDATE on the leases table; Postgres asks for the latter to lock a row.
///
/// Check first, then write, then commit. In a transaction of isolation `repeatable read` or above, the check must be the
/// first statement: a lease that was renewed after the transaction's snapshot answers with a serialization failure.
#[derive(Debug, Clone)]
pub struct Fencing {
    statement: Arc<str>,
    store: Arc<str>,
}

impl Fencing {
    pub(crate) fn new(statement: &str, store: &str) -> Self {
        Self { statement: statement.into(), store: store.into() }
    }

    /// Checks a fence in a transaction of tokio-postgres.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     client: &mut tokio_postgres::Client, fencing: tenure_postgres::Fencing, fence: tenure_core::lease::Fence,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let tx = client.transaction().await?;
    /// fencing.check(&tx, &fence).await?;
    /// tx.execute("UPDATE orders SET state = 'sent' WHERE id = 7", &[]).await?;
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn check(&self, client: &(impl GenericClient + Sync), fence: &Fence) -> Result<(), FenceError> {
        let rows = client
            .query_typed(&self.statement, &[(&fence.lease.as_str(), Type::TEXT)])
            .await
            .map_err(|error| store_error(&self.store, error))?;
        self.judge(rows.first().map(Plain), fence)
    }

    /// Checks a fence in a transaction of sqlx.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     pool: sqlx::PgPool, fencing: tenure_postgres::Fencing, fence: tenure_core::lease::Fence,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut tx = pool.begin().await?;
    /// fencing.check_sqlx(&mut *tx, &fence).await?;
    /// sqlx::query("UPDATE orders SET state = 'sent' WHERE id = 7").execute(&mut *tx).await?;
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "sqlx")]
    pub async fn check_sqlx(
        &self,
        connection: &mut sqlx::PgConnection,
        fence: &Fence,
    ) -> Result<(), FenceError> {
        // Not persistent: a prepared statement with a name does not survive a transaction pooler.
        let row = sqlx::query(crate::statements::for_sqlx(&self.statement))
            .bind(fence.lease.as_str())
            .persistent(false)
            .fetch_optional(connection)
            .await
            .map_err(|error| crate::error::sqlx_error(&self.store, error))?;
        self.judge(row.as_ref().map(crate::rows::OfSqlx), fence)
    }

    /// The statement, for other drivers, to be run in the transaction that it protects.
    ///
    /// It has one parameter, the lease's name as `text`, and answers with no row or one. The fence holds exactly if there
    /// is a row with `term` equal to the fence's, `released_us` and `revoked_us` null, and `expires_us` greater than
    /// `now_us` (all `bigint`). Otherwise the transaction must be rolled back.
    pub fn statement(&self) -> &str {
        &self.statement
    }

    fn judge(&self, row: Option<impl Columns>, fence: &Fence) -> Result<(), FenceError> {
        let reader = Reader { store: &self.store };
        // Without a row nobody asks for the time.
        let never = tenure_core::time::StoreTime::from_micros(0);
        let (record, now) = row.map_or(Ok((None, never)), |row| reader.lease_and_now(&row))?;
        Ok(decide::check(record.as_ref(), fence, now).into_result()?)
    }
}
