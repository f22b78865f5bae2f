//! Migrations, by this program and by hand.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{CheckpointStore, EventStore, Migrated, Schema};
use tenure_core::event::Position;
use tenure_core::naming::{Identifier, Naming};
use tenure_core::subscription::{Advance, Checkpoint, Rewind, SubscriptionName};
use tenure_sqlite::{SqliteOptions, SqliteStore};

use crate::backend::{SqliteFile, take};
use crate::events::step;

/// The schema's version that this program makes.
const NEWEST: u32 = 7;

#[tokio::test]
async fn migrating_twice_changes_nothing() {
    let file = SqliteFile::nothing_yet();
    let store = file.connect().await;
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 0, to: NEWEST });
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: NEWEST, to: NEWEST });
    store.verify_schema().await.unwrap();
}

#[tokio::test]
async fn c39_a_newer_schema_is_refused_by_number() {
    let file = SqliteFile::start().await;
    file.raw().execute("insert into tenure_schema values (9, 'the future', 0)", []).unwrap();
    let store = file.connect().await;
    for error in [store.migrate().await.unwrap_err(), store.verify_schema().await.unwrap_err()] {
        assert!(matches!(error, StoreError::SchemaNewer { found: 9, known: NEWEST, .. }), "{error}");
    }
}

#[tokio::test]
async fn what_is_printed_for_a_dba_makes_the_same_schema() {
    let printed = SqliteFile::nothing_yet();
    let script = printed.connect().await.migrations();
    printed.raw().execute_batch(&script).unwrap();
    printed.connect().await.verify_schema().await.unwrap();
    take(&printed.connect().await, "a", Duration::from_secs(6)).await;

    let migrated = SqliteFile::start().await;
    let schema = |file: &SqliteFile| -> Vec<(String, Option<String>)> {
        let connection = file.raw();
        let mut statement = connection.prepare("select name, sql from sqlite_schema order by name").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(schema(&printed), schema(&migrated));
    let noted =
        "select abs(applied_at - (julianday('now') - 2440587.5) * 86400000000) < 60000000 from tenure_schema";
    for file in [&printed, &migrated] {
        assert!(file.raw().query_row(noted, [], |row| row.get::<_, bool>(0)).unwrap());
    }
}

#[tokio::test]
async fn two_prefixes_share_a_file_without_seeing_each_other() {
    let file = SqliteFile::start().await;
    let naming = Naming { prefix: Identifier::new("prefix", "other_").unwrap(), ..Naming::default() };
    let other =
        SqliteStore::connect(SqliteOptions { naming, ..SqliteOptions::new(file.path()) }).await.unwrap();
    assert_eq!(other.migrate().await.unwrap(), Migrated { from: 0, to: NEWEST });
    take(&other, "a", Duration::from_secs(6)).await;
    take(&file.connect().await, "a", Duration::from_secs(6)).await;
}

/// A table that is missing is neither made anew in silence, nor answered with the advice to migrate.
#[tokio::test]
async fn a_schema_with_a_table_missing_says_which_and_what_to_do() {
    for table in ["schema", "leases", "lease_history", "audit", "outbox", "outbox_pending", "inbox"]
        .into_iter()
        .chain(["streams", "events", "snapshots", "checkpoints", "parked", "cluster", "nodes", "assignments"])
    {
        let file = SqliteFile::start().await;
        let store = file.connect().await;
        file.raw().execute_batch(&format!("drop table tenure_{table}")).unwrap();
        for error in [store.migrate().await.unwrap_err(), store.verify_schema().await.unwrap_err()] {
            assert!(matches!(error, StoreError::Corrupt { .. }), "{table}: {error}");
            for part in [&format!("tenure_{table} is missing"), "from a backup", "terms start anew"] {
                assert!(error.to_string().contains(part), "{table}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn a_schema_whose_version_is_gone_is_not_taken_for_none() {
    let file = SqliteFile::start().await;
    file.raw().execute_batch("delete from tenure_schema").unwrap();
    let error = file.connect().await.migrate().await.unwrap_err();
    assert!(error.to_string().contains("tenure_schema is empty"), "{error}");
}

#[tokio::test]
async fn what_was_dropped_as_advised_is_migrated_anew() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    file.raw()
        .execute_batch(
            "drop table tenure_schema; drop table tenure_leases; drop table tenure_lease_history; \
             drop table tenure_audit; drop table tenure_outbox; drop table tenure_outbox_pending; \
             drop table tenure_outbox_attempts; drop table tenure_outbox_dead; drop table tenure_inbox; \
             drop table tenure_streams; drop table tenure_events; drop table tenure_snapshots; \
             drop table tenure_checkpoints; drop table tenure_parked; \
             drop table tenure_cluster; drop table tenure_nodes; drop table tenure_assignments; \
             drop table tenure_runners",
        )
        .unwrap();
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 0, to: NEWEST });
}

/// While the store is open: a copy of the database file alone has the schema.
#[tokio::test]
async fn a_copy_of_the_migrated_file_alone_has_the_schema() {
    let (file, copy) = (SqliteFile::nothing_yet(), SqliteFile::nothing_yet());
    let store = file.connect().await;
    store.migrate().await.unwrap();
    // Not opened in this process before it is copied, nor after by its own name: that would drop SQLite's locks.
    assert!(std::process::Command::new("cp").args([file.path(), copy.path()]).status().unwrap().success());
    copy.connect().await.verify_schema().await.unwrap();
}

/// Dropping the last handle closes the connection before it returns, so a program may end right after.
#[tokio::test]
async fn a_dropped_store_leaves_no_log_behind() {
    let file = SqliteFile::start().await;
    let log = file.path().with_file_name("app.db-wal");
    let store = file.connect().await;
    let clone = store.clone();
    take(&store, "a", Duration::from_secs(6)).await;
    drop(store);
    assert!(log.exists());
    drop(clone);
    assert!(!log.exists());
}

/// Whoever looks while another one migrates sees the schema before or after, never half of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s39_a_look_during_a_migration_finds_no_damage() {
    for _ in 0..40 {
        let file = SqliteFile::nothing_yet();
        let (migrating, looking) = (file.connect().await, file.connect().await);
        let look = tokio::spawn(async move {
            loop {
                match looking.verify_schema().await {
                    Ok(()) => return,
                    Err(error) => assert!(matches!(error, StoreError::SchemaMissing { .. }), "{error}"),
                }
            }
        });
        migrating.migrate().await.unwrap();
        look.await.unwrap();
    }
}

/// The schema as the version before the outbox left it.
fn first_version(file: &SqliteFile) {
    version_before(file, "-- 0002");
}

/// The schema as it was before the migration that begins like this.
fn version_before(file: &SqliteFile, mark: &str) {
    let script = tenure_sqlite::migrations(&Naming::default());
    let (before, _) = script.split_once(mark).unwrap();
    file.raw().execute_batch(&format!("pragma journal_mode = wal; {before}")).unwrap();
}

/// A lease as an earlier version wrote it.
fn held_before(file: &SqliteFile) {
    let number = "0".repeat(32);
    let sql = format!(
        "insert into tenure_leases (name, term, node, incarnation, claim, machine, pid, backend, acquired_at, renewed_at, \
         expires_at) values ('a', 7, 'n', '{number}', '{number}', 'm', 1, 'sqlite', 1, 1, 1)"
    );
    file.raw().execute(&sql, []).unwrap();
}

async fn assert_held_before(store: &SqliteStore) {
    let name = tenure_core::lease::LeaseName::new("a").unwrap();
    let row = tenure_core::contract::LeaseStore::observe(store, &name).await.unwrap().unwrap();
    assert_eq!((row.term.get(), row.origin), (7, None));
}

/// A lease that was there before holdings of other places were told apart is one of this database.
#[tokio::test]
async fn a_schema_of_the_fifth_version_is_brought_up_with_its_leases() {
    let file = SqliteFile::nothing_yet();
    version_before(&file, "-- 0006");
    let store = file.connect().await;
    let error = store.verify_schema().await.unwrap_err();
    assert!(matches!(error, StoreError::SchemaOlder { found: 5, known: NEWEST, .. }), "{error}");
    held_before(&file);
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 5, to: NEWEST });
    store.verify_schema().await.unwrap();
    assert_held_before(&store).await;
    assert_eq!(take(&store, "a", Duration::from_secs(60)).await.term.get(), 8);
}

#[tokio::test]
async fn a_schema_of_the_first_version_is_brought_up_with_what_is_in_it() {
    let file = SqliteFile::nothing_yet();
    first_version(&file);
    let store = file.connect().await;
    let error = store.verify_schema().await.unwrap_err();
    assert!(matches!(error, StoreError::SchemaOlder { found: 1, known: NEWEST, .. }), "{error}");
    held_before(&file);
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 1, to: NEWEST });
    store.verify_schema().await.unwrap();
    assert_held_before(&store).await;
    file.raw().execute("insert into tenure_outbox (topic, type) values ('t', 'k')", []).unwrap();
    assert_eq!(store.read_all(Position::START, 1).await.unwrap().head, Position::START);
}

/// What was queued before there were events is there afterwards.
#[tokio::test]
async fn a_schema_of_the_second_version_is_brought_up_with_what_is_in_it() {
    let file = SqliteFile::nothing_yet();
    version_before(&file, "-- 0003");
    let store = file.connect().await;
    let error = store.verify_schema().await.unwrap_err();
    assert!(matches!(error, StoreError::SchemaOlder { found: 2, known: NEWEST, .. }), "{error}");
    file.raw().execute("insert into tenure_outbox (topic, type) values ('t', 'k')", []).unwrap();
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 2, to: NEWEST });
    store.verify_schema().await.unwrap();
    let queued = "select count(*) from tenure_outbox_pending";
    assert_eq!(file.raw().query_row(queued, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

/// What subscriptions had read before there was a cluster is there afterwards.
#[tokio::test]
async fn a_schema_of_the_third_version_is_brought_up_with_what_is_in_it() {
    let file = SqliteFile::nothing_yet();
    version_before(&file, "-- 0004");
    let store = file.connect().await;
    let error = store.verify_schema().await.unwrap_err();
    assert!(matches!(error, StoreError::SchemaOlder { found: 3, known: NEWEST, .. }), "{error}");
    held_before(&file);
    file.raw().execute("insert into tenure_checkpoints values ('s', 7, 0)", []).unwrap();
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 3, to: NEWEST });
    store.verify_schema().await.unwrap();
    assert_held_before(&store).await;
    let kept = "select position from tenure_checkpoints where name = 's' and rewinds = 0";
    assert_eq!(file.raw().query_row(kept, [], |row| row.get::<_, i64>(0)).unwrap(), 7);
    let look = tenure_core::contract::ClusterStore::look(&store).await.unwrap();
    assert_eq!((look.revision.0, look.nodes.len()), (0, 0));
}

/// A checkpoint that was there before rewinds were counted has none, and counts from then on.
#[tokio::test]
async fn a_schema_of_the_third_version_is_brought_up_with_its_checkpoints() {
    let file = SqliteFile::nothing_yet();
    version_before(&file, "-- 0004");
    let store = file.connect().await;
    file.raw().execute("insert into tenure_checkpoints values ('a', 7, 1)", []).unwrap();
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 3, to: NEWEST });
    store.verify_schema().await.unwrap();
    let name = SubscriptionName::new("a").unwrap();
    let there = store.checkpoint(&name).await.unwrap();
    assert_eq!(there, Checkpoint { position: Position(7), rewinds: 0 });
    assert_eq!(store.advance(None, &step("a", 7, 8)).await.unwrap(), Advance::Advanced);
    assert_eq!(store.rewind(&name, Position(8), "op").await.unwrap(), Rewind::Moved);
    assert_eq!(store.checkpoint(&name).await.unwrap(), Checkpoint { position: Position(8), rewinds: 1 });
    assert_eq!(store.advance(None, &step("a", 8, 9)).await.unwrap(), Advance::Moved { at: Position(8) });
}

/// Of the first version, a table of the second is not missed, but one of its own is.
#[tokio::test]
async fn each_version_misses_only_its_own_tables() {
    let file = SqliteFile::nothing_yet();
    first_version(&file);
    file.raw().execute_batch("drop table tenure_audit").unwrap();
    let error = file.connect().await.migrate().await.unwrap_err();
    assert!(error.to_string().contains("tenure_audit is missing"), "{error}");
}

/// What Debian 12 ships is older than what this program is built with.
#[tokio::test]
async fn what_is_printed_runs_in_the_shell_that_is_installed() {
    let file = SqliteFile::nothing_yet();
    let script = tenure_sqlite::migrations(&Naming::default());
    let insert = "insert into tenure_outbox (topic, type, payload) values ('t', 'k', '{}');\n\
                  select count(*) from tenure_outbox_pending where due_at > 1700000000000000 and lane = '';\n";
    let mut shell = std::process::Command::new("sqlite3");
    shell.arg(file.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Where there is no shell, there is nothing to test.
    let Ok(mut shell) = shell.spawn() else { return };
    shell.stdin.take().unwrap().write_all(format!("{script}{insert}").as_bytes()).unwrap();
    let shell = shell.wait_with_output().unwrap();
    assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
    assert_eq!(String::from_utf8_lossy(&shell.stdout).trim(), "1");
    file.connect().await.verify_schema().await.unwrap();
}
