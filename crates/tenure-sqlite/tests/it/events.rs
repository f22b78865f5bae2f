//! What every test of the events needs.

use tenure_core::contract::EventStore;
use tenure_core::event::{
    AllPage, Append, AppendAnswer, Appended, Expected, InboxMark, NewEvent, Position, Recorded, StreamName,
    StreamRead, Version,
};
use tenure_core::outbox::{Consumer, MessageId, deterministic_id};
use tenure_core::subscription::{Aside, Step, SubscriptionName};
use tenure_sqlite::SqliteStore;

use crate::backend::SqliteFile;

pub(crate) fn stream(name: &str) -> StreamName {
    StreamName::new(name).unwrap()
}

/// An event whose id and payload are its number.
pub(crate) fn event(number: u128) -> NewEvent {
    NewEvent::json(uuid::Uuid::from_u128(number), "Happened", number.to_string())
}

pub(crate) fn at(name: &str, version: i64, numbers: &[u128]) -> Append {
    let events = numbers.iter().map(|number| event(*number)).collect();
    Append::new(stream(name), Expected::Exact(Version(version)), events)
}

pub(crate) fn any(name: &str, numbers: &[u128]) -> Append {
    Append { expected: Expected::Any, ..at(name, 0, numbers) }
}

pub(crate) fn message_id(number: i64) -> MessageId {
    deterministic_id("cause", number, 0)
}

pub(crate) fn mark(number: i64) -> InboxMark {
    let consumer = Consumer::new("loans").unwrap();
    InboxMark { consumer, id: message_id(number), fingerprint: None, refused: None }
}

pub(crate) fn first(answer: AppendAnswer) -> Appended {
    match answer {
        AppendAnswer::Appended(appended) if !appended.repeated => appended,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn conflict(actual: i64) -> AppendAnswer {
    AppendAnswer::Conflict { actual: Version(actual) }
}

pub(crate) async fn append(store: &SqliteStore, append: &Append) -> AppendAnswer {
    EventStore::append(store, append, &Default::default()).await.unwrap()
}

pub(crate) async fn all(store: &SqliteStore) -> AllPage {
    store.read_all(Position::START, 10_000).await.unwrap()
}

pub(crate) async fn read(store: &SqliteStore, name: &str) -> Vec<Recorded> {
    store.read_stream(&StreamRead::forward(stream(name), Version::NONE, 10_000)).await.unwrap().events
}

pub(crate) fn numbers(events: &[Recorded]) -> Vec<u128> {
    events.iter().map(|event| event.id.as_u128()).collect()
}

pub(crate) fn count(file: &SqliteFile, table: &str) -> i64 {
    file.raw().query_row(&format!("select count(*) from tenure_{table}"), [], |row| row.get(0)).unwrap()
}

/// How many rows there are in everything that an append writes to.
pub(crate) fn rows(file: &SqliteFile) -> [i64; 5] {
    ["streams", "events", "outbox", "outbox_pending", "inbox"].map(|table| count(file, table))
}

pub(crate) fn subscription(name: &str) -> SubscriptionName {
    SubscriptionName::new(name).unwrap()
}

pub(crate) fn step(name: &str, from: i64, to: i64) -> Step {
    Step { name: subscription(name), from: Position(from), rewinds: 0, to: Position(to), parked: Vec::new() }
}

pub(crate) fn aside(position: i64) -> Aside {
    Aside {
        position: Position(position),
        stream: Some(stream("s")),
        version: Version(position),
        kind: "Happened".into(),
        reason: format!("no {position}"),
        attempts: 3,
    }
}
