//! Migrations: many nodes at once, old programs, printed scripts.

use tenure_core::StoreError;
use tenure_core::cluster::Revision;
use tenure_core::contract::{
    CheckpointStore as _, ClusterStore as _, LeaseAdmin as _, LeaseStore as _, Migrated, Schema as _,
};
use tenure_core::event::Position;
use tenure_core::naming::Identifier;
use tenure_core::subscription::{Advance, Checkpoint, Rewind};
use tenure_postgres::PostgresStore;

use crate::checkpoints::step;
use crate::sandbox::{Mode, Sandbox, claim, name};

/// The schema's version that this program makes.
const NEWEST: u32 = 7;

const TABLES: [&str; 18] = [
    "schema",
    "leases",
    "lease_history",
    "audit",
    "outbox",
    "outbox_pending",
    "outbox_attempts",
    "outbox_dead",
    "inbox",
    "streams",
    "events",
    "snapshots",
    "checkpoints",
    "parked",
    "cluster",
    "nodes",
    "assignments",
    "runners",
];

async fn many_nodes_migrate_at_once_and_one_does_it(mode: Mode) {
    let Some(sandbox) = Sandbox::empty(mode) else { return };
    let mut nodes = Vec::new();
    for _ in 0..6 {
        let store = sandbox.store().await;
        nodes.push(tokio::spawn(async move { store.migrate().await.unwrap() }));
    }
    let mut fresh = 0;
    for node in nodes {
        let Migrated { from, to } = node.await.unwrap();
        assert_eq!(to, NEWEST);
        fresh += u32::from(from == 0);
    }
    assert_eq!(fresh, 1);
    sandbox.store().await.verify_schema().await.unwrap();
}

#[tokio::test]
async fn s39_direct_many_nodes_migrate_at_once_and_one_does_it() {
    many_nodes_migrate_at_once_and_one_does_it(Mode::Direct).await;
}

#[tokio::test]
async fn s39_pooled_many_nodes_migrate_at_once_and_one_does_it() {
    many_nodes_migrate_at_once_and_one_does_it(Mode::Pooled).await;
}

/// The node that waited sees what was made meanwhile, although its own connection has once found nothing there.
#[tokio::test]
async fn s39_a_node_that_waited_for_another_finds_its_work_done() {
    let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
    let mut options = sandbox.options();
    options.max_connections = 1;
    let store = PostgresStore::connect(options).await.unwrap();
    assert!(matches!(store.verify_schema().await, Err(StoreError::SchemaMissing { .. })));
    let other = sandbox.superuser().await;
    // The number under which migrations queue is part of the contract between versions: "tenure" in ASCII.
    other.batch_execute("SELECT pg_advisory_lock(x'74656e757265'::bigint)").await.unwrap();
    let script = store.migrations();
    let waiting = tokio::spawn(async move { store.migrate().await });
    // passes time: enough for a migration that does not wait
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    other.batch_execute(&script).await.unwrap();
    other.batch_execute("SELECT pg_advisory_unlock_all()").await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), Migrated { from: NEWEST, to: NEWEST });
}

#[tokio::test]
async fn s39_an_old_program_refuses_a_newer_schema() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let sql = format!("INSERT INTO {} VALUES (99, 'from the future', now())", sandbox.table("schema"));
    sandbox.superuser().await.batch_execute(&sql).await.unwrap();
    let store = sandbox.store().await;
    for answer in [store.migrate().await.map(|_| ()), store.verify_schema().await] {
        assert!(
            matches!(answer, Err(StoreError::SchemaNewer { found: 99, known: NEWEST, .. })),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn every_call_without_a_schema_says_how_to_make_one() {
    for mode in [Mode::Direct, Mode::Pooled] {
        let Some(sandbox) = Sandbox::empty(mode) else { return };
        let store = sandbox.store().await;
        let answers = [
            store.verify_schema().await,
            store.observe(&name("x")).await.map(|_| ()),
            store.try_acquire(&claim("x", std::time::Duration::from_secs(1))).await.map(|_| ()),
            store.list(&tenure_core::lease::LeasePageOf::first(5)).await.map(|_| ()),
            store.history(None, None, 5).await.map(|_| ()),
            store.revoke(&name("x"), "op", true).await.map(|_| ()),
        ];
        for answer in answers {
            assert!(matches!(answer, Err(StoreError::SchemaMissing { .. })), "{answer:?}");
        }
    }
}

/// The schema of the name is made when it is missing, and both ways to name the tables lead to the same leases.
#[tokio::test]
async fn a_missing_schema_is_created_and_the_printed_script_does_the_same() {
    let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
    let named = |schema: &str| {
        let mut options = sandbox.options();
        options.naming.schema = Some(Identifier::new("schema", schema).unwrap());
        PostgresStore::connect(options)
    };
    let (migrated, printed) = (format!("{}a", sandbox.prefix), format!("{}b", sandbox.prefix));
    let store = named(&migrated).await.unwrap();
    assert!(matches!(store.verify_schema().await, Err(StoreError::SchemaMissing { .. })));
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 0, to: NEWEST });
    let store = named(&printed).await.unwrap();
    let client = sandbox.superuser().await;
    client.batch_execute(&store.migrations()).await.expect("the script runs as it is");
    store.verify_schema().await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: NEWEST, to: NEWEST });
    let sql = "SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns \
               WHERE table_schema = $1 ORDER BY 1";
    let columns = async |schema: &str| -> Vec<String> {
        client.query(sql, &[&schema]).await.unwrap().iter().map(|row| row.get(0)).collect()
    };
    assert_eq!(columns(&migrated).await, columns(&printed).await);
    client
        .batch_execute(&format!("DROP SCHEMA {migrated} CASCADE; DROP SCHEMA {printed} CASCADE"))
        .await
        .unwrap();
}

/// Renewals must not bloat the table: they touch no index, and vacuum is not needed to reuse their space. (Where old
/// snapshots of other tests are open, a page fills up and one renewal in thirty goes to the next page.)
#[tokio::test]
async fn renewals_are_hot_updates() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let claim = claim("job", std::time::Duration::from_secs(60));
    let grant = crate::sandbox::granted(store.try_acquire(&claim).await.unwrap());
    for number in 1..=200 {
        store.renew(&grant, &crate::sandbox::renewal(number)).await.unwrap();
    }
    drop(store);
    let client = sandbox.superuser().await;
    let sql = format!(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = '{}'",
        sandbox.table("leases")
    );
    for _ in 0..100 {
        let row = client.query_one(&sql, &[]).await.unwrap();
        let (updates, hot): (i64, i64) = (row.get(0), row.get(1));
        if updates >= 200 {
            assert!(hot * 10 >= updates * 9, "{hot} of {updates}");
            return;
        }
        // Statistics are handed in by a server process when it ends, or now and then.
        // passes time: between two looks
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the server never counted the updates");
}

/// A table that is missing is neither made anew in silence, nor answered with a bare code or the advice to migrate.
#[tokio::test]
async fn a_schema_with_a_table_missing_says_which_and_what_to_do() {
    for table in TABLES {
        let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
        let (client, store) = (sandbox.superuser().await, sandbox.store().await);
        let missing = sandbox.table(table);
        client.batch_execute(&format!("DROP TABLE {missing}")).await.unwrap();
        for error in [store.migrate().await.unwrap_err(), store.verify_schema().await.unwrap_err()] {
            assert!(matches!(error, StoreError::Corrupt { .. }), "{table}: {error}");
            for part in [&format!("{missing} is missing"), "from a backup", "terms start anew"] {
                assert!(error.to_string().contains(part), "{table}: {error}");
            }
        }
        for left in TABLES {
            client.batch_execute(&format!("DROP TABLE IF EXISTS {}", sandbox.table(left))).await.unwrap();
        }
        assert_eq!(store.migrate().await.unwrap(), Migrated { from: 0, to: NEWEST }, "as advised");
    }
}

#[tokio::test]
async fn a_schema_whose_version_is_gone_is_not_taken_for_none() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let schema = sandbox.table("schema");
    sandbox.superuser().await.batch_execute(&format!("DELETE FROM {schema}")).await.unwrap();
    let error = sandbox.store().await.migrate().await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains(&format!("{schema} is empty")), "{error}");
}

/// A schema of an earlier version is whole without the tables of the later ones, and is brought up to date with its leases.
#[tokio::test]
async fn s39_a_schema_of_an_earlier_version_is_brought_up_to_date() {
    for (from, next, by_script) in [
        (1, "-- 0002", false),
        (1, "-- 0002", true),
        (2, "-- 0003", false),
        (2, "-- 0003", true),
        (3, "-- 0004", false),
        (3, "-- 0004", true),
        (4, "-- 0005", false),
        (4, "-- 0005", true),
        (5, "-- 0006", false),
        (5, "-- 0006", true),
        (6, "-- 0007", false),
        (6, "-- 0007", true),
    ] {
        let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
        let (client, store) = (sandbox.superuser().await, sandbox.store().await);
        let script = store.migrations();
        let (first, second) = script.split_at(script.find(next).expect("a further migration"));
        client.batch_execute(first).await.unwrap();
        let older = store.verify_schema().await.unwrap_err();
        assert!(
            matches!(older, StoreError::SchemaOlder { found, known: NEWEST, .. } if found == from),
            "{older}"
        );
        let leases = sandbox.table("leases");
        let held = format!(
            "INSERT INTO {leases} (name, term, node, incarnation, claim, renewals, machine, pid, backend, acquired_at, \
             renewed_at, expires_at) VALUES ('job', 7, 'n', '{0}', '{0}', 0, 'm', 1, 'postgres', now(), now(), now())",
            "0".repeat(32)
        );
        client.batch_execute(&held).await.unwrap();
        let checkpoints = sandbox.table("checkpoints");
        if from >= 3 {
            let sql = format!("INSERT INTO {checkpoints} (name, position, moved_at) VALUES ('s', 7, now())");
            client.batch_execute(&sql).await.unwrap();
        }
        if by_script {
            client.batch_execute(second).await.unwrap();
        } else {
            assert_eq!(store.migrate().await.unwrap(), Migrated { from, to: NEWEST });
        }
        store.verify_schema().await.unwrap();
        let kept = store.observe(&name("job")).await.unwrap().expect("what was there stays");
        assert_eq!((kept.term.get(), kept.origin), (7, None));
        let kept = format!("SELECT coalesce(sum(position), 0)::bigint FROM {checkpoints} WHERE rewinds = 0");
        let kept: i64 = client.query_one(&kept, &[]).await.unwrap().get(0);
        assert_eq!(kept, if from >= 3 { 7 } else { 0 });
        assert_eq!(store.look().await.unwrap().revision, Revision(0), "the cluster begins anew");
        assert_eq!(store.migrate().await.unwrap(), Migrated { from: NEWEST, to: NEWEST });
    }
}

/// A checkpoint that was there before rewinds were counted has none, and counts from then on.
#[tokio::test]
async fn s39_a_schema_of_the_third_version_is_brought_up_with_its_checkpoints() {
    for by_script in [false, true] {
        let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
        let (client, store) = (sandbox.superuser().await, sandbox.store().await);
        let script = store.migrations();
        let (first, second) = script.split_at(script.find("-- 0004").expect("a fourth migration"));
        client.batch_execute(first).await.unwrap();
        let checkpoints = sandbox.table("checkpoints");
        client.batch_execute(&format!("INSERT INTO {checkpoints} VALUES ('S''ub', 7, now())")).await.unwrap();
        if by_script {
            client.batch_execute(second).await.unwrap();
        } else {
            assert_eq!(store.migrate().await.unwrap(), Migrated { from: 3, to: NEWEST });
        }
        store.verify_schema().await.unwrap();
        let name = step(0, 0).name;
        let there = store.checkpoint(&name).await.unwrap();
        assert_eq!(there, Checkpoint { position: Position(7), rewinds: 0 });
        assert_eq!(store.advance(None, &step(7, 8)).await.unwrap(), Advance::Advanced);
        assert_eq!(store.rewind(&name, Position(8), "op").await.unwrap(), Rewind::Moved);
        assert_eq!(store.checkpoint(&name).await.unwrap(), Checkpoint { position: Position(8), rewinds: 1 });
        assert_eq!(store.advance(None, &step(8, 9)).await.unwrap(), Advance::Moved { at: Position(8) });
    }
}

/// A first version with a table missing is damaged, and not brought up to date in silence.
#[tokio::test]
async fn a_damaged_first_version_is_not_migrated() {
    let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
    let (client, store) = (sandbox.superuser().await, sandbox.store().await);
    let script = store.migrations();
    let (first, _) = script.split_at(script.find("-- 0002").expect("a second migration"));
    client.batch_execute(first).await.unwrap();
    client.batch_execute(&format!("DROP TABLE {}", sandbox.table("audit"))).await.unwrap();
    let error = store.migrate().await.unwrap_err().to_string();
    assert!(error.contains("audit is missing"), "{error}");
}
