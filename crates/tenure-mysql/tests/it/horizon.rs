//! How far readers go: never past what may still appear, and not held up by anything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _};
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore as _};
use tenure_core::event::{Expected, Limits, Position, Stall, Version};
use tenure_sql::SqlStore;

use crate::events::{append, appended, event, execute, one};
use crate::sandbox::{Sandbox, on_each};

on_each! {
    s30_an_open_append_holds_readers_until_it_ends,
    s30_a_reader_that_knows_nothing_goes_up_to_the_first_open_append,
    s30_a_later_append_of_the_same_transaction_lets_nobody_pass,
    s30_an_append_after_a_rolled_back_savepoint_holds_readers_as_well,
    s30_an_append_with_an_old_snapshot_holds_readers,
    s30_a_transaction_that_appends_very_often_goes_on,
    s32_transactions_that_did_not_append_hold_up_nobody,
    s32_a_prepared_transaction_holds_readers_until_it_is_committed,
    s32_readers_wait_for_no_lock_and_take_none,
    s31_a_session_that_is_killed_lets_readers_pass,
    a_user_s_transaction_waits_for_no_slot,
    s30_after_many_transactions_the_next_holds_readers_where_it_begins,
    s30_an_append_with_an_old_snapshot_meets_no_row_that_others_change,
    s30_nothing_is_appended_while_slots_are_missing,
    s34_a_reader_among_writers_misses_nothing,
}

async fn read(store: &SqlStore) -> (usize, i64, i64) {
    let page = store.read_all(Position::START, 1000).await.unwrap();
    (page.events.len(), page.read_to.0, page.head.0)
}

async fn stall(store: &SqlStore) -> Option<Stall> {
    store.read_all(Position::START, 1000).await.unwrap().stall
}

async fn number(connection: &mut MySqlConnection, sql: &str) -> i64 {
    let row = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await.expect("a row");
    row.try_get::<i64, _>(0).unwrap_or_else(|_| row.get::<u64, _>(0) as i64)
}

async fn s30_an_open_append_holds_readers_until_it_ends(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let (events, sql) = (store.events(), store.sql());
    let connection = number(&mut user, "SELECT CONNECTION_ID()").await;
    for end in ["COMMIT", "ROLLBACK"] {
        let before = read(sql).await.0;
        let early = appended(append(sql, &one("early", Expected::Any)).await);
        execute(&mut user, "BEGIN").await;
        let held = appended(events.append_in(&mut user, &one("a", Expected::Any)).await.unwrap());
        let late = appended(append(sql, &one("late", Expected::Any)).await);
        let page = sql.read_all(Position::START, 100).await.unwrap();
        assert_eq!(page.events.len(), before + 1, "the late one is there and is not read");
        assert_eq!((Some(page.read_to), Some(page.head)), (early.position, late.position));
        let stall = page.stall.expect("a stall");
        assert_eq!(stall.at, Position(page.read_to.0 + 1));
        assert!(stall.lasts.is_some_and(|lasts| lasts < Duration::from_secs(60)), "{stall:?}");
        for part in [format!("connection {connection} "), format!("KILL {connection} "), "open for".into()] {
            assert!(stall.reason.contains(&part), "{}", stall.reason);
        }
        let back = sql.read_all(held.position.unwrap(), 100).await.unwrap();
        assert_eq!((back.events.len(), Some(back.read_to)), (0, held.position), "never back");
        execute(&mut user, end).await;
        let page = sql.read_all(Position::START, 100).await.unwrap();
        assert_eq!(page.events.len(), before + 2 + usize::from(end == "COMMIT"));
        assert_eq!((page.read_to, &page.stall), (page.head, &None));
    }
}

/// One that starts while others are open reads what was there before.
async fn s30_a_reader_that_knows_nothing_goes_up_to_the_first_open_append(sandbox: &Sandbox) {
    let store = sandbox.store().await;
    for _ in 0..20 {
        appended(append(store.sql(), &one("old", Expected::Any)).await);
    }
    let mut open = Vec::new();
    for name in ["a", "b", "c"] {
        let mut user = sandbox.user().await;
        execute(&mut user, "BEGIN").await;
        appended(store.events().append_in(&mut user, &one(name, Expected::Any)).await.unwrap());
        appended(append(store.sql(), &one("between", Expected::Any)).await);
        open.push(user);
    }
    let other = sandbox.sql().await;
    assert_eq!(read(&other).await.0, 20);
    for (at, mut user) in open.into_iter().enumerate() {
        execute(&mut user, "COMMIT").await;
        assert_eq!(read(&other).await.0, 20 + 2 * (at + 1));
    }
}

/// Its first position stays the one that counts, whatever it appends further.
async fn s30_a_later_append_of_the_same_transaction_lets_nobody_pass(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    execute(&mut user, "BEGIN").await;
    for round in 0..40 {
        appended(store.events().append_in(&mut user, &one("a", Expected::Any)).await.unwrap());
        appended(append(store.sql(), &one("b", Expected::Any)).await);
        let (events, read_to, _) = read(store.sql()).await;
        assert_eq!((events, read_to), (0, 0), "{round}");
    }
    execute(&mut user, "COMMIT").await;
    assert_eq!(read(store.sql()).await.0, 80);
}

/// A savepoint takes what readers see with it, and the events; the next append shows itself anew.
async fn s30_an_append_after_a_rolled_back_savepoint_holds_readers_as_well(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let (events, sql) = (store.events(), store.sql());
    appended(append(sql, &one("b", Expected::Any)).await);
    execute(&mut user, "BEGIN; SAVEPOINT s").await;
    appended(events.append_in(&mut user, &one("a", Expected::Any)).await.unwrap());
    appended(append(sql, &one("b", Expected::Any)).await);
    assert!(stall(sql).await.is_some());
    execute(&mut user, "ROLLBACK TO s").await;
    assert_eq!((read(sql).await.0, stall(sql).await), (2, None), "nobody is in the way");
    appended(events.append_in(&mut user, &one("a", Expected::Any)).await.unwrap());
    appended(append(sql, &one("b", Expected::Any)).await);
    assert_eq!(read(sql).await.0, 2);
    execute(&mut user, "COMMIT").await;
    assert_eq!(read(sql).await.0, 4);
}

/// What it knows of positions may be old; it is true all the same.
async fn s30_an_append_with_an_old_snapshot_holds_readers(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let sql = store.sql();
    execute(&mut user, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN").await;
    number(&mut user, &format!("SELECT COUNT(*) FROM {}", sandbox.table("events"))).await;
    for _ in 0..5 {
        appended(append(sql, &one("b", Expected::Any)).await);
    }
    appended(store.events().append_in(&mut user, &one("a", Expected::Any)).await.unwrap());
    appended(append(sql, &one("b", Expected::Any)).await);
    assert!(read(sql).await.0 <= 5);
    execute(&mut user, "COMMIT").await;
    assert_eq!(read(sql).await.0, 7);
}

/// Each of its appends leaves a row.
async fn s30_a_transaction_that_appends_very_often_goes_on(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    appended(append(store.sql(), &one("b", Expected::Any)).await);
    execute(&mut user, "BEGIN").await;
    for round in 0..300 {
        appended(store.events().append_in(&mut user, &one("a", Expected::Any)).await.unwrap());
        if round % 50 == 49 {
            assert_eq!(read(store.sql()).await.0, 1, "{round}");
        }
    }
    // passes time: long enough for readers to notice it
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(stall(store.sql()).await.is_none(), "nothing is committed behind it");
    execute(&mut user, "COMMIT").await;
    assert_eq!(read(store.sql()).await.0, 301);
}

async fn s32_transactions_that_did_not_append_hold_up_nobody(sandbox: &Sandbox) {
    let (store, mut idle) = (sandbox.store().await, sandbox.user().await);
    let [events, streams] = [sandbox.table("events"), sandbox.table("streams")];
    execute(
        &mut idle,
        &format!(
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN; SELECT COUNT(*) FROM {events}; \
             INSERT INTO {streams} VALUES ('mine', 7)"
        ),
    )
    .await;
    appended(append(store.sql(), &one("a", Expected::Any)).await);
    assert_eq!((read(store.sql()).await.0, stall(store.sql()).await), (1, None));
}

/// MariaDB lets go of shared locks when a transaction is prepared: what readers look at must be no such lock.
async fn s32_a_prepared_transaction_holds_readers_until_it_is_committed(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let (sql, name) = (store.sql(), &sandbox.prefix);
    appended(append(sql, &one("b", Expected::Any)).await);
    execute(&mut user, &format!("XA START '{name}'")).await;
    appended(store.events().append_in(&mut user, &one("a", Expected::Any)).await.unwrap());
    execute(&mut user, &format!("XA END '{name}'")).await;
    execute(&mut user, &format!("XA PREPARE '{name}'")).await;
    appended(append(sql, &one("b", Expected::Any)).await);
    assert_eq!(read(sql).await.0, 1);
    assert!(stall(sql).await.is_some());
    execute(&mut user, &format!("XA COMMIT '{name}'")).await;
    assert_eq!((read(sql).await.0, stall(sql).await), (3, None));
}

/// Whoever holds the slots' rows, or all that is theirs, holds up no reader; and readers hold up no writer.
async fn s32_readers_wait_for_no_lock_and_take_none(sandbox: &Sandbox) {
    let (store, mut user, mut other) = (sandbox.store().await, sandbox.user().await, sandbox.user().await);
    appended(append(store.sql(), &one("a", Expected::Any)).await);
    let slots = sandbox.table("append_slots");
    execute(&mut user, &format!("BEGIN; SELECT * FROM {slots} FOR UPDATE")).await;
    assert_eq!((read(store.sql()).await.0, stall(store.sql()).await), (1, None));
    execute(&mut user, "ROLLBACK").await;
    let over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (sql, over) = (store.sql().clone(), over.clone());
            tokio::spawn(async move {
                while !over.load(Ordering::SeqCst) {
                    read(&sql).await;
                }
            })
        })
        .collect();
    for _ in 0..100 {
        let sql = format!("SELECT COUNT(*) FROM (SELECT slot FROM {slots} FOR UPDATE SKIP LOCKED) AS free");
        assert_eq!(number(&mut other, &sql).await, 128);
    }
    over.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.unwrap();
    }
}

async fn s31_a_session_that_is_killed_lets_readers_pass(sandbox: &Sandbox) {
    let (store, mut user, mut root) = (sandbox.store().await, sandbox.user().await, sandbox.user().await);
    let connection = number(&mut user, "SELECT CONNECTION_ID()").await;
    execute(&mut user, "BEGIN").await;
    appended(store.events().append_in(&mut user, &one("a", Expected::Any)).await.unwrap());
    appended(append(store.sql(), &one("b", Expected::Any)).await);
    assert_eq!(read(store.sql()).await.0, 0);
    execute(&mut root, &format!("KILL {connection}")).await;
    for _ in 0..200 {
        if read(store.sql()).await.0 == 1 {
            return;
        }
        // passes time: until the server has ended it
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the transaction was never ended");
}

/// A user's transaction waits for nobody, whoever holds the rows; our own appends do, for a while.
async fn a_user_s_transaction_waits_for_no_slot(sandbox: &Sandbox) {
    let (store, mut holder) = (sandbox.store().await, sandbox.user().await);
    let (sql, slots) = (store.sql(), sandbox.table("append_slots"));
    execute(&mut holder, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await;
    execute(&mut holder, &format!("BEGIN; SELECT * FROM {slots} FOR UPDATE")).await;
    let mut open = Vec::new();
    for name in ["a", "b", "c"] {
        let mut user = sandbox.user().await;
        execute(&mut user, "SET SESSION innodb_lock_wait_timeout = 1; BEGIN").await;
        appended(store.events().append_in(&mut user, &one(name, Expected::NONE)).await.unwrap());
        open.push(user);
    }
    let error = sql.append(&one("d", Expected::NONE), &Limits::default()).await.unwrap_err();
    assert!(matches!(error, AppendError::Store(StoreError::Busy { .. })), "{error}");
    for mut user in open {
        execute(&mut user, "COMMIT").await;
    }
    assert_eq!(read(sql).await.0, 3);
}

/// However often a connection has appended, an open transaction of it holds readers where it began and no lower; and what
/// the earlier ones have left is deleted in the end, but nothing of one that is open.
async fn s30_after_many_transactions_the_next_holds_readers_where_it_begins(sandbox: &Sandbox) {
    let (store, mut user, mut open) = (sandbox.store().await, sandbox.user().await, sandbox.user().await);
    let (events, sql) = (store.events(), store.sql());
    let mut done = 0;
    let mut append_one = async || {
        execute(&mut user, "BEGIN").await;
        appended(events.append_in(&mut user, &one("a", Expected::Any)).await.unwrap());
        execute(&mut user, "COMMIT").await;
        done += 1;
        done
    };
    for _ in 0..300 {
        append_one().await;
    }
    execute(&mut open, "BEGIN").await;
    appended(events.append_in(&mut open, &one("b", Expected::Any)).await.unwrap());
    append_one().await;
    assert_eq!(read(sql).await.0, 300);
    let appends = loop {
        let appends = append_one().await;
        if sandbox.count("append_slots").await < 128 + appends {
            break appends;
        }
        assert!(appends < 3000, "nothing is ever deleted");
    };
    assert_eq!(read(sql).await.0, 300, "who is open holds readers still");
    execute(&mut open, "COMMIT").await;
    let page = sql.read_all(Position(299), 1000).await.unwrap();
    assert_eq!((page.read_to, page.stall), (page.head, None));
    assert_eq!(sandbox.count("events").await, appends + 1);
}

/// MariaDB can be told to refuse a change of a row that has changed since the snapshot, and then undoes the transaction.
async fn s30_an_append_with_an_old_snapshot_meets_no_row_that_others_change(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let known = sandbox.query("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").await;
    if !known.is_empty() {
        execute(&mut user, "SET SESSION innodb_snapshot_isolation = ON").await;
    }
    execute(&mut user, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN").await;
    number(&mut user, &format!("SELECT COUNT(*) FROM {}", sandbox.table("events"))).await;
    for round in 0..20 {
        appended(append(store.sql(), &one("b", Expected::Any)).await);
        let mut other = sandbox.user().await;
        execute(&mut other, "BEGIN").await;
        appended(store.events().append_in(&mut other, &one("c", Expected::Any)).await.unwrap());
        execute(&mut other, "COMMIT").await;
        appended(
            store.events().append_in(&mut user, &one("a", Expected::Exact(Version(round)))).await.unwrap(),
        );
    }
    execute(&mut user, "COMMIT").await;
    assert_eq!(read(store.sql()).await.0, 60);
}

/// Without its row an append would be invisible to readers until it commits: it is refused, and says what to do.
async fn s30_nothing_is_appended_while_slots_are_missing(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let sql = store.sql();
    appended(append(sql, &one("a", Expected::NONE)).await);
    execute(&mut user, &format!("DELETE FROM {}", sandbox.table("append_slots"))).await;
    for expected in [Expected::Any, Expected::Exact(Version(1))] {
        let error = sql.append(&one("a", expected), &Limits::default()).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, AppendError::Store(StoreError::Failed { .. })), "{text}");
        for part in ["append_slots only 0 ", "INSERT", "tenure migrate --print"] {
            assert!(text.contains(part), "{text}");
        }
    }
    let error = sql.append(&one("new", Expected::NONE), &Limits::default()).await.unwrap_err();
    assert!(matches!(error, AppendError::Store(StoreError::Failed { .. })), "{error}");
    assert_eq!(sandbox.count("events").await, 1);
    let script = tenure_mysql::migrations(&sandbox.options().naming);
    let insert = script.split(";\n").find(|one| one.contains("INSERT") && one.contains("append_slots"));
    execute(&mut user, insert.expect("it is shown")).await;
    appended(append(sql, &one("a", Expected::Exact(Version(1)))).await);
    assert_eq!(sandbox.count("append_slots").await, 128);
}

const WRITERS: u32 = 8;
const ROUNDS: u32 = 40;

/// Writers of all kinds, some of which roll back, and readers that go on where they stopped: they miss nothing. One that
/// believes in the last position it has seen misses some; were that not so, this test would show nothing.
async fn s34_a_reader_among_writers_misses_nothing(sandbox: &Sandbox) {
    let store = sandbox.store().await;
    let over = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let (store, mut user) = (store.clone(), sandbox.user().await);
        writers.push(tokio::spawn(async move {
            let isolation = if writer % 2 == 0 { "READ COMMITTED" } else { "REPEATABLE READ" };
            execute(&mut user, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")).await;
            for round in 0..ROUNDS {
                let mut append = one(&format!("w{writer}s{}", round % 3), Expected::Any);
                append.events.extend((0..round % 3).map(|_| event()));
                if writer < 2 {
                    appended(store.sql().append(&append, &Limits::default()).await.unwrap());
                    continue;
                }
                execute(&mut user, "BEGIN").await;
                appended(store.events().append_in(&mut user, &append).await.unwrap());
                // passes time: others take later positions and commit before
                tokio::time::sleep(Duration::from_millis(u64::from((writer * 7 + round * 3) % 11))).await;
                if round % 4 == 1 {
                    let again = one(&format!("w{writer}more"), Expected::Any);
                    appended(store.events().append_in(&mut user, &again).await.unwrap());
                }
                let end = if (writer + round) % 5 == 0 { "ROLLBACK" } else { "COMMIT" };
                execute(&mut user, end).await;
            }
        }));
    }
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (sql, over) = (store.sql().clone(), Arc::clone(&over));
            tokio::spawn(async move {
                let (mut after, mut read) = (Position::START, Vec::new());
                loop {
                    let last = over.load(Ordering::SeqCst);
                    let page = sql.read_all(after, 7).await.unwrap();
                    assert!(page.read_to >= after);
                    read.extend(page.events.iter().map(|event| event.position.0));
                    after = page.read_to;
                    if last && after == page.head {
                        return read;
                    }
                }
            })
        })
        .collect();
    let events = sandbox.table("events");
    let believer = tokio::spawn({
        let (mut user, over) = (sandbox.user().await, Arc::clone(&over));
        let sql = format!("SELECT position FROM {events} WHERE position > ? ORDER BY position");
        async move {
            let mut read: Vec<i64> = Vec::new();
            loop {
                let last = over.load(Ordering::SeqCst);
                let after = read.last().copied().unwrap_or_default();
                let query = sqlx::query(AssertSqlSafe(sql.clone())).bind(after);
                read.extend(query.fetch_all(&mut user).await.unwrap().iter().map(|row| row.get::<i64, _>(0)));
                if last {
                    return read;
                }
            }
        }
    });
    for writer in writers {
        writer.await.unwrap();
    }
    over.store(true, Ordering::SeqCst);
    let sql = format!("SELECT position FROM {events} ORDER BY position");
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut sandbox.user().await).await.unwrap();
    let there: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert!(there.len() > 300, "{}", there.len());
    for reader in readers {
        assert_eq!(reader.await.unwrap(), there);
    }
    assert!(believer.await.unwrap().len() < there.len(), "without the rule, some are missed");
}
