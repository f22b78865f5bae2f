//! The outbox store: what is written goes through the one writing connection, what is read through another.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, OutboxStore, Wakeup};
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;
use tenure_core::outbox::{
    Enqueued, Limits, Loaded, Look, NewMessage, Outcome, Page, Recorded, Retention, RowId, Swept,
};
use tenure_sql::enqueueing;

use super::{enqueue, look, record, sweep};
use crate::store::SqliteStore;

#[async_trait]
impl OutboxStore for SqliteStore {
    async fn enqueue(&self, messages: &[NewMessage], limits: &Limits) -> Result<Vec<Enqueued>, EnqueueError> {
        let work = async {
            NewMessage::check_all(messages, limits)?;
            let messages = messages.to_vec();
            let enqueued = self
                .run(move |database| {
                    // What was refused has left the transaction as it was, so there is nothing to roll back.
                    database.write(|writing| {
                        let statements = &writing.statements.outbox;
                        let now = writing.now.wall;
                        Ok(enqueue::insert_all(writing.connection, statements, &messages, now))
                    })
                })
                .await?;
            self.shared().bells.ring();
            enqueued.map_err(|unsent| unsent.at(self.label()))
        };
        enqueueing(messages.len(), work).await
    }

    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        let look = look.clone();
        self.read_unless(look::nothing, move |snapshot| look::look(snapshot, &look)).await
    }

    async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError> {
        let limits = *limits;
        self.read(move |snapshot| look::load(snapshot, id, &limits)).await
    }

    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        let (office, node, outcomes) = (office.cloned(), node.clone(), outcomes.to_vec());
        let fenced = office.is_some().then_some(Recorded::Fenced);
        self.run_in_office(fenced, move |database| {
            database.write(|writing| record::record(writing, office.as_ref(), &node, &outcomes))
        })
        .await
    }

    async fn sweep(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError> {
        let (office, retention) = (office.cloned(), retention.clone());
        let wanted = retention.clone();
        let old = self.browse(move |snapshot| sweep::find(snapshot, &wanted, resume)).await?;
        let fenced = office.is_some().then(|| Swept { fenced: true, ..Swept::default() });
        self.run_in_office(fenced, move |database| {
            database.write(|writing| sweep::delete(writing, office.as_ref(), &retention, &old))
        })
        .await
    }

    async fn listen(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(Some(Arc::new(self.watch_log()?)))
    }
}
