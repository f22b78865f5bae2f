//! Migrations: many nodes at once, broken off ones, old programs, printed scripts; and names in any collation.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Row as _};
use tenure_core::StoreError;
use tenure_core::contract::{
    LeaseAdmin as _, LeaseStore as _, Migrated, RunnerStore as _, Schema as _, Stories as _,
};
use tenure_core::event::Position;
use tenure_core::lease::LeaseName;
use tenure_core::naming::Naming;
use tenure_core::outbox::CauseId;
use tenure_mysql::{MySqlOptions, MySqlStore, migrations};

use crate::bed::{Bed, claim, granted, name, on_both, run};
use crate::proxy::{address, multiplexing, through};
use crate::sandbox::{Sandbox, Server, for_server, say};

on_both!(
    s39_many_nodes_migrate_at_once_and_one_does_it,
    s39_many_nodes_migrate_at_once_through_a_proxy_that_multiplexes,
    s39_a_node_that_waited_for_another_finds_its_work_done,
    s39_a_migration_that_was_broken_off_is_taken_up_again,
    s39_version_7_keeps_what_is_there_and_is_taken_up_again,
    s39_a_migration_that_failed_leaves_no_lock_behind,
    s39_an_old_program_refuses_a_newer_schema,
    who_may_make_no_routine_migrates_all_the_same,
    every_call_without_a_schema_says_how_to_make_one,
    a_schema_with_a_table_missing_says_which_and_what_to_do,
    the_printed_script_runs_in_the_client_and_makes_the_same,
    s20_names_are_told_apart_whatever_the_database_s_collation,
);

/// The version that the script says last.
fn newest() -> u32 {
    let script = migrations(&Naming::default());
    let last = script.lines().filter_map(|line| line.strip_prefix("-- 0")).next_back().expect("a migration");
    last[..3].parse().unwrap()
}

async fn s39_many_nodes_migrate_at_once_and_one_does_it(server: Server) {
    let Some(sandbox) = Sandbox::empty(server) else { return };
    let mut nodes = Vec::new();
    for _ in 0..8 {
        let store = sandbox.sql().await;
        nodes.push(tokio::spawn(async move { store.migrate().await.unwrap() }));
    }
    let mut fresh = 0;
    for node in nodes {
        let Migrated { from, to } = node.await.unwrap();
        assert_eq!(to, newest());
        fresh += u32::from(from == 0);
    }
    assert_eq!(fresh, 1);
    sandbox.sql().await.verify_schema().await.unwrap();
}

/// Where no lock can be had, all of them may do it.
async fn s39_many_nodes_migrate_at_once_through_a_proxy_that_multiplexes(server: Server) {
    let Some(bed) = Bed::empty(server).await else { return };
    let port = multiplexing(address(&bed.url)).await;
    let mut options = MySqlOptions::from_url(&through(&bed.url, port)).unwrap();
    options.naming = bed.options().naming;
    let mut nodes = Vec::new();
    for _ in 0..4 {
        let store = MySqlStore::connect(options.clone()).await.unwrap().sql().clone();
        assert!(store.presence().is_none());
        nodes.push(tokio::spawn(async move { store.migrate().await.unwrap().to }));
    }
    for node in nodes {
        assert_eq!(node.await.unwrap(), newest());
    }
    bed.sql().await.verify_schema().await.unwrap();
}

/// The lock of a migration that is under way, whoever looks: the tables are made, and not yet all.
async fn s39_a_node_that_waited_for_another_finds_its_work_done(server: Server) {
    let Some(bed) = Bed::empty(server).await else { return };
    let (store, other) = (bed.sql().await, bed.sql().await);
    let driver = other.driver();
    let mut lent = driver.lend(tenure_sql::Turn::Work).await.unwrap();
    driver.lock_migration(&mut *lent).await.unwrap();
    let waiting = tokio::spawn(async move { store.migrate().await });
    // passes time: enough for a migration that does not wait, and for more than one of its waits
    tokio::time::sleep(Duration::from_millis(2300)).await;
    assert!(!waiting.is_finished());
    bed.root(for_server(&other.migrations())).await;
    driver.unlock_migration(&mut *lent).await.unwrap();
    lent.give_back();
    let newest = newest();
    assert_eq!(waiting.await.unwrap().unwrap(), Migrated { from: newest, to: newest });
}

/// The making of tables cannot be undone: what is there when a node dies is left, and the next goes on from there.
async fn s39_a_migration_that_was_broken_off_is_taken_up_again(server: Server) {
    let Some(sandbox) = Sandbox::empty(server) else { return };
    let script = for_server(&sandbox.sql().await.migrations());
    let statements: Vec<&str> = script.split_inclusive(";\n").collect();
    for done in 1..statements.len() {
        let Some(sandbox) = Sandbox::empty(server) else { return };
        let store = sandbox.sql().await;
        let script = for_server(&store.migrations());
        let part: String = script.split_inclusive(";\n").take(done).collect();
        run(&sandbox.url, part).await;
        let missing = store.missing().await.unwrap().statements;
        assert!(missing.is_empty() || missing.contains("run `tenure migrate`"), "after {done}: {missing}");
        let migrated = store.migrate().await.unwrap_or_else(|error| panic!("after {done}: {error}"));
        assert_eq!(migrated.to, newest(), "after {done} statements");
        store.verify_schema().await.unwrap();
    }
}

/// From version 6, with messages and events in it, after each statement that a node may have died behind.
async fn s39_version_7_keeps_what_is_there_and_is_taken_up_again(server: Server) {
    for done in 0.. {
        let Some(sandbox) = Sandbox::empty(server) else { return };
        let store = sandbox.sql().await;
        let script = for_server(&store.migrations());
        let (before, after) = script.split_once("-- 0007").expect("version 7");
        let (outbox, dead, events) =
            (sandbox.table("outbox"), sandbox.table("outbox_dead"), sandbox.table("events"));
        let there = format!(
            "INSERT INTO {outbox} (id, topic, type, payload, fresh) VALUES (1, 't', 'k', 'x', NULL); \
             INSERT INTO {dead} (id, outcome, reason, attempts, halts) VALUES (1, 'rejected', 'no', 1, 0); \
             INSERT INTO {events} (stream, version, event_id, type, schema_version, correlation, payload) \
             VALUES ('s', 1, uuid(), 'k', 1, 'c', 'x');"
        );
        let part: Vec<&str> = after.split_inclusive(";\n").collect();
        let part = format!("-- {}", part[..done].concat());
        run(&sandbox.url, format!("{before}{there}\n{part}")).await;
        let noted = done == after.split_inclusive(";\n").count();
        // Each version is written down when it is done.
        let from = 6 + u32::try_from(part.matches("COMMIT").count()).unwrap();
        assert_eq!(store.migrate().await.unwrap(), Migrated { from, to: newest() }, "after {done}");
        store.verify_schema().await.unwrap();
        let graves = tenure_core::contract::OutboxAdmin::graves(&store, None, 10, 10).await.unwrap().graves;
        let found: Vec<_> = graves.iter().map(|grave| (grave.cause, grave.messages.number)).collect();
        assert_eq!(found, [(CauseId::UNKNOWN, 1)], "after {done}");
        assert_eq!(store.story("c", Position(0), 10).await.unwrap().events.len(), 1, "after {done}");
        assert!(store.runners(Duration::from_secs(9), 10).await.unwrap().rows.is_empty());
        let keys = format!(
            "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = database() \
             AND table_name IN ('{dead}', '{events}') AND index_name IN ('cause', 'correlation')"
        );
        assert_eq!(sandbox.query(&keys).await.len(), 2, "after {done}");
        if noted {
            assert!(done > 3);
            break;
        }
    }
}

/// The session that failed goes back to the pool, and others migrate.
async fn s39_a_migration_that_failed_leaves_no_lock_behind(server: Server) {
    let Some(sandbox) = Sandbox::empty(server) else { return };
    let rights = "SELECT, INSERT, UPDATE, DELETE ON *.*";
    let Some(bed) = Bed::with(sandbox, rights).await else { return };
    let poor = bed.sql().await;
    let error = poor.migrate().await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    let began = std::time::Instant::now();
    bed.sandbox.sql().await.migrate().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    drop(poor);
}

/// The routine makes enqueueing faster, and nothing else.
async fn who_may_make_no_routine_migrates_all_the_same(server: Server) {
    let Some(sandbox) = Sandbox::empty(server) else { return };
    let rights = "CREATE, ALTER, INDEX, SELECT, INSERT, UPDATE, DELETE ON *.*";
    let Some(bed) = Bed::with(sandbox, rights).await else { return };
    let store = bed.sql().await;
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 0, to: newest() });
    store.verify_schema().await.unwrap();
    let routines = format!(
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = database() \
         AND routine_name = '{}'",
        bed.sandbox.table("outbox_enqueue")
    );
    assert!(bed.sandbox.query(&routines).await.is_empty());
}

async fn s39_an_old_program_refuses_a_newer_schema(server: Server) {
    let Some(sandbox) = Sandbox::new(server).await else { return };
    let sql = format!("INSERT INTO {} VALUES (99, 'from the future', now())", sandbox.table("schema"));
    run(&sandbox.url, sql).await;
    let store = sandbox.sql().await;
    for answer in [store.migrate().await.map(|_| ()), store.verify_schema().await] {
        let newer =
            matches!(&answer, Err(StoreError::SchemaNewer { found: 99, known, .. }) if *known == newest());
        assert!(newer, "{answer:?}");
    }
}

async fn every_call_without_a_schema_says_how_to_make_one(server: Server) {
    let Some(sandbox) = Sandbox::empty(server) else { return };
    let store = sandbox.sql().await;
    let answers = [
        store.verify_schema().await,
        store.observe(&name("x")).await.map(|_| ()),
        store.try_acquire(&claim("x", Duration::from_secs(1))).await.map(|_| ()),
        store.list(&tenure_core::lease::LeasePageOf::first(5)).await.map(|_| ()),
        store.history(None, None, 5).await.map(|_| ()),
        store.revoke(&name("x"), "op", true).await.map(|_| ()),
    ];
    for answer in answers {
        assert!(matches!(answer, Err(StoreError::SchemaMissing { .. })), "{answer:?}");
    }
}

/// A table that is missing is neither made anew in silence, nor answered with a bare code or the advice to migrate.
async fn a_schema_with_a_table_missing_says_which_and_what_to_do(server: Server) {
    for table in ["schema", "leases", "fences", "lease_history", "audit"] {
        let Some(sandbox) = Sandbox::new(server).await else { return };
        let (store, missing) = (sandbox.sql().await, sandbox.table(table));
        run(&sandbox.url, format!("DROP TABLE {missing}")).await;
        for error in [store.migrate().await.unwrap_err(), store.verify_schema().await.unwrap_err()] {
            assert!(matches!(error, StoreError::Corrupt { .. }), "{table}: {error}");
            for part in
                [&format!("{missing} is missing"), "from a backup", "terms start anew", "grant SELECT"]
            {
                assert!(error.to_string().contains(part), "{table}: {error}");
            }
        }
    }
}

/// What a DBA runs by hand is what a node would have done.
async fn the_printed_script_runs_in_the_client_and_makes_the_same(server: Server) {
    let Some(migrated) = Sandbox::new(server).await else { return };
    let Some(printed) = Sandbox::empty(server) else { return };
    let store = printed.sql().await;
    let options: sqlx::mysql::MySqlConnectOptions = printed.url.parse().unwrap();
    let mut client = Command::new("mariadb");
    client
        .args([
            "--no-defaults",
            "--protocol=tcp",
            "--skip-ssl",
            "-h",
            options.get_host(),
            "-u",
            options.get_username(),
        ])
        .args(["-P", &options.get_port().to_string(), options.get_database().unwrap()])
        .stdin(Stdio::piped());
    let Ok(mut client) = client.spawn() else {
        return say("THE PROGRAM mariadb IS NOT THERE: the printed script was not run through it");
    };
    client.stdin.take().unwrap().write_all(store.migrations().as_bytes()).unwrap();
    assert!(client.wait().unwrap().success());
    store.verify_schema().await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: newest(), to: newest() });
    assert_eq!(shape(&migrated).await, shape(&printed).await);
}

/// Columns with their types and collations, and indexes, without the prefix.
async fn shape(sandbox: &Sandbox) -> Vec<String> {
    let prefix = &sandbox.prefix;
    let columns = "SELECT CONCAT_WS(' ', table_name, column_name, column_type, is_nullable, collation_name, \
                   column_default, extra) FROM information_schema.columns WHERE table_schema = DATABASE() \
                   AND LEFT(table_name, CHAR_LENGTH(?)) = ? ORDER BY 1";
    let indexes = "SELECT CONCAT_WS(' ', table_name, index_name, seq_in_index, column_name, non_unique) \
                   FROM information_schema.statistics WHERE table_schema = DATABASE() \
                   AND LEFT(table_name, CHAR_LENGTH(?)) = ? ORDER BY 1";
    let routines = "SELECT CONCAT_WS(' ', specific_name, ordinal_position, parameter_name, dtd_identifier, character_set_name) \
                    FROM information_schema.parameters WHERE specific_schema = DATABASE() \
                    AND LEFT(specific_name, CHAR_LENGTH(?)) = ? ORDER BY 1";
    let mut user = sandbox.user().await;
    let mut found = Vec::new();
    for sql in [columns, indexes, routines] {
        let rows = sqlx::query(sql).bind(prefix).bind(prefix).fetch_all(&mut user).await.unwrap();
        found.extend(rows.iter().map(|row| {
            let line: Vec<u8> = row.get_unchecked(0);
            String::from_utf8(line).unwrap().replace(prefix, "")
        }));
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// In a database that tells neither `a` from `A`, nor `é` from `e`, nor `a` from `a ` with a space.
async fn s20_names_are_told_apart_whatever_the_database_s_collation(server: Server) {
    let Some(sandbox) = Sandbox::empty(server) else { return };
    let database = sandbox.prefix.trim_end_matches('_').to_owned();
    let collation = "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";
    run(&sandbox.url, format!("CREATE DATABASE {database} {collation}")).await;
    let (server, _) = sandbox.url.rsplit_once('/').unwrap();
    let store =
        MySqlStore::connect(MySqlOptions::from_url(&format!("{server}/{database}")).unwrap()).await.unwrap();
    let store = store.sql();
    store.migrate().await.unwrap();
    let names = ["a", "A", "a ", " a", "é", "e", "e\u{301}", "ß", "ss", "😀", "😁", "%", "_", "'", "\\"];
    for text in names {
        let grant = granted(store.try_acquire(&claim(text, Duration::from_secs(60))).await.unwrap());
        assert_eq!(grant.name.as_str(), text);
    }
    let (leases, _) = store.list(&tenure_core::lease::LeasePageOf::first(100)).await.unwrap();
    let mut listed: Vec<&str> = leases.iter().map(|lease| lease.name.as_str()).collect();
    let mut expected = names.to_vec();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    for text in names {
        let found = store.history(Some(&LeaseName::new(text).unwrap()), None, 10).await.unwrap();
        assert_eq!(found.len(), 1, "{text:?}");
    }
    let mut user = sandbox.user().await;
    sqlx::raw_sql(AssertSqlSafe(format!("DROP DATABASE {database}"))).execute(&mut user).await.unwrap();
}
