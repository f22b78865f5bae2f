//! Looks: what is pending, source by source, in order, and never by a cursor alone.

use std::time::Duration;

use tenure_core::outbox::{Discover, Look, MessageId, UnorderedLook};

use super::backend::OutboxBackend;
use super::desk::{Desk, again, at_lane, dead, deliverable, everywhere, id_of, ids, message, of, placed};
use crate::backend::Need;
use crate::suite::skip;

/// Not due while a case runs.
const LATER: Duration = Duration::from_secs(3_600);
/// Due after a moment.
const SOON: Duration = Duration::from_millis(800);

/// Within a source by version and index, then by insertion; whatever was inserted first.
pub async fn s44_a_source_is_ordered_by_its_sequence_and_not_by_insertion(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [
        placed("order", 2, 0),
        placed("order", 1, 10),
        placed("order", -1, 0),
        placed("order", 1, 2),
        placed("order", 1, 2),
        placed("order", 0, 0),
    ];
    for message in &sent {
        desk.sends(std::slice::from_ref(message)).await;
    }
    let expected: Vec<_> = [2, 5, 3, 4, 1, 0].map(|at: usize| id_of(&sent[at])).to_vec();
    assert_eq!(desk.due().await, expected, "discovered");
    let page = desk.looks(&at_lane("order", None, 100)).await;
    let lane: Vec<MessageId> = page.rows.iter().map(|row| row.message_id.parse().expect("an id")).collect();
    assert_eq!(lane, expected, "looked at as a lane");
}

/// Many sources whose rows were inserted crosswise and backwards: each comes in its own order, by one look, whatever the
/// database thinks is the quickest way to read them.
pub async fn s44_sources_inserted_crosswise_keep_their_order(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sources: Vec<_> = (0..20).map(|number| format!("cross-{number:02}")).collect();
    let crosswise = |version| sources.iter().map(move |source| placed(source, version, 0));
    let rows: Vec<_> = (0..400).rev().flat_map(crosswise).collect();
    for batch in rows.chunks(2_000) {
        desk.sends(batch).await;
    }
    let lanes = sources.iter().flat_map(|source| at_lane(source, None, 16).lanes).collect();
    let discover = Some(Discover { after: None, sources: 256, rows_each: 16, except: Vec::new() });
    let looks = [Look { lanes, ..Look::default() }, Look { discover, ..everywhere() }];
    for _ in 0..2 {
        for look in &looks {
            let page = desk.looks(look).await;
            assert_eq!(page.rows.len(), 20 * 16);
            for source in &sources {
                let rows = page.rows.iter().filter(|row| row.lane() == Some(source));
                assert!(rows.map(|row| row.sequence.version).eq(0..16), "{source} is not in order");
            }
        }
        backend.take_stock().await;
    }
}

/// A number was taken early and committed late: a look from the head finds it, and in its place.
pub async fn s30_a_row_that_was_committed_late_is_seen(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let (late, early) = ([of("late", 1), message(1)], [of("late", 2), message(2)]);
    if !backend.writes_at_once() {
        return skip(backend, Need::ConcurrentWriters);
    }
    let mut slow = backend.begin().await;
    slow.enqueue(&late).await.expect("enqueued");
    desk.sends(&early).await;
    let page = desk.looks(&everywhere()).await;
    assert_eq!(desk.due().await, ids(&early), "what is committed flows");
    slow.commit().await.expect("committed");
    let rows = desk.looks(&everywhere()).await.rows;
    assert_eq!(rows.len(), 4);
    let numbers: Vec<_> =
        rows.iter().filter(|row| row.lane().is_some()).map(|row| row.message_id.clone()).collect();
    assert_eq!(numbers, [id_of(&late[0]).to_string(), id_of(&early[0]).to_string()], "by its place");
    // By the place of what was read before it is not seen; that is why a relay reads from the head again and again.
    let seen = page.rows.iter().find(|row| row.lane().is_some()).expect("a row");
    assert_eq!(desk.looks(&at_lane("late", Some(seen.place()), 10)).await.rows, []);
}

/// A lane goes on after the place that was read to, and never further than asked.
pub async fn a_lane_is_read_on_from_a_place(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..9).map(|at| placed("lane", i64::from(at / 3), at % 3)).collect();
    desk.sends(&sent).await;
    desk.sends(&[of("lane-2", 0), of("lan", 0)]).await;
    let (mut after, mut read) = (None, Vec::new());
    for _ in 0..5 {
        let page = desk.looks(&at_lane("lane", after, 2)).await;
        assert!(page.rows.len() <= 2);
        assert!(page.rows.iter().all(|row| row.lane() == Some("lane")));
        after = page.rows.last().map(|row| row.place()).or(after);
        read.extend(page.rows.into_iter().map(|row| row.message_id));
    }
    assert_eq!(read, ids(&sent).iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(desk.looks(&at_lane("lane", after, 2)).await.rows, []);
    let two = Look {
        lanes: [at_lane("lan", None, 5), at_lane("lane-2", None, 5), at_lane("nothing", None, 5)]
            .into_iter()
            .flat_map(|look| look.lanes)
            .collect(),
        ..Look::default()
    };
    assert_eq!(desk.looks(&two).await.rows.len(), 2, "several lanes by one look");
}

/// Every source is visited once a round, in the order of bytes, however small the steps.
pub async fn discovery_goes_round_all_sources_by_their_bytes(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sources = ["B", "Z", "a", "a b", "aa", "b", "z", "~", "é", "東京"];
    for source in sources.iter().rev() {
        desk.sends(&[of(source, 1), of(source, 2), of(source, 3)]).await;
    }
    for step in [1, 3, 10, 50] {
        let (mut after, mut seen, mut rounds) = (None, Vec::new(), 0);
        loop {
            let discover = Discover { after, sources: step, rows_each: 2, except: Vec::new() };
            let page = desk.looks(&Look { discover: Some(discover), ..Look::default() }).await;
            let rows: Vec<_> = page.rows.iter().map(|row| row.lane().expect("a lane").to_owned()).collect();
            assert!(rows.len() <= 2 * step as usize);
            seen.extend(rows);
            rounds += 1;
            assert!(rounds < 20, "the round must come to its end");
            match page.more_after {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        let expected: Vec<_> = sources.iter().flat_map(|source| [*source, *source]).collect();
        assert_eq!(seen, expected, "steps of {step}");
    }
}

/// What a relay holds already is left out, and does not use up the step.
pub async fn discovery_leaves_out_what_is_known(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    for source in ["a", "b", "c", "d"] {
        desk.sends(&[of(source, 1)]).await;
    }
    let except = vec!["a".to_owned(), "c".to_owned(), "nothing".to_owned()];
    let discover = Discover { after: None, sources: 2, rows_each: 9, except };
    let page = desk.looks(&Look { discover: Some(discover), ..Look::default() }).await;
    let found: Vec<_> = page.rows.iter().map(|row| row.lane().expect("a lane").to_owned()).collect();
    assert_eq!(found, ["b", "d"]);
}

/// A source whose head waits for its next attempt shows nothing, whatever stands behind; others flow.
pub async fn s44_a_parked_head_parks_its_source_and_no_other(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let parked = [of("b-parked", 1), of("b-parked", 2)];
    let (free, last) = (of("c-free", 1), of("d-free", 1));
    desk.sends(&parked).await;
    desk.sends(&[free.clone(), last.clone()]).await;
    let head = desk.row(&parked[0]).await;
    desk.settles(again(&head, LATER)).await;
    assert_eq!(desk.due().await, [id_of(&free), id_of(&last)]);
    let page = desk.looks(&everywhere()).await;
    let due = page.next_due.expect("the parked head will be due");
    let wait = page.now.until(due);
    assert!(wait > LATER / 2 && wait <= LATER, "{wait:?}");
    // Parked ones count as visited, so that very many of them cost many small looks and not one long one.
    let discover = Discover { after: None, sources: 2, rows_each: 9, except: Vec::new() };
    let page = desk.looks(&Look { discover: Some(discover), ..Look::default() }).await;
    assert_eq!(deliverable(&page).len(), 1);
    assert_eq!(page.more_after.as_deref(), Some("c-free"));
}

/// What was parked for a moment comes back after it, at its place.
pub async fn s44_a_parked_source_goes_on_when_its_time_has_come(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [of("soon", 1), of("soon", 2)];
    desk.sends(&sent).await;
    let head = desk.row(&sent[0]).await;
    desk.settles(again(&head, SOON)).await;
    backend.pass(SOON + Duration::from_millis(100)).await;
    assert_eq!(desk.due().await, ids(&sent));
    assert_eq!(desk.row(&sent[0]).await.attempts, 1);
}

/// A source that stands still is no reason to look again.
pub async fn s45_a_halted_head_is_never_due(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [of("halted", 1), of("halted", 2)];
    desk.sends(&sent).await;
    let head = desk.row(&sent[0]).await;
    desk.settles(dead(&head, true)).await;
    let page = desk.looks(&everywhere()).await;
    assert_eq!(deliverable(&page).len(), 0);
    assert_eq!(page.next_due, None, "a halted head will not be due");
    let page = desk.looks(&at_lane("halted", None, 10)).await;
    assert_eq!(deliverable(&page).len(), 0, "looked at as a lane");
    desk.sends(&[of("halted", 3)]).await;
    assert_eq!(desk.due().await, [], "what comes later waits as well");
}

/// A message that is held back by its sender holds back what follows it in its source.
pub async fn a_delayed_message_is_not_due_before_its_time(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let delayed = [of("delayed", 1).delayed(LATER), of("delayed", 2)];
    let loose = message(3).delayed(SOON);
    desk.sends(&delayed).await;
    desk.sends(std::slice::from_ref(&loose)).await;
    let free = message(4);
    desk.sends(std::slice::from_ref(&free)).await;
    let page = desk.looks(&everywhere()).await;
    let next = page.next_due.expect("something will be due");
    assert!(page.now.until(next) <= SOON, "the earliest of all that wait");
    backend.pass(SOON + Duration::from_millis(100)).await;
    let mut due = desk.due().await;
    due.sort_unstable();
    let mut expected = ids(&[loose, free]);
    expected.sort_unstable();
    assert_eq!(due, expected);
}

/// A store need not tell which sources it has passed by; of those that it tells of, nothing is due.
pub async fn a_source_that_is_told_to_rest_has_nothing_due(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let (failed, halted) = (of("failed", 1), of("halted", 1));
    let sent = [of("flows", 1), of("delayed", 1).delayed(LATER), failed.clone(), halted.clone()];
    desk.sends(&sent).await;
    desk.sends(&["flows", "delayed", "failed", "halted"].map(|source| of(source, 2))).await;
    let row = desk.row(&failed).await;
    desk.settles(again(&row, LATER)).await;
    desk.buries(&halted, true).await;
    let page = desk.looks(&everywhere()).await;
    assert_eq!(deliverable(&page).len(), 2, "what flows");
    for (source, due_at) in &page.resting {
        match source.as_str() {
            "delayed" | "failed" => assert!(due_at.is_some_and(|at| at > page.now), "{source}: {due_at:?}"),
            "halted" => assert_eq!(*due_at, None),
            other => panic!("{other} has something that is due"),
        }
    }
    assert!(matches!(page.resting.len(), 0 | 3), "all or none: {:?}", page.resting);
}

/// Messages without a source come in the order in which they became due, page by page.
pub async fn what_has_no_source_comes_in_the_order_of_its_due_time(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..7).map(message).collect();
    for message in &sent {
        desk.sends(std::slice::from_ref(message)).await;
    }
    desk.sends(&[of("a-source", 9)]).await;
    let first = desk.row(&sent[0]).await;
    desk.settles(again(&first, Duration::from_millis(1))).await;
    backend.pass(Duration::from_millis(20)).await;
    let (mut after, mut read) = (None, Vec::new());
    for _ in 0..5 {
        let unordered = Some(UnorderedLook { after, limit: 2 });
        let page = desk.looks(&Look { unordered, ..Look::default() }).await;
        assert!(page.rows.len() <= 2 && page.rows.iter().all(|row| row.lane().is_none()));
        after = page.rows.last().map(|row| (row.due_at, row.id)).or(after);
        read.extend(page.rows.into_iter().map(|row| row.message_id));
    }
    let mut expected: Vec<_> = ids(&sent).iter().map(ToString::to_string).collect();
    expected.rotate_left(1);
    assert_eq!(read, expected, "the one that failed is due last");
}

/// Looking changes nothing, and two looks see the same.
pub async fn a_look_changes_nothing(backend: &dyn OutboxBackend) {
    let (ann, bob) = (Desk::open(backend).await, Desk::open(backend).await);
    ann.sends(&[of("still", 1), of("still", 2), message(3)]).await;
    let (first, second) = (ann.looks(&everywhere()).await, bob.looks(&everywhere()).await);
    assert_eq!(first.rows, second.rows);
    assert!(second.now >= first.now);
    let nothing = ann.looks(&Look::default()).await;
    assert_eq!((nothing.rows.len(), nothing.more_after, nothing.next_due), (0, None, None));
}
