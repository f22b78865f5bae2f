//! What an event carries is kept as it is, up to its limits.

use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendProblem, Expected, Limits, Metadata, NewEvent, Version};
use tenure_core::outbox::{Body, PAYLOAD_MAX_BYTES};

use super::backend::EventBackend;
use super::scribe::{Scribe, event, numbers, stream, to};
use crate::outbox::desk::{Desk, unique_id};

/// Everything that an event has is there when it is read, by stream and by position.
pub async fn an_event_is_read_as_it_was_appended(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let headers = [("traceparent", "00-ab-cd-01"), ("ä", "'; drop table events; --\n\"\\")];
    let metadata = Metadata {
        message_id: Some(unique_id()),
        correlation: Some("story 7".into()),
        causation: Some("grüße ☃".into()),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    };
    let full = NewEvent { kind: "Gesch\u{e4}hn's".into(), schema: 2_147_483_647, metadata, ..event(1) };
    let appended = [full, event(2)];
    let before = desk.now().await;
    ann.appends(&Append::new(stream("s"), Expected::NONE, appended.to_vec())).await;
    let after = desk.now().await;
    let read = ann.reads("s").await;
    assert_eq!(read.len(), appended.len());
    for (at, (new, read)) in appended.iter().zip(&read).enumerate() {
        let back = NewEvent {
            id: read.id,
            kind: read.kind.clone(),
            schema: read.schema,
            body: read.body.clone(),
            metadata: read.metadata.clone(),
        };
        assert_eq!(*new, back);
        assert_eq!((&read.stream, read.version), (&stream("s"), Version(at as i64 + 1)));
        assert!(before <= read.recorded_at && read.recorded_at <= after, "by the store's clock");
    }
    assert_eq!(ann.all().await, read);
}

/// JSON stays the text that it was, and bytes stay bytes.
pub async fn s20_every_text_and_byte_of_an_event_is_kept(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let texts = [
        "null",
        "{}",
        " {\"b\" : 1.0, \"a\":1e3,\n\"a\":2 } ",
        "\"\\u0000 ' \\\\ \u{2028} ☃ e\u{301}\"",
        "12345678901234567890.10",
    ];
    let bytes = [&[][..], &[0], &[0xff, 0xfe, 0, 1], b"{\"number\":1}", &[0x80; 3000]];
    let bodies: Vec<_> = texts
        .iter()
        .map(|text| Body::Text((*text).to_owned()))
        .chain(bytes.iter().map(|bytes| Body::Bytes(bytes.to_vec())))
        .collect();
    let appended = bodies.iter().map(|body| NewEvent { body: body.clone(), ..event(0) }).collect();
    ann.appends(&Append::new(stream("s"), Expected::NONE, appended)).await;
    let read: Vec<_> = ann.reads("s").await.into_iter().map(|event| event.body).collect();
    assert_eq!(read, bodies);
    let read: Vec<_> = ann.all().await.into_iter().map(|event| event.body).collect();
    assert_eq!(read, bodies);
}

/// Streams whose names differ in any byte are different streams, whatever the bytes mean to a database.
pub async fn s20_streams_that_differ_in_any_byte_are_different(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let (longest, almost) = ("x".repeat(500), format!("{}y", "x".repeat(499)));
    let names = [
        "s",
        "S",
        "s ",
        " s",
        " ",
        "-",
        "\u{e9}",
        "e\u{301}",
        "ß",
        "ss",
        "%",
        "_",
        "s%",
        "\\",
        "\\0",
        "'",
        "\"",
        "'; drop table events; --",
        "${events}",
        "{events}",
        "$1",
        "?1",
        "null",
        "☃/ö?",
        &longest,
        &almost,
    ];
    for (number, name) in names.iter().enumerate() {
        let appended =
            ann.appends(&Append::new(stream(name), Expected::NONE, vec![event(number as u32)])).await;
        assert_eq!(appended.version, Version(1), "{name:?} has no event yet");
    }
    for (number, name) in names.iter().enumerate() {
        let read = ann.reads(name).await;
        assert_eq!((numbers(&read), read[0].stream.as_str()), (vec![number as u32], *name));
    }
    let read = ann.all().await;
    assert_eq!(read.iter().map(|event| event.stream.as_str()).collect::<Vec<_>>(), names);
}

/// At the limit it is accepted and read back whole; one byte more is refused, and nothing is written.
pub async fn s38_payloads_at_the_limit_pass_and_beyond_it_do_not(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let sized =
        |bytes: usize| NewEvent { body: Body::Text(format!("\"{}\"", "x".repeat(bytes - 2))), ..event(0) };
    let append = |event: NewEvent| Append::new(stream("s"), Expected::Any, vec![event]);
    let largest = sized(PAYLOAD_MAX_BYTES);
    ann.appends(&append(largest.clone())).await;
    let error = ann.fails(&append(sized(PAYLOAD_MAX_BYTES + 1))).await;
    assert!(matches!(error, AppendError::Problem(AppendProblem::Event { index: 0, .. })), "{error}");
    assert!(!error.to_string().contains("xxx"), "an error never holds a payload");
    let read = ann.reads("s").await;
    assert_eq!(read.len(), 1);
    assert!(read[0].body == largest.body, "read back whole");
    // The limit is the caller's, and of dispatches too.
    let small = Limits { payload: 8 };
    assert!(ann.events.append(&append(sized(9)), &small).await.is_err());
    let dispatch = crate::outbox::desk::message(12_345);
    assert!(ann.events.append(&append(sized(8)).with_dispatches(vec![dispatch]), &small).await.is_err());
    let large = Limits { payload: 2 * PAYLOAD_MAX_BYTES };
    let answer = ann.events.append(&append(sized(2 * PAYLOAD_MAX_BYTES)), &large).await.expect("an answer");
    assert_eq!(super::scribe::first_time(answer).version, Version(2));
}

/// What no reader could take in is refused before it is written.
pub async fn s38_what_is_no_json_or_too_deep_is_refused(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for bad in ["", "no json", "{\"a\":1} x", "\"\0\"", &deep] {
        let event = NewEvent { body: Body::Text(bad.to_owned()), ..event(0) };
        let error = ann.fails(&Append::new(stream("s"), Expected::Any, vec![event])).await;
        assert!(matches!(error, AppendError::Problem(AppendProblem::Event { .. })), "{error}");
    }
    let wrong = [
        NewEvent { schema: 0, ..event(1) },
        NewEvent { kind: String::new(), ..event(1) },
        NewEvent { kind: "a\0b".into(), ..event(1) },
        NewEvent {
            metadata: Metadata { correlation: Some("x".repeat(251)), ..Metadata::default() },
            ..event(1)
        },
    ];
    for event in wrong {
        // Behind one that is right: all or nothing.
        let mut append = to("s", [7]);
        append.events.push(event);
        let error = ann.fails(&append).await;
        assert!(matches!(error, AppendError::Problem(AppendProblem::Event { index: 1, .. })), "{error}");
    }
    ann.finds_nothing("s").await;
}
