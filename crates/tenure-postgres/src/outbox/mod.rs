//! The outbox: messages in the user's own transaction, and what a relay and an operator need of them.
//!
//! ```text
//!   INSERT INTO outbox ──trigger──▶ pending ──record: done──▶ (gone)          = dispatched
//!   (never changes)                   │  ▲  └─record: again─▶ pending, later
//!                                     │  └──── retry ───────┐
//!                                     └─────── dead ────────▶ dead ──discard──▶ dead with a date = discarded
//! ```
//!
//! A message's row never changes; a narrow row among the pending is all that moves.
//!
//! | file | what it holds |
//! |---|---|
//! | `statements` | its SQL |
//! | `enqueue`, `content` | [`Outbox`]: in the user's transaction; what a message says, to tell it from another |
//! | `inbox` | [`Inbox`]: in the receiver's transaction |
//! | `pool` | connections of its own, which the events share |
//! | `look`, `record` | what a relay does |
//! | `admin` | what an operator does |

mod admin;
mod causes;
mod content;
mod enqueue;
mod inbox;
mod look;
mod pool;
mod record;
mod search;
pub(crate) mod statements;

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, OutboxStore, Wakeup};
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;
use tenure_core::outbox::{
    Enqueued, Limits, Loaded, Look, NewMessage, Outcome, Page, Recorded, Retention, RowId, Swept,
};
use tokio::time::timeout;

pub(crate) use self::content::Batch;
pub use self::enqueue::Outbox;
pub use self::inbox::Inbox;
pub(crate) use self::pool::OutboxPool;
use crate::error::{store_error, unreachable};
use crate::statements::{COMMIT, ROLLBACK};
use crate::store::PostgresStore;
use crate::wakeup::{PostgresWakeup, Source};

#[async_trait]
impl OutboxStore for PostgresStore {
    async fn enqueue(&self, messages: &[NewMessage], limits: &Limits) -> Result<Vec<Enqueued>, EnqueueError> {
        let shared = &self.shared;
        let outbox = self.outbox().with_limits(*limits);
        let lent = shared.lend_outbox().await?;
        let client = lent.client()?;
        let begin = shared.limits.begin();
        let work = async {
            let explain = |error| store_error(&shared.label, error);
            client.batch_execute(&begin).await.map_err(explain)?;
            let answer = outbox.enqueue_all_on(client, messages).await;
            let end = if answer.is_ok() { COMMIT } else { ROLLBACK };
            client.batch_execute(end).await.map_err(explain)?;
            answer
        };
        // Every statement has its limit at the server; this is for one that is silent. The connection goes with it.
        let Ok(answer) = timeout(shared.patience * 4, work).await else {
            return Err(unreachable(&shared.label, "the server did not answer about messages").into());
        };
        if !matches!(&answer, Err(EnqueueError::Store(_))) {
            lent.give_back();
        }
        answer
    }

    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        self.shared.look(look).await
    }

    async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError> {
        self.shared.load(id, limits).await
    }

    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        self.shared.record(office, node, outcomes).await
    }

    async fn sweep(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError> {
        self.shared.sweep_step(office, retention, resume).await
    }

    async fn listen(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        if self.shared.pooled {
            return Ok(None);
        }
        let statements = &self.shared.statements.outbox;
        let source = Source { table: &statements.table, channel: &statements.channel };
        Ok(Some(Arc::new(PostgresWakeup::open(&self.shared, source).await?)))
    }
}
