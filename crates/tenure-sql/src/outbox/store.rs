//! The outbox as a relay sees it: each call is one unit of work on a session of the pool.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, OutboxStore};
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;
use tenure_core::outbox::{
    Enqueued, Limits, Loaded, Look, NewMessage, Outcome, Page, Recorded, Retention, RowId, Swept,
};

use super::enqueue::{Batch, Frame};
use super::unit::Ended;
use crate::driver::Turn;
use crate::span::enqueueing;
use crate::store::SqlStore;

#[async_trait]
impl OutboxStore for SqlStore {
    async fn enqueue(&self, messages: &[NewMessage], limits: &Limits) -> Result<Vec<Enqueued>, EnqueueError> {
        let work = async {
            NewMessage::check_all(messages, limits)?;
            let shared = &self.shared;
            let batch = Batch::of(messages)?;
            let mut tried = 1;
            loop {
                let mut lent = shared.lend(Turn::Traffic).await?;
                let outcome = shared.insert(&mut *lent, &batch, Frame::Own, &mut false).await;
                match shared.end(lent, outcome, tried).await {
                    Ended::Undone => tried += 1,
                    Ended::With(outcome) => {
                        return outcome.map_err(|stop| stop.into_enqueue_error(shared.label()));
                    }
                }
            }
        };
        enqueueing(messages.len(), work).await
    }

    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        let shared = &self.shared;
        let mut tried = 1;
        loop {
            let mut lent = shared.lend(Turn::Traffic).await?;
            let outcome = shared.look_on(&mut *lent, look).await;
            match shared.end(lent, outcome, tried).await {
                Ended::Undone => tried += 1,
                Ended::With(outcome) => return outcome.map_err(|stop| stop.into_error(shared.label())),
            }
        }
    }

    fn lists_arrivals(&self) -> bool {
        true
    }

    async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError> {
        let shared = &self.shared;
        let limit = i64::try_from(limits.payload).unwrap_or(i64::MAX);
        let params = vec![id.0.into(), limit.into()];
        let rows = shared.rows(Turn::Traffic, &shared.statements.outbox_load, params).await?;
        shared.load_answer(rows, limits)
    }

    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        let shared = &self.shared;
        let (mut tried, mut quick) = (1, true);
        loop {
            let mut lent = shared.lend(Turn::Traffic).await?;
            let outcome = shared.record_on(&mut *lent, office, node, outcomes, quick).await;
            match shared.end(lent, outcome, tried).await {
                Ended::Undone => tried += 1,
                // Not all were as they should be: each is looked at.
                Ended::With(Ok(None)) => quick = false,
                Ended::With(Ok(Some(recorded))) => return Ok(recorded),
                Ended::With(Err(stop)) => return Err(stop.into_error(shared.label())),
            }
        }
    }

    async fn sweep(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError> {
        let shared = &self.shared;
        let old = shared.find_old(retention, resume).await?;
        let mut tried = 1;
        loop {
            let mut lent = shared.lend(Turn::Traffic).await?;
            let outcome = shared.sweep_on(&mut *lent, office, retention, &old).await;
            match shared.end(lent, outcome, tried).await {
                Ended::Undone => tried += 1,
                Ended::With(outcome) => return outcome.map_err(|stop| stop.into_error(shared.label())),
            }
        }
    }
}
