//! Appending in the user's own transaction.

use std::sync::Arc;

use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendAnswer, Limits};
use tokio_postgres::GenericClient;

use super::append::append;
use super::session::Joined;
use super::statements::Statements;
use crate::store::PostgresStore;

/// Appends events in transactions of the user's own. Cheap to clone; got by [`PostgresStore::events`].
///
/// Events, dispatches and mark are there exactly if the transaction commits. Any answer but
/// [`AppendAnswer::Appended`] has written nothing, and so has a problem with the append or with one of its dispatches: the
/// transaction can go on. After an error of the store it is to be rolled back. (In isolation `repeatable read` or above, one
/// who comes second gets a serialization failure instead of an answer, which is to be tried again.)
///
/// One statement, in one round trip; where others may write the same at the same moment (a mark, dispatches with ids,
/// any version) a savepoint stands around it.
///
/// **Append late, then commit.** From the append to the end of the transaction, readers of all streams wait at the first
/// position that may be its own (they lose nothing, and go on at once when it ends). A transaction that has appended and is
/// then idle for [`APPEND_IDLE_MAX`](crate::APPEND_IDLE_MAX) is ended by the server: that is set for the transaction,
/// unless there is a shorter limit already.
///
/// A role that appends needs SELECT and INSERT on `tenure_events`, SELECT on its sequence `tenure_events_position_seq`,
/// and SELECT, INSERT and UPDATE on `tenure_streams`; with a mark, SELECT and INSERT on `tenure_inbox`; with dispatches,
/// what [`Outbox`](crate::Outbox) needs. A role that reads needs SELECT on `tenure_events`, the sequence and
/// `tenure_streams`; it is told who holds it up only if it may read the statistics of others (`pg_read_all_stats`). With
/// row-level security on these tables, a policy must let it see and write all rows.
#[derive(Debug, Clone)]
pub struct Events {
    texts: Arc<Statements>,
    store: Arc<str>,
    limits: Limits,
    has_outbox: bool,
    /// Whether a connection may keep a statement prepared.
    #[cfg_attr(not(feature = "sqlx"), allow(dead_code))]
    prepares: bool,
}

impl PostgresStore {
    /// What appends events in the user's own transactions; cheap to clone. Without an outbox, until it is given one.
    pub fn events(&self) -> Events {
        Events {
            texts: Arc::clone(&self.shared.statements.events),
            store: self.shared.label.as_str().into(),
            limits: Limits::default(),
            has_outbox: false,
            prepares: !self.shared.pooled,
        }
    }
}

impl Events {
    /// The same with the outbox of the same database: a relay delivers the dispatches.
    #[must_use]
    pub fn with_outbox(mut self) -> Self {
        self.has_outbox = true;
        self
    }

    /// The same with other limits than the default ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Appends in a transaction of sqlx.
    ///
    /// ```no_run
    /// # async fn example(pool: sqlx::PgPool, events: tenure_postgres::Events) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, StreamName};
    ///
    /// let mut tx = pool.begin().await?;
    /// sqlx::query("UPDATE books SET lent = true WHERE id = 7").execute(&mut *tx).await?;
    /// let lent = NewEvent::json(uuid::Uuid::new_v4(), "Lent", r#"{"to":"ada"}"#);
    /// let append = Append::new(StreamName::of("book", "7")?, Expected::NONE, vec![lent]);
    /// match events.append_in(&mut *tx, &append).await? {
    ///     AppendAnswer::Appended(_) => tx.commit().await?,
    ///     _ => tx.rollback().await?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "sqlx")]
    pub async fn append_in(
        &self,
        connection: &mut sqlx::PgConnection,
        what: &Append,
    ) -> Result<AppendAnswer, AppendError> {
        what.check(&self.limits, self.has_outbox)?;
        let mut session = super::session_sqlx::JoinedSqlx {
            connection,
            store: &self.store,
            sequence: &self.texts.sequence,
            prepares: self.prepares,
        };
        append(&mut session, &self.texts, &self.store, what).await
    }

    /// Appends in a transaction of tokio-postgres.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     client: &mut tokio_postgres::Client, events: tenure_postgres::Events,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, StreamName};
    ///
    /// let tx = client.transaction().await?;
    /// tx.execute("UPDATE books SET lent = true WHERE id = 7", &[]).await?;
    /// let lent = NewEvent::json(uuid::Uuid::new_v4(), "Lent", r#"{"to":"ada"}"#);
    /// let append = Append::new(StreamName::of("book", "7")?, Expected::NONE, vec![lent]);
    /// match events.append_on(&tx, &append).await? {
    ///     AppendAnswer::Appended(_) => tx.commit().await?,
    ///     _ => tx.rollback().await?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn append_on(
        &self,
        client: &(impl GenericClient + Sync),
        what: &Append,
    ) -> Result<AppendAnswer, AppendError> {
        what.check(&self.limits, self.has_outbox)?;
        let mut session = Joined { client, store: &self.store, sequence: &self.texts.sequence };
        append(&mut session, &self.texts, &self.store, what).await
    }
}
