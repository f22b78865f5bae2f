//! The fence: checked in the user's own transaction, as the first thing there.

use futures_util::io::{AsyncRead, AsyncWrite};
use tenure_core::lease::{Fence, FenceError};
use tiberius::Client;

use crate::joined::Joined;
use crate::store::SqlServerStore;

/// Checks fences in transactions of the user's own. Cheap to clone; got by [`SqlServerStore::fencing`].
///
/// Check first, then write, then commit. A confirmed fence goes on holding until the transaction has ended: nobody can take
/// the lease over in between, and the holder's own renewals pass.
///
/// The user that checks needs SELECT on the tables `leases` and `fences`. At isolation SNAPSHOT the check must be the first
/// statement: a lease that was renewed after the transaction's snapshot may else seem to be over. At REPEATABLE READ and
/// SERIALIZABLE it holds up renewals.
#[derive(Debug, Clone)]
pub struct Fencing(tenure_sql::Fencing);

impl SqlServerStore {
    /// What checks fences in the user's own transactions; cheap to clone.
    pub fn fencing(&self) -> Fencing {
        Fencing(self.sql().fencing())
    }
}

impl Fencing {
    /// Checks a fence in the transaction that is open on this connection of tiberius. The call must run to its end: a
    /// connection on which it was broken off cannot be used any more.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     client: &mut tiberius::Client<tokio_util::compat::Compat<tokio::net::TcpStream>>,
    /// #     fencing: tenure_sqlserver::Fencing, fence: tenure_core::lease::Fence,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// client.begin_transaction().await?;
    /// fencing.check(client, &fence).await?;
    /// client.execute("UPDATE orders SET state = 'sent' WHERE id = 7", &[]).await?;
    /// client.commit_transaction().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn check<S>(&self, client: &mut Client<S>, fence: &Fence) -> Result<(), FenceError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.0.check(&mut Joined::new(client), fence).await
    }
}
