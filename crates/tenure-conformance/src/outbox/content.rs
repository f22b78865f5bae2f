//! What rows hold: payloads of any size, and what no program should have written. The rest flows.

use tenure_core::outbox::{Body, Found, Limits, Loaded, NewMessage, RowId, decode};

use super::backend::{OutboxBackend, PlainRow};
use super::desk::{Desk, dead, deliverable, done, everywhere, unique_id};

/// A large payload is not carried along: it is loaded when its turn has come.
pub async fn a_large_payload_is_loaded_when_its_turn_has_come(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let text = |bytes: usize| NewMessage::new("t", "k", Body::Text("ä".repeat(bytes / 2)));
    let binary = |bytes: usize| NewMessage::new("t", "k", Body::Bytes(vec![7; bytes]));
    let limit = 16 * 1024;
    for (body, large) in [
        (text(limit), false),
        (binary(limit), false),
        (text(limit + 2), true),
        (binary(limit + 1), true),
        (binary(900_000), true),
    ] {
        let message = body.with_id(unique_id());
        desk.sends(std::slice::from_ref(&message)).await;
        let row = desk.row(&message).await;
        match &row.body {
            Found::Large => assert!(large, "{} bytes are carried along", message.body.as_bytes().len()),
            Found::Body(body) => assert!(!large && *body == message.body),
            Found::Unclear(what) => panic!("one payload is clear: {what}"),
        }
        let loaded = desk.store.load(row.id, &Limits::default()).await.expect("an answer");
        assert!(loaded == Loaded::Body(message.body), "loaded as it was sent");
        desk.settles(done(&row)).await;
    }
    let gone = desk.store.load(RowId(i64::MAX), &Limits::default()).await.expect("an answer");
    assert_eq!(gone, Loaded::Gone);
}

/// A payload above the relay's limit is told by its size, and one that is unclear by what is wrong with it.
pub async fn s38_what_is_above_the_limit_is_not_loaded(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let limits = Limits { payload: 20_000 };
    let text = |bytes: usize| Some("ä".repeat(bytes / 2));
    let row = PlainRow { topic: "t".into(), kind: "k".into(), ..PlainRow::default() };
    let cases = [
        (PlainRow { payload: text(20_000), ..row.clone() }, Ok(20_000)),
        (PlainRow { payload: text(20_002), ..row.clone() }, Err(Loaded::TooLarge { bytes: 20_002 })),
        (PlainRow { payload_bytes: Some(vec![0; 20_000]), ..row.clone() }, Ok(20_000)),
        (
            PlainRow { payload_bytes: Some(vec![0; 20_001]), ..row.clone() },
            Err(Loaded::TooLarge { bytes: 20_001 }),
        ),
        (
            PlainRow { payload: text(20_000), payload_bytes: Some(vec![0; 9]), ..row.clone() },
            Err(Loaded::Unclear(Found::BOTH)),
        ),
        (PlainRow { payload: Some(String::new()), ..row.clone() }, Ok(0)),
        (row, Err(Loaded::Unclear(Found::NEITHER))),
    ];
    for (row, expected) in cases {
        backend.insert_plain(row).await.expect("a plain insert");
        let page = desk.looks(&everywhere()).await;
        let [found] = deliverable(&page)[..] else { panic!("one row must be due: {page:?}") };
        let loaded = desk.store.load(found.id, &limits).await.expect("an answer");
        match (&loaded, &expected) {
            (Loaded::Body(body), Ok(bytes)) => assert_eq!(body.as_bytes().len(), *bytes),
            (loaded, Err(expected)) => assert_eq!(loaded, expected),
            (loaded, Ok(_)) => panic!("it is within the limit: {loaded:?}"),
        }
        desk.settles(done(&found.clone())).await;
    }
}

/// Rows that no program should have written are shown as they are, and told apart by the decoder; the rest flows.
pub async fn s43_bad_rows_are_shown_as_they_are(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let good = PlainRow { topic: "t".into(), kind: "k".into(), ..PlainRow::default() };
    let text = Some("x".to_owned());
    let bad = [
        ("both payload", PlainRow { payload: text.clone(), payload_bytes: Some(vec![1]), ..good.clone() }),
        ("topic is empty", PlainRow { topic: String::new(), payload: text.clone(), ..good.clone() }),
        ("type holds", PlainRow { kind: "a\u{1}b".into(), payload: text.clone(), ..good.clone() }),
        ("501 bytes", PlainRow { source: Some("s".repeat(501)), payload: text.clone(), ..good.clone() }),
        ("source is empty", PlainRow { source: Some(String::new()), payload: text.clone(), ..good.clone() }),
        ("no object", PlainRow { headers: Some("[1]".into()), payload: text.clone(), ..good.clone() }),
        ("no object", PlainRow { headers: Some("{".into()), payload: text.clone(), ..good.clone() }),
        (
            "says JSON",
            PlainRow { content_type: Some("application/json".into()), payload: text.clone(), ..good.clone() },
        ),
    ];
    for (reason, row) in bad {
        backend.insert_plain(row.clone()).await.unwrap_or_else(|error| {
            panic!("a bad row is parked by the relay, not refused by the table ({reason}): {error}")
        });
        let page = desk.looks(&everywhere()).await;
        let [found] = deliverable(&page)[..] else { panic!("one row must be due: {page:?}") };
        let lane = row.source.clone().filter(|source| !source.is_empty() && source.len() <= 500);
        assert_eq!((found.lane(), &found.source), (lane.as_deref(), &row.source), "{reason}");
        let poison = decode(found.clone(), &Limits::default(), None).expect_err(reason).to_string();
        assert!(poison.contains(reason), "{poison}");
        desk.settles(dead(&found.clone(), true)).await;
    }
    backend.insert_plain(good).await.expect("a row without a payload");
    let page = desk.looks(&everywhere()).await;
    let [found] = deliverable(&page)[..] else { panic!("the rest must flow: {page:?}") };
    assert_eq!(found.body, Found::Unclear(Found::NEITHER), "a forgotten payload is no empty one");
}

/// A text that is no UUID is either refused by the column's type, or parked by the relay.
pub async fn s43_a_message_id_that_is_no_uuid_is_not_delivered(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let row = PlainRow {
        message_id: Some("order 7".into()),
        topic: "t".into(),
        kind: "k".into(),
        ..PlainRow::default()
    };
    if backend.insert_plain(row).await.is_err() {
        return;
    }
    let page = desk.looks(&everywhere()).await;
    let poison = decode(page.rows[0].clone(), &Limits::default(), None).expect_err("no UUID").to_string();
    assert!(poison.contains("`order 7` is not a UUID"), "{poison}");
}
