//! The inbox: the receiver's durable set, in its own transaction.

use sqlx::mysql::MySqlConnection;
use tenure_core::StoreError;
use tenure_core::lease::SettingsError;
use tenure_core::outbox::{Accept, Consumer, InboxSettings, Message, MessageId};

use crate::joined::Joined;
use crate::store::MySqlStore;

/// Tells messages that took effect from those that did not, in transactions of the receiver's own. Cheap to clone; got by
/// [`MySqlStore::inbox`].
///
/// Begin a transaction, accept first, then write, then commit: the note and the effect are there both, or neither is. Of two
/// transactions that accept the same message at once, the second waits for the first, and is answered when that has ended,
/// at every isolation level.
///
/// A user that receives needs SELECT and INSERT on `tenure_inbox`, and one of UPDATE, DELETE and LOCK TABLES, which MySQL asks
/// for to lock a row.
#[derive(Debug, Clone)]
pub struct Inbox(tenure_sql::Inbox);

impl MySqlStore {
    /// What accepts messages in the receiver's own transactions; cheap to clone.
    ///
    /// Refused when it would forget a message that may still come again. How long rows really are kept is the sweeper's
    /// [`Retention`](tenure_core::outbox::Retention); give both the same.
    pub fn inbox(&self, settings: InboxSettings) -> Result<Inbox, SettingsError> {
        Ok(Inbox(self.sql().inbox(settings)?))
    }
}

impl Inbox {
    /// How long it remembers, and for whom.
    pub fn settings(&self) -> &InboxSettings {
        self.0.settings()
    }

    /// Accepts a message in a transaction of sqlx.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     pool: sqlx::MySqlPool, inbox: tenure_mysql::Inbox, id: tenure_core::outbox::MessageId,
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
    pub async fn accept(
        &self,
        connection: &mut MySqlConnection,
        consumer: &Consumer,
        id: MessageId,
    ) -> Result<Accept, StoreError> {
        self.0.accept(&mut Joined::new(connection), consumer, id).await
    }

    /// The same with the whole message: one that says something else under an id that was accepted is told from a duplicate.
    pub async fn accept_message(
        &self,
        connection: &mut MySqlConnection,
        consumer: &Consumer,
        message: &Message,
    ) -> Result<Accept, StoreError> {
        self.0.accept_message(&mut Joined::new(connection), consumer, message).await
    }

    /// Notes a refusal, in a transaction of its own after the one with the handler's writes was rolled back, so that a
    /// retry gets the same answer; what is settled stays.
    ///
    /// Answers what stands: [`Accept::Refused`], with the reason of an earlier refusal where there is one, or
    /// [`Accept::Duplicate`] when the message took effect before.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     pool: sqlx::MySqlPool, inbox: tenure_mysql::Inbox, id: tenure_core::outbox::MessageId,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// # async fn handle(_: &mut sqlx::MySqlConnection) -> Result<(), String> { Ok(()) }
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
    pub async fn refuse(
        &self,
        connection: &mut MySqlConnection,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        self.0.refuse(&mut Joined::new(connection), consumer, id, reason).await
    }
}
