//! Whole relays: what the store, the drain and the inbox promise together.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::outbox::{Body, NewMessage, OnDead, RelaySettings, State};

use super::backend::{OutboxBackend, PlainRow};
use super::desk::{Desk, all, id_of, message, of, only, unique_id};
use super::driver::{Ledger, Relay, is_settled, nothing_is_forgotten, quick};
use crate::lease::player::{LONG, Player, fresh};

/// Messages of some sources and of none, mixed; and what their ledger must be.
async fn backlog(desk: &Desk<'_>, sources: u32, each: u32) -> BTreeMap<String, Vec<String>> {
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for number in 0..each {
        let mut batch: Vec<_> = (0..sources).map(|source| of(&format!("s{source}"), number)).collect();
        batch.push(message(number));
        desk.sends(&batch).await;
        for message in batch {
            let source = message.source.unwrap_or_else(|| "-".into());
            let text = String::from_utf8_lossy(message.body.as_bytes()).into_owned();
            expected.entry(source).or_default().push(text);
        }
    }
    expected
}

/// Failures before and after the effect, answers that are lost on every way: all is delivered, in order, once in effect.
pub async fn s44_everything_is_delivered_in_order_and_once_in_effect(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let expected = backlog(&desk, 5, 6).await;
    let mut relay = Relay::start(backend, quick(), None).await;
    relay.lose_every = 3;
    let mut ledger = Ledger::open(backend, 46);
    (ledger.fails_before, ledger.fails_after) = (25, 20);
    relay.drains(&mut ledger).await;
    is_settled(backend, &expected).await;
    nothing_is_forgotten(backend).await;
    assert!(ledger.came.len() > 36, "some came again, or this case proves nothing");
    let stats = desk.stats().await;
    assert_eq!((stats.pending, stats.dispatched, stats.dead), (0, 36, 0));
    assert_eq!(
        backend.attempt_rows().await,
        ledger.came.len() as u64,
        "an attempt for each delivery, and no more"
    );
}

/// A relay dies after it delivered and before it recorded; another begins anew.
pub async fn s40_a_crash_between_delivery_and_record_has_one_effect(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let expected = backlog(&desk, 3, 4).await;
    let mut ledger = Ledger::open(backend, 1);
    let mut crashes = Relay::start(backend, quick(), None).await;
    assert!(crashes.looks().await);
    assert!(crashes.delivers(&mut ledger).await);
    drop(crashes);
    assert_eq!(desk.stats().await.pending, 16, "nothing was recorded");
    Relay::start(backend, quick(), None).await.drains(&mut ledger).await;
    is_settled(backend, &expected).await;
    assert_eq!((desk.stats().await.dispatched, backend.attempt_rows().await), (16, 16));
    assert_eq!(ledger.came.len(), 32, "all of it came twice");
}

/// A relay is deposed in the middle of its batch: its record is refused, its successor delivers again, effects are once.
pub async fn s41_a_relay_deposed_in_its_batch_changes_nothing(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("batch");
    let old = ann.takes(&name, LONG).await;
    let expected = backlog(&desk, 3, 4).await;
    let mut ledger = Ledger::open(backend, 2);
    let mut first = Relay::start(backend, quick(), Some(old.fence())).await;
    assert!(first.looks().await && first.delivers(&mut ledger).await);
    ann.releases(&old).await;
    let new = bob.takes(&name, LONG).await;
    let mut second = Relay::start(backend, quick(), Some(new.fence())).await;
    assert!(second.looks().await && second.delivers(&mut ledger).await);
    first.records().await;
    assert!(first.deposed, "its record is refused");
    assert_eq!(backend.attempt_rows().await, 0);
    second.drains(&mut ledger).await;
    assert!(!second.deposed);
    is_settled(backend, &expected).await;
    assert_eq!(backend.attempt_rows().await, 16, "no attempt is burnt twice");
    let listed = desk.lists(all(), None, 100).await;
    let shown = desk.admin.show(&listed[0].id, usize::MAX).await.expect("an answer").expect("a message");
    assert_eq!(shown.attempts[0].term, Some(new.term.get()));
}

/// Rows that nobody can read stand at the head, in sources and without: each is parked with its reason, the rest flows.
pub async fn s43_poison_at_the_head_is_parked_and_the_rest_flows(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    for number in 0..20 {
        let row = PlainRow {
            source: (number % 2 == 0).then(|| format!("s{}", number % 3)),
            topic: "t".into(),
            kind: "k".into(),
            payload: Some("x".into()),
            headers: Some("no json".into()),
            ..PlainRow::default()
        };
        backend.insert_plain(row).await.expect("a plain insert");
    }
    let expected = backlog(&desk, 3, 3).await;
    let mut ledger = Ledger::open(backend, 3);
    let settings = RelaySettings { read_ahead: 4, run: 2, ..quick() };
    Relay::start(backend, settings, None).await.drains(&mut ledger).await;
    is_settled(backend, &expected).await;
    nothing_is_forgotten(backend).await;
    let dead = desk.lists(tenure_core::outbox::Filter { state: Some(State::Dead), ..all() }, None, 100).await;
    assert_eq!(dead.len(), 20);
    for row in dead {
        assert_eq!((row.attempts, row.halts), (1, false));
        assert!(row.last_error.is_some_and(|reason| reason.contains("headers")));
    }
}

/// One source fails and fails: it waits in order, and nobody waits with it.
pub async fn s44_a_failing_source_waits_and_others_flow(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let broken = NewMessage { topic: "broken".into(), ..of("s0", 99) };
    let behind = of("s0", 100);
    desk.sends(&[broken.clone(), behind.clone()]).await;
    let mut expected = backlog(&desk, 3, 3).await;
    let mut ledger = Ledger::open(backend, 4);
    ledger.broken_topic = Some("broken");
    let mut settings = quick();
    (settings.retry.first, settings.retry.cap) = (Duration::from_secs(3_600), Duration::from_secs(3_600));
    Relay::start(backend, settings, None).await.drains(&mut ledger).await;
    let waiting = expected.remove("s0").expect("a source");
    is_settled(backend, &expected).await;
    nothing_is_forgotten(backend).await;
    let summary = desk.summary(&broken).await;
    assert_eq!((summary.state, summary.attempts), (State::Pending, 1));
    assert_eq!(desk.summary(&behind).await.attempts, 0, "nothing overtakes");
    assert_eq!(desk.stats().await.pending, 2 + waiting.len() as u64);
}

/// The same failure until the budget is spent: dead, its source goes on; an operator's retry gives it a whole budget.
pub async fn s45_a_message_is_dead_after_its_last_attempt_and_can_be_retried(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let broken = NewMessage { topic: "broken".into(), ..of("s", 1) };
    let behind = of("s", 2);
    desk.sends(&[broken.clone(), behind.clone()]).await;
    let mut settings = quick();
    settings.retry.max_attempts = 3;
    let mut ledger = Ledger::open(backend, 5);
    ledger.broken_topic = Some("broken");
    Relay::start(backend, settings.clone(), None).await.drains(&mut ledger).await;
    let summary = desk.summary(&broken).await;
    assert_eq!((summary.state, summary.attempts), (State::Dead, 3));
    assert!(summary.last_error.is_some_and(|reason| reason.contains("gave up after 3 attempts")));
    assert_eq!(desk.state(&behind).await, State::Dispatched);
    desk.retries(&only(&broken), "ann", 1).await;
    Relay::start(backend, settings.clone(), None).await.drains(&mut ledger).await;
    assert_eq!(desk.summary(&broken).await.attempts, 6, "three more");
    desk.retries(&only(&broken), "ann", 1).await;
    ledger.broken_topic = None;
    Relay::start(backend, settings, None).await.drains(&mut ledger).await;
    assert_eq!(desk.summary(&broken).await.attempts, 7);
    assert_eq!(desk.state(&broken).await, State::Dispatched);
}

/// A refused message halts its source, until an operator has decided; then it goes on in order.
pub async fn s45_a_halted_source_goes_on_after_an_operators_decision(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let (refused, behind) = (NewMessage { topic: "refused".into(), ..of("h", 1) }, of("h", 2));
    desk.sends(&[refused.clone(), behind.clone()]).await;
    let mut expected = backlog(&desk, 2, 2).await;
    let mut ledger = Ledger::open(backend, 6);
    ledger.refused_topic = Some("refused");
    let settings = RelaySettings { on_dead: OnDead::Halt, ..quick() };
    Relay::start(backend, settings.clone(), None).await.drains(&mut ledger).await;
    is_settled(backend, &expected).await;
    nothing_is_forgotten(backend).await;
    assert_eq!((desk.state(&refused).await, desk.state(&behind).await), (State::Dead, State::Pending));
    ledger.refused_topic = None;
    assert_eq!(desk.retries(&only(&refused), "ann", 1).await, [id_of(&refused)]);
    Relay::start(backend, settings, None).await.drains(&mut ledger).await;
    expected.insert("h".into(), vec!["{\"number\":1}".into(), "{\"number\":2}".into()]);
    is_settled(backend, &expected).await;
}

/// Large payloads come whole, in their order.
pub async fn a_relay_delivers_large_payloads(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let mut expected = BTreeMap::new();
    let mut lines = Vec::new();
    for number in 0..4u32 {
        let text = format!("{number}{}", "x".repeat(if number % 2 == 0 { 10 } else { 100_000 }));
        let message = NewMessage::new("t", "k", Body::Text(text.clone())).from_source("large");
        desk.sends(&[message.with_id(unique_id())]).await;
        lines.push(text);
    }
    expected.insert("large".to_owned(), lines);
    let mut ledger = Ledger::open(backend, 8);
    Relay::start(backend, quick(), None).await.drains(&mut ledger).await;
    is_settled(backend, &expected).await;
}
