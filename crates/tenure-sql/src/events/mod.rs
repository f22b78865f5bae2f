//! Events: appended stream by stream, read by stream or all in the order of their positions.
//!
//! ```text
//!   append ── one transaction ──▶ streams (version) ──▶ append_slots ──▶ events (position)  +  outbox  +  inbox
//!                                                          │
//!                                                          └─ readers stop at its floor, until the transaction has ended
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `append`, `content` | what is done and asked in turn, and what is sent |
//! | `line`, `group` | who goes at once, who waits, and who goes together with others |
//! | `portion`, `together` | what an append brings into a group, and the group's transaction |
//! | `place` | the places where an append happens: a transaction of its own, or the user's |
//! | `horizon` | how far a reader may go, and the proof |
//! | `slots` | the rows that readers go by: whether they are there, and which of them are rubbish |
//! | `read`, `snapshots` | what readers do |
//! | `checkpoints` | [`Checkpoints`] in the handler's transaction, and the contract |

mod append;
mod checkpoints;
mod content;
mod group;
mod horizon;
mod line;
mod place;
mod portion;
mod read;
mod slots;
mod snapshots;
mod together;

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore};
use tenure_core::event::{
    AllPage, Append, AppendAnswer, Limits, Position, Snapshot, StreamName, StreamPage, StreamRead,
};

pub use self::checkpoints::Checkpoints;
pub(crate) use self::group::AppendLine;
use self::place::Place;
use crate::driver::Session;
use crate::store::{Shared, SqlStore};

/// Appends events in transactions. Each database's crate wraps it for its own driver.
#[derive(Debug, Clone)]
pub struct Events {
    shared: Arc<Shared>,
    limits: Limits,
    has_outbox: bool,
}

impl SqlStore {
    /// What appends events in transactions; cheap to clone. Without an outbox, until it is given one.
    pub fn events(&self) -> Events {
        Events { shared: Arc::clone(&self.shared), limits: Limits::default(), has_outbox: false }
    }
}

impl Events {
    /// The same with the outbox of the same database: a relay delivers the dispatches.
    #[must_use]
    pub fn with_outbox(mut self) -> Self {
        self.has_outbox = true;
        self
    }

    /// The same with other limits than the default ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Appends in the transaction that is open on this session.
    pub async fn append(
        &self,
        session: &mut dyn Session,
        append: &Append,
    ) -> Result<AppendAnswer, AppendError> {
        append.check(&self.limits, self.has_outbox)?;
        let answer = self.shared.append(&mut Place::Joined(session), append).await?;
        Shared::tidy_by_chance(&self.shared);
        Ok(answer)
    }
}

#[async_trait]
impl EventStore for SqlStore {
    async fn append(&self, append: &Append, limits: &Limits) -> Result<AppendAnswer, AppendError> {
        append.check(limits, true)?;
        Shared::append_own(&self.shared, append).await
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
}
