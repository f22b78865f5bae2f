//! A story with its messages, and the way from a message back to its story.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{EventStore, OutboxStore};
use tenure_core::entity::{HEADER_CAUSATION, HEADER_CORRELATION};
use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, StreamName};
use tenure_core::id::NodeName;
use tenure_core::memory::{ManualClock, MemoryStore};
use tenure_core::outbox::{
    Kind, Limits, MessageId, NewMessage, Next, Outcome, Retention, Selection, Summary, deterministic_id,
};
use tenure_dashboard::{Auth, Hosts};

use crate::house::{HOST, House, Told, Who, tokens};
use crate::page;
use crate::watched::Watched;

fn dispatch(stream: &str, version: i64, index: i32, kind: &str) -> NewMessage {
    NewMessage::json("loans", kind, "{}")
        .from_version(stream, version, index)
        .with_header(HEADER_CAUSATION, format!("{stream}@{version}"))
        .with_header(HEADER_CORRELATION, "c1")
}

/// One event, the first or the next of its stream, that follows from something, with the messages that it sends.
async fn append(
    store: &MemoryStore,
    stream: &str,
    id: u128,
    cause: Option<MessageId>,
    sent: Vec<NewMessage>,
) {
    let mut event = NewEvent::json(uuid::Uuid::from_u128(id), format!("event-{id}"), "{}");
    event.metadata.correlation = Some("c1".into());
    event.metadata.causation = cause.map(|id| id.to_string());
    event.metadata.message_id = cause;
    let append = Append::new(StreamName::new(stream).unwrap(), Expected::Any, vec![event]);
    let answer = EventStore::append(store, &append.with_dispatches(sent), &Default::default()).await;
    assert!(matches!(answer.unwrap(), AppendAnswer::Appended(_)));
}

async fn rows(store: &MemoryStore) -> Vec<Summary> {
    let all = Selection { limit: 100, ..Selection::default() };
    tenure_core::contract::OutboxAdmin::list(store, &all).await.unwrap().messages
}

async fn ends(store: &MemoryStore, id: MessageId, kind: Kind, next: Next) {
    let rows = rows(store).await;
    let row = rows.iter().find(|row| row.id == id.to_string()).unwrap();
    let reason =
        (kind != Kind::Success).then(|| tenure_core::outbox::shorten("HTTP 422: said by the receiver"));
    let outcome = Outcome { id: row.row, attempt: 1, kind, next, reason, took: Default::default() };
    store.record(None, &NodeName::new("n").unwrap(), &[outcome]).await.unwrap();
}

fn store() -> MemoryStore {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_700_000_000));
    MemoryStore::new(clock)
}

fn house(store: MemoryStore) -> House {
    let (auth, hosts) = (Auth::tokens(tokens()), Hosts::these([HOST]).unwrap());
    House::of(Arc::new(Watched::new(store)), auth, hosts, None, |dashboard| dashboard)
}

/// Event 1 sends six messages; the first is delivered, the second dead, the rest wait. Event 2 follows from the second.
async fn told() -> (House, impl Fn(i32) -> MessageId) {
    let store = store();
    let id = |index| deterministic_id("order-1", 1, index);
    let sent = (0..6).map(|index| dispatch("order-1", 1, index, &format!("kind-{index}"))).collect();
    append(&store, "order-1", 1, None, sent).await;
    append(&store, "loan-1", 2, Some(id(1)), vec![]).await;
    ends(&store, id(0), Kind::Success, Next::Done).await;
    ends(&store, id(1), Kind::Rejected, Next::Dead { halt: false }).await;
    (house(store), id)
}

async fn ask(house: &House, path: &str, who: Who) -> Told {
    let told = house.get(path).bearer(who).send().await;
    assert_eq!(told.status, 200, "{path}: {}", told.body);
    told
}

#[tokio::test(start_paused = true)]
async fn a_story_has_the_messages_that_its_events_sent() {
    let (house, id) = told().await;
    let page = ask(&house, "/story?correlation=c1", Who::View).await.body;
    assert!(page.contains("2 events, 6 messages"), "{page}");
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not in {page}"));
    for index in 0..6 {
        at(&format!("/message?id={}", id(index)));
    }
    // Each with its state, in its place; and what followed from a message stands below it.
    assert!(
        at("kind-0") < at("kind-1") && at("kind-1") < at("event-2") && at("event-2") < at("kind-2"),
        "{page}"
    );
    for state in ["dispatched", "dead", "pending"] {
        at(state);
    }
    let told = ask(&house, "/api/v1/stories?correlation=c1", Who::View).await.json();
    let events = told["items"].as_array().unwrap_or_else(|| panic!("{told}"));
    let states: Vec<_> = events[0]["sent"].as_array().unwrap().iter().map(|m| m["state"].clone()).collect();
    assert_eq!(states, ["dispatched", "dead", "pending", "pending", "pending", "pending"]);
    assert_eq!(events[1]["sent"], serde_json::json!([]));
    // What a receiver answered is for those who may see payloads.
    assert_eq!(events[0]["sent"][1]["last_error"], "HTTP 422");
    let told = ask(&house, "/api/v1/stories?correlation=c1", Who::ViewPayloads).await.json();
    assert_eq!(told["items"][0]["sent"][1]["last_error"], "HTTP 422: said by the receiver");
    let told = ask(&house, "/api/v1/streams/events?stream=order-1", Who::View).await.json();
    assert!(told["items"][0].get("sent").is_none(), "only within a story: {told}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_retention_deleted_hides_no_other_and_keeps_the_tree() {
    let store = store();
    let id = |index| deterministic_id("order-1", 1, index);
    let sent = (0..2).map(|index| dispatch("order-1", 1, index, &format!("kind-{index}"))).collect();
    append(&store, "order-1", 1, None, sent).await;
    append(&store, "loan-1", 2, Some(id(0)), vec![]).await;
    ends(&store, id(0), Kind::Success, Next::Done).await;
    ends(&store, id(1), Kind::Rejected, Next::Dead { halt: false }).await;
    let now = Retention { dispatched: Some(Default::default()), ..Retention::default() };
    store.sweep(None, &now, None).await.unwrap();
    assert_eq!(rows(&store).await.len(), 1);
    let page = ask(&house(store), "/story?correlation=c1", Who::View).await.body;
    assert!(!page.contains("kind-0") && page.contains("kind-1"), "{page}");
    assert_eq!(
        page.matches("<ol").count(),
        3,
        "what followed from it is below the event that sent it: {page}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_leads_to_the_event_that_sent_it_and_to_its_story() {
    let (house, id) = told().await;
    let path = format!("/message?id={}", id(1));
    let page = ask(&house, &path, Who::ViewPayloads).await.body;
    for link in ["/_tenure/event?stream=order-1&amp;version=1\"", "/_tenure/story?correlation=c1\""] {
        assert!(page.contains(link), "{link} in {page}");
    }
    // Headers may say anything, so they are for those who may see payloads.
    let page = ask(&house, &path, Who::View).await.body;
    assert!(!page.contains("/event?") && !page.contains("/story?"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn a_header_that_names_no_event_and_no_story_is_text_and_no_link() {
    let long = format!("{}@1", "x".repeat(5_000));
    let hostile = [
        "",
        "order-1",
        "order-1@",
        "@1",
        "order-1@0",
        "order-1@-1",
        "order-1@1x",
        "order-1@99999999999999999999",
        &long,
    ];
    let store = store();
    for (number, text) in (1_u128..).zip(hostile) {
        let message = NewMessage::json("t", "k", "{}")
            .with_id(uuid::Uuid::from_u128(number))
            .with_header(HEADER_CAUSATION, text)
            .with_header(HEADER_CORRELATION, if text.contains("order") { "" } else { text });
        if let Err(error) = store.enqueue(&[message], &Limits::default()).await {
            panic!("{text:?}: {error}");
        }
    }
    let house = house(store);
    for (number, text) in (1_u128..).zip(hostile) {
        let path = format!("/message?id={}", uuid::Uuid::from_u128(number));
        let page = ask(&house, &path, Who::ViewPayloads).await.body;
        assert!(!page.contains("/event?"), "{text:?}: {page}");
        let story = page.contains("/story?");
        assert_eq!(story, text == "@1", "{text:?} as a correlation: {page}");
        assert_eq!(page::problems(&page), Vec::<String>::new(), "{text:?}");
    }
}
