//! What the tables promise to those who drive them without a store; the rest is the conformance suite's.

use uuid::Uuid;

use super::{EventTables, StagedEvents};
use crate::event::{Append, AppendAnswer, Expected, NewEvent, Position, StreamName, Version};
use crate::time::StoreTime;

fn append(stream: &str, expected: Expected, id: u128) -> Append {
    let event = NewEvent::json(Uuid::from_u128(id), "Happened", "1");
    Append::new(StreamName::new(stream).unwrap(), expected, vec![event])
}

fn stage(tables: &mut EventTables, open: &mut StagedEvents, append: &Append) {
    let follows = tables.judge(open, append).unwrap().unwrap();
    tables.stage(open, append, follows, StoreTime::from_micros(0));
}

fn positions(tables: &EventTables) -> Vec<i64> {
    tables.read_all(Position::START, 10).events.iter().map(|event| event.position.0).collect()
}

#[test]
fn s30_nobody_reads_past_an_open_transaction() {
    let (mut tables, mut early, mut late) = <(EventTables, StagedEvents, StagedEvents)>::default();
    stage(&mut tables, &mut early, &append("a", Expected::NONE, 1));
    stage(&mut tables, &mut late, &append("b", Expected::NONE, 2));
    tables.commit(late).unwrap();
    let page = tables.read_all(Position::START, 10);
    assert_eq!((page.events.len(), page.read_to, page.head), (0, Position(0), Position(2)));
    assert_eq!(page.stall.unwrap().at, Position(1));
    tables.commit(early).unwrap();
    assert_eq!(positions(&tables), [1, 2]);
}

#[test]
fn s31_a_transaction_that_was_rolled_back_leaves_a_hole_and_no_stall() {
    let (mut tables, mut early, mut late) = <(EventTables, StagedEvents, StagedEvents)>::default();
    stage(&mut tables, &mut early, &append("a", Expected::NONE, 1));
    stage(&mut tables, &mut late, &append("b", Expected::NONE, 2));
    assert!(tables.end(early.token()));
    tables.commit(late).unwrap();
    let page = tables.read_all(Position::START, 10);
    assert_eq!((positions(&tables), page.read_to, page.stall), (vec![2], Position(2), None));
}

#[test]
fn s29_of_two_open_transactions_on_one_stream_one_commits() {
    let (mut tables, mut one, mut other) = <(EventTables, StagedEvents, StagedEvents)>::default();
    stage(&mut tables, &mut one, &append("a", Expected::Any, 1));
    stage(&mut tables, &mut other, &append("a", Expected::Any, 2));
    tables.commit(one).unwrap();
    assert!(tables.commit(other).unwrap_err().to_string().contains("appended to a"));
    assert_eq!((positions(&tables), tables.read_all(Position::START, 10).stall), (vec![1], None));
}

#[test]
fn a_transaction_sees_its_own_events() {
    let (mut tables, mut open) = <(EventTables, StagedEvents)>::default();
    stage(&mut tables, &mut open, &append("a", Expected::NONE, 1));
    stage(&mut tables, &mut open, &append("a", Expected::Exact(Version(1)), 2));
    let late = tables.judge(&open, &append("a", Expected::Exact(Version(1)), 3)).unwrap();
    assert_eq!(late, Err(AppendAnswer::Conflict { actual: Version(2) }));
    tables.commit(open).unwrap();
    assert_eq!(tables.version_of(&StreamName::new("a").unwrap()), Version(2));
}

#[test]
fn what_was_open_is_gone_after_a_restore() {
    let (mut tables, backup, mut open) = <(EventTables, EventTables, StagedEvents)>::default();
    stage(&mut tables, &mut open, &append("a", Expected::NONE, 1));
    tables.restore_from(&backup);
    assert_eq!((tables.head(), tables.read_all(Position::START, 1).stall), (Position(0), None));
    assert!(tables.commit(open).is_err(), "its positions are given out again");
    assert_eq!(tables.all().count(), 0);
}
