//! What the suite of backends cannot see from outside.

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::id::NodeName;
use crate::outbox::{
    ArrivalsLook, DeadWalk, Discover, Filter, Kind, Limits, Look, Missed, NewMessage, Next, Outcome,
    Sequence, Stored, UnorderedLook,
};

fn at(micros: i64) -> StoreTime {
    StoreTime::from_micros(micros)
}

fn numbered() -> impl FnMut() -> MessageId {
    let mut last = 0;
    move || {
        last += 1;
        MessageId::new(Uuid::from_u128(last))
    }
}

fn everything() -> Look {
    Look {
        lanes: Vec::new(),
        discover: Some(Discover { after: None, sources: 99, rows_each: 99, except: Vec::new() }),
        unordered: Some(UnorderedLook { after: None, limit: 99 }),
        arrivals: None,
        part: None,
    }
}

#[test]
fn the_same_calls_give_the_same_tables() {
    let run = || {
        let (mut tables, mut ids) = (OutboxTables::new(), numbered());
        for round in 0..20 {
            let messages: Vec<_> = (0..3)
                .map(|n| NewMessage::json("t", "k", "{}").from_source(format!("s{}", (round * 7 + n) % 5)))
                .collect();
            tables.insert(&messages, &Limits::default(), at(round), &mut ids).unwrap();
            let page = tables.look(&everything(), at(round));
            let outcomes: Vec<_> = page
                .rows
                .iter()
                .step_by(2)
                .map(|row| Outcome {
                    id: row.id,
                    attempt: row.attempts + 1,
                    kind: Kind::Transient,
                    next: match row.id.0 % 3 {
                        0 => Next::Done,
                        1 => Next::Again { after: Duration::from_micros(3) },
                        _ => Next::Dead { halt: round % 2 == 0 },
                    },
                    reason: None,
                    took: Duration::ZERO,
                })
                .collect();
            tables.record(true, Some(1), &NodeName::new("n").unwrap(), &outcomes, at(round));
            tables.retry(&DeadWalk::of(Filter::default(), 1), "ann", at(round));
        }
        tables
    };
    assert_eq!(format!("{:?}", run()), format!("{:?}", run()));
}

#[test]
fn s30_what_commits_late_may_have_the_lower_number() {
    let (mut tables, mut ids) = (OutboxTables::new(), numbered());
    let (mut slow, mut quick) = (Staged::default(), Staged::default());
    let message = [NewMessage::json("t", "k", "{}")];
    tables.stage(&mut slow, &message, &Limits::default(), at(0), &mut ids).unwrap();
    tables.stage(&mut quick, &message, &Limits::default(), at(0), &mut ids).unwrap();
    assert_eq!(tables.row_ids().count(), 0);
    assert_eq!(tables.commit(quick).unwrap(), [RowId(2)]);
    assert_eq!(tables.commit(slow).unwrap(), [RowId(1)]);
}

#[test]
fn of_two_transactions_with_one_id_the_second_commits_nothing() {
    let (mut tables, mut ids) = (OutboxTables::new(), numbered());
    let (mut one, mut two) = (Staged::default(), Staged::default());
    let same = NewMessage::json("t", "k", "{}").with_id(Uuid::from_u128(77));
    let other = NewMessage::json("t", "k", "{}");
    tables.stage(&mut one, std::slice::from_ref(&same), &Limits::default(), at(0), &mut ids).unwrap();
    tables.stage(&mut two, &[other, same], &Limits::default(), at(0), &mut ids).unwrap();
    tables.commit(one).unwrap();
    assert!(tables.commit(two).is_err());
    assert_eq!(tables.row_ids().count(), 1);
}

fn arrivals(look: ArrivalsLook) -> Look {
    Look { arrivals: Some(look), ..everything() }
}

fn numbers(rows: &[Stored]) -> Vec<i64> {
    rows.iter().map(|row| row.id.0).collect()
}

#[test]
fn what_has_come_goes_by_its_number_until_something_stands_in_its_lane() {
    let (mut tables, mut ids) = (OutboxTables::new(), numbered());
    let of = |source: &str| NewMessage::json("t", "k", "{}").from_source(source);
    let mut insert = |tables: &mut OutboxTables, message| {
        tables.insert(&[message], &Limits::default(), at(1), &mut ids).unwrap();
    };
    insert(&mut tables, of("a"));
    insert(&mut tables, of("b"));
    insert(&mut tables, NewMessage::json("t", "k", "{}"));
    let all = ArrivalsLook { limit: 9, ..ArrivalsLook::default() };
    let page = tables.look(&arrivals(all.clone()), at(1));
    assert_eq!((numbers(&page.arrivals.rows), numbers(&page.rows)), (vec![1, 2, 3], vec![]));
    // A place of its own is what a lane is for.
    insert(&mut tables, NewMessage { sequence: Sequence { version: -1, index: 0 }, ..of("a") });
    let page = tables.look(&arrivals(all.clone()), at(1));
    assert_eq!(numbers(&page.arrivals.rows), [2, 3]);
    assert_eq!(page.arrivals.seen, [RowId(1), RowId(2), RowId(3)], "what was laid too");
    assert_eq!(numbers(&tables.look(&arrivals(all.clone()), at(1)).rows), [4, 1], "by its place");
    // Whoever does not ask for what has come finds it in lanes as well.
    assert_eq!(numbers(&tables.look(&everything(), at(1)).rows), [4, 1, 2, 3]);
    assert_eq!(numbers(&tables.look(&arrivals(all), at(1)).arrivals.rows), [0; 0]);
}

#[test]
fn what_is_to_be_laid_is_found_in_its_lane() {
    let (mut tables, mut ids) = (OutboxTables::new(), numbered());
    let of = |source: &str| NewMessage::json("t", "k", "{}").from_source(source);
    tables.insert(&[of("a"), of("b"), of("a")], &Limits::default(), at(1), &mut ids).unwrap();
    let lay =
        ArrivalsLook { limit: 9, after: Some(RowId(1)), lay: vec!["a".into()], ..ArrivalsLook::default() };
    let page = tables.look(&arrivals(lay), at(1));
    assert_eq!(numbers(&page.arrivals.rows), [2]);
    let missed = Missed { before: Some(RowId(1)), numbers: vec![RowId(2)], limit: 9 };
    let again = ArrivalsLook { after: Some(RowId(3)), missed, ..ArrivalsLook::default() };
    let page = tables.look(&arrivals(again), at(1));
    assert_eq!((numbers(&page.arrivals.rows), numbers(&page.rows)), (vec![2], vec![3]));
}

#[test]
fn what_was_missed_is_told_to_the_limit() {
    let (mut tables, mut ids) = (OutboxTables::new(), numbered());
    let of = |source: &str| NewMessage::json("t", "k", "{}").from_source(source);
    tables.insert(&[of("a"), of("b"), of("c"), of("d")], &Limits::default(), at(1), &mut ids).unwrap();
    let missed = |limit| Missed { before: Some(RowId(2)), numbers: vec![RowId(3)], limit };
    let mut seen = |limit| {
        let look =
            ArrivalsLook { after: Some(RowId(3)), limit: 2, missed: missed(limit), ..Default::default() };
        let page = tables.look(&arrivals(look), at(1)).arrivals;
        (numbers(&page.rows), page.more, page.more_missed)
    };
    assert_eq!(seen(3), (vec![1, 3, 4], false, false));
    assert_eq!(seen(1), (vec![1, 4], false, true));
}
