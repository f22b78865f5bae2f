//! The drain by itself: order, holding, closing, and what a look that was under way may not bring back.

use std::time::Duration;

use super::*;
use crate::time::{Monotonic, StoreTime};

fn at(millis: u64) -> Monotonic {
    Monotonic::from_origin(Duration::from_millis(millis))
}

fn row(id: i64, source: Option<&str>) -> Stored {
    Stored {
        id: RowId(id),
        message_id: format!("00000000-0000-0000-0000-{id:012}"),
        ordered: source.is_some(),
        source: source.map(Into::into),
        sequence: Sequence::default(),
        topic: "t".into(),
        kind: "k".into(),
        body: Found::Body(Body::Text(String::new())),
        content_type: None,
        headers: None,
        created_at: StoreTime::from_micros(0),
        due_at: StoreTime::from_micros(0),
        attempts: 0,
        forgiven: 0,
    }
}

fn page(rows: Vec<Stored>) -> Page {
    Page { rows, ..Page::empty(StoreTime::from_micros(1_000_000)) }
}

fn ids(rows: &[Stored]) -> Vec<i64> {
    rows.iter().map(|row| row.id.0).collect()
}

fn land(drain: &mut Drain, flight: Flight, verdicts: &[Verdict]) {
    let mut rows = flight.rows;
    let untried = rows.split_off(verdicts.len());
    let landings = rows
        .iter()
        .zip(verdicts)
        .map(|(row, verdict)| Landing {
            id: row.id,
            attempt: row.attempts + 1,
            forgiven: row.forgiven,
            verdict: verdict.clone(),
            took: Duration::ZERO,
        })
        .collect();
    drain.landed(flight.lane, landings, untried, || 0.5);
}

fn record_all(drain: &mut Drain, now: Monotonic) -> Vec<Outcome> {
    let outcomes = drain.next_record(now).unwrap();
    let applied = outcomes.iter().map(|outcome| outcome.id).collect();
    assert!(drain.recorded(outcomes.clone(), Recorded::Applied(applied), now));
    outcomes
}

fn started(settings: RelaySettings, rows: Vec<Stored>) -> Drain {
    let mut drain = Drain::new(settings);
    drain.look(true, at(0)).unwrap();
    drain.looked(page(rows), at(0));
    drain
}

#[test]
fn one_source_flies_once_at_a_time_and_in_order() {
    let settings = RelaySettings { run: 2, ..RelaySettings::default() };
    let mut drain = started(settings, vec![row(3, Some("a")), row(1, Some("a")), row(2, Some("a"))]);
    let first = drain.next_flight(1).unwrap();
    assert_eq!(ids(&first.rows), [1, 2]);
    assert!(drain.next_flight(1).is_none());
    land(&mut drain, first, &[Verdict::Accepted, Verdict::Accepted]);
    // The next one goes before the first ones are recorded.
    assert_eq!(ids(&drain.next_flight(1).unwrap().rows), [3]);
}

#[test]
fn sources_fly_side_by_side_up_to_the_limit() {
    let settings = RelaySettings { concurrency: 2, ..RelaySettings::default() };
    let mut drain =
        started(settings, ["a", "b", "c"].iter().zip(1..).map(|(s, id)| row(id, Some(s))).collect());
    assert!(drain.next_flight(1).is_some() && drain.next_flight(1).is_some());
    assert!(drain.next_flight(1).is_none());
}

#[test]
fn s44_a_failure_closes_its_source_and_lets_others_flow() {
    let mut drain =
        started(RelaySettings::default(), vec![row(1, Some("a")), row(2, Some("a")), row(3, Some("b"))]);
    let (a, b) = (drain.next_flight(1).unwrap(), drain.next_flight(1).unwrap());
    let (a, b) = if a.lane.as_deref() == Some("a") { (a, b) } else { (b, a) };
    land(&mut drain, a, &[Verdict::transient("no")]);
    assert!(
        drain.next_flight(1).is_none(),
        "nothing of the failed source flies before its failure is recorded"
    );
    land(&mut drain, b, &[Verdict::Accepted]);
    let outcomes = record_all(&mut drain, at(1));
    assert_eq!(outcomes.len(), 2);
    assert_eq!(outcomes[0].next, Next::Again { after: Duration::from_millis(500) });
    assert_eq!(drain.next_due(), Some(at(501)));
    assert_eq!(drain.held(), 0);
}

#[test]
fn a_look_that_was_under_way_brings_back_neither_the_failed_row_nor_what_follows_it() {
    let mut drain = started(RelaySettings::default(), vec![row(1, Some("a")), row(2, Some("a"))]);
    let flight = drain.next_flight(1).unwrap();
    drain.look(true, at(10)).unwrap();
    land(&mut drain, flight, &[Verdict::transient("no")]);
    record_all(&mut drain, at(11));
    // The look's snapshot is from before the record: the head still seems due.
    assert_eq!(drain.looked(page(vec![row(1, Some("a")), row(2, Some("a"))]), at(12)), 0);
    assert!(drain.next_flight(1).is_none());
    // A later look sees the truth.
    drain.look(true, at(600)).unwrap();
    let mut again = row(1, Some("a"));
    again.attempts = 1;
    assert_eq!(drain.looked(page(vec![again, row(2, Some("a"))]), at(601)), 2);
}

#[test]
fn a_look_that_was_under_way_does_not_bring_back_what_was_delivered() {
    let mut drain = started(RelaySettings::default(), vec![row(1, Some("a")), row(2, None)]);
    let flights = [drain.next_flight(1).unwrap(), drain.next_flight(1).unwrap()];
    drain.look(true, at(10)).unwrap();
    for flight in flights {
        land(&mut drain, flight, &[Verdict::Accepted]);
    }
    record_all(&mut drain, at(11));
    assert_eq!(drain.looked(page(vec![row(1, Some("a")), row(2, None)]), at(12)), 0);
    assert_eq!(drain.held(), 0);
}

#[test]
fn a_row_that_was_committed_late_takes_its_place() {
    let settings = RelaySettings { run: 1, ..RelaySettings::default() };
    let mut drain = started(settings, vec![row(5, Some("a")), row(7, Some("a"))]);
    let flight = drain.next_flight(1).unwrap();
    let look = drain.look(true, at(2_000)).unwrap();
    assert_eq!(look.lanes[0].after, None, "a busy source is read from its head again and again");
    drain.looked(page(vec![row(5, Some("a")), row(6, Some("a")), row(7, Some("a"))]), at(2_001));
    land(&mut drain, flight, &[Verdict::Accepted]);
    assert_eq!(ids(&drain.next_flight(1).unwrap().rows), [6]);
}

#[test]
fn rows_that_come_back_untried_stand_behind_one_that_was_committed_late() {
    let mut drain = started(RelaySettings::default(), vec![row(5, Some("a")), row(7, Some("a"))]);
    let flight = drain.next_flight(1).unwrap();
    drain.look(true, at(2_000)).unwrap();
    drain.looked(page(vec![row(5, Some("a")), row(6, Some("a")), row(7, Some("a"))]), at(2_001));
    land(&mut drain, flight, &[Verdict::Accepted]);
    assert_eq!(ids(&drain.next_flight(1).unwrap().rows), [6, 7]);
}

#[test]
fn a_row_that_is_not_due_holds_back_what_follows_it() {
    let mut delayed = row(2, Some("a"));
    delayed.due_at = StoreTime::from_micros(1_400_000);
    let mut drain = started(RelaySettings::default(), vec![row(1, Some("a")), delayed, row(3, Some("a"))]);
    assert_eq!(ids(&drain.next_flight(1).unwrap().rows), [1]);
    assert_eq!(drain.next_due(), Some(at(400)));
}

#[test]
fn s45_a_dead_message_lets_its_source_go_on_or_halts_it() {
    for (on_dead, flies) in [(OnDead::Skip, true), (OnDead::Halt, false)] {
        let settings = RelaySettings { on_dead, run: 1, ..RelaySettings::default() };
        let mut drain = started(settings, vec![row(1, Some("a")), row(2, Some("a"))]);
        let flight = drain.next_flight(1).unwrap();
        land(&mut drain, flight, &[Verdict::rejected("never")]);
        assert!(drain.next_flight(1).is_none(), "its death is not recorded yet");
        assert_eq!(record_all(&mut drain, at(1))[0].next, Next::Dead { halt: !flies });
        // The source that goes on is looked at again at once.
        assert_eq!(drain.look(false, at(2)).is_some_and(|look| look.discover.is_some()), flies);
    }
}

#[test]
fn a_message_that_is_given_up_lets_nothing_pass_before_that_is_recorded() {
    let mut last = row(1, Some("a"));
    last.attempts = 24;
    let mut drain = started(RelaySettings::default(), vec![last, row(2, Some("a"))]);
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &[Verdict::transient("no")]);
    assert!(drain.next_flight(1).is_none());
    assert_eq!(record_all(&mut drain, at(1))[0].next, Next::Dead { halt: false });
}

#[test]
fn s43_rows_that_cannot_be_read_do_not_hold_up_their_source() {
    let mut drain = started(RelaySettings::default(), vec![row(1, Some("a")), row(2, Some("a"))]);
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &[Verdict::Poison { reason: "odd".into() }, Verdict::Accepted]);
    assert_eq!(record_all(&mut drain, at(1)).len(), 2);
}

#[test]
fn with_nothing_to_do_the_pace_alone_says_when_to_look() {
    let mut drain = started(RelaySettings::default(), Vec::new());
    assert!(drain.is_idle());
    assert!(drain.look(false, at(60_000)).is_none());
    assert!(drain.look(true, at(60_000)).is_some());
}

#[test]
fn a_look_that_could_not_see_everything_is_not_the_end() {
    let mut drain = Drain::new(RelaySettings::default());
    assert!(drain.look(true, at(0)).is_some());
    drain.looked(Page { unseen: true, ..page(vec![]) }, at(0));
    assert!(!drain.is_idle(), "something may be due");
    assert!(drain.look(true, at(1)).is_some());
    drain.looked(page(vec![]), at(1));
    assert!(drain.is_idle());
}

#[test]
fn what_came_due_while_there_was_no_room_is_not_forgotten() {
    let settings = RelaySettings { read_ahead: 1, ..RelaySettings::default() };
    let mut delayed = row(2, Some("b"));
    delayed.due_at = StoreTime::from_micros(1_100_000);
    let mut drain = started(settings, vec![row(1, Some("a")), delayed]);
    let flight = drain.next_flight(1).unwrap();
    assert!(drain.look(false, at(500)).is_none(), "there is no room");
    land(&mut drain, flight, &[Verdict::Accepted]);
    record_all(&mut drain, at(501));
    assert!(drain.look(false, at(502)).is_some());
}

#[test]
fn b15_the_budget_is_counted_from_the_last_forgiven_attempt() {
    let next = |attempts, forgiven| {
        let mut row = row(1, None);
        (row.attempts, row.forgiven) = (attempts, forgiven);
        let mut drain = started(RelaySettings::default(), vec![row]);
        let flight = drain.next_flight(1).unwrap();
        land(&mut drain, flight, &[Verdict::transient("no")]);
        drain.next_record(at(0)).unwrap().remove(0)
    };
    assert!(matches!(next(23, 0).next, Next::Again { .. }));
    let last = next(24, 0);
    assert_eq!((last.next, last.attempt), (Next::Dead { halt: false }, 25));
    assert_eq!(last.reason.as_deref(), Some("gave up after 25 attempts: no"));
    assert!(matches!(next(25, 25).next, Next::Again { .. }));
}

#[test]
fn a_record_without_an_answer_is_made_again() {
    let mut drain = started(RelaySettings::default(), vec![row(1, None)]);
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &[Verdict::Accepted]);
    let outcomes = drain.next_record(at(0)).unwrap();
    drain.record_failed(outcomes.clone());
    assert!(!drain.is_settled());
    assert_eq!(drain.next_record(at(0)).unwrap(), outcomes);
}

#[test]
fn s41_a_fenced_record_ends_the_relay() {
    let mut drain = started(RelaySettings::default(), vec![row(1, None)]);
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &[Verdict::Accepted]);
    let outcomes = drain.next_record(at(0)).unwrap();
    assert!(!drain.recorded(outcomes, Recorded::Fenced, at(1)));
}

#[test]
fn s42_what_another_relay_settled_is_read_anew() {
    let settings = RelaySettings { run: 1, ..RelaySettings::default() };
    let mut drain = started(settings, vec![row(1, Some("a")), row(2, Some("a")), row(3, Some("a"))]);
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &[Verdict::Accepted]);
    let outcomes = drain.next_record(at(0)).unwrap();
    let flying = drain.next_flight(1).unwrap();
    assert!(drain.recorded(outcomes, Recorded::Applied(Vec::new()), at(1)));
    land(&mut drain, flying, &[Verdict::Accepted]);
    assert!(drain.next_flight(1).is_none(), "the rest of this source is old news");
}

#[test]
fn a_shutdown_begins_nothing_and_records_what_has_ended() {
    let settings = RelaySettings { run: 1, ..RelaySettings::default() };
    let mut drain = started(settings, vec![row(1, Some("a")), row(2, Some("a"))]);
    let flight = drain.next_flight(1).unwrap();
    drain.stop();
    assert!(!drain.is_settled());
    land(&mut drain, flight, &[Verdict::Accepted]);
    assert!(drain.next_flight(1).is_none() && drain.look(true, at(5_000)).is_none());
    assert_eq!(record_all(&mut drain, at(1)).len(), 1);
    assert!(drain.is_settled());
}

#[test]
fn memory_is_bounded_whatever_the_store_holds() {
    let settings = RelaySettings { read_ahead: 8, ..RelaySettings::default() };
    let mut drain = Drain::new(settings);
    let mut id = 0;
    for round in 0..50 {
        let Some(look) = drain.look(true, at(round * 10)) else { break };
        let each = look.discover.as_ref().map_or(0, |discover| discover.rows_each);
        let mut rows: Vec<_> = (0..each).map(|n| row(1_000 + i64::from(n), Some("a"))).collect();
        for _ in 0..look.unordered.as_ref().map_or(0, |look| look.limit) {
            id += 1;
            rows.push(row(id, None));
        }
        drain.looked(page(rows), at(round * 10));
    }
    assert!(drain.held() <= 3 * 8, "{}", drain.held());
}

/// With 64 rows of each of 64 sources there is room for no more.
fn as_full_as_can_be() -> RelaySettings {
    RelaySettings { read_ahead: 4096, batch: 1024, ..RelaySettings::default() }
}

/// Rows of 64 sources, `each` of every one, all of which were delivered at once and wait to be recorded.
fn delivered(settings: RelaySettings, each: i64) -> Drain {
    let rows = (0..64).flat_map(|n| (0..each).map(move |k| row(n * each + k, Some(&format!("s{n:02}")))));
    let mut drain = started(settings, rows.collect());
    deliver_all(&mut drain);
    drain
}

fn deliver_all(drain: &mut Drain) {
    while let Some(flight) = drain.next_flight(1) {
        let verdicts = vec![Verdict::Accepted; flight.rows.len()];
        land(drain, flight, &verdicts);
    }
}

#[test]
fn sources_are_read_in_turns_by_as_many_rows_as_fly_at_once() {
    let mut drain = delivered(as_full_as_can_be(), 64);
    let mut asked = std::collections::HashSet::new();
    for turn in 0..4 {
        assert_eq!(record_all(&mut drain, at(1)).len(), 1024);
        let look = drain.look(false, at(1)).unwrap();
        assert_eq!(look.lanes.iter().map(|lane| lane.limit).collect::<Vec<_>>(), [64; 16]);
        let rows = look.lanes.iter().enumerate().flat_map(|(n, lane)| {
            (0..64).map(move |k| row(10_000 * (turn + 1) + 64 * n as i64 + k, Some(&lane.source)))
        });
        drain.looked(page(rows.collect()), at(1));
        asked.extend(look.lanes.into_iter().map(|lane| lane.source));
    }
    assert_eq!(asked.len(), 64, "none is asked twice before each was asked once");
    assert_eq!(drain.held(), 4096);
}

/// New rows of the sources that a look asks, from `id` on: as many of each as `count` says.
fn answer(look: &Look, id: &mut i64, count: impl Fn(&LaneLook) -> u32) -> Vec<Stored> {
    let mut rows = Vec::new();
    for lane in &look.lanes {
        for _ in 0..count(lane) {
            *id += 1;
            rows.push(row(*id, Some(&lane.source)));
        }
    }
    rows
}

#[test]
fn a_look_for_what_was_committed_late_takes_no_source_s_turn() {
    let (mut drain, mut id) = (delivered(as_full_as_can_be(), 64), 100_000);
    let mut asked = std::collections::HashSet::new();
    // The third look is one at all heads, with which nobody gets a helping.
    for (turn, now) in [at(1), at(2), at(1_500), at(1_501)].into_iter().enumerate() {
        if turn == 3 {
            deliver_all(&mut drain);
        }
        record_all(&mut drain, now);
        let look = drain.look(turn == 3, now).unwrap();
        let heads = look.lanes.iter().all(|lane| lane.after.is_none());
        assert_eq!((heads, look.lanes.len()), if turn == 2 { (true, 64) } else { (false, 16) });
        drain.looked(page(answer(&look, &mut id, |lane| if heads { 16 } else { lane.limit })), now);
        asked.extend(look.lanes.into_iter().filter(|_| !heads).map(|lane| lane.source));
    }
    assert_eq!(asked.len(), 48, "those go first whose turn it was");
}

#[test]
fn sources_whose_deliveries_hang_leave_room_for_the_others() {
    let rows = (0..64).flat_map(|n| (0..64).map(move |k| row(n * 64 + k, Some(&format!("s{n:02}")))));
    let (mut drain, mut id) = (started(RelaySettings::default(), rows.collect()), 100_000);
    // Of those that hang, nothing ever comes back; a look from the head finds one row that was committed late.
    let hangs = |lane: &str| lane < "s32";
    let mut served = 0;
    for round in 1..200 {
        let now = at(round * 100);
        let flights: Vec<_> = std::iter::from_fn(|| drain.next_flight(1)).collect();
        for flight in flights.into_iter().filter(|flight| !flight.lane.as_deref().is_some_and(hangs)) {
            served += flight.rows.len();
            let verdicts = vec![Verdict::Accepted; flight.rows.len()];
            land(&mut drain, flight, &verdicts);
        }
        while let Some(outcomes) = drain.next_record(at(0)) {
            let applied = outcomes.iter().map(|outcome| outcome.id).collect();
            assert!(drain.recorded(outcomes, Recorded::Applied(applied), now));
        }
        let look = drain.look(true, now).expect("there is room");
        let late = |lane: &LaneLook| lane.after.is_none() && hangs(&lane.source);
        drain.looked(page(answer(&look, &mut id, |lane| if late(lane) { 1 } else { lane.limit })), now);
    }
    assert!(served > 150_000, "{served}");
}

#[test]
fn of_sources_that_had_no_more_a_few_are_asked_at_a_time() {
    let mut drain =
        started(RelaySettings::default(), (0..64).map(|n| row(n, Some(&format!("s{n:02}")))).collect());
    let flights: Vec<_> = std::iter::from_fn(|| drain.next_flight(1)).collect();
    assert_eq!(flights.len(), 64);
    let mut asked = std::collections::HashSet::new();
    for turn in 1..=4 {
        let look = drain.look(true, at(turn)).unwrap();
        assert_eq!(look.lanes.len(), 16);
        drain.looked(page(vec![]), at(turn));
        asked.extend(look.lanes.into_iter().map(|lane| lane.source));
    }
    assert_eq!(asked.len(), 64);
}

#[test]
fn no_source_takes_what_others_could_fly_with() {
    let settings = RelaySettings { read_ahead: 128, batch: 32, ..RelaySettings::default() };
    let mut drain = delivered(settings, 2);
    record_all(&mut drain, at(1));
    let look = drain.look(false, at(1)).unwrap();
    assert_eq!(look.lanes.iter().map(|lane| lane.limit).collect::<Vec<_>>(), [2; 16]);
}

#[test]
fn a_source_that_waits_for_its_next_attempt_is_passed_by_while_others_keep_the_relay_busy() {
    let mut drain = started(RelaySettings::default(), vec![row(1, Some("a")), row(2, Some("b"))]);
    let (a, b) = (drain.next_flight(1).unwrap(), drain.next_flight(1).unwrap());
    let (a, b) = if a.lane.as_deref() == Some("a") { (a, b) } else { (b, a) };
    land(&mut drain, a, &[Verdict::transient("no")]);
    record_all(&mut drain, at(0));
    let passed_by = |drain: &mut Drain, now| {
        let mut except = drain.look(true, now).unwrap().discover.unwrap().except;
        drain.looked(page(vec![]), now);
        except.sort();
        except
    };
    assert_eq!(passed_by(&mut drain, at(10)), ["a", "b"]);
    // For a moment only: something may have been committed before what failed.
    assert_eq!(drain.next_due(), Some(at(250)));
    assert_eq!(passed_by(&mut drain, at(250)), ["b"]);
    // What the store has come across and has nothing due is passed by too.
    drain.look(true, at(260)).unwrap();
    let due = StoreTime::from_micros(1_000_000 + 40_000);
    let resting = vec![("c".into(), Some(due)), ("d".into(), None)];
    drain.looked(Page { resting, ..page(vec![]) }, at(260));
    assert_eq!(passed_by(&mut drain, at(299)), ["b", "c", "d"]);
    assert_eq!(passed_by(&mut drain, at(300)), ["b", "d"]);
    // With nothing else to do, nobody is.
    land(&mut drain, b, &[Verdict::Accepted]);
    record_all(&mut drain, at(301));
    assert_eq!(passed_by(&mut drain, at(302)), [""; 0]);
}

#[test]
fn a_slow_search_is_not_followed_by_another_unless_there_is_known_to_be_something() {
    let mut drain = Drain::new(RelaySettings::default());
    let searches = |drain: &mut Drain, began, ended, rows| {
        let searched = drain.look(true, at(began)).is_some_and(|look| look.discover.is_some());
        drain.looked(page(rows), at(ended));
        searched
    };
    assert!(searches(&mut drain, 0, 50, vec![row(1, Some("a")), row(2, Some("b"))]));
    assert!(!searches(&mut drain, 51, 52, vec![]), "it was good for something, and has come round");
    assert_eq!(drain.next_due(), Some(at(150)));
    assert!(searches(&mut drain, 150, 200, vec![]));
    assert!(!searches(&mut drain, 1_000, 1_001, vec![]), "it was good for nothing");
    // A source goes on behind a message that is dead by now, and is to be found again.
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &[Verdict::Rejected { reason: "no".into() }]);
    record_all(&mut drain, at(1_001));
    assert!(searches(&mut drain, 1_002, 1_003, vec![]));
    assert!(searches(&mut drain, 1_004, 1_104, vec![]), "a quick one costs nothing");
    assert!(!searches(&mut drain, 1_105, 1_106, vec![]));
    drain.hint();
    assert!(searches(&mut drain, 1_107, 1_108, vec![]), "something may have been committed");
    // With nothing else to do, there is no pause.
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &[Verdict::Accepted]);
    record_all(&mut drain, at(1_109));
    assert!(searches(&mut drain, 1_110, 1_111, vec![]));
}

#[test]
fn what_comes_up_behind_a_search_is_searched_for_by_the_next() {
    let mut drain = started(RelaySettings::default(), vec![row(1, Some("a")), row(2, Some("b"))]);
    let flight = drain.next_flight(1).unwrap();
    drain.look(true, at(10)).unwrap();
    drain.looked(Page { more_after: Some("m".into()), ..page(vec![]) }, at(60));
    land(&mut drain, flight, &[Verdict::Withheld]);
    // The search goes on behind the source that was closed.
    assert_eq!(drain.look(true, at(110)).unwrap().discover.unwrap().after.as_deref(), Some("m"));
    drain.looked(page(vec![]), at(120));
    let look = drain.look(false, at(121)).expect("at once");
    assert_eq!(look.discover.expect("a search").after, None);
}

/// A look that was under way when a message died has passed its source by.
#[test]
fn a_source_that_was_closed_for_a_dead_message_is_not_done() {
    let mut drain = started(RelaySettings::default(), vec![row(1, Some("a")), row(2, Some("a"))]);
    let flight = drain.next_flight(1).unwrap();
    drain.look(true, at(2_000)).unwrap();
    land(&mut drain, flight, &[Verdict::Rejected { reason: "no".into() }]);
    record_all(&mut drain, at(2_001));
    drain.looked(page(vec![]), at(2_002));
    assert_eq!(drain.held(), 0);
    assert!(!drain.is_idle(), "what stood behind it can go");
    assert!(drain.look(false, at(2_003)).is_some(), "at once");
    drain.looked(page(vec![]), at(2_004));
    assert!(drain.is_idle());
}

#[test]
fn withheld_rows_burn_no_attempt() {
    let mut drain = started(RelaySettings::default(), vec![row(1, Some("a")), row(2, Some("a"))]);
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &[Verdict::transient("no"), Verdict::Withheld]);
    assert_eq!(drain.next_record(at(0)).unwrap().len(), 1);
}

/// Drains sources that never run dry, and counts how many of them had a turn.
fn sources_served(sources: i64) -> usize {
    let mut drain = Drain::new(RelaySettings::default());
    let mut served = std::collections::HashSet::new();
    let mut id = 0;
    for round in 0..400u64 {
        let now = at(round * 10);
        if let Some(look) = drain.look(true, now) {
            let mut rows = Vec::new();
            let mut page_rows = |source: &str, count: u32| {
                for _ in 0..count {
                    id += 1;
                    rows.push(row(id, Some(source)));
                }
            };
            for lane in &look.lanes {
                page_rows(&lane.source, lane.limit);
            }
            let mut more = None;
            if let Some(discover) = &look.discover {
                let after = discover.after.clone().unwrap_or_default();
                let names = (0..sources).map(|n| format!("s{n:05}"));
                let wanted: Vec<_> =
                    names.filter(|name| *name > after && !discover.except.contains(name)).collect();
                for name in wanted.iter().take(discover.sources as usize) {
                    page_rows(name, discover.rows_each);
                }
                more = wanted.get(discover.sources as usize - 1).cloned();
            }
            drain.looked(Page { more_after: more, ..page(rows) }, now);
        }
        while let Some(flight) = drain.next_flight(1) {
            served.extend(flight.lane.clone());
            let verdicts = vec![Verdict::Accepted; flight.rows.len()];
            land(&mut drain, flight, &verdicts);
        }
        while let Some(outcomes) = drain.next_record(at(0)) {
            let applied = outcomes.iter().map(|outcome| outcome.id).collect();
            assert!(drain.recorded(outcomes, Recorded::Applied(applied), now));
        }
    }
    served.len()
}

#[test]
fn no_source_waits_for_others_to_run_dry() {
    assert_eq!(sources_served(1_400), 1_400);
}

#[cfg(feature = "mutations")]
#[test]
fn without_making_way_sources_beyond_the_limit_starve() {
    assert!(crate::mutation::without(crate::mutation::Rule::MakeWay, || sources_served(1_400)) < 1_400);
}

#[test]
fn a_look_is_at_the_part_of_the_settings() {
    let part = Part::new(3, 8).ok();
    let mut drain = Drain::new(RelaySettings { part, ..RelaySettings::default() });
    assert_eq!(drain.look(true, at(0)).unwrap().part, part);
    let mut whole = Drain::new(RelaySettings::default());
    assert_eq!(whole.look(true, at(0)).unwrap().part, None);
}

#[test]
fn a_search_among_rows_of_other_parts_goes_on_to_its_end_and_then_begins_at_the_head() {
    let part = Part::new(0, 2).ok();
    let mut drain = Drain::new(RelaySettings { part, ..RelaySettings::default() });
    let after = |look: &Look| look.unordered.as_ref().expect("a search").after;
    let place = |number| Some((StoreTime::from_micros(number), RowId(number)));
    assert_eq!(after(&drain.look(true, at(0)).unwrap()), None);
    drain.looked(Page { unordered_after: place(10), ..page(vec![]) }, at(0));
    assert!(!drain.is_idle(), "there may be more");
    // At once, although nothing was found and nothing is held, and also when a head would be due.
    assert_eq!(after(&drain.look(false, at(0)).unwrap()), place(10));
    drain.looked(Page { unordered_after: place(20), ..page(vec![]) }, at(0));
    assert_eq!(after(&drain.look(true, at(5_000)).unwrap()), place(20));
    drain.looked(page(vec![]), at(5_000));
    assert!(drain.look(false, at(5_000)).is_none(), "it has come to its end");
    assert_eq!(after(&drain.look(true, at(5_001)).unwrap()), None);
    drain.looked(page(vec![]), at(5_001));
    assert!(drain.is_idle());
}
