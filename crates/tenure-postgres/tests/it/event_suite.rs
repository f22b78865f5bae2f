//! The conformance suite of events: once for each way to reach the server, and for each driver of a user's own.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::events::{EventBackend, UserAppend};
use tenure_conformance::outbox::AuditLine;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, CheckpointStore, EventStore, LeaseStore as _, OperatorStores};
use tenure_core::event::{Append, AppendAnswer, Position};
use tenure_postgres::Events;
use tokio_postgres::Client;

use crate::outbox_suite::{Driver, OutboxOnPostgres, micros};

mod direct {
    use crate::outbox_suite::{Driver, backend};
    use crate::sandbox::Mode;
    tenure_conformance::event_suite!(backend(Mode::Direct, Driver::TokioPostgres));
}

mod pooled_pgbouncer {
    use crate::outbox_suite::{Driver, backend};
    use crate::sandbox::Mode;
    tenure_conformance::event_suite!(backend(Mode::Pooled, Driver::TokioPostgres));
}

#[cfg(feature = "sqlx")]
mod sqlx_direct {
    use crate::outbox_suite::{Driver, backend};
    use crate::sandbox::Mode;
    tenure_conformance::event_suite!(backend(Mode::Direct, Driver::Sqlx));
}

#[cfg(feature = "sqlx")]
mod sqlx_pooled_pgbouncer {
    use crate::outbox_suite::{Driver, backend};
    use crate::sandbox::Mode;
    tenure_conformance::event_suite!(backend(Mode::Pooled, Driver::Sqlx));
}

#[async_trait]
impl EventBackend for OutboxOnPostgres {
    async fn events(&self) -> Arc<dyn EventStore> {
        Arc::new(self.sandbox.store().await)
    }

    async fn operators(&self) -> OperatorStores {
        let store = self.sandbox.store().await;
        let capabilities = store.capabilities();
        OperatorStores::of(Arc::new(store), capabilities)
    }

    async fn checkpoints(&self) -> Arc<dyn CheckpointStore> {
        Arc::new(self.sandbox.store().await)
    }

    async fn begin_append(&self) -> Option<Box<dyn UserAppend>> {
        let events = self.sandbox.store().await.events().with_outbox();
        Some(match self.driver {
            Driver::TokioPostgres => {
                let client = self.sandbox.user().await;
                client.batch_execute("BEGIN").await.expect("a transaction");
                Box::new(Plain { client, events })
            }
            #[cfg(feature = "sqlx")]
            Driver::Sqlx => {
                let mut connection = self.sandbox.sqlx().await;
                sqlx::raw_sql("BEGIN").execute(&mut connection).await.expect("a transaction");
                Box::new(WithSqlx { connection, events })
            }
        })
    }

    async fn subscription_audit(&self) -> Option<Vec<AuditLine>> {
        let sql = format!(
            "SELECT at, actor, action, subject, detail FROM {} WHERE action LIKE 'subscription %' ORDER BY id",
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
        Some(rows.iter().map(line).collect())
    }

    async fn damage(&self, position: Position) -> bool {
        let sql = format!("UPDATE {} SET headers = '[' WHERE position = $1", self.sandbox.table("events"));
        self.sandbox.superuser().await.execute(&sql, &[&position.0]).await.expect("damaged") == 1
    }
}

/// A transaction on a connection of tokio-postgres.
struct Plain {
    client: Client,
    events: Events,
}

#[async_trait]
impl UserAppend for Plain {
    async fn append(&mut self, append: &Append) -> Result<AppendAnswer, AppendError> {
        self.events.append_on(&self.client, append).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.client.batch_execute("COMMIT").await.expect("committed");
        Ok(())
    }

    async fn rollback(self: Box<Self>) {
        self.client.batch_execute("ROLLBACK").await.expect("rolled back");
    }
}

/// A transaction on a connection of sqlx.
#[cfg(feature = "sqlx")]
struct WithSqlx {
    connection: sqlx::PgConnection,
    events: Events,
}

#[cfg(feature = "sqlx")]
#[async_trait]
impl UserAppend for WithSqlx {
    async fn append(&mut self, append: &Append) -> Result<AppendAnswer, AppendError> {
        self.events.append_in(&mut self.connection, append).await
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await.expect("committed");
        Ok(())
    }

    async fn rollback(mut self: Box<Self>) {
        sqlx::raw_sql("ROLLBACK").execute(&mut self.connection).await.expect("rolled back");
    }
}
