//! The inbox: the receiver's durable set, in its own transaction.

use std::sync::Arc;

use tenure_core::StoreError;
use tenure_core::lease::SettingsError;
use tenure_core::outbox::{Accept, Consumer, InboxSettings, Message, MessageId, fingerprint, shorten};
use tenure_sql::limits::RESTLESS_TRIES;
use tenure_sql::{Before, Reader};
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;

use crate::error::store_error;
use crate::rows::Plain;
use crate::store::PostgresStore;

/// Tells messages that took effect from those that did not, in transactions of the receiver's own. Cheap to clone; got by
/// [`PostgresStore::inbox`].
///
/// Accept first, then write, then commit: the note and the effect are there both, or neither is. Of two transactions that
/// accept the same message at once, the second waits for the first, and is answered when that has ended. (In isolation
/// `repeatable read` or above it gets a serialization failure instead, which is to be tried again.)
///
/// A role that receives needs SELECT and INSERT on `tenure_inbox`.
#[derive(Debug, Clone)]
pub struct Inbox {
    texts: Arc<Texts>,
}

#[derive(Debug)]
struct Texts {
    accept: String,
    read: String,
    refuse: String,
    store: String,
    /// Whether a connection may keep a statement prepared.
    #[cfg_attr(not(feature = "sqlx"), allow(dead_code))]
    prepares: bool,
}

impl PostgresStore {
    /// What accepts messages in the receiver's own transactions; cheap to clone.
    ///
    /// Refused when it would forget a message that may still come again. How long rows really are kept is the sweeper's
    /// [`Retention`](tenure_core::outbox::Retention); give both the same.
    pub fn inbox(&self, settings: InboxSettings) -> Result<Inbox, SettingsError> {
        settings.validate()?;
        let statements = &self.shared.statements.outbox;
        let texts = Texts {
            accept: statements.inbox_accept.clone(),
            read: statements.inbox_read.clone(),
            refuse: statements.inbox_refuse.clone(),
            store: self.shared.label.clone(),
            prepares: !self.shared.pooled,
        };
        Ok(Inbox { texts: Arc::new(texts) })
    }
}

impl Inbox {
    /// Accepts a message in a transaction of sqlx.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     pool: sqlx::PgPool, inbox: tenure_postgres::Inbox, id: tenure_core::outbox::MessageId,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::{Accept, Consumer};
    ///
    /// let consumer = Consumer::new("billing")?;
    /// let mut tx = pool.begin().await?;
    /// if inbox.accept(&mut *tx, &consumer, id).await? == Accept::Fresh {
    ///     sqlx::query("UPDATE accounts SET due = due + 12 WHERE id = 7").execute(&mut *tx).await?;
    /// }
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "sqlx")]
    pub async fn accept(
        &self,
        connection: &mut sqlx::PgConnection,
        consumer: &Consumer,
        id: MessageId,
    ) -> Result<Accept, StoreError> {
        self.note(connection, consumer, id, None).await
    }

    /// The same with the whole message: one that says something else under an id that was accepted is told from a duplicate.
    #[cfg(feature = "sqlx")]
    pub async fn accept_message(
        &self,
        connection: &mut sqlx::PgConnection,
        consumer: &Consumer,
        message: &Message,
    ) -> Result<Accept, StoreError> {
        self.note(connection, consumer, message.id, Some(fingerprint(message).to_string())).await
    }

    /// Notes a refusal, in a transaction of its own after the one with the handler's writes was rolled back, so that a
    /// retry gets the same answer; what is settled stays.
    ///
    /// Answers what stands: [`Accept::Refused`], with the reason of an earlier refusal where there is one, or
    /// [`Accept::Duplicate`] when the message took effect before.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     pool: sqlx::PgPool, inbox: tenure_postgres::Inbox, id: tenure_core::outbox::MessageId,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// # async fn handle(_: &mut sqlx::PgConnection) -> Result<(), String> { Ok(()) }
    /// use tenure_core::outbox::{Accept, Consumer, Verdict};
    ///
    /// let consumer = Consumer::new("billing")?;
    /// let mut tx = pool.begin().await?;
    /// let mut answer = inbox.accept(&mut *tx, &consumer, id).await?;
    /// if answer == Accept::Fresh && let Err(reason) = handle(&mut *tx).await {
    ///     tx.rollback().await?;
    ///     tx = pool.begin().await?;
    ///     answer = inbox.refuse(&mut *tx, &consumer, id, &reason).await?;
    /// }
    /// tx.commit().await?;
    /// let verdict = match answer {
    ///     Accept::Fresh | Accept::Duplicate => Verdict::Accepted,
    ///     Accept::Refused { reason } => Verdict::Rejected { reason },
    ///     Accept::Differs => Verdict::rejected("another message has this id"),
    /// };
    /// # let _ = verdict; Ok(())
    /// # }
    /// ```
    #[cfg(feature = "sqlx")]
    pub async fn refuse(
        &self,
        connection: &mut sqlx::PgConnection,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        let reason = shorten(reason);
        for _ in 0..RESTLESS_TRIES {
            let row = sqlx::query(crate::statements::for_sqlx(&self.texts.refuse))
                .bind(consumer.as_str())
                .bind(id.to_string())
                .bind(&reason)
                .persistent(self.texts.prepares)
                .fetch_optional(&mut *connection)
                .await
                .map_err(|error| self.sqlx_error(error))?;
            if row.is_some() {
                return Ok(Accept::Refused { reason });
            }
            if let Some(before) = self.read_sqlx(&mut *connection, consumer, id).await? {
                return Ok(before.judge(None));
            }
        }
        Err(self.restless())
    }

    /// Accepts a message in a transaction of tokio-postgres.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     client: &mut tokio_postgres::Client, inbox: tenure_postgres::Inbox, id: tenure_core::outbox::MessageId,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::{Accept, Consumer};
    ///
    /// let consumer = Consumer::new("billing")?;
    /// let tx = client.transaction().await?;
    /// if inbox.accept_on(&tx, &consumer, id).await? == Accept::Fresh {
    ///     tx.execute("UPDATE accounts SET due = due + 12 WHERE id = 7", &[]).await?;
    /// }
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn accept_on(
        &self,
        client: &(impl GenericClient + Sync),
        consumer: &Consumer,
        id: MessageId,
    ) -> Result<Accept, StoreError> {
        self.note_on(client, consumer, id, None).await
    }

    /// The same with the whole message: one that says something else under an id that was accepted is told from a duplicate.
    pub async fn accept_message_on(
        &self,
        client: &(impl GenericClient + Sync),
        consumer: &Consumer,
        message: &Message,
    ) -> Result<Accept, StoreError> {
        self.note_on(client, consumer, message.id, Some(fingerprint(message).to_string())).await
    }

    /// Notes a refusal, in a transaction of its own after the one with the handler's writes was rolled back, so that a
    /// retry gets the same answer; what is settled stays.
    ///
    /// Answers what stands: [`Accept::Refused`], with the reason of an earlier refusal where there is one, or
    /// [`Accept::Duplicate`] when the message took effect before.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     client: &mut tokio_postgres::Client, inbox: tenure_postgres::Inbox, id: tenure_core::outbox::MessageId,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// # async fn handle(_: &tokio_postgres::Transaction<'_>) -> Result<(), String> { Ok(()) }
    /// use tenure_core::outbox::{Accept, Consumer, Verdict};
    ///
    /// let consumer = Consumer::new("billing")?;
    /// let mut tx = client.transaction().await?;
    /// let mut answer = inbox.accept_on(&tx, &consumer, id).await?;
    /// if answer == Accept::Fresh && let Err(reason) = handle(&tx).await {
    ///     tx.rollback().await?;
    ///     tx = client.transaction().await?;
    ///     answer = inbox.refuse_on(&tx, &consumer, id, &reason).await?;
    /// }
    /// tx.commit().await?;
    /// let verdict = match answer {
    ///     Accept::Fresh | Accept::Duplicate => Verdict::Accepted,
    ///     Accept::Refused { reason } => Verdict::Rejected { reason },
    ///     Accept::Differs => Verdict::rejected("another message has this id"),
    /// };
    /// # let _ = verdict; Ok(())
    /// # }
    /// ```
    pub async fn refuse_on(
        &self,
        client: &(impl GenericClient + Sync),
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        let reason = shorten(reason);
        for _ in 0..RESTLESS_TRIES {
            let rows = client
                .query_typed(
                    &self.texts.refuse,
                    &[(&consumer.as_str(), Type::TEXT), (&id.to_string(), Type::TEXT), (&reason, Type::TEXT)],
                )
                .await
                .map_err(|error| self.error(error))?;
            if !rows.is_empty() {
                return Ok(Accept::Refused { reason });
            }
            if let Some(before) = self.read_on(client, consumer, id).await? {
                return Ok(before.judge(None));
            }
        }
        Err(self.restless())
    }

    #[cfg(feature = "sqlx")]
    async fn note(
        &self,
        connection: &mut sqlx::PgConnection,
        consumer: &Consumer,
        id: MessageId,
        print: Option<String>,
    ) -> Result<Accept, StoreError> {
        for _ in 0..RESTLESS_TRIES {
            let row = sqlx::query(crate::statements::for_sqlx(&self.texts.accept))
                .bind(consumer.as_str())
                .bind(id.to_string())
                .bind(&print)
                .persistent(self.texts.prepares)
                .fetch_optional(&mut *connection)
                .await
                .map_err(|error| self.sqlx_error(error))?;
            if row.is_some() {
                return Ok(Accept::Fresh.counted());
            }
            if let Some(before) = self.read_sqlx(&mut *connection, consumer, id).await? {
                return Ok(before.judge(print.as_deref()));
            }
        }
        Err(self.restless())
    }

    async fn note_on(
        &self,
        client: &(impl GenericClient + Sync),
        consumer: &Consumer,
        id: MessageId,
        print: Option<String>,
    ) -> Result<Accept, StoreError> {
        for _ in 0..RESTLESS_TRIES {
            let rows = client
                .query_typed(
                    &self.texts.accept,
                    &[(&consumer.as_str(), Type::TEXT), (&id.to_string(), Type::TEXT), (&print, Type::TEXT)],
                )
                .await
                .map_err(|error| self.error(error))?;
            if !rows.is_empty() {
                return Ok(Accept::Fresh.counted());
            }
            if let Some(before) = self.read_on(client, consumer, id).await? {
                return Ok(before.judge(print.as_deref()));
            }
        }
        Err(self.restless())
    }

    #[cfg(feature = "sqlx")]
    async fn read_sqlx(
        &self,
        connection: &mut sqlx::PgConnection,
        consumer: &Consumer,
        id: MessageId,
    ) -> Result<Option<Before>, StoreError> {
        let row = sqlx::query(crate::statements::for_sqlx(&self.texts.read))
            .bind(consumer.as_str())
            .bind(id.to_string())
            .persistent(self.texts.prepares)
            .fetch_optional(connection)
            .await
            .map_err(|error| self.sqlx_error(error))?;
        row.map(|row| Reader { store: &self.texts.store }.before(&crate::rows::OfSqlx(&row))).transpose()
    }

    async fn read_on(
        &self,
        client: &(impl GenericClient + Sync),
        consumer: &Consumer,
        id: MessageId,
    ) -> Result<Option<Before>, StoreError> {
        let rows = client
            .query_typed(&self.texts.read, &[(&consumer.as_str(), Type::TEXT), (&id.to_string(), Type::TEXT)])
            .await
            .map_err(|error| self.error(error))?;
        rows.first().map(|row| Reader { store: &self.texts.store }.before(&Plain(row))).transpose()
    }

    fn error(&self, error: tokio_postgres::Error) -> StoreError {
        store_error(&self.texts.store, error)
    }

    #[cfg(feature = "sqlx")]
    fn sqlx_error(&self, error: sqlx::Error) -> StoreError {
        crate::error::sqlx_error(&self.texts.store, error)
    }

    fn restless(&self) -> StoreError {
        let message = "the note of a message comes and goes".into();
        StoreError::Busy { store: self.texts.store.clone(), message }
    }
}
