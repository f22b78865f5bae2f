//! The conformance suite of the outbox, on each server.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _};
use tenure_conformance::outbox::{AuditLine, OutboxBackend, PlainRow, UserTransaction};
use tenure_conformance::{Backend, Need};
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, LeaseAdmin, LeaseStore, OutboxAdmin, OutboxStore};
use tenure_core::outbox::{Accept, Consumer, Enqueued, Message, MessageId, NewMessage};
use tenure_core::time::StoreTime;
use tenure_mysql::{Inbox, Outbox};

use crate::sandbox::{Sandbox, Server};

pub(crate) struct OutboxOnMySql {
    pub(crate) sandbox: Sandbox,
}

pub(crate) async fn backend(server: Server) -> Option<OutboxOnMySql> {
    let sandbox = Sandbox::new(server).await?;
    let effects = sandbox.table("effects");
    let sql = format!("CREATE TABLE {effects} (id bigint AUTO_INCREMENT PRIMARY KEY, effect longtext)");
    sandbox.batch(&sql).await;
    Some(OutboxOnMySql { sandbox })
}

mod mariadb {
    use super::{Server, backend};
    tenure_conformance::outbox_suite!(backend(Server::MariaDb));
}

mod mysql {
    use super::{Server, backend};
    tenure_conformance::outbox_suite!(backend(Server::MySql));
}

#[async_trait]
impl Backend for OutboxOnMySql {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.sandbox.sql().await))
    }

    fn promises(&self) -> &'static [Need] {
        &[Need::Admin, Need::ConcurrentWriters, Need::UserAppend, Need::Audit, Need::Damage]
    }
}

#[async_trait]
impl OutboxBackend for OutboxOnMySql {
    async fn outbox(&self) -> Arc<dyn OutboxStore> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn begin(&self) -> Box<dyn UserTransaction> {
        let store = self.sandbox.store().await;
        let (outbox, inbox) = (store.outbox(), store.inbox(Default::default()).expect("an inbox"));
        let apply = format!("INSERT INTO {} (effect) VALUES (?)", self.sandbox.table("effects"));
        // As a user's own program has it: the server's isolation, REPEATABLE READ.
        let mut connection = self.sandbox.user().await;
        sqlx::raw_sql("BEGIN").execute(&mut connection).await.expect("a transaction");
        Box::new(Transaction { connection, outbox, inbox, apply })
    }

    async fn insert_plain(&self, row: PlainRow) -> Result<(), String> {
        let named = if row.message_id.is_some() { "?" } else { "DEFAULT" };
        let sql = format!(
            "INSERT INTO {} (message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, \
             content_type, headers, deliver_at) VALUES ({named}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            self.sandbox.table("outbox")
        );
        let mut user = self.sandbox.user().await;
        let mut query = sqlx::query(AssertSqlSafe(sql));
        if let Some(id) = row.message_id {
            query = query.bind(id);
        }
        let deliver_at = row.deliver_at.map(tenure_sql::moment_text);
        let inserted = query
            .bind(row.source)
            .bind(row.sequence.version)
            .bind(row.sequence.index)
            .bind(row.topic)
            .bind(row.kind)
            .bind(row.payload)
            .bind(row.payload_bytes)
            .bind(row.content_type)
            .bind(row.headers)
            .bind(deliver_at)
            .execute(&mut user)
            .await;
        inserted.map(|_| ()).map_err(|error| error.to_string())
    }

    async fn effects(&self) -> Vec<String> {
        let sql = format!("SELECT effect FROM {} ORDER BY id", self.sandbox.table("effects"));
        self.sandbox.query(&sql).await.iter().map(|row| row.get(0)).collect()
    }

    async fn audit(&self) -> Vec<AuditLine> {
        let sql = format!(
            "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at), actor, action, subject, detail FROM {} \
             WHERE action LIKE 'outbox %' ORDER BY id",
            self.sandbox.table("audit")
        );
        let line = |row: &sqlx::mysql::MySqlRow| AuditLine {
            at: StoreTime::from_micros(row.get(0)),
            by: row.get(1),
            action: row.get(2),
            subject: row.get(3),
            detail: row.get(4),
        };
        self.sandbox.query(&sql).await.iter().map(line).collect()
    }

    async fn attempt_rows(&self) -> u64 {
        let sql = format!("SELECT count(*) FROM {}", self.sandbox.table("outbox_attempts"));
        self.sandbox.query(&sql).await[0].get::<i64, _>(0) as u64
    }

    async fn take_stock(&self) {
        self.sandbox.batch(&format!("ANALYZE TABLE {}", self.sandbox.table("outbox"))).await;
    }
}

/// A transaction on a connection of a user's own.
struct Transaction {
    connection: MySqlConnection,
    outbox: Outbox,
    inbox: Inbox,
    apply: String,
}

#[async_trait]
impl UserTransaction for Transaction {
    async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
        match messages {
            [one] => Ok(vec![self.outbox.enqueue(&mut self.connection, one).await?]),
            many => self.outbox.enqueue_all(&mut self.connection, many).await,
        }
    }

    async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
        self.inbox.accept(&mut self.connection, consumer, id).await
    }

    async fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Result<Accept, StoreError> {
        self.inbox.accept_message(&mut self.connection, consumer, message).await
    }

    async fn refuse(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        self.inbox.refuse(&mut self.connection, consumer, id, reason).await
    }

    async fn apply(&mut self, effect: &str) {
        let query = sqlx::query(AssertSqlSafe(self.apply.clone())).bind(effect);
        query.execute(&mut self.connection).await.expect("an effect");
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await.expect("committed");
        Ok(())
    }

    async fn rollback(mut self: Box<Self>) {
        sqlx::raw_sql("ROLLBACK").execute(&mut self.connection).await.expect("rolled back");
    }
}
