//! The fence: checked in the user's own transaction, as the first thing there.

use sqlx::mysql::MySqlConnection;
use tenure_core::lease::{Fence, FenceError};

use crate::joined::Joined;
use crate::store::MySqlStore;

/// Checks fences in transactions of the user's own. Cheap to clone; got by [`MySqlStore::fencing`].
///
/// Check first, then write, then commit. A confirmed fence goes on holding until the transaction has ended: nobody can take
/// the lease over in between, and the holder's own renewals pass.
///
/// The user that checks needs SELECT on the tables `leases` and `fences`, and UPDATE on `fences` (MySQL asks for one of
/// UPDATE, DELETE and LOCK TABLES to lock a row). At isolation REPEATABLE READ the check must be the first statement: a lease
/// that was renewed after the transaction's snapshot may else seem to be over. At SERIALIZABLE it holds up renewals.
#[derive(Debug, Clone)]
pub struct Fencing(tenure_sql::Fencing);

impl MySqlStore {
    /// What checks fences in the user's own transactions; cheap to clone.
    pub fn fencing(&self) -> Fencing {
        Fencing(self.sql().fencing())
    }
}

impl Fencing {
    /// Checks a fence in a transaction of sqlx.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     pool: sqlx::MySqlPool, fencing: tenure_mysql::Fencing, fence: tenure_core::lease::Fence,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut tx = pool.begin().await?;
    /// fencing.check(&mut *tx, &fence).await?;
    /// sqlx::query("UPDATE orders SET state = 'sent' WHERE id = 7").execute(&mut *tx).await?;
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn check(&self, connection: &mut MySqlConnection, fence: &Fence) -> Result<(), FenceError> {
        self.0.check(&mut Joined::new(connection), fence).await
    }
}
