//! How far readers go: never past what may still appear, and not held up by anything else.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore as _, Wakeup};
use tenure_core::event::{AppendAnswer, Expected, Limits, Position};
use tenure_postgres::{APPEND_IDLE_MAX, PostgresStore};
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::events::{append, appended, event, exact, one};
use crate::sandbox::{Mode, Sandbox, say};

const SOON: Duration = Duration::from_secs(1);
const QUIET: Duration = Duration::from_millis(300);

async fn process(client: &Client) -> i32 {
    client.query_typed_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0)
}

async fn read(store: &PostgresStore) -> (usize, i64, i64) {
    let page = store.read_all(Position::START, 100).await.unwrap();
    (page.events.len(), page.read_to.0, page.head.0)
}

async fn an_open_append_holds_readers_until_it_ends(mode: Mode) {
    let Some(sandbox) = Sandbox::new(mode).await else { return };
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    for commits in [true, false] {
        let before = store.read_all(Position::START, 100).await.unwrap();
        appended(append(&store, &one("early", Expected::Any)).await);
        let transaction = user.transaction().await.unwrap();
        let held = appended(store.events().append_on(&transaction, &one("a", Expected::Any)).await.unwrap());
        let late = appended(append(&store, &one("late", Expected::Any)).await);
        let page = store.read_all(Position::START, 100).await.unwrap();
        assert_eq!(page.events.len(), before.events.len() + 1, "the late one is there and is not read");
        assert_eq!(page.read_to.0, held.position.unwrap().0 - 1);
        assert_eq!(Some(page.head), late.position);
        let stall = page.stall.expect("a stall");
        assert_eq!(Some(stall.at), held.position);
        assert!(stall.lasts.is_some_and(|lasts| lasts < Duration::from_secs(60)), "{stall:?}");
        if mode == Mode::Direct {
            let row = transaction.query_one("SELECT pg_backend_pid()", &[]).await.unwrap();
            let pid: i32 = row.get(0);
            for part in [format!("process {pid}"), "idle in transaction".into(), "open for".into()] {
                assert!(stall.reason.contains(&part), "{}", stall.reason);
            }
        }
        let back = store.read_all(held.position.unwrap(), 100).await.unwrap();
        assert_eq!((back.events.len(), Some(back.read_to)), (0, held.position), "never back");
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
        let page = store.read_all(Position::START, 100).await.unwrap();
        assert_eq!(page.events.len(), before.events.len() + 2 + usize::from(commits));
        assert_eq!((page.read_to, &page.stall), (page.head, &None));
    }
}

#[tokio::test]
async fn s30_an_open_append_holds_readers_until_it_ends() {
    an_open_append_holds_readers_until_it_ends(Mode::Direct).await;
}

#[tokio::test]
async fn s30_pgbouncer_an_open_append_holds_readers_until_it_ends() {
    an_open_append_holds_readers_until_it_ends(Mode::Pooled).await;
}

/// A savepoint takes the lock with it; the next append in the same transaction takes one anew.
#[tokio::test]
async fn s30_an_append_after_a_rolled_back_savepoint_holds_readers_as_well() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, user) = (sandbox.store().await, sandbox.user().await);
    let events = store.events();
    user.batch_execute("BEGIN; SAVEPOINT s").await.unwrap();
    appended(events.append_on(&user, &one("a", Expected::Any)).await.unwrap());
    assert!(store.read_all(Position::START, 10).await.unwrap().stall.is_some());
    user.batch_execute("ROLLBACK TO s").await.unwrap();
    assert_eq!(read(&store).await, (0, 1, 1), "nobody is in the way");
    appended(events.append_on(&user, &one("a", Expected::Any)).await.unwrap());
    appended(append(&store, &one("b", Expected::Any)).await);
    assert_eq!(read(&store).await, (0, 1, 3));
    user.batch_execute("COMMIT").await.unwrap();
    assert_eq!(read(&store).await, (2, 3, 3));
}

/// A transaction that appends very often takes one lock, not one for each time.
#[tokio::test]
async fn a_transaction_that_appends_often_takes_one_lock() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, user) = (sandbox.store().await, sandbox.user().await);
    let pid = process(&user).await;
    for _ in 0..2 {
        user.batch_execute("BEGIN").await.unwrap();
        for _ in 0..20 {
            appended(store.events().append_on(&user, &one("a", Expected::Any)).await.unwrap());
        }
        // The other one is that of the wake-up.
        let sql =
            "SELECT count(DISTINCT (classid, objid)) FROM pg_locks WHERE locktype = 'advisory' AND pid = $1";
        let locks: i64 = sandbox.superuser().await.query_one(sql, &[&pid]).await.unwrap().get(0);
        assert_eq!(locks, 2);
        assert!(store.read_all(Position::START, 100).await.unwrap().stall.is_some());
        user.batch_execute("COMMIT").await.unwrap();
    }
    assert_eq!(read(&store).await, (40, 40, 40));
}

#[tokio::test]
async fn s32_transactions_that_did_not_append_hold_up_nobody() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, idle) = (sandbox.store().await, sandbox.user().await);
    let events = sandbox.table("events");
    idle.batch_execute(&format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id(); SELECT count(*) FROM {events}; \
         SELECT pg_advisory_xact_lock_shared(1, 1)"
    ))
    .await
    .unwrap();
    appended(append(&store, &one("a", Expected::Any)).await);
    assert_eq!(read(&store).await, (1, 1, 1));
    let max: String = idle.query_typed_one("SHOW max_prepared_transactions", &[]).await.unwrap().get(0);
    if max == "0" {
        say("max_prepared_transactions is 0: nothing was tried with prepared transactions");
        return;
    }
    let client = sandbox.superuser().await;
    let name = &sandbox.prefix;
    client
        .batch_execute(&format!("BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION '{name}other'"))
        .await
        .unwrap();
    appended(append(&store, &one("a", Expected::Any)).await);
    assert_eq!(read(&store).await, (2, 2, 2), "one that has not appended");
    client.batch_execute("BEGIN").await.unwrap();
    appended(store.events().append_on(&client, &one("a", Expected::Any)).await.unwrap());
    client.batch_execute(&format!("PREPARE TRANSACTION '{name}ours'")).await.unwrap();
    let stall = store.read_all(Position::START, 10).await.unwrap().stall.expect("a stall");
    assert!(stall.reason.contains(&format!("`{name}ours`")) && stall.lasts.is_some(), "{stall:?}");
    // One by one: several statements in one request are a transaction, in which neither may stand.
    client.batch_execute(&format!("COMMIT PREPARED '{name}ours'")).await.unwrap();
    client.batch_execute(&format!("ROLLBACK PREPARED '{name}other'")).await.unwrap();
    assert_eq!(read(&store).await, (3, 3, 3));
}

/// With a cache each session has positions in store that others have gone past: an error, and never a skip.
#[tokio::test]
async fn s30_a_sequence_with_a_cache_is_refused_loudly() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let mut options = sandbox.options();
    options.max_outbox_connections = 1;
    let (one_session, other) = (
        PostgresStore::connect(options.clone()).await.unwrap(),
        PostgresStore::connect(options).await.unwrap(),
    );
    let (client, sequence) = (sandbox.superuser().await, sandbox.table("events_position_seq"));
    client.batch_execute(&format!("ALTER SEQUENCE {sequence} CACHE 50")).await.unwrap();
    let mut seen = BTreeSet::new();
    let mut after = Position::START;
    let mut refused = 0;
    for store in [&one_session, &other, &one_session, &other, &one_session] {
        match store.append(&one("a", Expected::Any), &Limits::default()).await {
            Ok(answer) => {
                appended(answer);
            }
            Err(AppendError::Store(error @ StoreError::Corrupt { .. })) => {
                assert!(
                    error.to_string().contains(&format!("ALTER SEQUENCE \"{sequence}\" CACHE 1")),
                    "{error}"
                );
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
        let page = other.read_all(after, 100).await.unwrap();
        seen.extend(page.events.iter().map(|event| event.position));
        after = page.read_to;
    }
    assert_eq!(refused, 3);
    let there = other.read_all(Position::START, 100).await.unwrap();
    assert_eq!(there.events.iter().map(|event| event.position).collect::<BTreeSet<_>>(), seen);
    let client = sandbox.superuser().await;
    client.batch_execute("BEGIN").await.unwrap();
    appended(other.events().append_on(&client, &one("b", Expected::NONE)).await.unwrap());
    let error = other.events().append_on(&client, &one("b", exact(1))).await.unwrap_err();
    assert!(matches!(error, AppendError::Store(StoreError::Corrupt { .. })), "{error}");
}

/// Numbers are taken all the time and never used: no append fails for it, and no reader is held up or goes too far.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s31_numbers_that_are_never_used_hold_up_nobody() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, burner) = (sandbox.store().await, sandbox.superuser().await);
    let sql = format!(
        "SELECT count(nextval('{}')) FROM generate_series(1, 20000)",
        sandbox.table("events_position_seq")
    );
    let over = Arc::new(AtomicBool::new(false));
    let burning = tokio::spawn({
        let over = Arc::clone(&over);
        async move {
            while !over.load(Ordering::SeqCst) {
                burner.batch_execute(&sql).await.unwrap();
            }
        }
    });
    let mut after = Position::START;
    for _ in 0..300 {
        let done = appended(append(&store, &one("a", Expected::Any)).await);
        assert!(done.position > Some(after), "it was taken after the reader had gone past it");
        after = store.read_all(after, 10).await.unwrap().read_to;
    }
    over.store(true, Ordering::SeqCst);
    burning.await.unwrap();
}

/// Steps of two are as good as steps of one.
#[tokio::test]
async fn s30_a_sequence_with_wider_steps_is_read_as_well() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, client) = (sandbox.store().await, sandbox.superuser().await);
    let sequence = sandbox.table("events_position_seq");
    client.batch_execute(&format!("ALTER SEQUENCE {sequence} INCREMENT 2")).await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    appended(append(&store, &one("a", Expected::Any)).await);
    appended(store.events().append_on(&client, &one("b", Expected::Any)).await.unwrap());
    appended(append(&store, &one("a", Expected::Any)).await);
    assert_eq!(read(&store).await.0, 1);
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(read(&store).await.0, 3);
}

#[tokio::test]
async fn s31_a_transaction_that_appended_may_not_be_idle_for_long() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, user) = (sandbox.store().await, sandbox.user().await);
    let limit = async || -> String {
        let row = user.query_typed_one("SHOW idle_in_transaction_session_timeout", &[]).await.unwrap();
        row.get(0)
    };
    assert_eq!(APPEND_IDLE_MAX, Duration::from_secs(30));
    for (set, becomes) in [
        ("0", "30s"),
        ("1h", "30s"),
        ("30001", "30s"),
        ("30s", "30s"),
        ("5s", "5s"),
        ("250ms", "250ms"),
        ("1d", "30s"),
    ] {
        let before = format!("SET idle_in_transaction_session_timeout = '{set}'; BEGIN");
        user.batch_execute(&before).await.unwrap();
        let shown = limit().await;
        appended(store.events().append_on(&user, &one("a", Expected::Any)).await.unwrap());
        assert_eq!(limit().await, becomes, "{set}");
        user.batch_execute("COMMIT").await.unwrap();
        // What was set before is there again.
        user.batch_execute("BEGIN").await.unwrap();
        assert_eq!(limit().await, shown);
        user.batch_execute("COMMIT").await.unwrap();
    }
    user.batch_execute("SET idle_in_transaction_session_timeout = '150ms'; BEGIN").await.unwrap();
    appended(store.events().append_on(&user, &one("idle", Expected::Any)).await.unwrap());
    appended(append(&store, &one("a", Expected::Any)).await);
    let held = read(&store).await;
    assert!(held.1 < held.2, "{held:?}");
    for _ in 0..100 {
        let now = read(&store).await;
        if now.1 == now.2 {
            assert_eq!(now.0, held.0 + 1, "the idle one is gone");
            return;
        }
        // passes time: until the server has ended the idle one
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the idle transaction was never ended");
}

/// Writers of all kinds, some of which roll back, and a reader that goes on where it stopped: it misses nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s34_a_reader_among_writers_misses_nothing() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = Arc::new(sandbox.store().await);
    let over = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..6_u32 {
        let (store, user) = (Arc::clone(&store), sandbox.user().await);
        writers.push(tokio::spawn(async move {
            for round in 0..40_u32 {
                let mut append = one(&format!("s{}", round % 3), Expected::Any);
                append.events.extend((0..round % 3).map(|_| event()));
                if writer < 2 {
                    appended(store.append(&append, &Limits::default()).await.unwrap());
                    continue;
                }
                user.batch_execute("BEGIN").await.unwrap();
                appended(store.events().append_on(&user, &append).await.unwrap());
                // passes time: others take later positions and commit before
                tokio::time::sleep(Duration::from_millis(u64::from((writer * 7 + round) % 5))).await;
                let end = if (writer + round) % 5 == 0 { "ROLLBACK" } else { "COMMIT" };
                user.batch_execute(end).await.unwrap();
            }
        }));
    }
    let reader = tokio::spawn({
        let (store, over) = (Arc::clone(&store), Arc::clone(&over));
        async move {
            let (mut after, mut read) = (Position::START, Vec::new());
            loop {
                let last = over.load(Ordering::SeqCst);
                let page = store.read_all(after, 7).await.unwrap();
                assert!(page.read_to >= after);
                read.extend(page.events.iter().map(|event| event.position));
                after = page.read_to;
                if last && after == page.head {
                    return read;
                }
            }
        }
    });
    for writer in writers {
        writer.await.unwrap();
    }
    over.store(true, Ordering::SeqCst);
    let read = reader.await.unwrap();
    let sql = format!("SELECT position FROM {} ORDER BY position", sandbox.table("events"));
    let there: Vec<Position> = sandbox
        .superuser()
        .await
        .query(&sql, &[])
        .await
        .unwrap()
        .iter()
        .map(|row| Position(row.get(0)))
        .collect();
    assert!(there.len() > 200);
    assert_eq!(read, there);
}

async fn hinted(wakeup: &Arc<dyn Wakeup>, within: Duration) -> bool {
    match timeout(within, wakeup.hint()).await {
        Ok(hint) => hint.map(|()| true).expect("the session lives"),
        Err(_) => false,
    }
}

#[tokio::test]
async fn s47_an_append_wakes_a_reader_that_sleeps_and_nobody_else() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let wakeup = store.watch().await.unwrap().expect("sessions are real");
    let relay = tenure_core::contract::OutboxStore::listen(&store).await.unwrap().expect("sessions are real");
    appended(append(&store, &one("a", Expected::Any)).await);
    assert!(!hinted(&wakeup, QUIET).await, "not armed");
    // It has found nobody asleep: whoever goes to sleep now is told when it has committed.
    let early = user.transaction().await.unwrap();
    appended(store.events().append_on(&early, &one("a", Expected::Any)).await.unwrap());
    wakeup.arm(true);
    relay.arm(true);
    assert!(hinted(&relay, SOON).await, "it has taken effect");
    assert!(!hinted(&wakeup, QUIET).await, "it has not taken effect");
    early.commit().await.unwrap();
    assert!(hinted(&wakeup, SOON).await);
    while hinted(&wakeup, QUIET).await {}
    appended(append(&store, &one("a", Expected::Any)).await);
    assert!(hinted(&wakeup, SOON).await, "an append of the store's own");
    let late = user.transaction().await.unwrap();
    appended(store.events().append_on(&late, &one("a", Expected::Any)).await.unwrap());
    late.commit().await.unwrap();
    assert!(hinted(&wakeup, SOON).await, "an append in a user's transaction");
    let gone = user.transaction().await.unwrap();
    appended(store.events().append_on(&gone, &one("a", Expected::Any)).await.unwrap());
    gone.rollback().await.unwrap();
    assert!(matches!(append(&store, &one("a", exact(77))).await, AppendAnswer::Conflict { .. }));
    assert!(!hinted(&wakeup, QUIET).await, "nothing was committed");
    assert!(!hinted(&relay, QUIET).await, "a relay is not woken by events");
    wakeup.arm(false);
    while hinted(&wakeup, QUIET).await {}
    appended(append(&store, &one("a", Expected::Any)).await);
    assert!(!hinted(&wakeup, QUIET).await);
}

#[tokio::test]
async fn s47_pgbouncer_there_is_no_wake_up() {
    let Some(sandbox) = Sandbox::new(Mode::Pooled).await else { return };
    assert!(sandbox.store().await.watch().await.unwrap().is_none());
}
