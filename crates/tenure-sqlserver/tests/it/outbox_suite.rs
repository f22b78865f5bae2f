//! The conformance suite of the outbox.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::outbox::{AuditLine, OutboxBackend, PlainRow, UserTransaction};
use tenure_conformance::{Backend, Need};
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, LeaseAdmin, LeaseStore, OutboxAdmin, OutboxStore};
use tenure_core::outbox::{Accept, Consumer, Enqueued, Message, MessageId, NewMessage};
use tenure_sqlserver::{Inbox, Outbox};
use tiberius::Query;

use crate::sandbox::{Sandbox, User};

pub(crate) struct OutboxOnSqlServer {
    pub(crate) sandbox: Sandbox,
}

pub(crate) async fn backend() -> Option<OutboxOnSqlServer> {
    tenure_conformance::servers_may_be_missing();
    let sandbox = Sandbox::new().await?;
    let effects = sandbox.table("effects");
    let sql = format!("CREATE TABLE {effects} (id bigint IDENTITY PRIMARY KEY, effect nvarchar(max))");
    sandbox.query(&sql).await;
    Some(OutboxOnSqlServer { sandbox })
}

mod sqlserver {
    use super::backend;
    tenure_conformance::outbox_suite!(backend());
}

#[async_trait]
impl Backend for OutboxOnSqlServer {
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
impl OutboxBackend for OutboxOnSqlServer {
    async fn outbox(&self) -> Arc<dyn OutboxStore> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn begin(&self) -> Box<dyn UserTransaction> {
        let store = self.sandbox.store().await;
        let (outbox, inbox) = (store.outbox(), store.inbox(Default::default()).expect("an inbox"));
        let apply = format!("INSERT INTO {} (effect) VALUES (@P1)", self.sandbox.table("effects"));
        let mut user = self.sandbox.user().await;
        user.begin_transaction().await.expect("a transaction");
        Box::new(Transaction { user, outbox, inbox, apply })
    }

    async fn insert_plain(&self, row: PlainRow) -> Result<(), String> {
        let id = if row.message_id.is_some() { "@P11" } else { "DEFAULT" };
        let sql = format!(
            "INSERT INTO {} (message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, \
             content_type, headers, deliver_at) VALUES ({id}, @P1, @P2, @P3, @P4, @P5, @P6, @P7, @P8, @P9, @P10)",
            self.sandbox.table("outbox")
        );
        let mut query = Query::new(sql);
        query.bind(row.source);
        query.bind(row.sequence.version);
        query.bind(row.sequence.index);
        query.bind(row.topic);
        query.bind(row.kind);
        query.bind(row.payload);
        query.bind(row.payload_bytes);
        query.bind(row.content_type);
        query.bind(row.headers);
        query.bind(row.deliver_at.map(|at| tenure_sql::moment_text(at).replacen(' ', "T", 1)));
        if let Some(id) = row.message_id {
            query.bind(id);
        }
        let inserted = query.execute(&mut self.sandbox.user().await).await;
        inserted.map(|_| ()).map_err(|error| error.to_string())
    }

    async fn effects(&self) -> Vec<String> {
        let sql = format!("SELECT effect FROM {} ORDER BY id", self.sandbox.table("effects"));
        let rows = self.sandbox.query(&sql).await;
        rows.iter().map(|row| row.get::<&str, _>(0).expect("an effect").to_owned()).collect()
    }

    async fn audit(&self) -> Vec<AuditLine> {
        self.sandbox.audit("outbox").await
    }

    async fn attempt_rows(&self) -> u64 {
        let sql = format!("SELECT COUNT_BIG(*) FROM {}", self.sandbox.table("outbox_attempts"));
        let rows = self.sandbox.query(&sql).await;
        rows[0].get::<i64, _>(0).expect("a number").unsigned_abs()
    }

    async fn take_stock(&self) {
        self.sandbox.query(&format!("UPDATE STATISTICS {}", self.sandbox.table("outbox"))).await;
    }
}

/// A transaction on a connection of a user's own.
struct Transaction {
    user: User,
    outbox: Outbox,
    inbox: Inbox,
    apply: String,
}

#[async_trait]
impl UserTransaction for Transaction {
    async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
        match messages {
            [one] => Ok(vec![self.outbox.enqueue(&mut self.user, one).await?]),
            many => self.outbox.enqueue_all(&mut self.user, many).await,
        }
    }

    async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
        self.inbox.accept(&mut self.user, consumer, id).await
    }

    async fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Result<Accept, StoreError> {
        self.inbox.accept_message(&mut self.user, consumer, message).await
    }

    async fn refuse(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        self.inbox.refuse(&mut self.user, consumer, id, reason).await
    }

    async fn apply(&mut self, effect: &str) {
        self.user.execute(self.apply.clone(), &[&effect]).await.expect("an effect");
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.user.commit_transaction().await.expect("committed");
        Ok(())
    }

    async fn rollback(mut self: Box<Self>) {
        self.user.rollback_transaction().await.expect("rolled back");
    }
}
