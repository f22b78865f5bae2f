//! The outbox part of the conformance suite on a file, with transactions of rusqlite and of sqlx as its users have them.

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
        audit_of(self, "outbox %")
    }

    async fn attempt_rows(&self) -> u64 {
        let sql = "select count(*) from tenure_outbox_attempts";
        u64::try_from(self.raw().query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()).unwrap()
    }

    fn writes_at_once(&self) -> bool {
        false
    }
}

/// The audit table's rows whose action is like this, the first one first.
pub(crate) fn audit_of(file: &SqliteFile, actions: &str) -> Vec<AuditLine> {
    let connection = file.raw();
    let sql = "select at, actor, action, subject, detail from tenure_audit where action like ?1 order by id";
    let mut statement = connection.prepare(sql).unwrap();
    let lines = statement.query_map([actions], |row| {
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

    async fn refuse(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
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

mod with_rusqlite {
    tenure_conformance::outbox_suite!(async { crate::backend::SqliteFile::start().await });
}

#[cfg(feature = "sqlx")]
pub(crate) use with_sqlx::OnSqlx;

#[cfg(feature = "sqlx")]
mod with_sqlx {
    use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
    use sqlx::{Sqlite, Transaction, query, raw_sql};
    use tenure_conformance::{Backend, Need};
    use tenure_core::contract::{LeaseAdmin, LeaseStore};

    use super::*;

    tenure_conformance::outbox_suite!(async { OnSqlx(SqliteFile::start().await) });

    /// The same file, whose user has connections of sqlx.
    pub(crate) struct OnSqlx(pub(crate) SqliteFile);

    #[async_trait]
    impl Backend for OnSqlx {
        async fn store(&self) -> Arc<dyn LeaseStore> {
            self.0.store().await
        }

        async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
            self.0.admin().await
        }

        fn promises(&self) -> &'static [Need] {
            &[Need::Admin, Need::Wakeup]
        }
    }

    #[async_trait]
    impl OutboxBackend for OnSqlx {
        async fn outbox(&self) -> Arc<dyn OutboxStore> {
            self.0.outbox().await
        }

        async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
            self.0.outbox_admin().await
        }

        async fn begin(&self) -> Box<dyn UserTransaction> {
            let store = self.0.connect().await;
            let (outbox, inbox) = (store.outbox(), store.inbox(InboxSettings::default()).unwrap());
            let options = SqliteConnectOptions::new().filename(self.0.path());
            let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
            raw_sql("create table if not exists effects (what text)").execute(&pool).await.unwrap();
            let transaction = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
            Box::new(SqlxUser { transaction, outbox, inbox })
        }

        async fn insert_plain(&self, row: PlainRow) -> Result<(), String> {
            self.0.insert_plain(row).await
        }

        async fn effects(&self) -> Vec<String> {
            self.0.effects().await
        }

        async fn audit(&self) -> Vec<AuditLine> {
            self.0.audit().await
        }

        async fn attempt_rows(&self) -> u64 {
            self.0.attempt_rows().await
        }

        fn writes_at_once(&self) -> bool {
            false
        }
    }

    /// An open transaction of sqlx.
    struct SqlxUser {
        transaction: Transaction<'static, Sqlite>,
        outbox: Outbox,
        inbox: Inbox,
    }

    #[async_trait]
    impl UserTransaction for SqlxUser {
        async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
            match messages {
                [message] => Ok(vec![self.outbox.enqueue(&mut self.transaction, message).await?]),
                _ => self.outbox.enqueue_all(&mut self.transaction, messages).await,
            }
        }

        async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
            self.inbox.accept(&mut self.transaction, consumer, id).await
        }

        async fn accept_message(
            &mut self,
            consumer: &Consumer,
            message: &Message,
        ) -> Result<Accept, StoreError> {
            self.inbox.accept_message(&mut self.transaction, consumer, message).await
        }

        async fn refuse(
            &mut self,
            consumer: &Consumer,
            id: MessageId,
            reason: &str,
        ) -> Result<Accept, StoreError> {
            self.inbox.refuse(&mut self.transaction, consumer, id, reason).await
        }

        async fn apply(&mut self, effect: &str) {
            let effect = query("insert into effects (what) values (?1)").bind(effect.to_owned());
            effect.execute(&mut *self.transaction).await.unwrap();
        }

        async fn commit(self: Box<Self>) -> Result<(), StoreError> {
            self.transaction.commit().await.unwrap();
            Ok(())
        }

        async fn rollback(self: Box<Self>) {
            self.transaction.rollback().await.unwrap();
        }
    }
}
