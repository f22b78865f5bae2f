//! Enqueueing in the user's own transaction.

use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use tenure_core::contract::EnqueueError;
use tenure_core::outbox::{Enqueued, Existing, Limits, MessageError, MessageId, NewMessage};
use tenure_core::time::StoreTime;
use tenure_sql::{enqueueing_now, fresh_id, micros};

use super::statements::{ENQUEUE_PARAMETERS, OutboxStatements};
use crate::clock::Clocks;
use crate::error::Fault;
use crate::rows::{Foreign, Plain, READER};
use crate::statements::Statements;

/// Writes messages in transactions of the user's own. Cheap to clone; does not use the store's connection.
///
/// What is enqueued counts once the transaction has committed, and wakes the relay then, whichever process it runs in.
#[derive(Debug, Clone)]
pub struct Outbox {
    inner: Arc<Inner>,
    limits: Limits,
}

#[derive(Debug)]
struct Inner {
    label: String,
    statements: Arc<Statements>,
    clocks: Arc<dyn Clocks>,
}

impl Outbox {
    pub(crate) fn new(label: String, statements: Arc<Statements>, clocks: Arc<dyn Clocks>) -> Self {
        Self { inner: Arc::new(Inner { label, statements, clocks }), limits: Limits::default() }
    }

    /// The same outbox with other limits. The relay has limits of its own.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Enqueues a message in a transaction of `rusqlite`. A [`rusqlite::Transaction`] is taken too; on a connection without
    /// one, the message is committed at once.
    ///
    /// ```no_run
    /// # fn place(store: tenure_sqlite::SqliteStore) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::NewMessage;
    ///
    /// let outbox = store.outbox();
    /// let mut connection = rusqlite::Connection::open("app.db")?;
    /// let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    /// transaction.execute("insert into orders (id) values (7)", [])?;
    /// let message = NewMessage::json("orders", "OrderPlaced", r#"{"order":7}"#).from_source("order-7");
    /// outbox.enqueue_in(&transaction, &message)?;
    /// transaction.commit()?;
    /// # Ok(()) }
    /// ```
    pub fn enqueue_in(
        &self,
        transaction: &Connection,
        message: &NewMessage,
    ) -> Result<Enqueued, EnqueueError> {
        let enqueued = enqueueing_now(1, || {
            message.check(&self.limits)?;
            insert(transaction, self.statements(), message, self.now())
        });
        enqueued.map_err(|unsent| self.unsent(unsent))
    }

    /// Enqueues several messages: all, or none and the transaction is as before.
    pub fn enqueue_all_in(
        &self,
        transaction: &Connection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let enqueued = enqueueing_now(messages.len(), || {
            NewMessage::check_all(messages, &self.limits)?;
            insert_all(transaction, self.statements(), messages, self.now())
        });
        enqueued.map_err(|unsent| self.unsent(unsent))
    }

    /// The insert as one statement, for other drivers. It inserts nothing when a message with this id is there already.
    ///
    /// | parameter | what | type |
    /// |---|---|---|
    /// | `?1` | the message's id; null lets one be chosen by chance | text, a UUID |
    /// | `?2` | what orders it, or null | text |
    /// | `?3`, `?4` | its place in its source; 0 and 0 order it by its insertion | integer |
    /// | `?5`, `?6` | topic and type | text |
    /// | `?7` | content type, or null | text |
    /// | `?8` | headers as an object of JSON, or null | text |
    /// | `?9` | how long to hold it back, in microseconds, or null | integer |
    /// | `?10` | the time now in microseconds since 1970; null for the database's own | integer |
    /// | `?11` | the payload as text, or null | text |
    /// | `?12` | the payload as bytes, or null | blob |
    ///
    /// A plain `INSERT INTO tenure_outbox (topic, type, payload) VALUES (…)` does as well.
    pub fn statement(&self) -> &str {
        &self.statements().enqueue
    }

    #[cfg(feature = "sqlx")]
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn statements(&self) -> &OutboxStatements {
        &self.inner.statements.outbox
    }

    pub(super) fn now(&self) -> StoreTime {
        self.inner.clocks.read().wall
    }

    pub(super) fn unsent(&self, unsent: Unsent) -> EnqueueError {
        unsent.at(&self.inner.label)
    }
}

/// Why a message was not enqueued.
#[derive(Debug)]
pub(crate) enum Unsent {
    Message(MessageError),
    Fault(Fault),
}

impl Unsent {
    pub(super) fn at(self, label: &str) -> EnqueueError {
        match self {
            Self::Message(error) => error.into(),
            Self::Fault(fault) => fault.at(label).into(),
        }
    }
}

impl From<MessageError> for Unsent {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

impl From<Fault> for Unsent {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<rusqlite::Error> for Unsent {
    fn from(error: rusqlite::Error) -> Self {
        Self::Fault(error.into())
    }
}

/// Inserts all messages or none, in whatever transaction is open.
pub(crate) fn insert_all(
    connection: &Connection,
    statements: &OutboxStatements,
    messages: &[NewMessage],
    now: StoreTime,
) -> Result<Vec<Enqueued>, Unsent> {
    connection.execute_batch("savepoint tenure_enqueue")?;
    let inserted: Result<Vec<_>, Unsent> =
        messages.iter().map(|message| insert(connection, statements, message, now)).collect();
    if inserted.is_err() {
        connection.execute_batch("rollback to tenure_enqueue")?;
    }
    connection.execute_batch("release tenure_enqueue")?;
    inserted
}

/// Inserts a message that was checked.
fn insert(
    connection: &Connection,
    statements: &OutboxStatements,
    message: &NewMessage,
    now: StoreTime,
) -> Result<Enqueued, Unsent> {
    let values = Values::of(message, now);
    let mut statement = connection.prepare_cached(&statements.enqueue)?;
    if statement.execute(params_from_iter(values.row()))? == 1 {
        return Ok(Enqueued { id: values.id, fresh: true });
    }
    let mut statement = connection.prepare_cached(&statements.existing)?;
    let read = |row: &Row<'_>| READER.existing(&Foreign::compared(Plain::of(row)));
    let existing = statement.query_row([&values.id_text], |row| Ok(read(row)))?;
    Ok(known(&values, &existing.map_err(Fault::from)?)?)
}

/// What it means that a message is there already.
pub(super) fn known(values: &Values<'_>, existing: &Existing) -> Result<Enqueued, MessageError> {
    values.message.is_same(values.id, existing).map(|()| Enqueued { id: values.id, fresh: false })
}

/// What is bound for a message.
pub(super) struct Values<'a> {
    pub(super) message: &'a NewMessage,
    pub(super) id: MessageId,
    pub(super) id_text: String,
    pub(super) headers: Option<String>,
    pub(super) delay_us: i64,
    pub(super) now_us: i64,
}

impl<'a> Values<'a> {
    pub(super) fn of(message: &'a NewMessage, now: StoreTime) -> Self {
        let id = message.id.unwrap_or_else(fresh_id);
        Self {
            message,
            id,
            id_text: id.to_string(),
            headers: message.headers_json(),
            delay_us: micros(message.delay),
            now_us: now.as_micros(),
        }
    }

    /// The payload as text, or as bytes.
    pub(super) fn payload(&self) -> (Option<&'a str>, Option<&'a [u8]>) {
        self.message.body.parts()
    }

    /// The parameters of `outbox_enqueue.sql`.
    fn row(&self) -> [ToSqlOutput<'_>; ENQUEUE_PARAMETERS] {
        let text =
            |text: Option<&'a str>| text.map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes()));
        let message = self.message;
        let (payload, bytes) = self.payload();
        [
            ValueRef::Text(self.id_text.as_bytes()),
            text(message.source.as_deref()),
            ValueRef::Integer(message.sequence.version),
            ValueRef::Integer(message.sequence.index.into()),
            text(Some(&message.topic)),
            text(Some(&message.kind)),
            text(message.content_type.as_deref()),
            self.headers.as_deref().map_or(ValueRef::Null, |headers| ValueRef::Text(headers.as_bytes())),
            ValueRef::Integer(self.delay_us),
            ValueRef::Integer(self.now_us),
            text(payload),
            bytes.map_or(ValueRef::Null, ValueRef::Blob),
        ]
        .map(ToSqlOutput::Borrowed)
    }
}
