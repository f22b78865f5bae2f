//! Enqueueing: in the user's own transaction, all or none, and each id once.

use tenure_core::contract::EnqueueError;
use tenure_core::observe::METER;
use tenure_core::outbox::{
    Body, ENQUEUE_MAX, Limits, MessageError, NewMessage, Sequence, State, decode, deterministic_id,
};

use super::backend::{OutboxBackend, PlainRow};
use super::desk::{Desk, everywhere, id_of, ids, message, of, unique_id};

/// What was rolled back was never there: not to a relay, not to an operator, and not to who enqueues it again.
pub async fn s36_what_was_rolled_back_is_not_there(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let messages = [message(1), of("rolled-back", 2)];
    let mut transaction = backend.begin().await;
    let sent = transaction.enqueue(&messages).await.expect("enqueued");
    assert!(sent.iter().all(|sent| sent.fresh));
    transaction.apply("rolled back").await;
    assert_eq!(desk.due().await, [], "nothing may be seen before it is committed");
    transaction.rollback().await;
    assert_eq!(desk.due().await, []);
    assert_eq!(desk.stats().await.pending, 0);
    assert!(desk.details(&messages[0]).await.is_none());
    assert_eq!(backend.effects().await, [""; 0]);
    let sent = desk.sends(&messages).await;
    assert!(sent.iter().all(|sent| sent.fresh), "an id that was rolled back is free");
}

/// A program that ends without a word leaves nothing.
pub async fn s27_a_transaction_that_was_dropped_leaves_nothing(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let mut transaction = backend.begin().await;
    transaction.enqueue(&[message(1)]).await.expect("enqueued");
    drop(transaction);
    let after = message(2);
    desk.sends(std::slice::from_ref(&after)).await;
    assert_eq!(desk.due().await, [id_of(&after)]);
}

/// The data and the message are there together.
pub async fn s27_data_and_messages_are_committed_together(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let messages = [of("together", 1), of("together", 2)];
    let mut transaction = backend.begin().await;
    transaction.apply("order 1").await;
    transaction.enqueue(&messages).await.expect("enqueued");
    transaction.commit().await.expect("committed");
    assert_eq!(backend.effects().await, ["order 1"]);
    assert_eq!(desk.due().await, ids(&messages));
}

/// What this process enqueues is counted, whichever way it goes: in a user's transaction, and in one of the store's own. What is
/// refused is not.
pub async fn b14_what_is_enqueued_is_counted(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    // Others of this process count meanwhile: at least as many must have come.
    let counted = || METER.outbox_enqueued.get(0);
    let before = counted();
    let mut transaction = backend.begin().await;
    transaction.enqueue(&[message(1), of("counted", 2)]).await.expect("enqueued");
    transaction.commit().await.expect("committed");
    let between = counted();
    assert!(between >= before + 2, "{before} became {between}");
    desk.sends(&[message(3)]).await;
    assert!(counted() > between);
    // So many that what others enqueue meanwhile is less.
    let mut refused = vec![NewMessage::json("t", "k", "{}"); ENQUEUE_MAX - 1];
    refused.push(NewMessage::json("", "k", "{}"));
    let before = counted();
    for _ in 0..5 {
        desk.store.enqueue(&refused, &Limits::default()).await.expect_err("an empty topic");
        let mut transaction = backend.begin().await;
        transaction.enqueue(&refused).await.expect_err("an empty topic");
        transaction.rollback().await;
    }
    let grown = counted() - before;
    assert!(grown < 5 * ENQUEUE_MAX as u64, "{grown} were counted, and all were refused");
}

/// The answer to a commit was lost, and the program does it all again.
pub async fn s28_enqueueing_again_after_a_lost_commit_makes_no_second_row(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let messages = [message(1), of("again", 2)];
    let first = desk.sends(&messages).await;
    assert!(first.iter().all(|sent| sent.fresh));
    for _ in 0..2 {
        let mut transaction = backend.begin().await;
        let repeated = transaction.enqueue(&messages).await.expect("the same once more");
        transaction.commit().await.expect("committed");
        assert_eq!(repeated.iter().map(|sent| sent.id).collect::<Vec<_>>(), ids(&messages));
        assert!(repeated.iter().all(|sent| !sent.fresh));
    }
    assert_eq!(desk.stats().await.pending, 2);
    let row = desk.row(&messages[0]).await;
    desk.settles(super::desk::done(&row)).await;
    assert!(!desk.sends(&messages[..1]).await[0].fresh);
    assert_eq!(desk.state(&messages[0]).await, State::Dispatched, "what was delivered is not sent again");
}

/// One call, one transaction: the same message twice is one row.
pub async fn s28_the_same_message_twice_in_one_transaction_is_one_row(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let twice = message(1);
    let mut transaction = backend.begin().await;
    let one_call = transaction.enqueue(&[twice.clone(), message(2), twice.clone()]).await.expect("enqueued");
    let fresh: Vec<_> = one_call.iter().map(|sent| sent.fresh).collect();
    assert_eq!(fresh.iter().filter(|fresh| **fresh).count(), 2, "{fresh:?}");
    let another = transaction.enqueue(&[twice]).await.expect("enqueued");
    assert!(!another[0].fresh);
    transaction.commit().await.expect("committed");
    assert_eq!(desk.stats().await.pending, 2);
}

/// Two producers with the same message at the same time.
pub async fn s28_of_two_who_enqueue_the_same_at_once_one_inserts_it(backend: &dyn OutboxBackend) {
    let (ann, bob) = (Desk::open(backend).await, Desk::open(backend).await);
    let limits = Limits::default();
    for number in 0..5 {
        let messages = [of("race", number)];
        let (a, b) =
            tokio::join!(ann.store.enqueue(&messages, &limits), bob.store.enqueue(&messages, &limits));
        let fresh = [a, b].into_iter().map(|sent| sent.expect("both get their answer")[0].fresh);
        assert_eq!(fresh.filter(|fresh| *fresh).count(), 1);
    }
    assert_eq!(ann.stats().await.pending, 5);
}

/// A producer that replays sends nothing twice.
pub async fn s46_a_replayed_origin_has_the_same_id_and_no_second_row(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let origin = |index| {
        NewMessage::json("loans", "BookLent", format!("{{\"i\":{index}}}")).from_version("loan-7", 3, index)
    };
    let first = desk.sends(&[origin(0), origin(1)]).await;
    let replay = desk.sends(&[origin(0), origin(1), origin(2)]).await;
    assert_eq!(first[0].id, deterministic_id("loan-7", 3, 0));
    assert_eq!(replay.iter().map(|sent| sent.fresh).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(desk.stats().await.pending, 3);
}

/// An id stands for one content. Whatever differs is named, and nothing of the call is inserted.
pub async fn s46_the_same_id_with_another_content_is_an_error(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let known = of("conflict", 1).with_header("a", "b");
    desk.sends(std::slice::from_ref(&known)).await;
    let bytes = Body::Bytes(known.body.as_bytes().to_vec());
    let others = [
        ("source", NewMessage { source: Some("another".into()), ..known.clone() }),
        ("source", NewMessage { source: None, ..known.clone() }),
        ("sequence", NewMessage { sequence: Sequence { version: 1, index: 0 }, ..known.clone() }),
        ("sequence", NewMessage { sequence: Sequence { version: 0, index: 1 }, ..known.clone() }),
        ("topic", NewMessage { topic: "another".into(), ..known.clone() }),
        ("type", NewMessage { kind: "another".into(), ..known.clone() }),
        ("payload", NewMessage { body: Body::Text("{}".into()), ..known.clone() }),
        ("payload", NewMessage { body: bytes, ..known.clone() }),
        ("content type", NewMessage { content_type: None, ..known.clone() }),
        ("headers", NewMessage { headers: Default::default(), ..known.clone() }),
        ("headers", known.clone().with_header("a", "c")),
    ];
    for (what, other) in others {
        let innocent = message(2);
        match desk.store.enqueue(&[innocent.clone(), other.clone()], &Limits::default()).await {
            Err(EnqueueError::Message(MessageError::Conflict { id, differs })) => {
                assert_eq!(id, id_of(&known));
                assert_eq!(differs, what);
            }
            answer => panic!("another {what} must be a conflict, not {answer:?}"),
        }
        assert!(desk.details(&innocent).await.is_none(), "all or none");
    }
    assert!(!desk.sends(std::slice::from_ref(&known)).await[0].fresh, "the first one stands");
    assert_eq!(desk.stats().await.pending, 1);
}

/// The same, within one call.
pub async fn s46_two_contents_under_one_id_in_one_call_are_an_error(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let one = message(1);
    let other = message(2).with_id(id_of(&one));
    let answer = desk.store.enqueue(&[one, other], &Limits::default()).await;
    assert!(
        matches!(answer, Err(EnqueueError::Message(MessageError::Conflict { .. }))),
        "two contents under one id: {answer:?}"
    );
    assert_eq!(desk.stats().await.pending, 0);
}

/// A producer that replays within another trace sends the same message.
pub async fn s46_another_trace_is_no_other_content(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let known = message(1).with_header("a", "b");
    let traced = |span: &str| known.clone().with_trace(span, Some(format!("v={span}")));
    assert!(desk.sends(&[traced("00-1-2-01")]).await[0].fresh);
    assert!(!desk.sends(&[traced("00-3-4-01")]).await[0].fresh);
    assert!(!desk.sends(std::slice::from_ref(&known)).await[0].fresh);
    let other = traced("00-5-6-01").with_header("a", "c");
    let answer = desk.store.enqueue(&[other], &Limits::default()).await;
    assert!(
        matches!(answer, Err(EnqueueError::Message(MessageError::Conflict { differs: "headers", .. }))),
        "{answer:?}"
    );
}

/// A delay counts from the insert, so enqueueing again later is still the same message.
pub async fn s46_another_delay_is_no_other_content(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let known = message(1);
    desk.sends(std::slice::from_ref(&known)).await;
    let delayed = known.delayed(std::time::Duration::from_secs(60));
    assert!(!desk.sends(&[delayed]).await[0].fresh);
}

/// Many at once, in the order of the call, each with an id, chosen or by chance.
pub async fn many_messages_go_in_one_call(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let messages: Vec<_> = (0..700)
        .map(|number| NewMessage { id: (number % 2 == 0).then(unique_id), ..of("many", number) })
        .collect();
    let sent = desk.sends(&messages).await;
    assert_eq!(sent.len(), messages.len());
    for (message, sent) in messages.iter().zip(&sent) {
        assert!(sent.fresh && message.id.is_none_or(|id| id == sent.id));
    }
    let due = desk.due().await;
    assert_eq!(due, sent.iter().map(|sent| sent.id).collect::<Vec<_>>(), "in the order of the call");
    assert_eq!(desk.sends(&[]).await, []);
}

/// What is too much or too large is refused before the database sees it, and nothing of it stays.
pub async fn s38_what_is_above_a_limit_is_refused(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let limits = Limits { payload: 100 };
    let text = |bytes: usize| NewMessage::new("t", "k", Body::Text("x".repeat(bytes)));
    let bad: Vec<(&str, Vec<NewMessage>)> = vec![
        ("a payload above the limit", vec![message(1), text(101)]),
        ("a NUL in a text", vec![message(1), NewMessage::new("t", "k", Body::Text("a\0b".into()))]),
        ("a NUL in a source", vec![message(1), of("a\0b", 2)]),
        ("a long source", vec![message(1), of(&"s".repeat(501), 2)]),
        ("an empty topic", vec![message(1), NewMessage::json("", "k", "{}")]),
        ("too many", vec![NewMessage::json("t", "k", "{}"); ENQUEUE_MAX + 1]),
    ];
    for (what, messages) in bad {
        let answer = desk.store.enqueue(&messages, &limits).await;
        assert!(matches!(answer, Err(EnqueueError::Message(_))), "{what} must be refused, not {answer:?}");
        assert_eq!(desk.stats().await.pending, 0, "{what}: all or none");
    }
    desk.store.enqueue(&[text(100)], &limits).await.expect("a payload at the limit");
}

/// Quotes, backslashes, unicode and all bytes are data, and come out as they went in.
pub async fn s20_every_text_and_byte_is_kept_as_it_is(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let nasty = "o'brien; \"drop\" \\ {outbox} $1 ?1 %s – 東京 🦀";
    let mut text = NewMessage::new(nasty, nasty, Body::Text(format!("{nasty}\n\t{{}}")));
    text.content_type = Some("text/x; a=\"b'\"".into());
    let text = text.from_source(nasty).with_id(unique_id()).with_header("x-y.z", nasty);
    let text = NewMessage { sequence: Sequence { version: i64::MIN, index: i32::MAX }, ..text };
    let all_bytes: Vec<u8> = (0..=255).collect();
    let bytes = NewMessage::bytes("t", "k", "application/x", all_bytes).with_id(unique_id());
    let empty = NewMessage::new("t", "k", Body::Bytes(Vec::new())).with_id(unique_id());
    desk.sends(&[text.clone(), bytes.clone(), empty.clone()]).await;
    for sent in [text, bytes, empty] {
        let row = desk.row(&sent).await;
        let got = decode(row, &Limits::default(), None).expect("what was enqueued can be read");
        assert_eq!(got.id, id_of(&sent));
        assert_eq!((got.source, got.sequence), (sent.source, sent.sequence));
        assert_eq!((got.topic, got.kind), (sent.topic, sent.kind));
        assert_eq!((got.body, got.content_type), (sent.body, sent.content_type));
        assert_eq!((got.headers, got.attempt), (sent.headers, 1));
    }
}

/// All that a program in another language has to write.
pub async fn a_foreign_insert_needs_a_topic_a_type_and_a_payload(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let row = PlainRow {
        topic: "orders".into(),
        kind: "OrderPlaced".into(),
        payload: Some("{\"a\":1}".into()),
        ..PlainRow::default()
    };
    backend.insert_plain(row).await.expect("a plain insert");
    let page = desk.looks(&everywhere()).await;
    assert_eq!(page.rows.len(), 1);
    let row = page.rows[0].clone();
    assert!(row.due_at <= page.now && row.created_at <= page.now);
    let message = decode(row, &Limits::default(), None).expect("a message");
    assert_eq!(message.body, Body::Text("{\"a\":1}".into()));
    assert_eq!((message.source, message.sequence, message.attempt), (None, Sequence::default(), 1));
    assert!(!message.id.as_uuid().is_nil());
}

/// A UUID is the same in upper case.
pub async fn s46_ids_are_compared_without_regard_to_case(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let message = message(1);
    let row =
        PlainRow { message_id: Some(id_of(&message).to_string().to_uppercase()), ..PlainRow::from(&message) };
    backend.insert_plain(row).await.expect("a plain insert");
    assert!(!desk.sends(std::slice::from_ref(&message)).await[0].fresh);
    assert_eq!(desk.state(&message).await, State::Pending);
}
