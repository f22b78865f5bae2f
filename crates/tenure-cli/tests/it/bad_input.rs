//! Whatever is wrong with the input, the message says what, and never repeats a password.

use std::process::Command;

use crate::harness::{Run, Said, Store, block_on, run, server, tenure, tests_on};

tests_on!(sqlite:
    urls_that_name_no_store_are_wrong_usage,
    files_that_cannot_be_a_database_are_told_apart,
    a_newer_schema_is_left_alone,
    settings_that_do_not_fit_are_refused_by_the_names_of_both,
    table_names_are_validated,
);
tests_on!(postgres:
    an_unreachable_server_is_an_error_soon,
    a_missing_database_is_told,
    a_read_only_database_is_told,
    a_newer_schema_is_left_alone,
    table_names_are_validated,
);
tests_on!(pgbouncer: a_newer_schema_is_left_alone);
tests_on!(mariadb:
    an_unreachable_server_is_an_error_soon,
    a_missing_database_is_told,
    a_newer_schema_is_left_alone,
    table_names_are_validated,
);
tests_on!(mysql:
    an_unreachable_server_is_an_error_soon,
    a_missing_database_is_told,
    a_newer_schema_is_left_alone,
    table_names_are_validated,
);

const CANARY: &str = "c4n4ry-s3cret";

/// The command fails with this code, says so in these words, and keeps the secret.
fn fails(command: &mut Command, code: i32, words: &[&str]) -> Said {
    let said = run(command);
    assert_eq!(said.code, code, "{command:?}: {said:?}");
    for word in words {
        assert!(said.stderr.contains(word), "{command:?} does not say `{word}`: {said:?}");
    }
    keeps_the_secret(&said);
    said
}

fn keeps_the_secret(said: &Said) {
    assert!(!said.stderr.is_empty(), "{said:?}");
    assert!(!format!("{}{}", said.stdout, said.stderr).contains(CANARY), "the password is told: {said:?}");
}

/// A command that opens a store, in each way in which that is done.
fn each_command(url: &str) -> [Command; 4] {
    let mut list = tenure();
    list.args(["lease", "list", "--db", url]);
    let mut migrate = tenure();
    migrate.args(["migrate", "--db", url]);
    let mut bench = tenure();
    bench.args(["bench", "failover", "--rounds", "1", "--db", url]);
    let mut run = tenure();
    run.args(["run", "--lease", url, "--name", "job", "--", "true"]);
    // Whatever is logged must keep the secret as well.
    [list, migrate, bench, run].map(|mut command| {
        command.env("TENURE_LOG", "trace");
        command
    })
}

fn urls_that_name_no_store_are_wrong_usage(_: &Store) {
    let known = "sqlite:, postgres:, mysql:, mariadb:, sqlserver: and memory:";
    for (url, words) in [
        (format!("oracle://user:{CANARY}@host/db"), &["unknown scheme `oracle:`", known][..]),
        (format!("user:{CANARY}@host/db"), &["unknown scheme", known]),
        (format!("/var/{CANARY}.db"), &["no scheme", "sqlite:app.db"]),
        (format!("host=h password={CANARY}"), &["no scheme", "postgres://", "mysql://"]),
        (format!("Server=h;Password={CANARY};"), &["no scheme"]),
        (format!("password={CANARY} host=::1"), &["scheme"]),
        (String::new(), &["no ", "sqlite:"]),
    ] {
        for mut command in each_command(&url) {
            fails(&mut command, 2, words);
        }
    }
    fails(tenure().args(["lease", "list"]), 2, &["--db", "TENURE_DB"]);
    fails(tenure().args(["run", "--name", "job", "--", "true"]), 2, &["--lease"]);
    // A URL in a place where none belongs is not repeated either.
    for url in [
        format!("postgres://user:{CANARY}@host/db"),
        format!("mysql://user:{CANARY}@host/db"),
        format!("sqlserver://host:1433;user=sa;Password={CANARY};database=app"),
    ] {
        fails(tenure().args(["lease", "list", &url]), 2, &["unexpected argument"]);
        fails(tenure().args(["lease", "list", "--limit", &url, "--db", "memory:"]), 2, &["--limit"]);
        fails(tenure().args(["migrate", "--url", &url]), 2, &["--url"]);
    }
    for odd in ["it's", "a b", "\"", "` ", "@", "'\"' "] {
        let url = format!("postgres://user:{odd}{CANARY}{odd}@host/db");
        fails(tenure().args(["lease", "list", &url]), 2, &["unexpected argument"]);
        fails(tenure().args(["lease", "list", "--limit", &url, "--db", "memory:"]), 2, &["--limit"]);
    }
}

fn files_that_cannot_be_a_database_are_told_apart(store: &Store) {
    let text = store.path("notes.txt");
    std::fs::write(&text, "this is no database, and long enough to be seen as none\n".repeat(100)).unwrap();
    let missing = store.path("no/such/place/app.db");
    let directory = store.path("");
    for path in [&text, &missing, &directory] {
        for mut command in each_command(&format!("sqlite:{path}")) {
            fails(&mut command, 1, &[]);
        }
    }
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("this is no database"), "left as it was");
    let absent = store.path("absent.db");
    fails(tenure().args(["lease", "list", "--db", &format!("sqlite:{absent}")]), 1, &[]);
    assert!(!std::path::Path::new(&absent).exists(), "looking makes no file");
    for mut command in each_command(&format!("sqlite:{text}?mode=ro")) {
        fails(&mut command, 1, &["read-only"]);
    }
    for url in [format!("sqlite://user:{CANARY}@host/app.db"), format!("sqlite:app.db?key={CANARY}")] {
        for mut command in each_command(&url) {
            fails(&mut command, 2, &["URL"]);
        }
    }
}

fn a_newer_schema_is_left_alone(store: &Store) {
    store.tenure(&["migrate"]).ok();
    let now = if store.is_sqlite() { "1" } else { "now()" };
    let table = store.table("schema");
    store.execute(&format!(
        "insert into {table} (version, description, applied_at) values (999, 'of the future', {now})"
    ));
    for args in [&["migrate"][..], &["lease", "list"], &["lease", "history"], &["lease", "release", "job"]] {
        fails(&mut store.command(args), 1, &["999", "newer"]);
    }
    let mut runner = Run::calm(store).shell("true");
    assert_eq!(runner.exit(), 1);
    assert!(runner.stderr().contains("999") && runner.events("acquired").is_empty(), "{}", runner.stderr());
}

fn settings_that_do_not_fit_are_refused_by_the_names_of_both(store: &Store) {
    for (options, words) in [
        (&["--ttl", "999ms"][..], &["ttl 999ms", "1s"][..]),
        (&["--ttl", "0s"], &["ttl"]),
        (&["--ttl", "25h"], &["ttl", "24h"]),
        (&["--ttl", "6s", "--renew", "3s"], &["renew 3s", "ttl 6s"]),
        (&["--ttl", "6s", "--renew", "0s"], &["renew"]),
        (&["--ttl", "6s", "--renew", "2s", "--margin", "2s"], &["margin 2s", "renew 2s"]),
        (&["--margin", "1ms"], &["margin"]),
        (&["--ttl", "2s", "--presence-trust", "2s"], &["presence trust 2s", "ttl 2s"]),
        (&["--presence-trust", "100ms"], &["presence ping", "presence trust 100ms"]),
        (&["--ttl", "6"], &["6s"]),
    ] {
        let mut command = tenure();
        command.args(["run", "--lease", store.url(), "--name", "job"]).args(options).args(["--", "true"]);
        fails(&mut command, 2, words);
    }
    fails(&mut store.command(&["bench", "failover", "--ttl", "500ms"]), 2, &["ttl 500ms"]);
    assert!(!std::path::Path::new(&store.path("leases.db")).exists(), "refused before anything is opened");
}

fn table_names_are_validated(store: &Store) {
    for prefix in ["", "a-b", "x; drop table y", "Ü", &"p".repeat(100)] {
        let mut command = tenure();
        command.args(["lease", "list", "--db", store.url(), "--table-prefix", prefix]);
        fails(&mut command, 2, &["table prefix"]);
    }
    let mut command = tenure();
    command.args(["lease", "list", "--db", store.url(), "--schema", "a\"b"]);
    fails(&mut command, 2, &["schema"]);
}

fn an_unreachable_server_is_an_error_soon(store: &Store) {
    let (scheme, reads, tls) = match store.is_mysql() {
        true => ("mysql", "MySQL URL", "ssl-mode"),
        false => ("postgres", "Postgres URL", "sslmode"),
    };
    for mut command in each_command(&format!("{scheme}://user:{CANARY}@127.0.0.1:1/db")) {
        fails(&mut command, 1, &["cannot be reached", "127.0.0.1"]);
    }
    for mut command in each_command(&format!("{scheme}://user:{CANARY}@no-such-host.invalid/db")) {
        fails(&mut command, 1, &["cannot be reached"]);
    }
    for url in [
        format!("{scheme}://user:{CANARY}@"),
        format!("{scheme}://user:{CANARY}@host:port/db"),
        format!("{scheme}://user:{CANARY}@127.0.0.1:1/db?{tls}=perhaps"),
        format!("{scheme}://user:{CANARY}@127.0.0.1:1/db?no_such_option={CANARY}"),
        format!("{scheme}:{CANARY}"),
    ] {
        for mut command in each_command(&url) {
            fails(&mut command, 2, &[reads]);
        }
    }
}

/// The same server, with another password, database or user.
fn with(url: &str, change: impl FnOnce(&mut url::Url)) -> String {
    let mut url = url::Url::parse(url).unwrap();
    url.set_password(Some(CANARY)).unwrap();
    change(&mut url);
    url.into()
}

fn a_missing_database_is_told(store: &Store) {
    let absent = with(store.url(), |url| {
        url.set_path("/no_such_database");
        // MySQL looks at the password first.
        if store.is_mysql() {
            url.set_password(None).unwrap();
        }
    });
    for mut command in each_command(&absent) {
        fails(&mut command, 1, &["no_such_database"]);
    }
}

#[test]
fn on_postgres_a_wrong_password_is_told_but_not_repeated() {
    let Some(url) = server("TENURE_TEST_POSTGRES_AUTH_URL") else { return };
    for mut command in each_command(&with(&url, |_| ())) {
        fails(&mut command, 1, &["password"]);
    }
}

#[test]
fn on_mariadb_a_wrong_password_is_told_but_not_repeated() {
    let Some(url) = server("TENURE_TEST_MARIADB_AUTH_URL") else { return };
    refuses_a_wrong_password(&url);
}

#[test]
fn on_mysql_a_wrong_password_is_told_but_not_repeated() {
    let Some(url) = server("TENURE_TEST_MYSQL_AUTH_URL") else { return };
    refuses_a_wrong_password(&url);
}

fn refuses_a_wrong_password(url: &str) {
    let mut right = tenure();
    assert_eq!(run(right.args(["migrate", "--db", url, "--table-prefix", "t_auth_"])).ok().stderr, "");
    for mut command in each_command(&with(url, |_| ())) {
        fails(&mut command, 1, &["Access denied", "password"]);
    }
}

fn a_read_only_database_is_told(store: &Store) {
    // A role that may do everything, but only in transactions that write nothing.
    let role = format!("{}ro", store.prefix());
    store.tenure(&["migrate"]).ok();
    store.execute(&format!(
        "create role {role} login superuser password '{CANARY}'; alter role {role} set default_transaction_read_only = on"
    ));
    let url = with(store.url(), |url| url.set_username(&role).unwrap());
    let mut runner = Run::calm(store).by(&url).shell("true");
    let (code, stderr) = (runner.exit(), runner.stderr());
    store.execute(&format!("drop role {role}"));
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("read-only") && !stderr.contains(CANARY), "{stderr}");
    assert!(runner.events("acquired").is_empty());
}

/// The servers of the tests are there at all; otherwise the tests above would prove nothing.
#[test]
fn on_postgres_the_server_answers() {
    let Some(url) = server("TENURE_TEST_POSTGRES_URL") else { return };
    let connected = block_on(async { tokio_postgres::connect(&url, tokio_postgres::NoTls).await.map(drop) });
    connected.expect("a server behind TENURE_TEST_POSTGRES_URL");
}
