//! The outbox part of the conformance suite on a file, with transactions of rusqlite as its users have them.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::Connection;
use rusqlite::types::Value;
use tenure_conformance::OutboxBackend;
use tenure_conformance::outbox::{AuditLine, PlainRow, UserTransaction};
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, OutboxAdmin, OutboxStore};
use tenure_core::outbox::{Accept, Consumer, Enqueued, InboxSettings, Message, MessageId, NewMessage};
use tenure_core::time::StoreTime;
use tenure_sqlite::{Inbox, Outbox};

use crate::backend::SqliteFile;

#[async_trait]
impl OutboxBackend for SqliteFile {
    async fn outbox(&self) -> Arc<dyn OutboxStore> {
        Arc::new(self.connect().await)
    }

    async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
        Arc::new(self.connect().await)
    }

    async fn begin(&self) -> Box<dyn UserTransaction> {
        let store = self.connect().await;
        let (outbox, inbox) = (store.outbox(), store.inbox(InboxSettings::default()).unwrap());
        let connection = self.raw();
        // Waits for its turn off the runtime's threads, for whoever has the turn may need them.
        let begun = tokio::task::spawn_blocking(move || {
            connection.execute_batch("create table if not exists effects (what text)").unwrap();
            connection.execute_batch("begin immediate").unwrap();
            connection
        });
        Box::new(SqliteUser { connection: begun.await.unwrap(), outbox, inbox })
    }

    async fn insert_plain(&self, row: PlainRow) -> Result<(), String> {
        let mut columns = vec![("topic", Value::from(row.topic)), ("type", Value::from(row.kind))];
        let mut given = |name, value: Option<Value>| columns.extend(value.map(|value| (name, value)));
        given("message_id", row.message_id.map(Value::from));
        given("source", row.source.map(Value::from));
        given("source_seq", (row.sequence.version != 0).then(|| Value::from(row.sequence.version)));
        given("source_index", (row.sequence.index != 0).then(|| Value::from(row.sequence.index)));
        given("payload", row.payload.map(Value::from));
        given("payload_bytes", row.payload_bytes.map(Value::from));
        given("content_type", row.content_type.map(Value::from));
        given("headers", row.headers.map(Value::from));
        given("deliver_at", row.deliver_at.map(|at| Value::from(at.as_micros())));
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
        let marks = vec!["?"; columns.len()].join(", ");
        let sql = format!("insert into tenure_outbox ({}) values ({marks})", names.join(", "));
        let values = rusqlite::params_from_iter(columns.into_iter().map(|(_, value)| value));
        self.raw().execute(&sql, values).map(|_| ()).map_err(|error| error.to_string())
    }

    async fn effects(&self) -> Vec<String> {
        let connection = self.raw();
        connection.execute_batch("create table if not exists effects (what text)").unwrap();
        let mut statement = connection.prepare("select what from effects order by rowid").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    async fn audit(&self) -> Vec<AuditLine> {
        let connection = self.raw();
        let sql = "select at, actor, action, subject, detail from tenure_audit where action like 'outbox %' order by id";
        let mut statement = connection.prepare(sql).unwrap();
        let lines = statement.query_map([], |row| {
            Ok(AuditLine {
                at: StoreTime::from_micros(row.get(0)?),
                by: row.get(1)?,
                action: row.get(2)?,
                subject: row.get(3)?,
                detail: row.get(4)?,
            })
        });
        lines.unwrap().collect::<Result<_, _>>().unwrap()
    }

    async fn attempt_rows(&self) -> u64 {
        let sql = "select count(*) from tenure_outbox_attempts";
        u64::try_from(self.raw().query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()).unwrap()
    }

    fn writes_at_once(&self) -> bool {
        false
    }
}

/// A connection with an open transaction, which ends with it.
struct SqliteUser {
    connection: Connection,
    outbox: Outbox,
    inbox: Inbox,
}

#[async_trait]
impl UserTransaction for SqliteUser {
    async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
        match messages {
            [message] => Ok(vec![self.outbox.enqueue_in(&self.connection, message)?]),
            _ => self.outbox.enqueue_all_in(&self.connection, messages),
        }
    }

    async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
        self.inbox.accept_in(&self.connection, consumer, id)
    }

    async fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Result<Accept, StoreError> {
        self.inbox.accept_message_in(&self.connection, consumer, message)
    }

    async fn refuse(&mut self, consumer: &Consumer, id: MessageId, reason: &str) -> Result<(), StoreError> {
        self.inbox.refuse_in(&self.connection, consumer, id, reason)
    }

    async fn apply(&mut self, effect: &str) {
        self.connection.execute("insert into effects (what) values (?1)", [effect]).unwrap();
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.connection.execute_batch("commit").unwrap();
        Ok(())
    }

    async fn rollback(self: Box<Self>) {
        self.connection.execute_batch("rollback").unwrap();
    }
}

tenure_conformance::outbox_suite!(async { SqliteFile::start().await });
