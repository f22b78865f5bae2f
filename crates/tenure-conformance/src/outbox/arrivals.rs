//! What has just come, where a store lists it: read in the order of its numbers, and never past what goes first.

use std::time::Duration;

use tenure_core::outbox::{ArrivalsLook, Look, Missed, NewMessage, Page, RowId, Sequence, State, Stored};

use super::backend::{OutboxBackend, PlainRow};
use super::desk::{
    Desk, again, at_lane, dead, deliverable, done, everywhere, id_of, message, of, only, placed,
};
use crate::backend::Need;
use crate::suite::skip;

const LATER: Duration = Duration::from_secs(3_600);
/// More than any case has.
const ALL: u32 = 1_000;

/// A desk at a store that lists what has just come; elsewhere there is nothing to be shown.
async fn desk(backend: &dyn OutboxBackend) -> Option<Desk<'_>> {
    let desk = Desk::open(backend).await;
    let lists = desk.store.lists_arrivals();
    if !lists {
        skip(backend, Need::Arrivals);
    }
    lists.then_some(desk)
}

/// A look at the list and at all lanes.
fn at_list(look: ArrivalsLook) -> Look {
    Look { arrivals: Some(look), ..everywhere() }
}

fn from_the_first_on() -> Look {
    at_list(ArrivalsLook { limit: ALL, ..ArrivalsLook::default() })
}

fn named(rows: &[Stored]) -> Vec<String> {
    rows.iter().map(|row| row.message_id.to_ascii_lowercase()).collect()
}

fn numbers(rows: &[Stored]) -> Vec<RowId> {
    rows.iter().map(|row| row.id).collect()
}

fn ids(messages: &[&NewMessage]) -> Vec<String> {
    messages.iter().map(|message| id_of(message).to_string()).collect()
}

/// What a relay would find on the list and in lanes. What was laid by one look is in its lane by the next.
async fn found(desk: &Desk<'_>) -> (Vec<String>, Vec<String>) {
    let laid = desk.looks(&from_the_first_on()).await;
    let page = desk.looks(&from_the_first_on()).await;
    assert_eq!(named(&laid.arrivals.rows), named(&page.arrivals.rows), "nothing came meanwhile");
    let lanes = deliverable(&page).into_iter().map(|row| row.message_id.to_ascii_lowercase()).collect();
    (named(&page.arrivals.rows), lanes)
}

fn row<'p>(page: &'p Page, message: &NewMessage) -> &'p Stored {
    let id = id_of(message).to_string();
    let row = page.arrivals.rows.iter().find(|row| row.message_id.eq_ignore_ascii_case(&id));
    row.expect("it is on the list")
}

/// Of all sources and of none, in pages that have neither gaps nor doubles.
pub async fn what_has_come_is_listed_by_its_number(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let sent: Vec<_> =
        (0..10).map(|n| if n % 3 == 0 { message(n) } else { of(&format!("s{}", n % 3), n) }).collect();
    for one in &sent {
        desk.sends(std::slice::from_ref(one)).await;
    }
    let (mut after, mut read) = (None, Vec::new());
    loop {
        let page = desk.looks(&at_list(ArrivalsLook { after, limit: 3, ..ArrivalsLook::default() })).await;
        assert_eq!(page.rows, [], "what is on the list is in no lane");
        assert!(page.arrivals.rows.iter().all(|row| row.attempts == 0 && row.due_at <= page.now));
        read.extend(named(&page.arrivals.rows));
        assert_eq!(page.arrivals.seen, numbers(&page.arrivals.rows));
        if !page.arrivals.more {
            break;
        }
        after = page.arrivals.seen.last().copied();
    }
    assert_eq!(read, ids(&sent.iter().collect::<Vec<_>>()));
}

/// A place that the sender gave, or a time that is yet to come, is what lanes are for.
pub async fn what_has_a_place_of_its_own_is_in_its_lane(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let (second, first, plain) = (placed("s", 2, 0), placed("s", 1, 0), of("other", 1));
    let delayed = NewMessage { delay: LATER, ..of("later", 1) };
    desk.sends(std::slice::from_ref(&second)).await;
    for one in [&first, &plain, &delayed] {
        desk.sends(std::slice::from_ref(one)).await;
    }
    assert_eq!(found(&desk).await, (ids(&[&plain]), ids(&[&first, &second])));
    // Whatever comes to such a source stands behind what is in its lane, or before it: by its place.
    let zero = of("s", 3);
    desk.sends(std::slice::from_ref(&zero)).await;
    assert_eq!(found(&desk).await, (ids(&[&plain]), ids(&[&zero, &first, &second])));
}

/// What another program inserts comes on the list too.
pub async fn what_a_foreign_program_inserts_is_listed(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let row = |source: &str| PlainRow {
        source: Some(source.into()),
        topic: "t".into(),
        kind: "k".into(),
        payload: Some("{}".into()),
        ..PlainRow::default()
    };
    backend.insert_plain(row("s")).await.expect("a plain insert");
    let placed = PlainRow { sequence: Sequence { version: 7, index: 0 }, ..row("p") };
    backend.insert_plain(placed).await.expect("a plain insert");
    let (listed, lanes) = found(&desk).await;
    assert_eq!((listed.len(), lanes.len()), (1, 1));
    let page = desk.looks(&from_the_first_on()).await;
    assert_eq!(page.arrivals.rows[0].lane(), Some("s"));
}

/// A number that was taken early and committed late is found by whoever asks for what was missed, beside what is ahead.
pub async fn s30_what_was_committed_late_is_found(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    if !backend.writes_at_once() {
        return skip(backend, Need::ConcurrentWriters);
    }
    let (first, late, early) = (of("first", 1), of("late", 1), of("early", 1));
    desk.sends(std::slice::from_ref(&first)).await;
    let mut slow = backend.begin().await;
    slow.enqueue(std::slice::from_ref(&late)).await.expect("enqueued");
    desk.sends(std::slice::from_ref(&early)).await;
    let page = desk.looks(&from_the_first_on()).await;
    assert_eq!(named(&page.arrivals.rows), ids(&[&first, &early]));
    let [head, last] = *page.arrivals.seen else { panic!("two are there") };
    slow.commit().await.expect("committed");
    let behind = of("late", 2);
    desk.sends(std::slice::from_ref(&behind)).await;
    let between = (head.0 + 1..last.0).map(RowId).collect();
    let missed = Missed { before: Some(head), numbers: between, limit: ALL };
    let ahead = ArrivalsLook { after: Some(last), limit: ALL, missed, ..ArrivalsLook::default() };
    let page = desk.looks(&at_list(ahead.clone())).await;
    assert_eq!(named(&page.arrivals.rows), ids(&[&late, &behind]), "in the order of their numbers");
    assert!(!page.arrivals.more_missed);
    // With all before a number: as many as are asked for, and from the first on.
    let missed = Missed { before: Some(last), numbers: vec![last], limit: 2 };
    let page = desk.looks(&at_list(ArrivalsLook { missed, ..ahead })).await;
    assert_eq!(named(&page.arrivals.rows), ids(&[&first, &late, &behind]));
    assert!(page.arrivals.more_missed);
}

/// What is in a lane is not told by a look that lays something before it.
pub async fn a_look_that_lays_tells_nothing_that_stands_behind_it(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    if !backend.writes_at_once() {
        return skip(backend, Need::ConcurrentWriters);
    }
    let (late, early) = (of("s", 1), of("s", 2));
    let mut slow = backend.begin().await;
    slow.enqueue(std::slice::from_ref(&late)).await.expect("enqueued");
    desk.sends(std::slice::from_ref(&early)).await;
    let page = desk.looks(&from_the_first_on()).await;
    desk.settles(again(row(&page, &early), Duration::ZERO)).await;
    slow.commit().await.expect("committed");
    let page = desk.looks(&from_the_first_on()).await;
    let told: Vec<_> = page.arrivals.rows.iter().chain(deliverable(&page)).map(|row| row.id).collect();
    assert!(told.len() != 1, "the second without the first");
    assert_eq!(found(&desk).await, (vec![], ids(&[&late, &early])));
}

/// Many that were placed in lanes, and are recorded by one call, are noted each.
pub async fn s41_a_run_of_numbers_in_lanes_is_noted_too(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    // The ones in the middle have places of their own.
    let sent: Vec<_> = (0..192_u32)
        .map(|n| match n / 64 {
            1 => placed("placed", n.into(), 0),
            _ => of("s", n),
        })
        .collect();
    for some in sent.chunks(64) {
        desk.sends(some).await;
    }
    let mut rows = desk.looks(&from_the_first_on()).await.arrivals.rows;
    rows.extend(deliverable(&desk.looks(&from_the_first_on()).await).into_iter().cloned());
    assert_eq!(rows.len(), sent.len());
    let quick = |row: &Stored| {
        let outcome = done(row);
        tenure_core::outbox::Outcome { took: Duration::from_micros(3), ..outcome }
    };
    let outcomes: Vec<_> = rows.iter().map(quick).collect();
    assert_eq!(desk.records(&outcomes).await.len(), sent.len());
    for one in &sent {
        assert_eq!((desk.attempts(one).await.len(), desk.state(one).await), (1, State::Dispatched));
    }
    assert_eq!(desk.stats().await.pending, 0);
}

/// Behind a message that is to be tried again, nothing of its source is on the list.
pub async fn s44_what_is_behind_a_failure_is_laid_into_its_lane(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let (first, second, other) = (of("s", 1), of("s", 2), of("other", 1));
    for one in [&first, &second, &other] {
        desk.sends(std::slice::from_ref(one)).await;
    }
    let page = desk.looks(&from_the_first_on()).await;
    desk.settles(again(row(&page, &first), LATER)).await;
    assert_eq!(found(&desk).await, (ids(&[&other]), vec![]), "the others flow");
    let third = of("s", 3);
    desk.sends(std::slice::from_ref(&third)).await;
    assert_eq!(found(&desk).await, (ids(&[&other]), vec![]), "nor what comes later");
    assert_eq!((desk.state(&second).await, desk.state(&third).await), (State::Pending, State::Pending));
    assert_eq!(desk.summary(&first).await.attempts, 1);
}

/// Behind a dead message the source goes on, or not, as on every store.
pub async fn s45_a_listed_message_dies_as_any_other(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    for (source, halts) in [("goes", false), ("halts", true)] {
        let (first, second) = (of(source, 1), of(source, 2));
        for one in [&first, &second] {
            desk.sends(std::slice::from_ref(one)).await;
        }
        let page = desk.looks(&from_the_first_on()).await;
        desk.settles(dead(row(&page, &first), halts)).await;
        assert_eq!(desk.state(&first).await, State::Dead);
        let (listed, lanes) = found(&desk).await;
        let goes = listed.contains(&id_of(&second).to_string());
        assert_eq!((goes, lanes), (!halts, vec![]), "{source}");
    }
}

/// Many are recorded by one call, each once, whoever has recorded some of them before, and whatever else is on the list.
pub async fn s41_a_run_is_recorded_once(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let sent: Vec<_> = (0..120).map(|n| of(&format!("s{}", n % 7), n)).collect();
    desk.sends(&sent).await;
    let page = desk.looks(&from_the_first_on()).await;
    let rows = &page.arrivals.rows;
    assert_eq!(rows.len(), 120);
    let quick = |row: &Stored| {
        let outcome = done(row);
        tenure_core::outbox::Outcome { took: Duration::from_micros(3), ..outcome }
    };
    // All but one, and that one in the middle stays.
    let left = rows[60].id;
    let most: Vec<_> = rows.iter().filter(|row| row.id != left).map(quick).collect();
    assert_eq!(desk.records(&most).await.len(), 119);
    assert_eq!(desk.records(&most).await, [], "nobody records them twice");
    let all: Vec<_> = rows.iter().map(quick).collect();
    assert_eq!(desk.records(&all).await, [left], "what is left is recorded beside them");
    assert_eq!(found(&desk).await, (vec![], vec![]));
    for one in [&sent[0], &sent[60], &sent[119]] {
        let attempts = desk.attempts(one).await;
        assert_eq!((attempts.len(), attempts[0].number), (1, 1));
        assert_eq!(desk.state(one).await, State::Dispatched);
    }
    assert_eq!(desk.stats().await.pending, 0);
}

/// A source that a relay has too much of goes on from its lane, and in order.
pub async fn what_a_relay_gives_back_is_laid_into_its_lane(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let sent: Vec<_> = (0..4).map(|n| of(if n == 2 { "b" } else { "a" }, n)).collect();
    for one in &sent {
        desk.sends(std::slice::from_ref(one)).await;
    }
    let first = desk.looks(&from_the_first_on()).await.arrivals.rows[0].id;
    let lay = vec!["a".to_owned()];
    let look = ArrivalsLook { after: Some(first), limit: ALL, lay, ..ArrivalsLook::default() };
    let page = desk.looks(&at_list(look)).await;
    assert_eq!(named(&page.arrivals.rows), ids(&[&sent[2]]));
    // What stands before them on the list is laid too, as soon as it is come across.
    assert_eq!(found(&desk).await, (ids(&[&sent[2]]), ids(&[&sent[0], &sent[1], &sent[3]])));
}

/// Who does not ask for the list finds all of it in lanes.
pub async fn without_the_list_everything_is_in_lanes(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let sent = [of("a", 1), of("b", 1), message(1), of("a", 2)];
    for one in &sent {
        desk.sends(std::slice::from_ref(one)).await;
    }
    assert_eq!(desk.due().await.len(), 4);
    let page = desk.looks(&from_the_first_on()).await;
    assert_eq!((page.arrivals.rows.len(), page.rows.len()), (0, 4), "there they stay");
}

/// A look that has to lay again and again what it comes across tells of none that it has left on the list.
pub async fn a_look_tells_of_nothing_that_it_has_left(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let sent: Vec<_> = (0..12).map(|n| of("s", n)).collect();
    for one in &sent {
        desk.sends(std::slice::from_ref(one)).await;
    }
    let page = desk.looks(&from_the_first_on()).await;
    let first = row(&page, &sent[0]);
    desk.settles(dead(first, true)).await;
    let look = ArrivalsLook { after: Some(first.id), limit: 1, ..ArrivalsLook::default() };
    let told = desk.looks(&at_list(look)).await.arrivals;
    assert_eq!(told.rows, [], "all of it stands behind what has died");
    desk.discards(&only(&sent[0]), "ada", 1).await;
    let ahead = ArrivalsLook { after: told.seen.last().copied(), limit: ALL, ..ArrivalsLook::default() };
    let page = desk.looks(&Look { arrivals: Some(ahead), ..at_lane("s", None, ALL) }).await;
    let there = numbers(&page.rows);
    let left: Vec<_> = told.seen.iter().filter(|id| !there.contains(id)).collect();
    assert!(left.is_empty(), "{left:?} would be passed by");
}

/// Who does not ask for the list finds what others insert in its lane, before what came behind it.
pub async fn without_the_list_what_a_foreign_program_inserts_is_not_overtaken(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let plain = PlainRow {
        source: Some("s".into()),
        topic: "t".into(),
        kind: "k".into(),
        payload: Some("{}".into()),
        ..PlainRow::default()
    };
    backend.insert_plain(plain).await.expect("a plain insert");
    let second = of("s", 2);
    desk.sends(std::slice::from_ref(&second)).await;
    // A relay that has others in hand.
    let busy = Look { lanes: at_lane("other", None, 1).lanes, ..everywhere() };
    let mut told = Vec::new();
    while told.is_empty() {
        told = deliverable(&desk.looks(&busy).await).into_iter().cloned().collect();
    }
    assert_eq!(told.len(), 2, "the second without the first");
    assert_eq!(named(&told[1..]), ids(&[&second]));
}

/// Where all went well before, and a look may be a lighter one.
pub async fn a_look_onwards_sees_what_others_did_meanwhile(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    let sent: Vec<_> = (0..3).map(|n| of(&format!("s{n}"), n)).collect();
    for one in &sent {
        desk.sends(std::slice::from_ref(one)).await;
    }
    let page = desk.looks(&from_the_first_on()).await;
    let seen = page.arrivals.seen.clone();
    assert_eq!(seen.len(), 3);
    let onwards = |look: ArrivalsLook| at_list(ArrivalsLook { after: Some(seen[2]), limit: ALL, ..look });
    let more: Vec<_> = (3..6).map(|n| of(&format!("s{n}"), n)).collect();
    for one in &more {
        desk.sends(std::slice::from_ref(one)).await;
    }
    // More than is asked for.
    let look = ArrivalsLook { after: Some(seen[2]), limit: 2, ..ArrivalsLook::default() };
    let found = desk.looks(&at_list(look)).await.arrivals;
    assert_eq!((named(&found.rows), found.more), (ids(&[&more[0], &more[1]]), true));
    // One that was left, and what is before one.
    let left = [
        (Missed { before: None, numbers: vec![seen[1]], limit: ALL }, seen[1]),
        (Missed { before: Some(seen[1]), numbers: Vec::new(), limit: ALL }, seen[0]),
    ];
    for (missed, left) in left {
        desk.looks(&from_the_first_on()).await;
        let found = desk.looks(&onwards(ArrivalsLook { missed, ..ArrivalsLook::default() })).await.arrivals;
        assert_eq!((found.seen.first(), found.seen.len()), (Some(&left), 4));
    }
    // Another node has seen the first one fail, and something has come behind it.
    desk.looks(&from_the_first_on()).await;
    let other = Desk::open(backend).await;
    other.settles(again(row(&page, &sent[0]), LATER)).await;
    let behind = of("s0", 9);
    other.sends(std::slice::from_ref(&behind)).await;
    let found = desk.looks(&onwards(ArrivalsLook::default())).await;
    assert_eq!(named(&found.arrivals.rows), ids(&more.iter().collect::<Vec<_>>()), "the others flow");
}

/// Sources with something in their lanes beside many that have nothing there, while looks go onwards: what is behind such a lane is laid
/// there, and what was free before waits once its source has failed.
pub async fn a_look_onwards_leaves_what_is_behind_a_lane(backend: &dyn OutboxBackend) {
    let Some(desk) = desk(backend).await else { return };
    // More of them than can be found at once, and one without a source.
    let lanes: Vec<_> = ["b", "d", "f", "h", "x"].map(|source| placed(source, 7, 0)).into();
    desk.sends(&lanes).await;
    desk.sends(&[NewMessage { delay: LATER, ..message(1) }]).await;
    let mut read_to = None;
    // Whose they are, and who of them waits by then.
    let (all, mut failed) = (["a", "b", "c", "d", "e", "f", "g", "x", "y"], vec![]);
    for (round, now_free) in [(0, None), (1, Some(0)), (2, Some(1)), (3, None)] {
        let waits: Vec<_> = match round {
            0 | 1 => vec!["b", "d", "f", "x"],
            2 => vec!["a", "d", "f", "x"],
            _ => vec!["a", "f", "x", "y"],
        };
        // After a look at what has no gap the next one may be a lighter one, if there is much beside what is in lanes.
        let before: Vec<_> = (0..80).map(|n| of(["c", "e"][n as usize % 2], round * 200 + 100 + n)).collect();
        for some in before.chunks(40) {
            desk.sends(some).await;
        }
        let look = ArrivalsLook { after: read_to, limit: ALL, ..ArrivalsLook::default() };
        let seen = desk.looks(&at_list(look)).await.arrivals.seen;
        assert_eq!(seen.len(), before.len(), "round {round}");
        read_to = seen.last().copied();
        let sent: Vec<_> = (0..72).map(|n| of(all[n as usize % all.len()], round * 200 + n)).collect();
        for some in sent.chunks(36) {
            desk.sends(some).await;
        }
        let look = ArrivalsLook { after: read_to, limit: ALL, ..ArrivalsLook::default() };
        let page = desk.looks(&at_list(look)).await;
        let goes: Vec<_> = sent.iter().filter(|one| !waits.contains(&source_of(one))).collect();
        assert_eq!(named(&page.arrivals.rows), ids(&goes), "round {round}");
        assert_eq!(page.arrivals.seen.len(), sent.len(), "round {round}");
        read_to = page.arrivals.seen.last().copied();
        // A lane is emptied, and another source fails.
        if let Some(lane) = now_free {
            let source = source_of(&lanes[lane]).to_owned();
            let ahead = ArrivalsLook { after: read_to, limit: 1, ..ArrivalsLook::default() };
            let look = Look { arrivals: Some(ahead), ..at_lane(&source, None, ALL) };
            while let rows = desk.looks(&look).await.rows
                && !rows.is_empty()
            {
                let outcomes: Vec<_> = rows.iter().map(done).collect();
                assert_eq!(desk.records(&outcomes).await.len(), outcomes.len());
            }
            let next = if failed.is_empty() { "a" } else { "y" };
            let row = page.arrivals.rows.iter().find(|row| row.lane() == Some(next)).expect("it is free");
            desk.settles(again(row, LATER)).await;
            failed.push(next);
        }
    }
}

fn source_of(message: &NewMessage) -> &str {
    message.source.as_deref().expect("it has a source")
}
