//! The conformance suite about events, on each server.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _};
use tenure_conformance::events::{EventBackend, UserAppend};
use tenure_conformance::outbox::AuditLine;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, CheckpointStore, EventStore, LeaseStore as _, OperatorStores};
use tenure_core::event::{Append, AppendAnswer, Position};
use tenure_core::time::StoreTime;
use tenure_mysql::Events;

use crate::outbox_suite::OutboxOnMySql;

mod mariadb {
    use crate::outbox_suite::backend;
    use crate::sandbox::Server;
    tenure_conformance::event_suite!(backend(Server::MariaDb));
}

mod mysql {
    use crate::outbox_suite::backend;
    use crate::sandbox::Server;
    tenure_conformance::event_suite!(backend(Server::MySql));
}

#[async_trait]
impl EventBackend for OutboxOnMySql {
    async fn events(&self) -> Arc<dyn EventStore> {
        Arc::new(self.sandbox.sql().await)
    }

    async fn operators(&self) -> OperatorStores {
        let store = self.sandbox.sql().await;
        let capabilities = store.capabilities();
        OperatorStores::of(Arc::new(store), capabilities)
    }

    async fn checkpoints(&self) -> Arc<dyn CheckpointStore> {
        Arc::new(self.sandbox.sql().await)
    }

    /// At the server's own isolation, which is REPEATABLE READ.
    async fn begin_append(&self) -> Option<Box<dyn UserAppend>> {
        let events = self.sandbox.store().await.events().with_outbox();
        let mut connection = self.sandbox.user().await;
        sqlx::raw_sql("BEGIN").execute(&mut connection).await.expect("a transaction");
        Some(Box::new(Open { connection, events }))
    }

    async fn subscription_audit(&self) -> Option<Vec<AuditLine>> {
        let sql = format!(
            "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at) AS at_us, actor, action, subject, detail FROM {} \
             WHERE action LIKE 'subscription %' ORDER BY id",
            self.sandbox.table("audit")
        );
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut self.sandbox.user().await).await;
        let line = |row: &sqlx::mysql::MySqlRow| AuditLine {
            at: StoreTime::from_micros(row.get(0)),
            by: row.get(1),
            action: row.get(2),
            subject: row.get(3),
            detail: row.get(4),
        };
        Some(rows.expect("an audit").iter().map(line).collect())
    }

    async fn damage(&self, position: Position) -> bool {
        let sql = format!("UPDATE {} SET headers = '[' WHERE position = ?", self.sandbox.table("events"));
        self.sandbox.execute(sql, &position.to_string()).await == 1
    }
}

/// An open transaction of sqlx, which ends with its connection.
struct Open {
    connection: MySqlConnection,
    events: Events,
}

#[async_trait]
impl UserAppend for Open {
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
