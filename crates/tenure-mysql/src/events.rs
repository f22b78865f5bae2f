//! Events and checkpoints in the user's own transaction.

use sqlx::mysql::MySqlConnection;
use tenure_core::StoreError;
use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendAnswer, Limits};
use tenure_core::lease::Fence;
use tenure_core::subscription::{Advance, Step};

use crate::joined::Joined;
use crate::store::MySqlStore;

/// Appends events in transactions of the user's own. Cheap to clone; got by [`MySqlStore::events`].
///
/// Events, dispatches and mark are there exactly if the transaction commits. Any answer but
/// [`AppendAnswer::Appended`] has written nothing, and so has a problem with the append or with one of its dispatches: the
/// transaction can go on. After an error of the store it is to be rolled back. A connection without a transaction is refused.
///
/// **Append late, then commit.** From the append to the end of the transaction, readers of all streams wait at the last
/// position that was committed before it (they lose nothing, and go on when it ends); who holds them up is told by the
/// number of its connection. The server does not end a transaction that is idle: on MariaDB set `idle_transaction_timeout` for
/// such sessions.
///
/// Not at isolation SERIALIZABLE: there, what is read is locked, and everyone else who appends would wait.
///
/// A user that appends needs SELECT and INSERT on the tables `events` and `streams`, INSERT on `append_slots`, UPDATE on
/// `streams` and `events` (MySQL asks for it where a row is locked; none is changed in `events`); with a mark, SELECT, INSERT
/// and UPDATE on `inbox`; with dispatches, the same on `outbox`, `outbox_arrivals` and
/// `outbox_pending`.
#[derive(Debug, Clone)]
pub struct Events(tenure_sql::Events);

impl MySqlStore {
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

    /// Appends in a transaction of sqlx.
    ///
    /// ```no_run
    /// # async fn example(pool: sqlx::MySqlPool, events: tenure_mysql::Events, id: uuid::Uuid) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, StreamName};
    ///
    /// let mut tx = pool.begin().await?;
    /// sqlx::query("UPDATE books SET lent = true WHERE id = 7").execute(&mut *tx).await?;
    /// let lent = NewEvent::json(id, "Lent", r#"{"to":"ada"}"#);
    /// let append = Append::new(StreamName::of("book", "7")?, Expected::NONE, vec![lent]);
    /// match events.append_in(&mut *tx, &append).await? {
    ///     AppendAnswer::Appended(_) => tx.commit().await?,
    ///     _ => tx.rollback().await?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn append_in(
        &self,
        connection: &mut MySqlConnection,
        append: &Append,
    ) -> Result<AppendAnswer, AppendError> {
        self.0.append(&mut Joined::new(connection), append).await
    }
}

/// Moves checkpoints in transactions of the handler's own. Cheap to clone; got by [`MySqlStore::checkpoints`].
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
    /// Moves a checkpoint in a transaction of sqlx, if the reader is in office.
    pub async fn advance_in(
        &self,
        connection: &mut MySqlConnection,
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, StoreError> {
        self.0.advance(&mut Joined::new(connection), office, step).await
    }
}
