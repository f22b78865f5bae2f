//! The event part of the conformance suite on a file, with transactions of rusqlite and of sqlx as its users have them.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::Connection;
use tenure_conformance::EventBackend;
use tenure_conformance::events::UserAppend;
use tenure_conformance::outbox::AuditLine;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, CheckpointStore, EventStore, LeaseStore as _, OperatorStores};
use tenure_core::event::{Append, AppendAnswer, Position};
use tenure_sqlite::Events;

use crate::backend::SqliteFile;
use crate::outbox_conformance::audit_of;

#[async_trait]
impl EventBackend for SqliteFile {
    async fn events(&self) -> Arc<dyn EventStore> {
        Arc::new(self.connect().await)
    }

    async fn operators(&self) -> OperatorStores {
        let store = self.connect().await;
        let capabilities = store.capabilities();
        OperatorStores::of(Arc::new(store), capabilities)
    }

    async fn checkpoints(&self) -> Arc<dyn CheckpointStore> {
        Arc::new(self.connect().await)
    }

    async fn begin_append(&self) -> Option<Box<dyn UserAppend>> {
        let events = self.connect().await.events().with_outbox();
        let connection = self.raw();
        // Waits for its turn off the runtime's threads, for whoever has the turn may need them.
        let begun = tokio::task::spawn_blocking(move || {
            connection.execute_batch("begin immediate").unwrap();
            connection
        });
        Some(Box::new(SqliteAppend { connection: begun.await.unwrap(), events }))
    }

    async fn subscription_audit(&self) -> Option<Vec<AuditLine>> {
        Some(audit_of(self, "subscription %"))
    }

    async fn damage(&self, position: Position) -> bool {
        let sql = "update tenure_events set event_id = 'no id' where position = ?1";
        self.raw().execute(sql, [position.0]).unwrap() == 1
    }
}

/// A connection with an open transaction, which ends with it.
struct SqliteAppend {
    connection: Connection,
    events: Events,
}

#[async_trait]
impl UserAppend for SqliteAppend {
    async fn append(&mut self, append: &Append) -> Result<AppendAnswer, AppendError> {
        self.events.append_in(&self.connection, append)
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
    tenure_conformance::event_suite!(async { crate::backend::SqliteFile::start().await });
}

#[cfg(feature = "sqlx")]
mod with_sqlx {
    use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
    use sqlx::{Sqlite, Transaction};

    use super::*;
    use crate::outbox_conformance::OnSqlx;

    tenure_conformance::event_suite!(async { OnSqlx(SqliteFile::start().await) });

    #[async_trait]
    impl EventBackend for OnSqlx {
        async fn events(&self) -> Arc<dyn EventStore> {
            self.0.events().await
        }

        async fn operators(&self) -> OperatorStores {
            self.0.operators().await
        }

        async fn checkpoints(&self) -> Arc<dyn CheckpointStore> {
            self.0.checkpoints().await
        }

        async fn begin_append(&self) -> Option<Box<dyn UserAppend>> {
            let events = self.0.connect().await.events().with_outbox();
            let options = SqliteConnectOptions::new().filename(self.0.path());
            let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
            let transaction = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
            Some(Box::new(SqlxAppend { transaction, events }))
        }

        async fn subscription_audit(&self) -> Option<Vec<AuditLine>> {
            self.0.subscription_audit().await
        }

        async fn damage(&self, position: Position) -> bool {
            self.0.damage(position).await
        }
    }

    /// An open transaction of sqlx.
    struct SqlxAppend {
        transaction: Transaction<'static, Sqlite>,
        events: Events,
    }

    #[async_trait]
    impl UserAppend for SqlxAppend {
        async fn append(&mut self, append: &Append) -> Result<AppendAnswer, AppendError> {
            self.events.append(&mut self.transaction, append).await
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
