//! Looking needs no right to write: a file that cannot be written to, a role that may only read.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use nix::unistd::Uid;

use crate::harness::{Said, Store, run, tenure, tests_on};

tests_on!(sqlite: a_file_that_cannot_be_written_to_can_be_looked_at);
tests_on!(postgres: a_role_that_may_only_read_can_look);

const LOOKS: [&[&str]; 8] = [
    &["status"],
    &["lease", "list"],
    &["lease", "history"],
    &["outbox", "list"],
    &["outbox", "stats"],
    &["daemon", "list"],
    &["audit", "list"],
    &["migrate", "--print", "--missing"],
];

/// Every command that looks works, and tells of the message that is there; one that changes something does not.
fn looks(store: &Store, command: impl Fn() -> Command, url: &str) {
    let tenure = |args: &[&str]| -> Said {
        let mut command = command();
        run(command.args(args).args(["--db", url, "--table-prefix", store.prefix(), "--json"]))
    };
    for args in LOOKS {
        let said = tenure(args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
    }
    let listed = tenure(&["outbox", "list"]).ok().json();
    let id = listed[0]["id"].as_str().expect("a message").to_owned();
    assert_eq!(tenure(&["outbox", "show", &id]).ok().json()["topic"], "orders");
    assert_eq!(tenure(&["status"]).ok().json()["outbox"]["pending"], 1);
    for args in
        [&["lease", "release", "job"][..], &["outbox", "retry", "--all"], &["send", "--topic", "t", "{}"]]
    {
        let said = tenure(args);
        assert_eq!(said.code, 1, "{args:?}: {said:?}");
    }
}

fn filled(store: &Store) {
    store.tenure(&["migrate"]).ok();
    store.tenure(&["send", "--topic", "orders", "{}"]).ok();
}

/// File permissions do not bind root, so the commands run as nobody there.
fn a_file_that_cannot_be_written_to_can_be_looked_at(store: &Store) {
    filled(store);
    let file = store.path("leases.db");
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let program = elsewhere.path().join("tenure");
    // By another process: a child of another test that is forked while the copy is written to has it open for a while, and as
    // long nobody can run it.
    let copied = Command::new("cp").arg(tenure().get_program()).arg(&program).status().unwrap();
    assert!(copied.success());
    mode(elsewhere.path(), 0o755);
    let directory = Path::new(&file).parent().unwrap();
    let command = || {
        let mut command = Command::new(&program);
        if Uid::effective().is_root() {
            command.uid(65534).gid(65534);
        }
        command.env_clear();
        command
    };
    mode(Path::new(&file), 0o444);
    for rights in [0o755, 0o555] {
        mode(directory, rights);
        looks(store, command, store.url());
    }
    mode(directory, 0o755);
    mode(Path::new(&file), 0o644);
}

/// With SELECT on the tables and nothing else; and where even that is all that a transaction may do.
fn a_role_that_may_only_read_can_look(store: &Store) {
    filled(store);
    let role = format!("{}look", store.prefix());
    let prefix = store.prefix();
    store.execute(&format!(
        "create role {role} login; do $$ declare t text; begin \
         for t in select tablename from pg_tables where starts_with(tablename, '{prefix}') \
         loop execute format('grant select on %I to {role}', t); end loop; end $$"
    ));
    let mut url = url::Url::parse(store.url()).unwrap();
    url.set_username(&role).unwrap();
    url.set_password(None).unwrap();
    looks(store, tenure, url.as_str());
    store.execute(&format!("alter role {role} set default_transaction_read_only = on"));
    looks(store, tenure, url.as_str());
    store.execute(&format!("drop owned by {role}; drop role {role}"));
}
