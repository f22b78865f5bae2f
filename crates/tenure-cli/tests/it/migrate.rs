//! The schema: made once, by whoever comes first, or by a DBA.

use crate::harness::{Run, Store, run, tenure, tests_on};

tests_on!(sqlite: migrating_twice_is_fine, many_migrations_at_once_all_succeed, printed_statements_make_the_schema, what_is_missing_is_printed_alone, without_migration_a_missing_schema_is_an_error, many_first_runs_at_once_all_get_their_turn);
tests_on!(postgres: migrating_twice_is_fine, many_migrations_at_once_all_succeed, printed_statements_make_the_schema, what_is_missing_is_printed_alone, without_migration_a_missing_schema_is_an_error, many_first_runs_at_once_all_get_their_turn);
tests_on!(pgbouncer: migrating_twice_is_fine, many_migrations_at_once_all_succeed);
tests_on!(mariadb:
    migrating_twice_is_fine,
    many_migrations_at_once_all_succeed,
    printed_statements_make_the_schema,
    what_is_missing_is_printed_alone,
    without_migration_a_missing_schema_is_an_error,
    many_first_runs_at_once_all_get_their_turn,
);
tests_on!(mysql:
    migrating_twice_is_fine,
    many_migrations_at_once_all_succeed,
    printed_statements_make_the_schema,
    what_is_missing_is_printed_alone,
    without_migration_a_missing_schema_is_an_error,
    many_first_runs_at_once_all_get_their_turn,
);

const AT_ONCE: usize = 8;

fn migrating_twice_is_fine(store: &Store) {
    let first = store.tenure(&["migrate"]).ok();
    assert!(first.stdout.starts_with("schema migrated from version 0 to "), "{first:?}");
    let second = store.tenure(&["migrate"]).ok();
    assert!(second.stdout.ends_with("was there already\n"), "{second:?}");
    let third = store.tenure(&["migrate", "--json"]).ok().json();
    assert!(third["from"].as_u64().is_some_and(|from| from > 0), "{third}");
    assert_eq!(third["from"], third["to"]);
}

fn many_migrations_at_once_all_succeed(store: &Store) {
    if store.is_sqlite() {
        std::fs::File::create(store.path("leases.db")).unwrap();
    }
    // Sessions that have looked for the tables in vain must not remember that.
    for said in at_once(|| store.tenure(&["lease", "list"])) {
        assert!(said.stderr.contains("tenure migrate"), "{said:?}");
    }
    let made: Vec<_> = at_once(|| store.tenure(&["migrate", "--json"]).ok().json());
    let by = made.iter().filter(|migrated| migrated["from"] == 0).count();
    assert_eq!(by, 1, "one of them did it: {made:?}");
    assert_eq!(store.leases().len(), 0);
}

fn at_once<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(&work)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

fn many_first_runs_at_once_all_get_their_turn(store: &Store) {
    let mut runners: Vec<_> = (0..AT_ONCE).map(|_| Run::brisk(store).shell("true")).collect();
    for runner in &mut runners {
        assert_eq!(runner.exit(), 0, "{}", runner.stderr());
    }
    assert_eq!(store.leases()[0]["term"], AT_ONCE);
}

fn printed_statements_make_the_schema(store: &Store) {
    // No server listens there, and no file can be made there: nothing is opened to print.
    let nowhere = match (store.is_sqlite(), store.is_mysql()) {
        (true, _) => "sqlite:/no/such/place/app.db",
        (_, true) => "mysql://nobody@127.0.0.1:1/none",
        _ => "postgres://nobody@127.0.0.1:1/none",
    };
    let mut command = tenure();
    command.args(["migrate", "--print", "--db", nowhere, "--table-prefix", store.prefix()]);
    let printed = run(&mut command).ok();
    assert!(printed.stderr.is_empty(), "{printed:?}");
    let mut json = tenure();
    json.args(["migrate", "--print", "--json", "--db", nowhere, "--table-prefix", store.prefix()]);
    assert_eq!(
        run(&mut json).ok().json()["statements"].as_str().unwrap().trim_end(),
        printed.stdout.trim_end()
    );
    store.execute(&printed.stdout);
    let said = store.tenure(&["migrate"]).ok();
    assert!(said.stdout.ends_with("was there already\n"), "{said:?}");
    assert_eq!(Run::calm(store).with(&["--no-migrate"]).shell("exit 4").exit(), 4);
}

/// The whole is for an empty database, and says so; run twice it fails and harms nothing. What is missing can be printed alone,
/// from any version, and is nothing in the end.
fn what_is_missing_is_printed_alone(store: &Store) {
    if store.is_sqlite() {
        std::fs::File::create(store.path("leases.db")).unwrap();
    }
    let missing = || store.tenure(&["migrate", "--print", "--missing"]).ok().stdout;
    let told = || store.tenure(&["migrate", "--print", "--missing", "--json"]).ok().json();
    let whole = store.tenure(&["migrate", "--print"]).ok().stdout;
    assert!(whole.contains("Run it once") && whole.contains("--print --missing"), "{whole}");
    let newest = told()["to"].as_u64().unwrap();
    assert_eq!(told()["from"], 0);
    // A database of an earlier version: the whole up to its last migration.
    let (earlier, _) = whole.split_once(&format!("-- {newest:04}")).expect("the last migration");
    store.execute(earlier);
    let upgrade = missing();
    assert!(upgrade.starts_with(&format!("-- From version {} to {newest}.", newest - 1)), "{upgrade}");
    assert!(!upgrade.contains(&format!("-- {:04}", newest - 1)), "{upgrade}");
    store.execute(&upgrade);
    assert_eq!(missing(), format!("-- Nothing is missing: the schema has version {newest}.\n"));
    assert_eq!(told(), serde_json::json!({ "from": newest, "to": newest, "statements": "" }));
    let said = store.tenure(&["migrate"]).ok();
    assert!(said.stdout.ends_with("was there already\n"), "{said:?}");
    // Nothing is to be run, any number of times; the whole a second time is an error that changes nothing.
    store.execute(&missing());
    let mut runner = Run::calm(store).with(&["--no-migrate"]).shell("exit 4");
    assert_eq!(runner.exit(), 4);
    assert!(store.try_execute(&whole).is_err());
    assert_eq!(missing(), format!("-- Nothing is missing: the schema has version {newest}.\n"));
    assert_eq!(store.leases()[0]["term"], 1);
    let alone = store.tenure(&["migrate", "--missing"]);
    assert_eq!(alone.code, 2, "{alone:?}");
}

fn without_migration_a_missing_schema_is_an_error(store: &Store) {
    if store.is_sqlite() {
        // With the file there and empty, it is the schema that is missing.
        std::fs::File::create(store.path("leases.db")).unwrap();
    }
    let mut runner = Run::calm(store).with(&["--no-migrate"]).shell("true");
    assert_eq!(runner.exit(), 1);
    assert!(runner.stderr().contains("tenure migrate"), "{}", runner.stderr());
    for args in [&["lease", "list"][..], &["lease", "history"], &["lease", "release", "job"]] {
        let said = store.tenure(args);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.stderr.contains("tenure migrate"), "{said:?}");
    }
}
