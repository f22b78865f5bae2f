//! What a reader does next, whatever it is told.

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::event::{Metadata, StreamName, Version};
use crate::outbox::{Body, RetryPolicy};
use crate::time::StoreTime;

fn at(millis: u64) -> Monotonic {
    Monotonic::from_origin(Duration::from_millis(millis))
}

fn event(position: i64) -> Recorded {
    Recorded {
        position: Position(position),
        stream: StreamName::new("s").unwrap(),
        version: Version(position),
        id: Uuid::from_u128(position as u128),
        kind: "K".into(),
        schema: 1,
        body: Body::Text("1".into()),
        metadata: Metadata::default(),
        recorded_at: StoreTime::from_micros(0),
    }
}

fn page(positions: &[i64], read_to: i64, head: i64) -> AllPage {
    let events = positions.iter().copied().map(event).collect();
    AllPage { events, unreadable: Vec::new(), read_to: Position(read_to), head: Position(head), stall: None }
}

fn cursor(on_failure: OnFailure) -> Cursor {
    let settings = SubscriptionSettings {
        checkpoint_every: 2,
        on_failure,
        retry: RetryPolicy { max_attempts: 2, ..RetryPolicy::default() },
        ..SubscriptionSettings::default()
    };
    Cursor::new(SubscriptionName::new("n").unwrap(), settings, Checkpoint::default(), at(0))
}

#[test]
fn s30_a_checkpoint_moves_only_to_what_is_proven() {
    let mut cursor = cursor(OnFailure::Halt);
    // 3 may still appear.
    assert_eq!(cursor.took(page(&[1, 2], 2, 5)), Ok(2));
    cursor.handled();
    cursor.handled();
    assert_eq!(cursor.step(at(0)).unwrap().to, Position(2));
    assert_eq!(cursor.wants(), Some((Position(2), 512)));
    // 3 was rolled back: the gap is passed over.
    cursor.took(page(&[4], 5, 5)).unwrap();
    assert_eq!(cursor.done(), Position(2), "4 is not handled");
    cursor.handled();
    assert_eq!((cursor.done(), cursor.behind()), (Position(5), 0));
}

#[test]
fn a_checkpoint_moves_after_so_many_or_so_long() {
    let mut cursor = cursor(OnFailure::Halt);
    cursor.took(page(&[1, 2, 3], 3, 3)).unwrap();
    cursor.handled();
    assert_eq!(cursor.step(at(10)), None);
    assert!(cursor.step(at(1000)).is_some());
    cursor.handled();
    let step = cursor.step(at(10)).unwrap();
    assert_eq!((step.from, step.to), (Position(0), Position(2)));
    cursor.stepped(&step, Advance::Advanced, at(10)).unwrap();
    assert_eq!((cursor.step(at(20)), cursor.step_due(), cursor.saved()), (None, None, Position(2)));
}

#[test]
fn a_failure_is_tried_again_and_then_put_aside_or_halts() {
    let mut parks = cursor(OnFailure::Park);
    parks.took(page(&[1, 2], 2, 2)).unwrap();
    let Fate::Again(when) = parks.failed("no", false, 0.5, at(0)) else { panic!("it is tried again") };
    assert!(matches!(parks.front(at(0)), Front::Wait(then) if then == when));
    assert!(matches!(parks.front(when), Front::Handle(event) if event.position == Position(1)));
    assert_eq!(parks.failed("no\0", false, 0.5, when), Fate::Parked);
    let step = parks.step(when).unwrap();
    assert_eq!((step.to, step.parked[0].attempts, step.parked[0].position), (Position(1), 2, Position(1)));
    parks.stepped(&step, Advance::Advanced, when).unwrap();
    assert!(parks.last_step().is_none(), "it is put aside once");
    let mut halts = cursor(OnFailure::Halt);
    halts.took(page(&[1, 2], 2, 2)).unwrap();
    assert_eq!(halts.failed("the type is unknown", true, 0.5, at(0)), Fate::Halted);
    assert!(matches!(halts.front(at(99_999)), Front::Halted("the type is unknown")));
    assert_eq!((halts.wants(), halts.last_step()), (None, None));
}

#[test]
fn a_checkpoint_ahead_of_the_store_is_said_loudly() {
    let settings = SubscriptionSettings::default();
    let name = SubscriptionName::new("n").unwrap();
    let mut cursor = Cursor::new(name, settings, Checkpoint { position: Position(100), rewinds: 0 }, at(0));
    let error = cursor.took(page(&[], 40, 40)).unwrap_err().to_string();
    assert!(error.contains("at 100") && error.contains("beyond 40"), "{error}");
}

#[test]
fn who_is_deposed_or_overtaken_stops() {
    let mut cursor = cursor(OnFailure::Halt);
    cursor.took(page(&[1], 1, 1)).unwrap();
    cursor.handled();
    let step = cursor.last_step().unwrap();
    assert!(matches!(cursor.stepped(&step, Advance::Fenced, at(0)), Err(Lost::Fenced { .. })));
    let moved = cursor.stepped(&step, Advance::Moved { at: Position(9) }, at(0));
    assert!(matches!(moved, Err(Lost::Moved { at: Position(9), known: Position(0), .. })));
}

#[test]
fn a_batch_s_step_ends_at_its_last_event_or_at_all_that_was_read() {
    let mut cursor = cursor(OnFailure::Halt);
    cursor.took(page(&[1, 3, 7], 9, 9)).unwrap();
    assert_eq!(cursor.step_of(2).unwrap().to, Position(3));
    assert_eq!(cursor.step_of(3).unwrap().to, Position(9));
    assert_eq!((cursor.step_of(0), cursor.step_of(4)), (None, None));
    let step = cursor.step_of(2).unwrap();
    cursor.stepped(&step, Advance::Advanced, at(0)).unwrap();
    assert_eq!((cursor.saved(), cursor.done()), (Position(3), Position(3)));
    assert_eq!(cursor.batch(10).map(|event| event.position.0).collect::<Vec<_>>(), [7]);
    let _ = cursor.failed("no", false, 0.5, at(0));
    assert_eq!(cursor.batch(10).count(), 1);
}

fn damaged(position: i64) -> Unreadable {
    let reason = "the id is none".into();
    Unreadable {
        position: Position(position),
        stream: None,
        version: None,
        kind: Some("a\0b".into()),
        reason,
    }
}

#[test]
fn a_row_that_cannot_be_read_is_put_aside_in_its_place() {
    let mut cursor = cursor(OnFailure::Park);
    let page = AllPage { unreadable: vec![damaged(2), damaged(5)], ..page(&[1, 3, 4], 5, 9) };
    assert_eq!(cursor.took(page), Ok(5));
    assert_eq!(cursor.wants(), Some((Position(5), 512)));
    assert_eq!(cursor.batch(10).map(|event| event.position.0).collect::<Vec<_>>(), [1], "it ends there");
    assert_eq!(cursor.step_of(1).unwrap().to, Position(1));
    cursor.handled();
    assert!(matches!(cursor.front(at(0)), Front::Unreadable(row) if row.position == Position(2)));
    assert_eq!((cursor.batch(10).count(), cursor.oldest()), (0, Some(Position(2))));
    assert_eq!(cursor.failed("the id is none", true, 0.5, at(0)), Fate::Parked);
    let step = cursor.step(at(0)).expect("at once");
    let aside = Aside {
        position: Position(2),
        stream: None,
        version: Version::NONE,
        kind: "a\u{fffd}b".into(),
        reason: "the id is none".into(),
        attempts: 1,
    };
    assert_eq!((step.to, &step.parked), (Position(2), &vec![aside]));
    cursor.stepped(&step, Advance::Advanced, at(0)).unwrap();
    assert_eq!(cursor.batch(10).map(|event| event.position.0).collect::<Vec<_>>(), [3, 4]);
    let step = cursor.step_of(2).unwrap();
    assert_eq!(step.to, Position(4), "not over the next one");
    cursor.stepped(&step, Advance::Advanced, at(0)).unwrap();
    assert!(matches!(cursor.front(at(0)), Front::Unreadable(row) if row.position == Position(5)));
}

#[test]
fn a_row_that_cannot_be_read_halts() {
    let mut cursor = cursor(OnFailure::Halt);
    cursor.took(AllPage { unreadable: vec![damaged(1)], ..page(&[2], 2, 2) }).unwrap();
    assert!(matches!(cursor.front(at(0)), Front::Unreadable(_)));
    assert_eq!(cursor.failed("the id is none", true, 0.5, at(0)), Fate::Halted);
    assert!(matches!(cursor.front(at(99_999)), Front::Halted("the id is none")));
    assert_eq!((cursor.oldest(), cursor.last_step()), (Some(Position(1)), None));
}

#[test]
fn a_batch_that_failed_is_tried_one_by_one() {
    let mut cursor = cursor(OnFailure::Park);
    cursor.took(page(&[1, 2, 3, 4], 4, 4)).unwrap();
    cursor.failed_together(2);
    for _ in 0..2 {
        assert_eq!(cursor.batch(10).count(), 1);
        cursor.handled();
    }
    assert_eq!(cursor.batch(10).count(), 2);
}
