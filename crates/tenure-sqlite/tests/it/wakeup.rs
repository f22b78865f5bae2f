//! What wakes a relay, and what does not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_core::contract::{LeaseStore, OutboxAdmin, OutboxStore, Wakeup};
use tenure_core::lease::Renewal;
use tenure_core::outbox::{DeadWalk, Filter};
use tenure_sqlite::SqliteStore;
use tokio::time::timeout;

use crate::backend::{SqliteFile, take};
use crate::outbox::{dead, done, look, message, record, send};

const LONG: Duration = Duration::from_secs(20);
/// As long as nothing is waited for before it counts as not coming.
const QUIET: Duration = Duration::from_millis(150);

async fn listen(store: &SqliteStore) -> Arc<dyn Wakeup> {
    let wakeup = store.listen().await.unwrap().unwrap();
    wakeup.arm(true);
    quiet(&wakeup).await;
    wakeup
}

/// Takes what hints there are, until no more come.
async fn quiet(wakeup: &Arc<dyn Wakeup>) {
    let end = Instant::now() + LONG;
    while timeout(QUIET, wakeup.hint()).await.is_ok() {
        assert!(Instant::now() < end, "hints without end");
    }
}

async fn hinted(wakeup: &Arc<dyn Wakeup>) -> bool {
    timeout(LONG, wakeup.hint()).await.is_ok_and(|hint| hint.is_ok())
}

fn commit(connection: &rusqlite::Connection) {
    connection.execute("insert into tenure_outbox (topic, type) values ('t', 'k')", []).unwrap();
}

#[tokio::test]
async fn s47_a_commit_by_another_connection_wakes_and_one_hint_is_remembered() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let wakeup = listen(&store).await;
    let other = file.raw();
    let waiting = tokio::spawn({
        let wakeup = wakeup.clone();
        async move { hinted(&wakeup).await }
    });
    tokio::task::yield_now().await;
    commit(&other);
    assert!(waiting.await.unwrap());
    quiet(&wakeup).await;
    // Nobody waits now; many commits are one hint, or few.
    for _ in 0..20 {
        commit(&other);
    }
    // passes time: the hint comes while nobody waits for it
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(hinted(&wakeup).await);
    quiet(&wakeup).await;
}

#[tokio::test]
async fn our_own_writes_wake_nobody() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "relay", Duration::from_secs(60)).await;
    let wakeup = listen(&store).await;
    // The first time, something may be left of what was before it listened.
    for number in 1..=5 {
        store.renew(&grant, &Renewal { number, presence: None }).await.unwrap();
        let woken = timeout(QUIET, wakeup.hint()).await.is_ok();
        assert!(!woken || number == 1, "woken by its own renewal");
    }
    commit(&file.raw());
    assert!(hinted(&wakeup).await);
}

#[tokio::test]
async fn a_commit_beside_our_own_writes_still_wakes() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "relay", Duration::from_secs(60)).await;
    let wakeup = listen(&store).await;
    let other = file.raw();
    for number in 1..=100 {
        let renewal = Renewal { number, presence: None };
        let renew = store.renew(&grant, &renewal);
        let (renewed, ()) = tokio::join!(renew, async { commit(&other) });
        renewed.unwrap();
        assert!(hinted(&wakeup).await, "round {number}");
    }
}

#[tokio::test]
async fn a_relay_that_does_not_ask_is_not_woken_and_arming_answers_once() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let wakeup = listen(&store).await;
    wakeup.arm(false);
    quiet(&wakeup).await;
    let other = file.raw();
    commit(&other);
    assert!(timeout(QUIET, wakeup.hint()).await.is_err());
    wakeup.arm(true);
    assert!(hinted(&wakeup).await);
    assert!(timeout(QUIET, wakeup.hint()).await.is_err());
    commit(&other);
    assert!(hinted(&wakeup).await);
}

#[tokio::test]
async fn a_log_that_is_emptied_is_watched_on() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let wakeup = listen(&store).await;
    let other = file.raw();
    for _ in 0..3 {
        commit(&other);
        assert!(hinted(&wakeup).await);
        other.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).unwrap();
        quiet(&wakeup).await;
    }
}

#[tokio::test]
async fn a_commit_is_found_within_milliseconds() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let wakeup = listen(&store).await;
    let other = file.raw();
    let mut took = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        commit(&other);
        assert!(hinted(&wakeup).await);
        took.push(start.elapsed());
        let rows = look(&store).await.rows;
        record(&store, &rows.iter().map(|row| done(row.id, 1)).collect::<Vec<_>>()).await;
        quiet_briefly(&wakeup).await;
    }
    took.sort();
    assert!(took[25] < Duration::from_millis(50), "{took:?}");
}

async fn quiet_briefly(wakeup: &Arc<dyn Wakeup>) {
    while timeout(Duration::from_millis(30), wakeup.hint()).await.is_ok() {}
}

/// The threads of this process that watch a log.
#[cfg(target_os = "linux")]
fn watchers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("tenure-sqlite-l")).count()
}

/// Other tests of this process have such threads too, so it is enough that their number falls again.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_wakeup_leaves_no_thread() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let mut many = Vec::new();
    for _ in 0..40 {
        many.push(store.listen().await.unwrap().unwrap());
    }
    let wait_for = async |enough: fn(usize) -> bool| {
        let end = Instant::now() + LONG;
        while !enough(watchers()) {
            assert!(Instant::now() < end, "{} threads", watchers());
            // passes time: threads begin and end by themselves
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    wait_for(|count| count >= 40).await;
    drop(many);
    wait_for(|count| count < 40).await;
}

#[tokio::test]
async fn a_wakeup_says_when_its_store_is_gone() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let wakeup = listen(&store).await;
    send(&store, &[message("1")]).await;
    drop(store);
    let end = Instant::now() + LONG;
    let other = file.raw();
    loop {
        commit(&other);
        match timeout(QUIET, wakeup.hint()).await {
            Ok(Err(_)) => return,
            _ => assert!(Instant::now() < end, "it goes on without a store"),
        }
    }
}

#[tokio::test]
async fn what_the_store_itself_enqueues_or_revives_wakes() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let wakeup = listen(&store).await;
    send(&store, &[message("1")]).await;
    assert!(hinted(&wakeup).await);
    let row = look(&store).await.rows[0].id;
    record(&store, &[dead(row, 1, false)]).await;
    quiet(&wakeup).await;
    store.retry(&DeadWalk::of(Filter::default(), 1), "ann").await.unwrap();
    assert!(hinted(&wakeup).await);
}

/// Someone who writes long before he commits, right after our own connection wrote.
#[tokio::test]
async fn a_commit_that_takes_its_time_is_not_lost() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "relay", Duration::from_secs(60)).await;
    let wakeup = listen(&store).await;
    let mut other = file.raw();
    // So small a cache that what is written goes to the log before the commit.
    other.execute_batch("pragma cache_size = 1; pragma cache_spill = 1").unwrap();
    for number in 1..=5 {
        store.renew(&grant, &Renewal { number, presence: None }).await.unwrap();
        let transaction = other.transaction().unwrap();
        let many = "with recursive n (n) as (select 1 union all select n + 1 from n where n < 2000) \
                    insert into tenure_outbox (topic, type, payload) select 't', 'k', hex(randomblob(300)) from n";
        transaction.execute(many, []).unwrap();
        // What comes now is early. It must come, for nothing tells when a commit begins to show.
        assert!(hinted(&wakeup).await, "round {number}");
        transaction.commit().unwrap();
        quiet(&wakeup).await;
    }
}
