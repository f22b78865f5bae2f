//! Rows as drivers give them, good and bad.

use tenure_core::StoreError;
use tenure_core::event::StreamName;
use tenure_core::outbox::{Accept, Body, Kind, State};

use super::*;
use crate::row::{Cell, Row};

const READER: Reader<'static> = Reader { store: "db" };

fn row(columns: &[(&str, Cell)]) -> Row {
    let names: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    Row::new(names.into(), columns.iter().map(|(_, cell)| cell.clone()).collect())
}

fn with(columns: &[(&'static str, Cell)], changed: &[(&'static str, Cell)]) -> Row {
    let new = |name| changed.iter().find(|(changed, _)| *changed == name).map(|(_, cell)| cell.clone());
    let columns: Vec<_> =
        columns.iter().map(|(name, cell)| (*name, new(*name).unwrap_or_else(|| cell.clone()))).collect();
    row(&columns)
}

fn text(text: &str) -> Cell {
    Cell::Text(text.into())
}

fn event() -> Vec<(&'static str, Cell)> {
    vec![
        ("position", Cell::Int(9)),
        ("stream", text("s")),
        ("version", Cell::Int(3)),
        ("event_id", text("00000000-0000-0000-0000-000000000007")),
        ("type", text("Lent")),
        ("schema_version", Cell::Int(1)),
        ("message_id", Cell::Null),
        ("correlation", Cell::Null),
        ("causation", Cell::Null),
        ("headers", Cell::Null),
        ("recorded_us", Cell::Int(5)),
        ("payload", Cell::Null),
        ("payload_bytes", Cell::Bytes(vec![1, 2])),
    ]
}

#[test]
fn an_event_that_cannot_be_read_says_what_it_can() {
    let good = recorded(&with(&event(), &[])).unwrap().unwrap();
    assert_eq!((good.position.0, good.version.0, good.body), (9, 3, Body::Bytes(vec![1, 2])));
    assert!(recorded(&with(&event(), &[("position", Cell::Null)])).is_none(), "no event at all");
    for (column, cell, reason) in [
        ("event_id", text("CANARY"), "column event_id: it holds no UUID"),
        ("schema_version", Cell::Int(-1), "column schema_version holds -1"),
        ("headers", text("[CANARY]"), "column headers holds no object of texts"),
        ("payload", text("{}"), "there are two payloads"),
        ("payload_bytes", Cell::Null, "there is no payload"),
        ("recorded_us", Cell::Null, "column recorded_at is empty"),
    ] {
        let bad = recorded(&with(&event(), &[(column, cell)])).unwrap().unwrap_err();
        assert_eq!(bad.reason, reason);
        assert_eq!((bad.position.0, bad.version.map(|version| version.0)), (9, Some(3)));
        assert_eq!((bad.stream.unwrap().as_str(), bad.kind.as_deref()), ("s", Some("Lent")));
    }
}

#[test]
fn what_stands_in_place_of_an_event_is_read_or_named() {
    let there = READER.standing(&with(&event(), &[])).unwrap().unwrap();
    assert_eq!((there.stream.as_str(), there.position.0, there.seen.version.0), ("s", 9, 3));
    assert!(READER.standing(&with(&event(), &[("position", Cell::Null)])).unwrap().is_none());
    let error = READER.standing(&with(&event(), &[("type", Cell::Null)])).unwrap_err();
    assert!(
        matches!(&error, StoreError::Corrupt { store, message } if store == "db" && message.contains("type"))
    );
    let stream = StreamName::new("s").unwrap();
    assert_eq!(READER.snapshot(&with(&event(), &[]), &stream).unwrap().version.0, 3);
    READER.snapshot(&with(&event(), &[("payload", text("2"))]), &stream).unwrap_err();
}

#[test]
fn a_checkpoint_without_a_row_is_at_the_start() {
    assert_eq!(READER.checkpoint(None::<&Row>).unwrap().position.0, 0);
    let there = [("position", Cell::Int(7)), ("rewinds", Cell::Int(2))];
    let read = READER.checkpoint(Some(&row(&there))).unwrap();
    assert_eq!((read.position.0, read.rewinds), (7, 2));
    READER.checkpoint(Some(&with(&there, &[("rewinds", Cell::Int(-1))]))).unwrap_err();
}

#[test]
fn what_was_put_aside_may_have_no_stream() {
    let columns = [
        ("position", Cell::Int(7)),
        ("stream", text("")),
        ("version", Cell::Int(0)),
        ("type", text("")),
        ("attempts", Cell::Int(3)),
        ("parked_us", Cell::Int(1)),
        ("reason", text("no")),
    ];
    let parked = READER.parked(&row(&columns)).unwrap();
    assert_eq!((parked.aside.stream, parked.aside.attempts), (None, 3));
    READER.parked(&with(&columns, &[("stream", text("a\u{7}"))])).unwrap_err();
    READER.parked(&with(&columns, &[("reason", Cell::Null)])).unwrap_err();
}

#[test]
fn what_people_see_of_a_message_is_never_refused_for_what_it_holds() {
    let columns = [
        ("id", Cell::Int(4)),
        ("message_id", text("no uuid")),
        ("source", Cell::Null),
        ("source_seq", Cell::Int(1)),
        ("source_index", Cell::Int(i64::MAX)),
        ("topic", text("t")),
        ("type", text("k")),
        ("created_us", Cell::Int(1)),
        ("state", text("dead")),
        ("attempts", Cell::Int(-3)),
        ("due_us", Cell::Null),
        ("finished_us", Cell::Int(8)),
        ("last_error", text("no")),
        ("halts", Cell::Int(1)),
        ("content_type", Cell::Null),
        ("headers", Cell::Null),
        ("payload", text("hello")),
        ("payload_bytes", Cell::Null),
        ("payload_size", Cell::Int(7)),
    ];
    let details = READER.details(&row(&columns), Vec::new(), usize::MAX).unwrap();
    let summary = details.summary;
    assert_eq!((summary.state, summary.attempts, summary.sequence.index), (State::Dead, 0, i32::MAX));
    assert!(summary.halts && summary.finished_at.is_some() && summary.due_at.is_none());
    assert_eq!((details.is_text, details.payload.as_deref()), (true, Some(&b"hello"[..])));
    assert_eq!(details.payload_bytes, 7, "the whole size, whatever was read of it");
    let attempt = [
        ("number", Cell::Int(1)),
        ("at_us", Cell::Int(1)),
        ("outcome", text("by hand")),
        ("took_us", Cell::Int(-1)),
        ("node", text("n")),
        ("term", Cell::Null),
        ("error", Cell::Null),
    ];
    let attempt = READER.attempt(&row(&attempt)).unwrap();
    assert_eq!((attempt.outcome, attempt.took_us, attempt.term), (Kind::Poison, 0, None));
}

#[test]
fn a_message_that_comes_again_is_judged_by_what_was_noted() {
    let noted =
        |print, refused| READER.before(&row(&[("fingerprint", print), ("refused", refused)])).unwrap();
    assert_eq!(noted(text("a"), Cell::Null).judge(Some("a")), Accept::Duplicate);
    assert_eq!(noted(text("a"), text("no")).judge(Some("b")), Accept::Differs);
    assert_eq!(noted(text("a"), text("no")).judge(None), Accept::Refused { reason: "no".into() });
}
