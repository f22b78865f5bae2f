//! Recording attempts: each once, in order of their numbers, and nothing that is finished goes back.

use std::time::Duration;

use tenure_core::outbox::{Kind, Next, Outcome, RowId, State};

use super::backend::OutboxBackend;
use super::desk::{Desk, again, all, dead, done, id_of, ids, message, of, outcome};

const LATER: Duration = Duration::from_secs(3_600);
const SOON: Duration = Duration::from_millis(1);
const A_MOMENT: Duration = Duration::from_millis(20);

/// A success finishes the message and leaves its attempt.
pub async fn a_success_finishes_the_message(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [of("s", 1), message(2)];
    desk.sends(&sent).await;
    for message in &sent {
        let row = desk.row(message).await;
        desk.settles(done(&row)).await;
        let summary = desk.summary(message).await;
        assert_eq!((summary.state, summary.attempts), (State::Dispatched, 1));
        assert_eq!((summary.due_at, summary.last_error, summary.halts), (None, None, false));
        let attempts = desk.attempts(message).await;
        assert_eq!(attempts.len(), 1);
        assert_eq!((attempts[0].number, attempts[0].outcome), (1, Kind::Success));
        assert_eq!((attempts[0].took_us, attempts[0].node.as_str()), (1_234, "desk"));
        assert_eq!((attempts[0].term, &attempts[0].error), (None, &None));
        assert_eq!(summary.finished_at, Some(attempts[0].at));
    }
    assert_eq!(desk.due().await, []);
}

/// Attempts are numbered from 1 without a gap, and every one of them is kept.
pub async fn attempts_are_numbered_and_kept(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let message = of("tries", 1);
    desk.sends(std::slice::from_ref(&message)).await;
    for tried in 0..3 {
        let row = desk.row(&message).await;
        assert_eq!((row.attempts, row.forgiven), (tried, 0));
        desk.settles(again(&row, SOON)).await;
        backend.pass(A_MOMENT).await;
        let summary = desk.summary(&message).await;
        assert_eq!((summary.state, summary.attempts), (State::Pending, tried + 1));
        assert_eq!(summary.last_error, Some(format!("no {}", tried + 1)));
        assert_eq!(summary.finished_at, None);
    }
    let row = desk.row(&message).await;
    desk.settles(done(&row)).await;
    let attempts = desk.attempts(&message).await;
    assert_eq!(attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(attempts.is_sorted_by_key(|attempt| attempt.at));
    assert_eq!(attempts[1].error.as_deref(), Some("no 2"));
    assert_eq!((attempts[1].outcome, attempts[3].outcome), (Kind::Transient, Kind::Success));
}

/// The answer to a record was lost, so it is recorded again: nothing counts twice.
pub async fn s40_a_record_may_be_repeated(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [of("a", 1), of("b", 2), of("c", 3), message(4)];
    desk.sends(&sent).await;
    let mut outcomes = Vec::new();
    for (at, message) in sent.iter().enumerate() {
        let row = desk.row(message).await;
        outcomes.push(match at {
            0 => done(&row),
            1 => again(&row, LATER),
            2 => dead(&row, true),
            _ => dead(&row, false),
        });
    }
    assert_eq!(desk.records(&outcomes).await.len(), 4);
    let before = (desk.stats().await, desk.lists(all(), None, 10).await);
    for _ in 0..2 {
        assert_eq!(desk.records(&outcomes).await, [], "a second time changes nothing");
    }
    let after = (desk.stats().await, desk.lists(all(), None, 10).await);
    assert_eq!(after.1, before.1);
    assert_eq!((after.0.dead, after.0.pending, after.0.dispatched), (2, 1, 1));
    assert_eq!(backend.attempt_rows().await, 4);
}

/// A relay that was deposed comes late with a failure of what its successor has delivered.
pub async fn s42_what_is_finished_never_goes_back(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    for finish in [done as fn(&_) -> Outcome, |row: &_| dead(row, false)] {
        let sent = [of("finished", 1), message(2)];
        desk.sends(&sent).await;
        for message in &sent {
            let row = desk.row(message).await;
            desk.settles(finish(&row)).await;
            let state = desk.state(message).await;
            let mut next = row.clone();
            next.attempts += 1;
            for late in
                [again(&row, SOON), dead(&row, true), done(&row), again(&next, SOON), dead(&next, true)]
            {
                assert_eq!(desk.records(&[late]).await, []);
            }
            assert_eq!(desk.state(message).await, state);
            assert_eq!(desk.attempts(message).await.len(), 1, "what did not apply leaves no attempt");
        }
    }
    assert_eq!(desk.due().await, []);
}

/// Two relays tried the same: one attempt counts.
pub async fn s41_an_attempt_is_not_burnt_twice(backend: &dyn OutboxBackend) {
    let (ann, bob) = (Desk::open(backend).await, Desk::open(backend).await);
    let message = of("burnt", 1);
    ann.sends(std::slice::from_ref(&message)).await;
    let row = ann.row(&message).await;
    ann.settles(again(&row, SOON)).await;
    assert_eq!(bob.records(&[again(&row, LATER)]).await, [], "the same number");
    assert_eq!(bob.records(&[done(&row)]).await, [], "whatever it says");
    let mut ahead = row.clone();
    ahead.attempts += 2;
    assert_eq!(bob.records(&[done(&ahead)]).await, [], "nor one that is not the next");
    backend.pass(A_MOMENT).await;
    let row = ann.row(&message).await;
    assert_eq!(row.attempts, 1);
    let outcomes = [done(&row)];
    let (a, b) = tokio::join!(ann.records(&outcomes), bob.records(&outcomes));
    assert_eq!(a.len() + b.len(), 1, "of two at once one applies");
    assert_eq!(ann.attempts(&message).await.len(), 2);
}

/// One call records whatever came of many rows; what is unknown is left out of the answer.
pub async fn outcomes_of_all_kinds_go_in_one_call(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..60)
        .map(|number| if number % 3 == 0 { message(number) } else { of(&format!("s{}", number % 7), number) })
        .collect();
    desk.sends(&sent).await;
    let mut outcomes = Vec::new();
    for (at, message) in sent.iter().enumerate() {
        let row = desk.row(message).await;
        outcomes.push(match at % 4 {
            0 => done(&row),
            1 => again(&row, LATER),
            2 => dead(&row, false),
            _ => outcome(&row, Kind::Poison, Next::Dead { halt: true }),
        });
    }
    let mut expected: Vec<_> = outcomes.iter().map(|outcome| outcome.id).collect();
    expected.sort_unstable();
    outcomes.push(Outcome { id: RowId(i64::MAX), ..outcomes[0].clone() });
    assert_eq!(desk.records(&outcomes).await, expected);
    for (at, message) in sent.iter().enumerate() {
        let summary = desk.summary(message).await;
        let state = [State::Dispatched, State::Pending, State::Dead, State::Dead][at % 4];
        assert_eq!((summary.state, summary.attempts), (state, 1), "number {at}");
        assert_eq!(summary.halts, at % 4 == 3 && message.source.is_some(), "number {at}");
    }
    assert_eq!(backend.attempt_rows().await, 60);
    assert_eq!(desk.records(&[]).await, []);
}

/// A batch as large as a relay's, all delivered.
pub async fn a_large_batch_of_successes_is_one_call(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..1_000).map(|number| of(&format!("s{}", number % 10), number)).collect();
    desk.sends(&sent).await;
    let page = desk.looks(&super::desk::everywhere()).await;
    assert_eq!(page.rows.len(), 1_000);
    let outcomes: Vec<_> = page.rows.iter().map(done).collect();
    assert_eq!(desk.records(&outcomes).await.len(), 1_000);
    assert_eq!(desk.due().await, []);
    assert_eq!(backend.attempt_rows().await, 1_000);
}

/// Skipping is explicit: the dead one is dead, and its source goes on.
pub async fn s45_a_dead_message_that_does_not_halt_lets_its_source_go_on(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [of("skips", 1), of("skips", 2)];
    desk.sends(&sent).await;
    let row = desk.row(&sent[0]).await;
    desk.settles(dead(&row, false)).await;
    assert_eq!(desk.due().await, [id_of(&sent[1])]);
    let summary = desk.summary(&sent[0]).await;
    assert_eq!((summary.state, summary.halts, summary.attempts), (State::Dead, false, 1));
    assert_eq!(summary.last_error.as_deref(), Some("no 1"));
    assert_eq!(summary.due_at, None);
    assert!(summary.finished_at.is_some());
}

/// Halting is explicit as well: the source stands still and says so, others flow, and what has no source cannot halt.
pub async fn s45_a_dead_message_that_halts_holds_its_source(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [of("halts", 1), of("halts", 2)];
    let (other, loose, next) = (of("other", 3), message(4), message(5));
    desk.sends(&sent).await;
    desk.sends(&[other.clone(), loose.clone()]).await;
    let row = desk.row(&sent[0]).await;
    desk.settles(dead(&row, true)).await;
    let row = desk.row(&loose).await;
    desk.settles(dead(&row, true)).await;
    desk.sends(std::slice::from_ref(&next)).await;
    let mut due = desk.due().await;
    due.sort_unstable();
    assert_eq!(due, super::desk::sorted(&[other, next]), "others flow");
    let summary = desk.summary(&sent[0]).await;
    assert_eq!((summary.state, summary.halts, summary.due_at), (State::Dead, true, None));
    assert_eq!(desk.state(&sent[1]).await, State::Pending);
    let summary = desk.summary(&loose).await;
    assert_eq!((summary.state, summary.halts), (State::Dead, false));
    let stats = desk.stats().await;
    assert_eq!((stats.halted_sources, stats.dead, stats.pending), (1, 2, 3));
}

/// Reasons are data, as long as they may be.
pub async fn reasons_are_kept_as_they_are(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let message = message(1);
    desk.sends(std::slice::from_ref(&message)).await;
    let reason = format!("o'brien said \"no\" \\ 東京 {}", "ä".repeat(900));
    let row = desk.row(&message).await;
    desk.settles(Outcome { reason: Some(reason.clone()), ..dead(&row, false) }).await;
    assert_eq!(desk.summary(&message).await.last_error.as_ref(), Some(&reason));
    assert_eq!(desk.attempts(&message).await[0].error.as_ref(), Some(&reason));
}

/// The pause counts from the store's clock, and the source keeps its order through it.
pub async fn s44_order_is_kept_through_retries(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [of("retries", 1), of("retries", 2), of("retries", 3)];
    desk.sends(&sent).await;
    for _ in 0..3 {
        let row = desk.row(&sent[0]).await;
        desk.settles(again(&row, SOON)).await;
        backend.pass(A_MOMENT).await;
        assert_eq!(desk.due().await, ids(&sent));
    }
    let row = desk.row(&sent[0]).await;
    desk.settles(done(&row)).await;
    assert_eq!(desk.due().await, ids(&sent[1..]));
}
