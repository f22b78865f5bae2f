//! The inbox: which messages took effect, written in the transaction of their effect.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use tenure_core::StoreError;
use tenure_core::lease::SettingsError;
use tenure_core::outbox::{Accept, Consumer, InboxSettings, Message, MessageId, fingerprint, shorten};

use crate::clock::Clocks;
use crate::error::Fault;
use crate::fence::no_transaction;
use crate::outbox::statements::OutboxStatements;
use crate::rows::{Plain, READER};
use crate::statements::Statements;

/// Makes a message take effect once, in transactions of the user's own. Cheap to clone; does not use the store's
/// connection.
///
/// What was accepted is forgotten by the retention of the relay on this database, which must keep it for no shorter a time.
#[derive(Debug, Clone)]
pub struct Inbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    label: String,
    statements: Arc<Statements>,
    clocks: Arc<dyn Clocks>,
    settings: InboxSettings,
}

impl Inbox {
    pub(crate) fn new(
        label: String,
        statements: Arc<Statements>,
        clocks: Arc<dyn Clocks>,
        settings: InboxSettings,
    ) -> Result<Self, SettingsError> {
        settings.validate()?;
        Ok(Self { inner: Arc::new(Inner { label, statements, clocks, settings }) })
    }

    /// How long it remembers, and for whom.
    pub fn settings(&self) -> &InboxSettings {
        &self.inner.settings
    }

    /// Asks in a transaction of `rusqlite` whether a message is new to this consumer, and notes it. A connection without an
    /// open transaction is refused: there, the message would count as applied before it is.
    ///
    /// ```no_run
    /// # fn receive(store: tenure_sqlite::SqliteStore, id: tenure_core::outbox::MessageId) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::{Accept, Consumer, InboxSettings};
    ///
    /// let inbox = store.inbox(InboxSettings::default())?;
    /// let billing = Consumer::new("billing")?;
    /// let mut connection = rusqlite::Connection::open("app.db")?;
    /// let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    /// if inbox.accept_in(&transaction, &billing, id)? == Accept::Fresh {
    ///     transaction.execute("insert into invoices (order_id) values (7)", [])?;
    /// }
    /// transaction.commit()?;
    /// # Ok(()) }
    /// ```
    pub fn accept_in(
        &self,
        transaction: &Connection,
        consumer: &Consumer,
        id: MessageId,
    ) -> Result<Accept, StoreError> {
        self.take_in(transaction, consumer, id, None).map_err(|fault| self.fault(fault))
    }

    /// Like [`accept_in`](Self::accept_in), and tells a message with another content under the same id.
    pub fn accept_message_in(
        &self,
        transaction: &Connection,
        consumer: &Consumer,
        message: &Message,
    ) -> Result<Accept, StoreError> {
        let print = fingerprint(message).to_string();
        self.take_in(transaction, consumer, message.id, Some(&print)).map_err(|fault| self.fault(fault))
    }

    /// Notes a refusal, in a transaction of its own after the one with the handler's writes was rolled back, so that a
    /// retry gets the same answer; what is settled stays.
    ///
    /// Answers what stands: [`Accept::Refused`], with the reason of an earlier refusal where there is one, or
    /// [`Accept::Duplicate`] when the message took effect before.
    ///
    /// ```no_run
    /// # fn receive(store: tenure_sqlite::SqliteStore, id: tenure_core::outbox::MessageId)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// # fn handle(_: &rusqlite::Connection) -> Result<(), String> { Ok(()) }
    /// use rusqlite::TransactionBehavior::Immediate;
    /// use tenure_core::outbox::{Accept, Consumer, InboxSettings, Verdict};
    ///
    /// let inbox = store.inbox(InboxSettings::default())?;
    /// let billing = Consumer::new("billing")?;
    /// let mut connection = rusqlite::Connection::open("app.db")?;
    /// let mut transaction = connection.transaction_with_behavior(Immediate)?;
    /// let mut answer = inbox.accept_in(&transaction, &billing, id)?;
    /// if answer == Accept::Fresh && let Err(reason) = handle(&transaction) {
    ///     transaction.rollback()?;
    ///     transaction = connection.transaction_with_behavior(Immediate)?;
    ///     answer = inbox.refuse_in(&transaction, &billing, id, &reason)?;
    /// }
    /// transaction.commit()?;
    /// let verdict = match answer {
    ///     Accept::Fresh | Accept::Duplicate => Verdict::Accepted,
    ///     Accept::Refused { reason } => Verdict::Rejected { reason },
    ///     Accept::Differs => Verdict::rejected("another message has this id"),
    /// };
    /// # let _ = verdict; Ok(()) }
    /// ```
    pub fn refuse_in(
        &self,
        transaction: &Connection,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        let refuse = || -> Result<Accept, Fault> {
            demand(!transaction.is_autocommit())?;
            let mut statement = transaction.prepare_cached(&self.statements().inbox_refuse)?;
            let (consumer, id, reason) = (consumer.as_str(), id.to_string(), shorten(reason));
            if statement.execute(params![consumer, id, reason, self.now()])? == 1 {
                return Ok(Accept::Refused { reason });
            }
            self.read_in(transaction, consumer, &id, None)
        };
        refuse().map_err(|fault| self.fault(fault))
    }

    fn take_in(
        &self,
        transaction: &Connection,
        consumer: &Consumer,
        id: MessageId,
        print: Option<&str>,
    ) -> Result<Accept, Fault> {
        demand(!transaction.is_autocommit())?;
        let (consumer, id) = (consumer.as_str(), id.to_string());
        let mut statement = transaction.prepare_cached(&self.statements().inbox_accept)?;
        if statement.execute(params![consumer, id, print, self.now()])? == 1 {
            return Ok(Accept::Fresh.counted());
        }
        self.read_in(transaction, consumer, &id, print)
    }

    /// What stands of a message that was settled before.
    fn read_in(
        &self,
        transaction: &Connection,
        consumer: &str,
        id: &str,
        print: Option<&str>,
    ) -> Result<Accept, Fault> {
        let mut statement = transaction.prepare_cached(&self.statements().inbox_read)?;
        let known =
            statement.query_row([consumer, id], |row| Ok(READER.before(&Plain::of(row)))).optional()?;
        Ok(known.ok_or_else(vanished)??.judge(print))
    }

    fn statements(&self) -> &OutboxStatements {
        &self.inner.statements.outbox
    }

    fn now(&self) -> i64 {
        self.inner.clocks.read().wall.as_micros()
    }

    fn fault(&self, fault: Fault) -> StoreError {
        fault.at(&self.inner.label)
    }
}

fn demand(in_transaction: bool) -> Result<(), Fault> {
    if in_transaction { Ok(()) } else { Err(no_transaction("accept the message, apply it, commit")) }
}

fn vanished() -> Fault {
    Fault::Failed("the inbox's row was there and is gone within one transaction".into())
}

#[cfg(feature = "sqlx")]
mod on_sqlx {
    use sqlx::{Connection as _, SqliteConnection};

    use super::*;
    use crate::fence::from_sqlx;
    use crate::rows::OfSqlx;
    use crate::statements::for_sqlx;

    impl Inbox {
        /// Asks in a transaction of sqlx whether a message is new to this consumer, and notes it. A connection without an
        /// open transaction is refused: there, the message would count as applied before it is.
        ///
        /// ```no_run
        /// # async fn receive(store: tenure_sqlite::SqliteStore, pool: sqlx::SqlitePool, id: tenure_core::outbox::MessageId)
        /// # -> Result<(), Box<dyn std::error::Error>> {
        /// use tenure_core::outbox::{Accept, Consumer, InboxSettings};
        ///
        /// let inbox = store.inbox(InboxSettings::default())?;
        /// let billing = Consumer::new("billing")?;
        /// let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
        /// if inbox.accept(&mut transaction, &billing, id).await? == Accept::Fresh {
        ///     sqlx::query("insert into invoices (order_id) values (7)").execute(&mut *transaction).await?;
        /// }
        /// transaction.commit().await?;
        /// # Ok(()) }
        /// ```
        pub async fn accept(
            &self,
            transaction: &mut SqliteConnection,
            consumer: &Consumer,
            id: MessageId,
        ) -> Result<Accept, StoreError> {
            self.take(transaction, consumer, id, None).await.map_err(|fault| self.fault(fault))
        }

        /// Like [`accept`](Self::accept), and tells a message with another content under the same id.
        pub async fn accept_message(
            &self,
            transaction: &mut SqliteConnection,
            consumer: &Consumer,
            message: &Message,
        ) -> Result<Accept, StoreError> {
            let print = fingerprint(message).to_string();
            let taken = self.take(transaction, consumer, message.id, Some(print)).await;
            taken.map_err(|fault| self.fault(fault))
        }

        /// Like [`refuse_in`](Self::refuse_in), on a connection of sqlx: notes a refusal, in a transaction of its own
        /// after the one with the handler's writes was rolled back, so that a retry gets the same answer; what is settled
        /// stays. Answers what stands: [`Accept::Refused`] or [`Accept::Duplicate`].
        pub async fn refuse(
            &self,
            transaction: &mut SqliteConnection,
            consumer: &Consumer,
            id: MessageId,
            reason: &str,
        ) -> Result<Accept, StoreError> {
            let refused = self.note_refusal(transaction, consumer, id, shorten(reason)).await;
            refused.map_err(|fault| self.fault(fault))
        }

        async fn note_refusal(
            &self,
            transaction: &mut SqliteConnection,
            consumer: &Consumer,
            id: MessageId,
            reason: String,
        ) -> Result<Accept, Fault> {
            demand(transaction.is_in_transaction())?;
            let (consumer, id) = (consumer.as_str().to_owned(), id.to_string());
            let refuse = sqlx::query(for_sqlx(&self.statements().inbox_refuse))
                .bind(consumer.clone())
                .bind(id.clone())
                .bind(reason.clone())
                .bind(self.now());
            if refuse.execute(&mut *transaction).await.map_err(from_sqlx)?.rows_affected() == 1 {
                return Ok(Accept::Refused { reason });
            }
            self.read(transaction, consumer, id, None).await
        }

        async fn take(
            &self,
            transaction: &mut SqliteConnection,
            consumer: &Consumer,
            id: MessageId,
            print: Option<String>,
        ) -> Result<Accept, Fault> {
            demand(transaction.is_in_transaction())?;
            let (consumer, id) = (consumer.as_str().to_owned(), id.to_string());
            let accept = sqlx::query(for_sqlx(&self.statements().inbox_accept))
                .bind(consumer.clone())
                .bind(id.clone())
                .bind(print.clone())
                .bind(self.now());
            if accept.execute(&mut *transaction).await.map_err(from_sqlx)?.rows_affected() == 1 {
                return Ok(Accept::Fresh.counted());
            }
            self.read(transaction, consumer, id, print).await
        }

        async fn read(
            &self,
            transaction: &mut SqliteConnection,
            consumer: String,
            id: String,
            print: Option<String>,
        ) -> Result<Accept, Fault> {
            let read = sqlx::query(for_sqlx(&self.statements().inbox_read)).bind(consumer).bind(id);
            let row = read.fetch_optional(transaction).await.map_err(from_sqlx)?.ok_or_else(vanished)?;
            Ok(READER.before(&OfSqlx(&row))?.judge(print.as_deref()))
        }
    }
}
