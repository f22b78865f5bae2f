//! Events and checkpoints in the user's own transaction.

use futures_util::io::{AsyncRead, AsyncWrite};
use tenure_core::StoreError;
use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendAnswer, Limits};
use tenure_core::lease::Fence;
use tenure_core::subscription::{Advance, Step};
use tiberius::Client;

use crate::joined::Joined;
use crate::store::SqlServerStore;

/// Appends events in transactions of the user's own. Cheap to clone; got by [`SqlServerStore::events`].
///
/// Events, dispatches and mark are there exactly if the transaction commits. Any answer but
/// [`AppendAnswer::Appended`] has written nothing, and so has a problem with the append or with one of its dispatches: the
/// transaction can go on. After an error of the store it is to be rolled back. A connection without a transaction is refused.
///
/// **Append late, then commit.** From the append to the end of the transaction, readers of all streams wait at the last
/// position that was committed before it (they lose nothing, and go on when it ends); who holds them up is told by the
/// number of its session. The server does not end a transaction that is idle.
///
/// At isolation READ COMMITTED or REPEATABLE READ. At SERIALIZABLE and SNAPSHOT the server may refuse it. Not in a distributed
/// transaction, which has no savepoints.
///
/// A user that appends needs SELECT and INSERT on the tables `events` and `streams`, UPDATE on `streams`, INSERT on
/// `append_slots`; with a mark, SELECT and INSERT on `inbox`; with dispatches, the same on `outbox` and
/// `outbox_arrivals` and `outbox_pending`.
///
/// Calls must run to their end: a connection on which one was broken off cannot be used any more.
#[derive(Debug, Clone)]
pub struct Events(tenure_sql::Events);

impl SqlServerStore {
    /// What appends events in the user's own transactions; cheap to clone. Without an outbox, until it is given one.
    pub fn events(&self) -> Events {
        Events(self.sql().events())
    }

    /// What moves checkpoints in the handler's own transactions; cheap to clone.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints(self.sql().checkpoints())
    }
}

impl Events {
    /// The same with the outbox of the same database: a relay delivers the dispatches.
    #[must_use]
    pub fn with_outbox(self) -> Self {
        Self(self.0.with_outbox())
    }

    /// The same with other limits than the default ones.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self(self.0.with_limits(limits))
    }

    /// Appends in the transaction that is open on this connection of tiberius.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     client: &mut tiberius::Client<tokio_util::compat::Compat<tokio::net::TcpStream>>,
    /// #     events: tenure_sqlserver::Events, id: uuid::Uuid,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, StreamName};
    ///
    /// client.begin_transaction().await?;
    /// client.execute("UPDATE books SET lent = 1 WHERE id = 7", &[]).await?;
    /// let lent = NewEvent::json(id, "Lent", r#"{"to":"ada"}"#);
    /// let append = Append::new(StreamName::of("book", "7")?, Expected::NONE, vec![lent]);
    /// match events.append_in(client, &append).await? {
    ///     AppendAnswer::Appended(_) => client.commit_transaction().await?,
    ///     _ => client.rollback_transaction().await?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn append_in<S>(
        &self,
        client: &mut Client<S>,
        append: &Append,
    ) -> Result<AppendAnswer, AppendError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.0.append(&mut Joined::new(client), append).await
    }
}

/// Moves checkpoints in transactions of the handler's own. Cheap to clone; got by [`SqlServerStore::checkpoints`].
///
/// Whoever writes what an event leads to and moves the checkpoint in one transaction has the effect of each event exactly
/// once. On any answer but [`Advance::Advanced`] nothing has moved: roll back, for someone else reads here. A connection
/// without a transaction is refused.
///
/// A user that does this needs SELECT, INSERT and UPDATE on the table `checkpoints`, SELECT, INSERT and DELETE on `parked`, and
/// with a fence what [`Fencing`](crate::Fencing) needs; what it says of isolation counts here too.
#[derive(Debug, Clone)]
pub struct Checkpoints(tenure_sql::Checkpoints);

impl Checkpoints {
    /// Moves a checkpoint in the transaction that is open on this connection of tiberius, if the reader is in office.
    pub async fn advance_in<S>(
        &self,
        client: &mut Client<S>,
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, StoreError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.0.advance(&mut Joined::new(client), office, step).await
    }
}
