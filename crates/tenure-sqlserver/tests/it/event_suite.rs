//! The conformance suite about events.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::events::{EventBackend, UserAppend};
use tenure_conformance::outbox::AuditLine;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, CheckpointStore, EventStore, LeaseStore as _, OperatorStores};
use tenure_core::event::{Append, AppendAnswer, Position};
use tenure_sqlserver::Events;

use crate::outbox_suite::OutboxOnSqlServer;
use crate::sandbox::User;

mod sqlserver {
    use crate::outbox_suite::backend;
    tenure_conformance::event_suite!(backend());
}

#[async_trait]
impl EventBackend for OutboxOnSqlServer {
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

    async fn begin_append(&self) -> Option<Box<dyn UserAppend>> {
        let events = self.sandbox.store().await.events().with_outbox();
        let mut user = self.sandbox.user().await;
        user.begin_transaction().await.expect("a transaction");
        Some(Box::new(Open { user, events }))
    }

    async fn subscription_audit(&self) -> Option<Vec<AuditLine>> {
        Some(self.sandbox.audit("subscription").await)
    }

    async fn damage(&self, position: Position) -> bool {
        let sql = format!("UPDATE {} SET headers = N'[' WHERE position = @P1", self.sandbox.table("events"));
        let changed = self.sandbox.user().await.execute(sql, &[&position.0]).await;
        changed.expect("executed").total() == 1
    }
}

/// An open transaction, which ends with its connection.
struct Open {
    user: User,
    events: Events,
}

#[async_trait]
impl UserAppend for Open {
    async fn append(&mut self, append: &Append) -> Result<AppendAnswer, AppendError> {
        self.events.append_in(&mut self.user, append).await
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.user.commit_transaction().await.expect("committed");
        Ok(())
    }

    async fn rollback(mut self: Box<Self>) {
        self.user.rollback_transaction().await.expect("rolled back");
    }
}
