//! The events of a database, as the rest of this crate uses them.

use std::sync::Arc;

use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore};
use tenure_core::event::{
    AllPage, Append, AppendAnswer, Limits, Position, Snapshot, StreamName, StreamPage, StreamRead,
};
use tenure_core::observe::METER;
use tenure_core::time::Clock;

use tracing::{Instrument, field};

use crate::clock::SteadyClock;
use crate::hub::{Bell, Hub};

/// Events: appended stream by stream, read by stream or all in order. Cheap to clone.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tenure::event::{Append, Expected, NewEvent, StreamName};
/// use tenure::Events;
///
/// let database = tenure::open("sqlite:app.db", tenure::OpenOptions::default()).await?;
/// database.schema().migrate().await?;
/// let events = Events::new(database.events());
/// let lent = NewEvent::json(tenure::new_id(), "Lent", r#"{"to":"ada"}"#);
/// let stream = StreamName::of("book", "7")?;
/// let answer = events.append(&Append::new(stream, Expected::NONE, vec![lent])).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Events {
    store: Arc<dyn EventStore>,
    limits: Limits,
    has_outbox: bool,
    hub: Arc<Hub>,
}

impl Events {
    /// Events without an outbox: an append with dispatches is an error, at once.
    pub fn new(store: Arc<dyn EventStore>) -> Self {
        let hub = Arc::new(Hub::new(Bell::Events(store.clone())));
        Self { store, limits: Limits::default(), has_outbox: false, hub }
    }

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

    /// Appends events, dispatches and mark in one transaction, or nothing. An error of the store leaves it unknown whether
    /// it happened: the same append again, with the same ids, tells.
    pub async fn append(&self, append: &Append) -> Result<AppendAnswer, AppendError> {
        append.check_outbox(self.has_outbox)?;
        let span =
            tracing::debug_span!("tenure.events.append", count = append.events.len(), answer = field::Empty);
        let began = SteadyClock.now();
        // The store checks the rest, before it does anything.
        let answer = self.store.append(append, &self.limits).instrument(span.clone()).await;
        METER.events_append.observe(0, began.until(SteadyClock.now()));
        let (word, slot) = match &answer {
            Ok(AppendAnswer::Appended(_)) => ("appended", 0),
            Ok(AppendAnswer::Conflict { .. }) => ("conflict", 1),
            Ok(AppendAnswer::Duplicate | AppendAnswer::Refused { .. } | AppendAnswer::Differs) => {
                ("repeated", 2)
            }
            Err(AppendError::Store(error)) => {
                METER.store_error(error);
                ("unknown", 3)
            }
            // Nothing was asked of the store.
            Err(_) => return answer,
        };
        METER.events_appends.add(slot, 1);
        if slot == 0 {
            METER.outbox_enqueued.add(0, append.dispatches.len() as u64);
        }
        span.record("answer", word);
        answer
    }

    /// Reads one stream. A row that cannot be read is an error that names it.
    pub async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError> {
        self.store.read_stream(read).await
    }

    /// Reads all streams after a position. Rows that cannot be read are told in the page, beside the events.
    pub async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError> {
        self.store.read_all(after, limit).await
    }

    /// The last snapshot of a stream.
    pub async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        self.store.load_snapshot(stream).await
    }

    /// Keeps a snapshot, unless there is one of a later version.
    pub async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.store.save_snapshot(snapshot).await
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }
}
