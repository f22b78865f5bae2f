//! Deleting what is old enough, and nothing else.

use std::time::Duration;

use tenure_core::contract::{LeaseStore, OutboxAdmin, OutboxStore};
use tenure_core::lease::Fence;
use tenure_core::outbox::{Consumer, DeadWalk, Filter, InboxSettings, Retention, State, Swept};
use tenure_sqlite::SqliteStore;

use crate::backend::{SqliteFile, take};
use crate::outbox::{again, dead, done, from, look, message, record, send, state};

/// Everything goes at once.
fn at_once() -> Retention {
    let now = Some(Duration::ZERO);
    Retention { dispatched: now, dead: now, discarded: now, inbox: now, ..Retention::default() }
}

async fn sweep(store: &SqliteStore, office: Option<&Fence>, retention: &Retention) -> (Swept, u32) {
    let (mut all, mut steps, mut resume) = (Swept::default(), 0, None);
    loop {
        let swept = OutboxStore::sweep(store, office, retention, resume).await.unwrap();
        steps += 1;
        all.dispatched += swept.dispatched;
        all.dead += swept.dead;
        all.discarded += swept.discarded;
        all.inbox += swept.inbox;
        all.fenced |= swept.fenced;
        resume = swept.resume;
        if resume.is_none() {
            return (all, steps);
        }
    }
}

fn left(file: &SqliteFile, table: &str) -> i64 {
    file.raw().query_row(&format!("select count(*) from tenure_{table}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn s50_only_what_is_finished_is_deleted() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let sources = ["dispatched", "dead", "discarded", "halting", "retrying", "fresh"];
    let ids = send(&store, &sources.map(from)).await;
    let rows = look(&store).await.rows;
    let row = |source: &str| rows.iter().find(|row| row.lane() == Some(source)).unwrap().id;
    record(
        &store,
        &[
            done(row("dispatched"), 1),
            dead(row("dead"), 1, false),
            dead(row("discarded"), 1, false),
            dead(row("halting"), 1, true),
            again(row("retrying"), 1, Duration::from_secs(60)),
        ],
    )
    .await;
    store
        .discard(&DeadWalk::of(Filter { id: Some(ids[2].to_string()), ..Filter::default() }, 1), "ann")
        .await
        .unwrap();
    // By default, the dead are kept for ever, and the rest for a month.
    assert_eq!(sweep(&store, None, &Retention::default()).await.0, Swept::default());

    let keep_dead = Retention { dead: None, ..at_once() };
    let (swept, _) = sweep(&store, None, &keep_dead).await;
    assert_eq!((swept.dispatched, swept.dead, swept.discarded), (1, 0, 1));
    let (swept, _) = sweep(&store, None, &at_once()).await;
    assert_eq!((swept.dispatched, swept.dead, swept.discarded), (0, 1, 0));
    // One that holds its source waits for an operator, however old it is.
    assert_eq!(state(&store, &ids[3]).await, State::Dead);
    assert_eq!(state(&store, &ids[4]).await, State::Pending);
    assert_eq!(state(&store, &ids[5]).await, State::Pending);
    let tables = ["outbox", "outbox_pending", "outbox_attempts", "outbox_dead"];
    assert_eq!(tables.map(|table| left(&file, table)), [3, 3, 2, 1]);
}

#[tokio::test]
async fn s50_a_sweep_goes_in_bounded_steps_and_past_what_is_kept() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let count = 1000;
    for _ in 0..3 {
        send(&store, &vec![message("1"); count]).await;
    }
    for at in 0..3 {
        let rows = look(&store).await.rows;
        // Of the second thousand, half stay pending.
        let step = if at == 1 { 2 } else { 1 };
        record(&store, &rows.iter().step_by(step).map(|row| done(row.id, 1)).collect::<Vec<_>>()).await;
    }
    let finished = left(&file, "outbox") - left(&file, "outbox_pending");
    let retention = Retention { batch: 100, ..at_once() };
    let (swept, steps) = sweep(&store, None, &retention).await;
    assert_eq!(swept.dispatched, finished as u64);
    assert!(steps >= 20, "{steps}");
    assert_eq!(left(&file, "outbox"), left(&file, "outbox_pending"));
}

#[tokio::test]
async fn s50_a_sweeper_that_is_no_longer_in_office_deletes_nothing() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    send(&store, &[message("1")]).await;
    let row = look(&store).await.rows[0].id;
    record(&store, &[done(row, 1)]).await;
    let grant = take(&store, "relay", Duration::from_secs(60)).await;
    store.release(&grant).await.unwrap();
    let swept = OutboxStore::sweep(&store, Some(&grant.fence()), &at_once(), None).await.unwrap();
    assert!(swept.fenced);
    assert_eq!(left(&file, "outbox"), 1);
    let grant = take(&store, "relay", Duration::from_secs(60)).await;
    assert_eq!(sweep(&store, Some(&grant.fence()), &at_once()).await.0.dispatched, 1);
}

#[tokio::test]
async fn s50_an_inbox_forgets_by_its_age_in_bounded_steps() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let (inbox, consumer) = (store.inbox(InboxSettings::default()).unwrap(), Consumer::new("c").unwrap());
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    for n in 0..250 {
        let id = tenure_core::outbox::deterministic_id("s", n, 0);
        let _ = inbox.accept_in(&transaction, &consumer, id).unwrap();
    }
    transaction.commit().unwrap();
    assert_eq!(sweep(&store, None, &Retention::default()).await.0.inbox, 0);
    let (swept, steps) = sweep(&store, None, &Retention { batch: 100, ..at_once() }).await;
    assert_eq!((swept.inbox, steps), (250, 3));
    assert_eq!(left(&file, "inbox"), 0);
}
