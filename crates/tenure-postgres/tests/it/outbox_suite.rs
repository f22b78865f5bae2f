//! The conformance suite of the outbox: once for each way to reach the server, and for each driver of a user's own.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use tenure_conformance::outbox::{AuditLine, OutboxBackend, PlainRow, UserTransaction};
use tenure_conformance::{Backend, Need};
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, LeaseAdmin, LeaseStore, OutboxAdmin, OutboxStore};
use tenure_core::outbox::{Accept, Consumer, Enqueued, Message, MessageId, NewMessage};
use tenure_core::time::StoreTime;
use tenure_postgres::{Inbox, Outbox};
use tokio_postgres::Client;

use crate::sandbox::{Mode, Sandbox};

pub(crate) struct OutboxOnPostgres {
    pub(crate) sandbox: Sandbox,
    mode: Mode,
    pub(crate) driver: Driver,
}

/// What a user's own program speaks to the server with.
#[derive(Clone, Copy)]
pub(crate) enum Driver {
    TokioPostgres,
    #[cfg(feature = "sqlx")]
    Sqlx,
}

pub(crate) async fn backend(mode: Mode, driver: Driver) -> Option<OutboxOnPostgres> {
    let sandbox = Sandbox::new(mode).await?;
    let effects = sandbox.table("effects");
    let sql = format!("CREATE TABLE {effects} (id bigint GENERATED ALWAYS AS IDENTITY, effect text)");
    sandbox.superuser().await.batch_execute(&sql).await.expect("a table of effects");
    Some(OutboxOnPostgres { sandbox, mode, driver })
}

mod direct {
    use super::{Driver, Mode, backend};
    tenure_conformance::outbox_suite!(backend(Mode::Direct, Driver::TokioPostgres));
}

mod pooled {
    use super::{Driver, Mode, backend};
    tenure_conformance::outbox_suite!(backend(Mode::Pooled, Driver::TokioPostgres));
}

#[cfg(feature = "sqlx")]
mod sqlx_direct {
    use super::{Driver, Mode, backend};
    tenure_conformance::outbox_suite!(backend(Mode::Direct, Driver::Sqlx));
}

#[cfg(feature = "sqlx")]
mod sqlx_pooled {
    use super::{Driver, Mode, backend};
    tenure_conformance::outbox_suite!(backend(Mode::Pooled, Driver::Sqlx));
}

#[async_trait]
impl Backend for OutboxOnPostgres {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.sandbox.store().await)
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.sandbox.store().await))
    }

    fn promises(&self) -> &'static [Need] {
        match self.mode {
            Mode::Direct => &[Need::Admin, Need::ConcurrentWriters, Need::Wakeup],
            Mode::Pooled => &[Need::Admin, Need::ConcurrentWriters],
        }
    }
}

#[async_trait]
impl OutboxBackend for OutboxOnPostgres {
    async fn outbox(&self) -> Arc<dyn OutboxStore> {
        Arc::new(self.sandbox.store().await)
    }

    async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
        Arc::new(self.sandbox.store().await)
    }

    async fn begin(&self) -> Box<dyn UserTransaction> {
        let store = self.sandbox.store().await;
        let (outbox, inbox) = (store.outbox(), store.inbox(Default::default()).expect("an inbox"));
        let apply = format!("INSERT INTO {} (effect) VALUES ($1)", self.sandbox.table("effects"));
        match self.driver {
            Driver::TokioPostgres => {
                let client = self.sandbox.user().await;
                client.batch_execute("BEGIN").await.expect("a transaction");
                Box::new(Plain { client, outbox, inbox, apply })
            }
            #[cfg(feature = "sqlx")]
            Driver::Sqlx => Box::new(with_sqlx::begin(&self.sandbox, outbox, inbox, apply).await),
        }
    }

    async fn insert_plain(&self, row: PlainRow) -> Result<(), String> {
        let sql = format!(
            "INSERT INTO {} (message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, \
             content_type, headers, deliver_at) \
             VALUES (coalesce($1::text::uuid, gen_random_uuid()), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            self.sandbox.table("outbox")
        );
        let deliver_at = row.deliver_at.map(|at| UNIX_EPOCH + Duration::from_micros(at.as_micros() as u64));
        let client = self.sandbox.superuser().await;
        let inserted = client
            .execute(
                &sql,
                &[
                    &row.message_id,
                    &row.source,
                    &row.sequence.version,
                    &row.sequence.index,
                    &row.topic,
                    &row.kind,
                    &row.payload,
                    &row.payload_bytes,
                    &row.content_type,
                    &row.headers,
                    &deliver_at,
                ],
            )
            .await;
        inserted.map(|_| ()).map_err(|error| error.to_string())
    }

    async fn effects(&self) -> Vec<String> {
        let sql = format!("SELECT effect FROM {} ORDER BY id", self.sandbox.table("effects"));
        let rows = self.sandbox.superuser().await.query(&sql, &[]).await.expect("effects");
        rows.iter().map(|row| row.get(0)).collect()
    }

    async fn audit(&self) -> Vec<AuditLine> {
        let sql = format!(
            "SELECT at, actor, action, subject, detail FROM {} WHERE action LIKE 'outbox %' ORDER BY id",
            self.sandbox.table("audit")
        );
        let rows = self.sandbox.superuser().await.query(&sql, &[]).await.expect("an audit");
        let line = |row: &tokio_postgres::Row| AuditLine {
            at: micros(row.get(0)),
            by: row.get(1),
            action: row.get(2),
            subject: row.get(3),
            detail: row.get(4),
        };
        rows.iter().map(line).collect()
    }

    async fn take_stock(&self) {
        let tables = ["outbox", "outbox_pending"].map(|table| self.sandbox.table(table)).join(", ");
        self.sandbox.superuser().await.batch_execute(&format!("ANALYZE {tables}")).await.expect("analysed");
    }

    async fn attempt_rows(&self) -> u64 {
        let sql = format!("SELECT count(*) FROM {}", self.sandbox.table("outbox_attempts"));
        let row = self.sandbox.superuser().await.query_one(&sql, &[]).await.expect("a count");
        row.get::<_, i64>(0) as u64
    }
}

pub(crate) fn micros(at: SystemTime) -> StoreTime {
    let since = at.duration_since(UNIX_EPOCH).expect("a time after 1970");
    StoreTime::from_micros(since.as_micros() as i64)
}

/// A transaction on a connection of tokio-postgres.
struct Plain {
    client: Client,
    outbox: Outbox,
    inbox: Inbox,
    apply: String,
}

#[async_trait]
impl UserTransaction for Plain {
    async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
        match messages {
            [one] => Ok(vec![self.outbox.enqueue_on(&self.client, one).await?]),
            many => self.outbox.enqueue_all_on(&self.client, many).await,
        }
    }

    async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
        self.inbox.accept_on(&self.client, consumer, id).await
    }

    async fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Result<Accept, StoreError> {
        self.inbox.accept_message_on(&self.client, consumer, message).await
    }

    async fn refuse(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        self.inbox.refuse_on(&self.client, consumer, id, reason).await
    }

    async fn apply(&mut self, effect: &str) {
        let params: &[(&(dyn tokio_postgres::types::ToSql + Sync), _)] =
            &[(&effect, tokio_postgres::types::Type::TEXT)];
        self.client.query_typed(&self.apply, params).await.expect("an effect");
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.client.batch_execute("COMMIT").await.expect("committed");
        Ok(())
    }

    async fn rollback(self: Box<Self>) {
        self.client.batch_execute("ROLLBACK").await.expect("rolled back");
    }
}

#[cfg(feature = "sqlx")]
mod with_sqlx {
    use sqlx::{AssertSqlSafe, PgConnection};

    use super::*;

    /// A transaction on a connection of sqlx.
    pub(super) struct WithSqlx {
        connection: PgConnection,
        outbox: Outbox,
        inbox: Inbox,
        apply: String,
    }

    pub(super) async fn begin(sandbox: &Sandbox, outbox: Outbox, inbox: Inbox, apply: String) -> WithSqlx {
        let mut connection = sandbox.sqlx().await;
        sqlx::raw_sql("BEGIN").execute(&mut connection).await.expect("a transaction");
        WithSqlx { connection, outbox, inbox, apply }
    }

    #[async_trait]
    impl UserTransaction for WithSqlx {
        async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
            match messages {
                [one] => Ok(vec![self.outbox.enqueue(&mut self.connection, one).await?]),
                many => self.outbox.enqueue_all(&mut self.connection, many).await,
            }
        }

        async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
            self.inbox.accept(&mut self.connection, consumer, id).await
        }

        async fn accept_message(
            &mut self,
            consumer: &Consumer,
            message: &Message,
        ) -> Result<Accept, StoreError> {
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
            let sql = AssertSqlSafe(self.apply.clone());
            let query = sqlx::query(sql).bind(effect).persistent(false);
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
}
