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
        let behind = look.behind.map_or(0, |limit| limit as usize);
        let again = look.again.iter().map(|id| id.0).filter(|id| self.0.contains_key(id));
        let mut ids: Vec<_> = again.chain(ahead.iter().copied()).collect();
        ids.sort_unstable();
        let arrivals = Arrivals {
            rows: ids.iter().map(|id| row(*id, self.0[id])).collect(),
            read_to: ahead.last().copied().map(RowId),
            more: ahead.len() == look.limit as usize,
            behind: self.0.keys().copied().filter(|id| *id <= after).take(behind).map(RowId).collect(),
        };
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
        while let Some(outcomes) = drain.next_record() {
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
    assert_eq!((look.after, look.behind.is_some()), (Some(RowId(4)), true));
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
    // Seen by one look, read by the next.
    list.looked(&mut drain, 100);
    list.looked(&mut drain, 101);
    let mut flew = Vec::new();
    while let Some(flight) = drain.next_flight(1) {
        flew.extend(ids(&flight));
    }
    drop(under_way);
    flew.contains(&2)
}

#[test]
fn s30_what_is_committed_late_is_seen_while_others_are_held() {
    assert!(late_row_flies());
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
    assert_eq!(list.looked(&mut drain, 1).after, Some(RowId(4)));
    assert_eq!(list.looked(&mut drain, 30).after, Some(RowId(4)));
    list.settle(&mut drain, 31);
    assert_eq!(list.looked(&mut drain, 32).after, Some(RowId(1)));
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

#[test]
fn those_that_stand_side_by_side_are_recorded_together() {
    let list = List::of(&[(1, "a"), (2, "b"), (3, "a"), (4, "b"), (5, "a"), (6, "b")]);
    let mut drain = drain(RelaySettings { batch: 4, ..RelaySettings::default() });
    list.looked(&mut drain, 0);
    while let Some(flight) = drain.next_flight(1) {
        land(&mut drain, flight, &Verdict::Accepted);
    }
    let mut recorded: Vec<_> = drain.next_record().unwrap().iter().map(|outcome| outcome.id.0).collect();
    recorded.sort_unstable();
    assert_eq!(recorded, [1, 2, 3, 4]);
}

#[cfg(feature = "mutations")]
mod without {
    use super::*;
    use crate::mutation::{Rule, without};

    #[test]
    fn looking_behind_what_is_late_waits() {
        assert!(!without(Rule::LookBehind, late_row_flies));
    }

    #[test]
    fn reading_again_what_was_left_it_is_overtaken() {
        assert_ne!(without(Rule::ReadAgainWhatWasLeft, order_behind_a_dead_one), [2, 3, 9]);
    }

    #[test]
    fn making_room_others_wait() {
        assert_eq!(without(Rule::MakeRoom, others_beside_a_slow_one), 0);
    }
}
