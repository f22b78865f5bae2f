//! What an operator sees, and what he does: each change once, and written down.

use std::time::Duration;

use tenure_core::outbox::{
    Body, DeadWalk, Filter, Kind, LIST_MAX, MessageId, NewMessage, Outcome, Sequence, State, Stats, Stored,
    deterministic_id,
};

use super::backend::{OutboxBackend, PlainRow};
use super::desk::{
    Desk, again, all, dead, done, everywhere, id_of, ids, message, of, only, sorted, unique_id,
};

const LATER: Duration = Duration::from_secs(3_600);

/// Every number counts what it says.
pub async fn the_numbers_count_what_they_say(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    assert_eq!(desk.stats().await, Stats::default(), "an empty outbox");
    desk.sends(&[message(1), of("w", 2)]).await;
    desk.sends(&[message(3).delayed(LATER)]).await;
    let failed = of("f", 4);
    desk.sends(std::slice::from_ref(&failed)).await;
    let row = desk.row(&failed).await;
    desk.settles(again(&row, LATER)).await;
    desk.delivers(&message(5)).await;
    desk.delivers(&of("d", 6)).await;
    desk.buries(&message(7), false).await;
    desk.buries(&of("h", 8), true).await;
    desk.sends(&[of("h", 9)]).await;
    let discarded = message(10);
    desk.buries(&discarded, false).await;
    desk.discards(&only(&discarded), "ann", 1).await;
    let stats = desk.stats().await;
    assert_eq!((stats.pending, stats.delayed, stats.retrying), (5, 1, 1), "{stats:?}");
    assert_eq!((stats.dead, stats.discarded, stats.dispatched), (2, 1, 2), "{stats:?}");
    assert_eq!(stats.halted_sources, 1);
}

/// The lag is the age of the oldest message that could have gone.
pub async fn the_lag_leaves_out_what_could_not_go(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let halts = of("h", 1);
    desk.buries(&halts, true).await;
    desk.sends(&[of("h", 2), message(3).delayed(LATER)]).await;
    assert_eq!(desk.stats().await.lag, None, "delayed and halted ones do not count");
    backend.pass(Duration::from_millis(100)).await;
    let failed = message(4);
    desk.sends(std::slice::from_ref(&failed)).await;
    let row = desk.row(&failed).await;
    desk.settles(again(&row, LATER)).await;
    let created = desk.summary(&failed).await.created_at;
    backend.pass(Duration::from_millis(50)).await;
    let before = desk.now().await;
    let lag = desk.stats().await.lag.expect("what failed waits");
    assert!(lag >= created.until(before) && lag <= created.until(desk.now().await), "{lag:?}");
    desk.discards(&only(&halts), "ann", 1).await;
    assert!(desk.stats().await.lag.is_some_and(|longer| longer > lag + Duration::from_millis(90)));
}

/// A message that was held back waits from the time that was set for it: then it has no lag yet.
pub async fn the_lag_of_a_delayed_message_counts_from_its_time(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let delayed = message(1).delayed(Duration::from_millis(1_500));
    let ordered = of("lag", 2).delayed(Duration::from_millis(1_500));
    desk.sends(&[delayed.clone(), ordered.clone()]).await;
    backend.pass(Duration::from_millis(1_600)).await;
    let due = [desk.row(&delayed).await, desk.row(&ordered).await];
    let lag = desk.stats().await.lag.expect("both are due");
    let since = due[0].due_at.min(due[1].due_at);
    assert!(lag <= since.until(desk.now().await), "it counts from the time that was set: {lag:?}");
    desk.settles(again(&due[0], LATER)).await;
    desk.settles(again(&due[1], LATER)).await;
    let lag = desk.stats().await.lag.expect("what failed waits");
    assert!(lag <= since.until(desk.now().await), "also when it has failed: {lag:?}");
    for row in due {
        desk.settles(done(&Stored { attempts: 1, ..row })).await;
    }
    // Behind many that have just come due, what waits for longer still counts.
    let many: Vec<_> = (0..150).map(|number| message(number).delayed(Duration::from_millis(1_000))).collect();
    desk.sends(&many).await;
    let waits = message(200);
    desk.sends(std::slice::from_ref(&waits)).await;
    backend.pass(Duration::from_millis(1_100)).await;
    let since = desk.row(&waits).await.due_at;
    let before = desk.now().await;
    assert!(desk.stats().await.lag.is_some_and(|lag| lag >= since.until(before)));
}

/// What no program should have written can be looked at and decided about by the id that it has.
pub async fn s43_a_row_whose_id_is_no_uuid_is_shown_and_discarded(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let show = async |id: &str| desk.admin.show(id, usize::MAX).await.expect("an answer");
    for id in ["seven", "", "470831a4", "' or '1'='1"] {
        assert!(show(id).await.is_none(), "{id}");
        let named = Filter { id: Some(id.into()), ..all() };
        assert_eq!(desk.counts(&named, u32::MAX).await.number, 0);
        assert_eq!(
            desk.admin.retry(&DeadWalk::of(named.clone(), 9), "ann").await.expect("a retry").ids,
            [] as [String; 0]
        );
        assert_eq!(
            desk.admin.discard(&DeadWalk::of(named.clone(), 9), "ann").await.expect("a discard").ids,
            [] as [String; 0]
        );
    }
    let row = PlainRow {
        message_id: Some("Order 7".into()),
        topic: "t".into(),
        kind: "k".into(),
        ..PlainRow::default()
    };
    if backend.insert_plain(row).await.is_err() {
        // The type of the column refuses it.
        return;
    }
    let page = desk.looks(&everywhere()).await;
    desk.settles(dead(&page.rows[0], false)).await;
    let shown = show("order 7").await.expect("found without regard to case");
    assert_eq!((shown.summary.id.as_str(), shown.summary.state), ("Order 7", State::Dead));
    let named = Filter { id: Some("Order 7".into()), ..all() };
    assert_eq!(desk.lists(named.clone(), None, 9).await.len(), 1);
    assert_eq!(desk.counts(&named, u32::MAX).await.number, 1);
    assert_eq!(
        desk.admin.retry(&DeadWalk::of(named.clone(), 9), "ann").await.expect("a retry").ids,
        ["Order 7"]
    );
    let page = desk.looks(&everywhere()).await;
    desk.settles(dead(&page.rows[0], false)).await;
    assert_eq!(
        desk.admin.discard(&DeadWalk::of(named.clone(), 9), "ann").await.expect("a discard").ids,
        ["Order 7"]
    );
    assert_eq!(show("Order 7").await.expect("a message").summary.state, State::Discarded);
    assert_eq!(backend.audit().await.last().map(|line| line.subject.clone()).as_deref(), Some("Order 7"));
}

/// Newest first, page by page, each message once.
pub async fn a_list_is_newest_first_and_paged(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..11).map(message).collect();
    for message in &sent {
        desk.sends(std::slice::from_ref(message)).await;
    }
    let (mut before, mut seen) = (None, Vec::new());
    for page in [4, 4, 3, 0] {
        let rows = desk.lists(all(), before, 4).await;
        assert_eq!(rows.len(), page);
        before = rows.last().map(|row| row.row).or(before);
        seen.extend(rows.into_iter().map(|row| row.id));
    }
    let newest_first: Vec<_> = ids(&sent).iter().rev().map(ToString::to_string).collect();
    assert_eq!(seen, newest_first);
    let many = vec![NewMessage::json("t", "k", "{}"); LIST_MAX as usize];
    desk.sends(&many).await;
    assert_eq!(desk.lists(all(), None, u32::MAX).await.len(), LIST_MAX as usize, "a page has a limit");
}

/// Every part of a filter must fit.
pub async fn a_list_shows_what_fits_its_filter(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let kind = |message: NewMessage, topic: &str, kind: &str| NewMessage {
        topic: topic.into(),
        kind: kind.into(),
        ..message
    };
    let pending = kind(of("a", 1), "orders", "Placed");
    let sent = kind(message(2), "orders", "Paid");
    let buried = kind(of("b", 3), "loans", "Placed");
    let gone = kind(of("a", 4), "loans", "Paid");
    desk.sends(std::slice::from_ref(&pending)).await;
    desk.delivers(&sent).await;
    desk.buries(&buried, false).await;
    desk.buries(&gone, false).await;
    desk.discards(&only(&gone), "ann", 1).await;
    let cases = [
        (Filter { state: Some(State::Pending), ..all() }, vec![&pending]),
        (Filter { state: Some(State::Dispatched), ..all() }, vec![&sent]),
        (Filter { state: Some(State::Dead), ..all() }, vec![&buried]),
        (Filter { state: Some(State::Discarded), ..all() }, vec![&gone]),
        (Filter { topic: Some("orders".into()), ..all() }, vec![&sent, &pending]),
        (Filter { source: Some("a".into()), ..all() }, vec![&gone, &pending]),
        (Filter { kind: Some("Placed".into()), ..all() }, vec![&buried, &pending]),
        (only(&sent), vec![&sent]),
        (Filter { id: Some(id_of(&sent).to_string().to_uppercase()), ..all() }, vec![&sent]),
        (Filter { id: Some("no' id".into()), ..all() }, vec![]),
        (Filter { state: Some(State::Dead), ..only(&sent) }, vec![]),
        (Filter { topic: Some("loans".into()), kind: Some("Paid".into()), ..all() }, vec![&gone]),
        (Filter { topic: Some("Orders".into()), ..all() }, vec![]),
        (Filter { source: Some("a' or '1'='1".into()), ..all() }, vec![]),
    ];
    for (filter, expected) in cases {
        let listed = desk.lists(filter.clone(), None, 10).await;
        let listed: Vec<_> =
            listed.into_iter().map(|row| (row.id, row.topic, row.kind, row.source)).collect();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|m| (id_of(m).to_string(), m.topic.clone(), m.kind.clone(), m.source.clone()))
            .collect();
        assert_eq!(listed, expected, "{filter:?}");
    }
}

/// All about one message: what it says, and what became of it.
pub async fn a_message_is_shown_with_all_its_attempts(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sequence = Sequence { version: 3, index: 1 };
    let text = NewMessage { sequence, ..of("shown", 1) }.with_header("a", "b");
    let bytes = NewMessage::bytes("t", "k", "application/x", vec![0, 255]).with_id(unique_id());
    desk.sends(&[text.clone(), bytes.clone()]).await;
    let row = desk.row(&text).await;
    desk.settles(again(&row, Duration::from_millis(1))).await;
    backend.pass(Duration::from_millis(20)).await;
    let row = desk.row(&text).await;
    desk.settles(Outcome { kind: Kind::Poison, ..dead(&row, true) }).await;
    let shown = desk.details(&text).await.expect("a message");
    assert_eq!(shown.payload.as_deref(), Some(text.body.as_bytes()));
    assert!(shown.is_text);
    assert_eq!(shown.content_type.as_deref(), Some("application/json"));
    assert_eq!(shown.headers, text.headers_json());
    let summary = shown.summary;
    assert_eq!((summary.state, summary.attempts, summary.halts), (State::Dead, 2, true));
    assert_eq!((summary.sequence, summary.source.as_deref()), (sequence, Some("shown")));
    assert_eq!(
        shown.attempts.iter().map(|attempt| attempt.outcome).collect::<Vec<_>>(),
        [Kind::Transient, Kind::Poison]
    );
    let shown = desk.details(&bytes).await.expect("a message");
    assert_eq!((shown.payload, shown.is_text), (Some(vec![0, 255]), false));
    assert_eq!((shown.attempts, shown.headers), (Vec::new(), None));
    assert_eq!(shown.summary.due_at, Some(desk.row(&bytes).await.due_at));
    assert!(desk.details(&message(9)).await.is_none());
}

/// Messages by their ids: each that is there once, in its state, and nothing else.
pub async fn messages_are_found_by_their_ids(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let named = async |ids: &[MessageId]| {
        let mut found = desk.admin.named(ids).await.expect("an answer");
        found.sort_by_key(|message| message.row);
        found
    };
    assert_eq!(named(&[]).await, []);
    let (pending, sent, buried, absent) = (of("a", 1), message(2), of("b", 3), message(5));
    desk.sends(std::slice::from_ref(&pending)).await;
    desk.delivers(&sent).await;
    desk.buries(&buried, false).await;
    desk.sends(&[message(4)]).await;
    let ids = [&sent, &buried, &absent, &pending, &sent].map(id_of);
    let expected = [desk.summary(&pending).await, desk.summary(&sent).await, desk.summary(&buried).await];
    assert_eq!(
        expected.each_ref().map(|message| message.state),
        [State::Pending, State::Dispatched, State::Dead]
    );
    assert_eq!(named(&ids).await, expected, "as they are shown one by one");
    assert_eq!(named(&[id_of(&absent)]).await, []);
    // No more are looked for than a list may have.
    let mut many: Vec<MessageId> =
        (0..i64::from(LIST_MAX)).map(|at| deterministic_id("none", at, 0)).collect();
    many.push(id_of(&sent));
    assert_eq!(named(&many).await, []);
    many.swap(0, LIST_MAX as usize);
    assert_eq!(named(&many).await, [desk.summary(&sent).await]);
}

/// A retried message is due at once, has its whole budget again, and its attempts are numbered on.
pub async fn a_retried_message_has_a_full_budget(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    for message in [of("retried", 1), message(2)] {
        desk.sends(std::slice::from_ref(&message)).await;
        let row = desk.row(&message).await;
        desk.settles(again(&row, Duration::from_millis(1))).await;
        backend.pass(Duration::from_millis(20)).await;
        let row = desk.row(&message).await;
        desk.settles(dead(&row, false)).await;
        assert_eq!(desk.retries(&only(&message), "ann", 10).await, [id_of(&message)]);
        let row = desk.row(&message).await;
        assert_eq!((row.attempts, row.forgiven), (2, 2));
        assert!(row.due_at <= desk.now().await);
        assert_eq!(desk.due().await, [id_of(&message)]);
        assert_eq!(desk.state(&message).await, State::Pending);
        desk.settles(dead(&row, false)).await;
        assert_eq!(desk.retries(&only(&message), "ann", 10).await, [id_of(&message)], "again and again");
        let row = desk.row(&message).await;
        assert_eq!((row.attempts, row.forgiven), (3, 3));
        desk.settles(done(&row)).await;
        let numbers: Vec<_> = desk.attempts(&message).await.iter().map(|attempt| attempt.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert_eq!(desk.retries(&only(&message), "ann", 10).await, [], "only what is dead");
    }
}

/// Two operators press the button at once: each message is changed by one, and written down once.
pub async fn s51_of_two_operators_at_once_one_retries_a_message(backend: &dyn OutboxBackend) {
    let (ann, bob) = (Desk::open(backend).await, Desk::open(backend).await);
    let sent: Vec<_> = (0..10).map(|number| of(&format!("s{}", number % 3), number)).collect();
    for message in &sent {
        ann.buries(message, false).await;
    }
    let filter = all();
    let (a, b) = tokio::join!(ann.retries(&filter, "ann", 100), bob.retries(&filter, "bob", 100));
    let mut changed: Vec<_> = a.into_iter().chain(b).collect();
    changed.sort_unstable();
    assert_eq!(changed, sorted(&sent), "each once");
    let mut audited: Vec<_> =
        backend.audit().await.into_iter().map(|line| (line.subject, line.action)).collect();
    audited.sort_unstable();
    let expected: Vec<_> =
        sorted(&sent).into_iter().map(|id| (id.to_string(), "outbox retry".to_owned())).collect();
    assert_eq!(audited, expected, "one line for each");
    assert_eq!(ann.stats().await.pending, 10);
}

/// One discards, the other retries: one of them does it.
pub async fn s51_a_message_is_retried_or_discarded_not_both(backend: &dyn OutboxBackend) {
    let (ann, bob) = (Desk::open(backend).await, Desk::open(backend).await);
    for round in 0..5 {
        let message = of("both", round);
        ann.buries(&message, true).await;
        let filter = only(&message);
        let (a, b) = tokio::join!(ann.retries(&filter, "ann", 1), bob.discards(&filter, "bob", 1));
        assert_eq!(a.len() + b.len(), 1);
        let state = ann.state(&message).await;
        assert_eq!(state, if a.is_empty() { State::Discarded } else { State::Pending });
        if state == State::Pending {
            let row = ann.row(&message).await;
            ann.settles(done(&row)).await;
        }
    }
    assert_eq!(backend.audit().await.len(), 5);
}

/// Who, when, what: in the audit table with the change itself, and nothing where nothing changed.
pub async fn every_change_is_audited(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let (retried, discarded) = (of("r", 1), message(2));
    desk.buries(&retried, false).await;
    desk.buries(&discarded, false).await;
    let from = desk.now().await;
    desk.retries(&only(&retried), "ann o'hara", 5).await;
    desk.discards(&only(&discarded), "bob", 5).await;
    desk.discards(&only(&discarded), "bob", 5).await;
    desk.retries(&only(&discarded), "bob", 5).await;
    let until = desk.now().await;
    let audit = backend.audit().await;
    let lines: Vec<_> = audit.iter().map(|l| (l.by.as_str(), l.action.as_str(), l.subject.clone())).collect();
    let expected = [
        ("ann o'hara", "outbox retry", id_of(&retried).to_string()),
        ("bob", "outbox discard", id_of(&discarded).to_string()),
    ];
    assert_eq!(lines, expected);
    for line in audit {
        assert!(line.at >= from && line.at <= until, "by the store's clock: {line:?}");
        for part in ["orders", "OrderPlaced", "no 1"] {
            assert!(line.detail.contains(part), "the detail names {part}: {line:?}");
        }
    }
}

/// What was discarded is not sent, frees its source, and is final.
pub async fn s45_discarding_frees_a_halted_source(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [of("freed", 1), of("freed", 2)];
    desk.buries(&sent[0], true).await;
    desk.sends(&sent[1..]).await;
    assert_eq!(desk.due().await, []);
    assert_eq!(desk.discards(&only(&sent[0]), "ann", 1).await, [id_of(&sent[0])]);
    assert_eq!(desk.due().await, [id_of(&sent[1])]);
    let summary = desk.summary(&sent[0]).await;
    assert_eq!((summary.state, summary.halts), (State::Discarded, false));
    assert!(summary.finished_at.is_some());
    assert_eq!(desk.stats().await.halted_sources, 0);
    assert_eq!(desk.retries(&all(), "ann", 10).await, [], "final");
}

/// What is retried at the head of a halted source goes first, and its source after it.
pub async fn s45_retrying_frees_a_halted_source_in_order(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [of("resumed", 1), of("resumed", 2)];
    desk.buries(&sent[0], true).await;
    desk.sends(&sent[1..]).await;
    assert_eq!(desk.retries(&only(&sent[0]), "ann", 1).await, [id_of(&sent[0])]);
    assert_eq!(desk.due().await, ids(&sent));
    assert_eq!(desk.stats().await.halted_sources, 0);
}

/// Bulk changes go by filter and are bounded; what is not dead is not meant.
pub async fn a_bulk_change_is_counted_filtered_and_bounded(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    for number in 0..6 {
        desk.buries(&of("bulk", number), false).await;
    }
    let other = NewMessage { topic: "others".into(), body: Body::Bytes(vec![1]), ..message(7) };
    desk.buries(&other, false).await;
    desk.sends(&[of("bulk", 8)]).await;
    let count = async |filter: &Filter| desk.counts(filter, u32::MAX).await.number;
    let bulk = Filter { source: Some("bulk".into()), ..all() };
    assert_eq!(count(&all()).await, 7);
    assert_eq!(count(&bulk).await, 6);
    assert_eq!(count(&Filter { state: Some(State::Dead), ..bulk.clone() }).await, 6);
    let pending = Filter { state: Some(State::Pending), ..all() };
    assert_eq!(count(&pending).await, 0);
    assert_eq!(desk.retries(&pending, "ann", 100).await, []);
    assert_eq!(desk.discards(&pending, "ann", 100).await, []);
    assert_eq!(desk.retries(&bulk, "ann", 2).await.len(), 2);
    assert_eq!(desk.discards(&bulk, "ann", 3).await.len(), 3);
    assert_eq!(count(&bulk).await, 1);
    assert_eq!(count(&all()).await, 2);
    assert_eq!(desk.state(&other).await, State::Dead);
    assert_eq!(desk.retries(&all(), "ann", 0).await, []);
}
