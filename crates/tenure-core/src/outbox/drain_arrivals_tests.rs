//! The drain over a list of what has just come: what is read when, and that nothing is passed by or overtaken.

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

/// A list, as a store has it: its rows, and what comes of a look at it.
#[derive(Default)]
struct List(std::collections::BTreeMap<i64, Option<&'static str>>);

impl List {
    fn of(rows: &[(i64, &'static str)]) -> Self {
        Self(rows.iter().map(|(id, source)| (*id, Some(*source))).collect())
    }

    fn page(&self, look: &Look) -> Page {
        let look = look.arrivals.as_ref().expect("it is asked for what has come");
        let after = look.after.map_or(i64::MIN, |after| after.0);
        let ahead: Vec<_> =
            self.0.keys().copied().filter(|id| *id > after).take(look.limit as usize).collect();
        let before = look.missed.before.map_or(i64::MIN, |before| before.0);
        let asked = |id: &i64| *id < before || look.missed.numbers.contains(&RowId(*id));
        let missed: Vec<_> = self.0.keys().copied().filter(asked).take(look.missed.limit as usize).collect();
        let (more, more_missed) =
            (ahead.len() == look.limit as usize, missed.len() == look.missed.limit as usize);
        let seen: Vec<_> = missed.into_iter().chain(ahead).map(RowId).collect();
        let rows = seen.iter().map(|id| row(id.0, self.0[&id.0])).collect();
        let arrivals = Arrivals { rows, seen, more, more_missed };
        Page { arrivals, ..Page::empty(StoreTime::from_micros(1_000_000)) }
    }

    /// Looks, takes in what is found, and answers what was asked.
    fn looked(&self, drain: &mut Drain, millis: u64) -> ArrivalsLook {
        let look = drain.look(true, at(millis)).expect("a look");
        drain.looked(self.page(&look), at(millis));
        look.arrivals.expect("it is asked for what has come")
    }

    /// Settles what was recorded.
    fn settle(&mut self, drain: &mut Drain, millis: u64) {
        while let Some(outcomes) = drain.next_record(at(millis)) {
            for outcome in &outcomes {
                self.0.remove(&outcome.id.0);
            }
            let applied = outcomes.iter().map(|outcome| outcome.id).collect();
            assert!(drain.recorded(outcomes, Recorded::Applied(applied), at(millis)));
        }
    }
}

fn drain(settings: RelaySettings) -> Drain {
    Drain::new(settings).with_arrivals(true)
}

fn ids(flight: &Flight) -> Vec<i64> {
    flight.rows.iter().map(|row| row.id.0).collect()
}

fn land(drain: &mut Drain, flight: Flight, verdict: &Verdict) {
    let mut rows = flight.rows;
    let untried = rows.split_off(if *verdict == Verdict::Accepted { rows.len() } else { 1 });
    let landing = |row: &Stored| Landing {
        id: row.id,
        attempt: row.attempts + 1,
        forgiven: row.forgiven,
        verdict: verdict.clone(),
        took: Duration::ZERO,
    };
    let landings = rows.iter().map(landing).collect();
    drain.landed(flight.lane, landings, untried, || 0.5);
}

#[test]
fn what_has_come_is_read_onwards_and_delivered_source_by_source() {
    let list = List::of(&[(1, "a"), (2, "b"), (3, "a"), (4, "b")]);
    let mut drain = drain(RelaySettings::default());
    assert_eq!(list.looked(&mut drain, 0).after, None);
    assert_eq!(ids(&drain.next_flight(1).unwrap()), [1, 3]);
    assert_eq!(ids(&drain.next_flight(1).unwrap()), [2, 4]);
    let look = list.looked(&mut drain, 1);
    assert_eq!((look.after, look.missed.before), (Some(RowId(4)), Some(RowId(1))));
    assert!(drain.next_flight(1).is_none(), "what is held is not taken in twice");
    // No lane is asked for what has only come.
    assert_eq!(drain.look(true, at(2)).unwrap().lanes, []);
}

#[test]
fn a_part_is_read_from_lanes() {
    let settings = RelaySettings { part: Part::new(0, 2).ok(), ..RelaySettings::default() };
    assert_eq!(drain(settings).look(true, at(0)).unwrap().arrivals, None);
}

/// Which rows fly, where 2 is committed after 3 was read.
fn late_row_flies() -> bool {
    let mut list = List::of(&[(1, "a"), (3, "b")]);
    let mut drain = drain(RelaySettings::default());
    list.looked(&mut drain, 0);
    let under_way = drain.next_flight(1).unwrap();
    list.0.insert(2, Some("c"));
    list.looked(&mut drain, 1);
    let flew = all_that_flies(&mut drain);
    drop(under_way);
    flew.contains(&2)
}

/// All that flies from now on, without landing.
fn all_that_flies(drain: &mut Drain) -> Vec<i64> {
    let mut flew = Vec::new();
    while let Some(flight) = drain.next_flight(1) {
        flew.extend(ids(&flight));
    }
    flew
}

#[test]
fn s30_what_is_committed_late_is_seen_while_others_are_held() {
    assert!(late_row_flies());
}

/// In which order rows of `c` fly, where 2 is committed after 3 was read, and 4 after 2.
fn order_of_a_late_row() -> Vec<i64> {
    let mut list = List::of(&[(1, "a"), (3, "b")]);
    let mut drain = drain(RelaySettings::default());
    list.looked(&mut drain, 0);
    let _hang = (drain.next_flight(1).unwrap(), drain.next_flight(1).unwrap());
    list.0.insert(2, Some("c"));
    list.0.insert(4, Some("c"));
    let mut flew = Vec::new();
    for millis in [1, 2] {
        list.looked(&mut drain, millis);
        flew.extend(all_that_flies(&mut drain));
    }
    flew
}

#[test]
fn a_late_row_goes_before_what_came_behind_it() {
    assert_eq!(order_of_a_late_row(), [2, 4]);
}

#[test]
fn with_more_late_rows_than_fit_into_a_look_nothing_ahead_is_taken() {
    let mut list = List::of(&[(1, "a"), (20, "b")]);
    let mut drain = drain(RelaySettings { read_ahead: 10, ..RelaySettings::default() });
    list.looked(&mut drain, 0);
    let _hang = (drain.next_flight(1).unwrap(), drain.next_flight(1).unwrap());
    for id in 2..=11 {
        list.0.insert(id, Some(if id == 11 { "z" } else { "c" }));
    }
    list.0.insert(21, Some("z"));
    // Nor is what stands in a lane, whatever its number.
    let look = drain.look(true, at(1)).expect("a look");
    let page = list.page(&look);
    assert!(page.arrivals.more_missed);
    let page = Page { rows: vec![row(5, Some("laned"))], ..page };
    drain.looked(page, at(1));
    let flight = drain.next_flight(1).unwrap();
    assert_eq!(ids(&flight), [2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(drain.next_flight(1).is_none());
    land(&mut drain, flight, &Verdict::Accepted);
    list.settle(&mut drain, 2);
    list.settle(&mut drain, 7);
    list.looked(&mut drain, 8);
    assert_eq!(all_that_flies(&mut drain).last(), Some(&21));
}

#[test]
fn what_stands_in_a_lane_waits_for_a_list_that_is_long() {
    let list = List::of(&[(1, "a"), (2, "b"), (30, "a")]);
    let mut drain = drain(RelaySettings { read_ahead: 2, ..RelaySettings::default() });
    let look = drain.look(true, at(0)).expect("a look");
    let rows = vec![row(1_000, Some("laned"))];
    drain.looked(Page { rows, ..list.page(&look) }, at(0));
    assert_eq!(all_that_flies(&mut drain), [1, 2]);
}

#[test]
fn no_look_is_without_the_list() {
    let list = List::of(&[(1, "a")]);
    let mut drain = drain(RelaySettings::default());
    let look = drain.look(true, at(0)).expect("a look");
    drain.looked(Page { rows: vec![row(7, Some("laned"))], ..list.page(&look) }, at(0));
    // More sources are searched for while these are under way.
    let look = drain.look(false, at(25)).expect("a look");
    assert!(look.discover.is_some());
    assert_eq!(look.arrivals.map(|look| look.after), Some(Some(RowId(1))));
}

#[test]
fn many_numbers_that_were_missed_are_asked_for_together() {
    // Every other number is missing.
    let rows: Vec<_> = (1..=2_000).map(|n| (2 * n, "a")).collect();
    let mut list = List::of(&rows);
    let mut drain = drain(RelaySettings { read_ahead: 10_000, ..RelaySettings::default() });
    list.looked(&mut drain, 0);
    let _hangs = drain.next_flight(1).unwrap();
    list.0.insert(1_001, Some("b"));
    list.0.insert(3_999, Some("b"));
    let look = list.looked(&mut drain, 1);
    assert!(look.missed.numbers.len() <= 512);
    assert!(look.missed.before.is_some_and(|before| before > RowId(1_001)));
    assert_eq!(all_that_flies(&mut drain), [1_001, 3_999]);
}

#[test]
fn a_gap_of_any_width_is_nothing_to_be_counted() {
    let mut list = List::of(&[(1, "a"), (i64::MAX - 1, "b")]);
    let mut drain = drain(RelaySettings::default());
    list.looked(&mut drain, 0);
    let _hang = (drain.next_flight(1).unwrap(), drain.next_flight(1).unwrap());
    list.0.insert(1 << 40, Some("c"));
    list.looked(&mut drain, 1);
    assert_eq!(all_that_flies(&mut drain), [1 << 40]);
}

/// Whether 2 flies once more before 9, where it was dropped while a look was under way that began behind it.
fn order_of_what_was_dropped_meanwhile() -> Vec<i64> {
    let mut list = List::of(&[(1, "a"), (2, "a"), (3, "b")]);
    let mut drain = drain(RelaySettings::default());
    list.looked(&mut drain, 0);
    let (a, b) = (drain.next_flight(1).unwrap(), drain.next_flight(1).unwrap());
    let (a, _hangs) = if a.lane.as_deref() == Some("a") { (a, b) } else { (b, a) };
    let look = drain.look(true, at(1)).expect("a look");
    list.0.insert(9, Some("a"));
    let page = list.page(&look);
    land(&mut drain, a, &Verdict::Rejected { reason: "no".into() });
    list.settle(&mut drain, 2);
    drain.looked(page, at(3));
    let mut flew = Vec::new();
    for millis in [4, 5] {
        list.looked(&mut drain, millis);
        flew.extend(all_that_flies(&mut drain));
    }
    flew
}

#[test]
fn what_was_dropped_while_a_look_was_under_way_goes_before_what_it_found() {
    assert_eq!(order_of_what_was_dropped_meanwhile(), [2, 9]);
}

#[test]
fn messages_without_a_source_in_lanes_are_looked_for_beside_those_that_come() {
    let settings = RelaySettings { read_ahead: 64, ..RelaySettings::default() };
    let list = List((1..=40).map(|id| (id, None)).collect());
    let mut drain = drain(settings);
    list.looked(&mut drain, 0);
    let _hangs = drain.next_flight(1).unwrap();
    assert!(drain.look(true, at(1)).expect("a look").unordered.is_some());
}

#[test]
fn with_nothing_held_all_is_read_from_the_first_on() {
    let mut list = List::of(&[(5, "a")]);
    let mut drain = drain(RelaySettings::default());
    list.looked(&mut drain, 0);
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &Verdict::Accepted);
    list.settle(&mut drain, 1);
    list.0.insert(2, Some("a"));
    assert_eq!(list.looked(&mut drain, 2).after, None);
    assert_eq!(ids(&drain.next_flight(1).unwrap()), [2]);
}

/// In which order rows of `a` fly when the first one is dead, and 9 comes behind the others that were read.
fn order_behind_a_dead_one() -> Vec<i64> {
    let mut list = List::of(&[(1, "a"), (2, "a"), (3, "a"), (4, "b")]);
    let mut drain = drain(RelaySettings::default());
    list.looked(&mut drain, 0);
    // What is behind was asked for a moment ago, and is not again at once.
    list.looked(&mut drain, 1);
    let (a, b) = (drain.next_flight(1).unwrap(), drain.next_flight(1).unwrap());
    let (a, _hangs) = if a.lane.as_deref() == Some("a") { (a, b) } else { (b, a) };
    land(&mut drain, a, &Verdict::Rejected { reason: "no".into() });
    // One look comes while the source is closed, one when the death has been recorded.
    list.looked(&mut drain, 10);
    list.settle(&mut drain, 11);
    list.0.insert(9, Some("a"));
    let mut flew = Vec::new();
    for millis in [12, 13, 14] {
        list.looked(&mut drain, millis);
        while let Some(flight) = drain.next_flight(1) {
            flew.extend(ids(&flight));
            land(&mut drain, flight, &Verdict::Accepted);
        }
    }
    flew
}

#[test]
fn what_was_left_behind_a_failure_goes_before_what_came_later() {
    assert_eq!(order_behind_a_dead_one(), [2, 3, 9]);
}

#[test]
fn what_was_left_is_read_again_once_its_source_can_go_on_and_not_before() {
    let mut list = List::of(&[(1, "a"), (2, "a"), (3, "b"), (4, "a")]);
    let mut drain = drain(RelaySettings::default());
    list.looked(&mut drain, 0);
    let (a, b) = (drain.next_flight(1).unwrap(), drain.next_flight(1).unwrap());
    let (a, _hangs) = if a.lane.as_deref() == Some("a") { (a, b) } else { (b, a) };
    land(&mut drain, a, &Verdict::Rejected { reason: "no".into() });
    // As long as the death is not recorded, to read it again and again would be good for nothing.
    assert_eq!(list.looked(&mut drain, 1).missed.numbers, []);
    assert_eq!(list.looked(&mut drain, 30).missed.numbers, []);
    list.settle(&mut drain, 31);
    assert_eq!(list.looked(&mut drain, 32).missed.numbers, [RowId(2), RowId(4)]);
    assert_eq!(ids(&drain.next_flight(1).unwrap()), [2, 4]);
}

/// How many rows of others fly, while the deliveries of one source that has filled all room take their time.
fn others_beside_a_slow_one() -> usize {
    let rows: Vec<_> = (1..=64).map(|id| (id, "slow")).chain([(65, "b"), (66, "c")]).collect();
    let mut list = List::of(&rows);
    let settings = RelaySettings { read_ahead: 32, run: 4, ..RelaySettings::default() };
    let mut drain = drain(settings);
    let (mut others, mut laid) = (0, false);
    let mut slow = None;
    for millis in (0..1_000).step_by(10) {
        if let Some(look) = drain.look(true, at(millis)) {
            let asked = look.arrivals.as_ref().expect("what has come");
            laid |= asked.lay == ["slow"];
            if laid {
                // From now on its lane has something, and the store returns none of it.
                list.0.retain(|_, source| *source != Some("slow"));
            }
            drain.looked(list.page(&look), at(millis));
        }
        while let Some(flight) = drain.next_flight(1) {
            if flight.lane.as_deref() == Some("slow") {
                slow = Some(flight);
            } else {
                others += flight.rows.len();
                land(&mut drain, flight, &Verdict::Accepted);
            }
        }
        list.settle(&mut drain, millis);
    }
    assert_eq!(slow.map(|flight| flight.rows.len()), Some(4));
    others
}

#[test]
fn a_slow_source_gives_room_to_others() {
    assert_eq!(others_beside_a_slow_one(), 2);
}

#[test]
fn it_is_not_done_before_all_was_read_from_the_first_on() {
    let mut list = List::of(&[(1, "a")]);
    let mut drain = drain(RelaySettings::default());
    list.looked(&mut drain, 0);
    let flight = drain.next_flight(1).unwrap();
    land(&mut drain, flight, &Verdict::Accepted);
    let look = drain.look(true, at(100)).unwrap();
    list.settle(&mut drain, 101);
    // It began behind 1, and cannot know what was committed before it.
    drain.looked(list.page(&look), at(101));
    assert!(!drain.is_idle());
    list.looked(&mut drain, 102);
    assert!(drain.is_idle());
}

/// A drain whose flights are all under way: of each number a source of its own, named by it.
fn under_way(batch: usize, numbers: std::ops::RangeInclusive<i64>) -> (Drain, Vec<Flight>) {
    let names = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"];
    let rows: Vec<_> = numbers.map(|id| (id, names[usize::try_from(id).unwrap()])).collect();
    let mut drain = drain(RelaySettings { batch, ..RelaySettings::default() });
    List::of(&rows).looked(&mut drain, 0);
    let mut flights: Vec<_> = std::iter::from_fn(|| drain.next_flight(1)).collect();
    flights.sort_unstable_by_key(ids);
    (drain, flights)
}

/// Lands those whose numbers are named; the others stay under way.
fn land_some(drain: &mut Drain, flights: &mut Vec<Flight>, numbers: &[i64]) {
    for flight in flights.extract_if(.., |flight| numbers.contains(&flight.rows[0].id.0)) {
        land(drain, flight, &Verdict::Accepted);
    }
}

fn recorded(drain: &mut Drain, millis: u64) -> Option<Vec<i64>> {
    let outcomes = drain.next_record(at(millis))?;
    let mut numbers: Vec<_> = outcomes.iter().map(|outcome| outcome.id.0).collect();
    numbers.sort_unstable();
    Some(numbers)
}

#[test]
fn those_that_stand_side_by_side_are_recorded_together() {
    let (mut drain, mut flights) = under_way(4, 1..=6);
    land_some(&mut drain, &mut flights, &[1, 2, 3, 4, 5, 6]);
    assert_eq!(recorded(&mut drain, 0), Some(vec![1, 2, 3, 4]));
}

#[test]
fn outcomes_wait_for_those_beside_them_that_are_under_way() {
    let (mut drain, mut flights) = under_way(64, 1..=4);
    land_some(&mut drain, &mut flights, &[1, 3]);
    assert_eq!(recorded(&mut drain, 0), None);
    assert_eq!(drain.record_due(), Some(at(5)));
    land_some(&mut drain, &mut flights, &[2, 4]);
    assert_eq!(recorded(&mut drain, 1), Some(vec![1, 2, 3, 4]), "nothing is under way any more");
    assert_eq!(drain.record_due(), None);
}

#[test]
fn a_delivery_that_hangs_does_not_keep_others_from_being_recorded() {
    let (mut drain, mut flights) = under_way(64, 1..=4);
    land_some(&mut drain, &mut flights, &[1, 3]);
    assert_eq!((recorded(&mut drain, 7), drain.record_due()), (None, Some(at(12))));
    land_some(&mut drain, &mut flights, &[4]);
    assert_eq!(recorded(&mut drain, 11), None, "it is counted from the first");
    assert_eq!(recorded(&mut drain, 12), Some(vec![1, 3, 4]));
}

#[test]
fn runs_are_recorded_before_what_stands_between_gaps() {
    let (mut drain, mut flights) = under_way(16, 1..=9);
    land_some(&mut drain, &mut flights, &[1, 3, 5, 6, 7, 8, 9]);
    assert_eq!(recorded(&mut drain, 0), Some(vec![5, 6, 7, 8, 9]));
    assert_eq!(recorded(&mut drain, 0), None);
    assert_eq!(recorded(&mut drain, 5), None, "a second batch would not be worth its round trip");
    drain.record_failed(Vec::new());
    assert_eq!(recorded(&mut drain, 5), Some(vec![1, 3]));
}

#[test]
fn what_stands_between_gaps_waits_for_no_more_than_a_moment_however_many_runs_there_are() {
    let (mut drain, mut flights) = under_way(16, 0..=9);
    land_some(&mut drain, &mut flights, &[0, 2, 3, 4, 5]);
    assert_eq!(recorded(&mut drain, 0), Some(vec![2, 3, 4, 5]));
    drain.record_failed(Vec::new());
    land_some(&mut drain, &mut flights, &[6, 7, 8]);
    assert_eq!((recorded(&mut drain, 4), drain.record_due()), (None, Some(at(5))), "counted from the first");
    land_some(&mut drain, &mut flights, &[9]);
    assert_eq!(recorded(&mut drain, 5), Some(vec![0, 6, 7, 8, 9]));
}

#[test]
fn what_has_waited_for_a_moment_goes_before_runs_that_would_fill_the_batch() {
    let mut drain = drain(RelaySettings { batch: 16, ..RelaySettings::default() });
    List((0..=44).map(|id| (id, None)).collect()).looked(&mut drain, 0);
    let mut flights: Vec<_> = std::iter::from_fn(|| drain.next_flight(1)).collect();
    let landed: Vec<_> = std::iter::once(0).chain(5..=44).collect();
    land_some(&mut drain, &mut flights, &landed);
    assert_eq!(recorded(&mut drain, 0), Some((5..=20).collect()));
    assert_eq!(recorded(&mut drain, 5), Some(std::iter::once(0).chain(21..=35).collect()));
}

#[test]
fn a_failure_goes_before_all_others() {
    let (mut drain, mut flights) = under_way(2, 1..=9);
    land(&mut drain, flights.remove(7), &Verdict::transient("no"));
    land_some(&mut drain, &mut flights, &[1, 3, 4, 5, 9]);
    assert_eq!(recorded(&mut drain, 0), Some(vec![1, 8]));
}

#[test]
fn at_the_end_nothing_waits_for_what_is_beside_it() {
    let (mut drain, mut flights) = under_way(64, 1..=4);
    land_some(&mut drain, &mut flights, &[1, 3]);
    drain.stop();
    assert_eq!(recorded(&mut drain, 0), Some(vec![1, 3]), "others may hang until the relay has to go");
}

#[test]
fn what_failed_is_recorded_at_once() {
    let (mut drain, mut flights) = under_way(64, 1..=4);
    land(&mut drain, flights.remove(2), &Verdict::transient("no"));
    assert_eq!(recorded(&mut drain, 0), Some(vec![3]));
}

#[test]
fn a_failure_is_recorded_beside_a_record_that_is_stuck() {
    let (mut drain, mut flights) = under_way(16, 1..=9);
    land_some(&mut drain, &mut flights, &[1, 2, 3, 4]);
    assert_eq!(recorded(&mut drain, 0), Some(vec![1, 2, 3, 4]));
    land(&mut drain, flights.remove(0), &Verdict::Accepted);
    assert_eq!(recorded(&mut drain, 9), None, "what went well waits for it");
    land(&mut drain, flights.remove(0), &Verdict::transient("no"));
    assert_eq!(recorded(&mut drain, 9), Some(vec![5, 6]));
}

#[test]
fn two_batches_are_recorded_at_once_however_little_is_read_ahead() {
    let mut drain = drain(RelaySettings { read_ahead: 8, ..RelaySettings::default() });
    List((0..=7).map(|id| (id, None)).collect()).looked(&mut drain, 0);
    let mut flights: Vec<_> = std::iter::from_fn(|| drain.next_flight(1)).collect();
    land_some(&mut drain, &mut flights, &[0, 1]);
    assert_eq!(recorded(&mut drain, 0), Some(vec![0, 1]));
    land_some(&mut drain, &mut flights, &[2, 3]);
    assert_eq!(recorded(&mut drain, 0), Some(vec![2, 3]));
}

#[test]
fn without_a_list_outcomes_wait_for_nobody() {
    let mut drain = Drain::new(RelaySettings::default());
    drain.look(true, at(0)).unwrap();
    let rows = vec![row(1, Some("a")), row(2, Some("b"))];
    drain.looked(Page { rows, ..Page::empty(StoreTime::from_micros(1_000_000)) }, at(0));
    let flight = drain.next_flight(1).unwrap();
    assert!(drain.next_flight(1).is_some());
    land(&mut drain, flight, &Verdict::Accepted);
    assert_eq!(recorded(&mut drain, 0).map(|numbers| numbers.len()), Some(1));
}

#[cfg(feature = "mutations")]
mod without {
    use super::*;
    use crate::mutation::{Rule, without};

    #[test]
    fn looking_behind_what_is_late_waits() {
        assert!(!without(Rule::LookBehind, late_row_flies));
        assert_ne!(without(Rule::LookBehind, order_of_a_late_row), [2, 4]);
    }

    #[test]
    fn reading_again_what_was_left_it_is_overtaken() {
        assert_ne!(without(Rule::ReadAgainWhatWasLeft, order_behind_a_dead_one), [2, 3, 9]);
        assert_ne!(without(Rule::ReadAgainWhatWasLeft, order_of_what_was_dropped_meanwhile), [2, 9]);
    }

    #[test]
    fn making_room_others_wait() {
        assert_eq!(without(Rule::MakeRoom, others_beside_a_slow_one), 0);
    }
}
