//! What every test of the outbox needs.

use std::time::Duration;

use tenure_core::contract::{OutboxAdmin, OutboxStore};
use tenure_core::id::NodeName;
use tenure_core::outbox::{
    Discover, Kind, Look, MessageId, NewMessage, Next, Outcome, Page, Recorded, RowId, State, Stored,
    Summary, UnorderedLook,
};
use tenure_sqlite::SqliteStore;

pub(crate) fn node() -> NodeName {
    NodeName::new("relay").unwrap()
}

pub(crate) fn message(payload: &str) -> NewMessage {
    NewMessage::json("orders", "OrderPlaced", payload)
}

pub(crate) fn from(source: &str) -> NewMessage {
    message("{}").from_source(source)
}

pub(crate) async fn send(store: &SqliteStore, messages: &[NewMessage]) -> Vec<MessageId> {
    let sent = OutboxStore::enqueue(store, messages, &Default::default()).await.unwrap();
    sent.into_iter().map(|sent| sent.id).collect()
}

/// Everything that a relay without memory would see.
pub(crate) fn everything() -> Look {
    Look {
        discover: Some(Discover { after: None, sources: 1000, rows_each: 1000, except: Vec::new() }),
        unordered: Some(UnorderedLook { after: None, limit: 1000 }),
        ..Look::default()
    }
}

pub(crate) async fn look(store: &SqliteStore) -> Page {
    store.look(&everything()).await.unwrap()
}

/// The only row that is due.
pub(crate) async fn only(store: &SqliteStore) -> Stored {
    let rows = look(store).await.rows;
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows.into_iter().next().unwrap()
}

pub(crate) fn outcome(id: RowId, attempt: u32, kind: Kind, next: Next) -> Outcome {
    let reason = (kind != Kind::Success).then(|| format!("{} {attempt}", kind.as_str()));
    Outcome { id, attempt, kind, next, reason, took: Duration::from_micros(7) }
}

pub(crate) fn done(id: RowId, attempt: u32) -> Outcome {
    outcome(id, attempt, Kind::Success, Next::Done)
}

pub(crate) fn dead(id: RowId, attempt: u32, halt: bool) -> Outcome {
    outcome(id, attempt, Kind::Rejected, Next::Dead { halt })
}

pub(crate) fn again(id: RowId, attempt: u32, after: Duration) -> Outcome {
    outcome(id, attempt, Kind::Transient, Next::Again { after })
}

/// Records without an office.
pub(crate) async fn record(store: &SqliteStore, outcomes: &[Outcome]) -> Vec<RowId> {
    match OutboxStore::record(store, None, &node(), outcomes).await.unwrap() {
        Recorded::Applied(ids) => ids,
        Recorded::Fenced => panic!("fenced without an office"),
    }
}

pub(crate) async fn summary(store: &SqliteStore, id: &MessageId) -> Summary {
    store.show(&id.to_string(), usize::MAX).await.unwrap().unwrap().summary
}

pub(crate) async fn state(store: &SqliteStore, id: &MessageId) -> State {
    summary(store, id).await.state
}
