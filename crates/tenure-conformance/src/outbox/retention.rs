//! Retention: what is finished and old enough goes, in bounded steps; what is not finished never does.

use std::time::Duration;

use tenure_core::outbox::{NewMessage, Retention, State, Swept};

use super::backend::OutboxBackend;
use super::desk::{Desk, again, all, dead, message, of, only};

const LATER: Duration = Duration::from_secs(3_600);

/// Everything that is finished is old enough.
fn at_once(batch: u32) -> Retention {
    let now = Some(Duration::ZERO);
    Retention { dispatched: now, dead: now, discarded: now, inbox: now, batch, ..Retention::default() }
}

/// Sweeps step by step to the end.
async fn sweep(desk: &Desk<'_>, retention: &Retention) -> Swept {
    let (mut total, mut resume) = (Swept::default(), None);
    for _ in 0..1_000 {
        let swept = desk.store.sweep(None, retention, resume).await.expect("an answer");
        assert!(!swept.fenced);
        let rows = swept.dispatched + swept.dead + swept.discarded;
        assert!(rows <= u64::from(retention.batch), "a step is bounded: {swept:?}");
        total.dispatched += swept.dispatched;
        total.dead += swept.dead;
        total.discarded += swept.discarded;
        total.inbox += swept.inbox;
        match swept.resume {
            Some(next) => resume = Some(next),
            None => return total,
        }
    }
    panic!("a sweep must come to its end");
}

/// Whatever waits, for its turn, its time, its next attempt or an operator behind whom its source stands, stays.
pub async fn s50_what_is_not_finished_is_never_deleted(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let waiting = [of("w", 1), message(2)];
    let delayed = [of("d", 3).delayed(LATER), message(4).delayed(LATER)];
    let failed = [of("f", 5), message(6)];
    let halted = [of("h", 7), of("h", 8)];
    let retried = message(9);
    for messages in [&waiting, &delayed, &failed, &halted] {
        desk.sends(messages).await;
    }
    for message in &failed {
        let row = desk.row(message).await;
        desk.settles(again(&row, LATER)).await;
    }
    let row = desk.row(&halted[0]).await;
    desk.settles(dead(&row, true)).await;
    desk.buries(&retried, false).await;
    desk.retries(&only(&retried), "ann", 1).await;
    backend.pass(Duration::from_millis(20)).await;
    assert_eq!(sweep(&desk, &at_once(2)).await, Swept::default());
    for message in waiting.iter().chain(&delayed).chain(&failed).chain([&halted[1], &retried]) {
        assert_eq!(desk.state(message).await, State::Pending);
    }
    assert_eq!(
        desk.state(&halted[0]).await,
        State::Dead,
        "it holds its source until an operator has decided"
    );
    assert_eq!(backend.attempt_rows().await, 4, "nor are attempts of what stays");
}

/// What is finished goes, with its attempts, and each is counted as what it was.
pub async fn s50_what_is_finished_goes_with_its_attempts(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..6).map(|number| of(&format!("s{number}"), number)).collect();
    for message in &sent[..3] {
        desk.delivers(message).await;
    }
    for message in &sent[3..] {
        desk.buries(message, false).await;
    }
    desk.discards(&only(&sent[5]), "ann", 1).await;
    let stays = message(7);
    desk.sends(std::slice::from_ref(&stays)).await;
    backend.pass(Duration::from_millis(20)).await;
    let swept = sweep(&desk, &at_once(1_000)).await;
    assert_eq!((swept.dispatched, swept.dead, swept.discarded), (3, 2, 1));
    for message in &sent {
        assert!(desk.details(message).await.is_none());
    }
    assert_eq!(backend.attempt_rows().await, 0);
    let stats = desk.stats().await;
    assert_eq!((stats.pending, stats.dispatched, stats.dead, stats.discarded), (1, 0, 0, 0));
    assert_eq!(desk.state(&stays).await, State::Pending);
}

/// Steps are small, go on where the last one ended, and get past what stays.
pub async fn s50_a_sweep_goes_on_step_by_step(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..60).map(message).collect();
    desk.sends(&sent).await;
    let page = desk.looks(&super::desk::everywhere()).await;
    let goes = |message: &NewMessage| sent.iter().position(|other| other == message).unwrap_or(0) % 3 != 0;
    let delivered: Vec<_> = sent.iter().filter(|message| goes(message)).collect();
    let finished: Vec<_> = page
        .rows
        .iter()
        .filter(|row| {
            delivered.iter().any(|message| super::desk::id_of(message).to_string() == row.message_id)
        })
        .map(super::desk::done)
        .collect();
    assert_eq!(desk.records(&finished).await.len(), 40);
    backend.pass(Duration::from_millis(20)).await;
    let first = desk.store.sweep(None, &at_once(7), None).await.expect("an answer");
    assert!(first.resume.is_some(), "a small step is not the end: {first:?}");
    assert!(first.dispatched <= 7);
    let rest = sweep(&desk, &at_once(7)).await;
    assert_eq!(first.dispatched + rest.dispatched, 40);
    assert_eq!(desk.stats().await.pending, 20);
    assert_eq!(sweep(&desk, &at_once(7)).await, Swept::default(), "nothing is left to do");
}

/// Young ones stay, and so does everything that is kept for ever.
pub async fn s50_what_is_young_or_kept_for_ever_stays(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let (delivered, buried, discarded) = (message(1), message(2), message(3));
    desk.delivers(&delivered).await;
    desk.buries(&buried, false).await;
    desk.buries(&discarded, false).await;
    desk.discards(&only(&discarded), "ann", 1).await;
    let hour = Some(LATER);
    let young =
        Retention { dispatched: hour, dead: hour, discarded: hour, inbox: hour, ..Retention::default() };
    assert_eq!(sweep(&desk, &young).await, Swept::default());
    backend.pass(Duration::from_millis(20)).await;
    let for_ever = Retention { dispatched: None, dead: None, discarded: None, inbox: None, ..young };
    assert_eq!(sweep(&desk, &for_ever).await, Swept::default());
    let now = Some(Duration::ZERO);
    let swept = sweep(&desk, &Retention { discarded: now, ..for_ever.clone() }).await;
    assert_eq!((swept.dispatched, swept.dead, swept.discarded), (0, 0, 1));
    let swept = sweep(&desk, &Retention { dispatched: now, ..for_ever }).await;
    assert_eq!((swept.dispatched, swept.dead, swept.discarded), (1, 0, 0));
    assert_eq!(desk.lists(all(), None, 10).await.len(), 1, "the dead one stays, for that is the default");
}
