//! Events: appended stream by stream, read by stream or all in the order of their positions.
//!
//! ```text
//!   append ── one statement ──▶ streams (version) ──▶ events (position)  +  outbox  +  inbox
//!                │                                       │
//!                └─ shows a number in pg_locks ─────────▶│ readers stop before it, until the transaction has ended
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `statements` | its SQL; the forms of the statement that appends |
//! | `handle` | [`Events`]: in the user's transaction |
//! | `append`, `content` | what is done and asked in turn, what is sent and what the answers say |
//! | `session`, `session_sqlx` | the places where an append happens |
//! | `horizon` | how far a reader may go, and the proof |
//! | `read`, `snapshots` | what readers do |
//! | `checkpoints` | [`Checkpoints`] in the handler's transaction, and the contract |

mod append;
mod checkpoints;
mod content;
mod handle;
mod horizon;
mod read;
mod session;
#[cfg(feature = "sqlx")]
mod session_sqlx;
mod snapshots;
pub(crate) mod statements;

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore, Wakeup};
use tenure_core::event::{
    AllPage, Append, AppendAnswer, Limits, Position, Snapshot, StreamName, StreamPage, StreamRead,
};

pub use self::checkpoints::Checkpoints;
pub use self::handle::Events;
pub use self::statements::APPEND_IDLE_MAX;
use crate::store::PostgresStore;
use crate::wakeup::{PostgresWakeup, Source};

#[async_trait]
impl EventStore for PostgresStore {
    async fn append(&self, append: &Append, limits: &Limits) -> Result<AppendAnswer, AppendError> {
        append.check(limits, true)?;
        let shared = &self.shared;
        let mut session = session::Own(shared);
        append::append(&mut session, &shared.statements.events, &shared.label, append).await
    }

    async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError> {
        self.shared.read_stream(read).await
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError> {
        self.shared.read_all(after, limit).await
    }

    async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        self.shared.load_snapshot(stream).await
    }

    async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.shared.save_snapshot(snapshot).await
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        if self.shared.pooled {
            return Ok(None);
        }
        let statements = &self.shared.statements.events;
        let source = Source { table: &statements.table, channel: &statements.channel };
        Ok(Some(Arc::new(PostgresWakeup::open(&self.shared, source).await?)))
    }
}
