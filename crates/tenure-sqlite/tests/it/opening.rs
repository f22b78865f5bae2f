//! What connect makes sure of, and what it says when it cannot.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::{LeaseAdmin, LeaseStore, OutboxAdmin as _, Schema};
use tenure_core::lease::{Acquire, LeasePageOf};
use tenure_sqlite::{SqliteOptions, SqliteStore};

use crate::backend::{SqliteFile, claim, lease, take};
use crate::child::{Child, said, wait_for_go};

async fn refusal(options: SqliteOptions) -> StoreError {
    SqliteStore::connect(options).await.unwrap_err()
}

#[tokio::test]
async fn a_file_that_is_not_to_be_created_is_missed_by_name() {
    let file = SqliteFile::nothing_yet();
    let error = refusal(SqliteOptions { create: false, ..SqliteOptions::new(file.path()) }).await;
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("no such file") && error.to_string().contains("app.db"), "{error}");
    assert!(!file.path().exists());
}

#[tokio::test]
async fn directories_are_told_from_files() {
    let file = SqliteFile::nothing_yet();
    let error = refusal(SqliteOptions::new(file.path().parent().unwrap())).await;
    assert!(error.to_string().contains("is a directory"), "{error}");
    let error = refusal(SqliteOptions::new(file.path().join("x/y.db"))).await;
    assert!(error.to_string().contains("directory does not exist"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_called_corrupt() {
    let file = SqliteFile::nothing_yet();
    std::fs::write(file.path(), "CANARY is not a database, and longer than a header would be ".repeat(40))
        .unwrap();
    let error = refusal(SqliteOptions::new(file.path())).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("CANARY"));
}

#[tokio::test]
async fn a_database_in_memory_is_refused_with_a_pointer() {
    let error = refusal(SqliteOptions::new(":memory:")).await;
    assert!(error.to_string().contains("use `memory:`"), "{error}");
}

/// This program, where one without rights can run it. Copied by another process: a child of another test that is forked while
/// the copy is open for writing has it open until it becomes another program, and until then nobody can run it.
fn copy_of_this_program(folder: &Path) -> PathBuf {
    let copy = folder.join("it");
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&copy).status().unwrap();
    assert!(copied.success());
    copy
}

/// Waits until nobody has the file open any more: who drops a store waits for its end, but not for ever.
async fn closed(file: &SqliteFile) {
    let log = PathBuf::from(format!("{}-wal", file.path().display()));
    let until = Instant::now() + Duration::from_secs(30);
    while log.exists() {
        assert!(Instant::now() < until, "the log is there still");
        // passes time: a disk may be slow to take in the log
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// File permissions do not bind root, so a child without rights has a look.
#[tokio::test]
async fn read_only_files_and_directories_are_found_at_start() {
    let file = SqliteFile::start().await;
    let directory = file.path().parent().unwrap().to_owned();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let program = copy_of_this_program(elsewhere.path());
    mode(elsewhere.path(), 0o755);
    mode(&file.path(), 0o444);
    mode(&directory, 0o755);
    let mut child = Child::start_unprivileged("open", &file.path(), &program);
    assert_eq!(child.line(), "error ReadOnly");
    drop(child);
    // Who only looks needs no such right: with a log that others have open, and without one.
    let look = || Child::start_unprivileged("look", &file.path(), &program).line();
    let store = file.connect().await;
    store.try_acquire(&claim("a", "a", Duration::from_secs(6))).await.unwrap();
    assert!(Path::new(&format!("{}-wal", file.path().display())).exists());
    assert_eq!(look(), "1 lease, then ReadOnly");
    mode(&directory, 0o555);
    assert_eq!(look(), "1 lease, then ReadOnly");
    drop(store);
    closed(&file).await;
    assert_eq!(look(), "1 lease, then ReadOnly");
    mode(&directory, 0o755);

    std::fs::remove_file(file.path()).unwrap();
    mode(&directory, 0o555);
    let mut child = Child::start_unprivileged("open", &file.path(), &program);
    assert_eq!(child.line(), "error Refused");
    mode(&directory, 0o755);
}

/// What nobody should change while it is looked at without any lock changes after all: the next look is at what is there then.
#[tokio::test]
async fn who_only_looks_goes_on_when_the_file_is_written_to() {
    let file = SqliteFile::start().await;
    let directory = file.path().parent().unwrap().to_owned();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let rights = |file_mode, directory_mode| {
        mode(&directory, 0o755);
        mode(&file.path(), file_mode);
        mode(&directory, directory_mode);
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let program = copy_of_this_program(elsewhere.path());
    mode(elsewhere.path(), 0o755);
    let write = async |name: &str| {
        rights(0o644, 0o755);
        let store = file.connect().await;
        take(&store, name, Duration::from_secs(60)).await;
        store
    };
    closed(&file).await;
    rights(0o444, 0o555);
    let mut child = Child::start_unprivileged("look again", &file.path(), &program);
    assert_eq!(child.line(), "0 leases, 0 lines");
    // Twice: the log came and went each time, which is nobody's fault.
    for (name, then) in [("a", "1 leases, 1 lines"), ("b", "2 leases, 2 lines")] {
        drop(write(name).await);
        closed(&file).await;
        rights(0o444, 0o555);
        child.go();
        assert_eq!(child.line(), then);
    }
    // With a log from now on, whose locks are there to be taken part in; it stays while someone looks.
    let writing = write("c").await;
    rights(0o444, 0o555);
    child.go();
    assert_eq!(child.line(), "3 leases, 3 lines");
    take(&writing, "d", Duration::from_secs(60)).await;
    child.go();
    assert_eq!(child.line(), "4 leases, 4 lines");
    drop(writing);
    child.go();
    assert_eq!(child.line(), "4 leases, 4 lines");
    drop(write("e").await);
    rights(0o444, 0o555);
    child.go();
    assert_eq!(child.line(), "5 leases, 5 lines");
    rights(0o644, 0o755);
}

/// The child's part: looks whenever it is told to, by each kind of connection that a looker has.
pub(crate) async fn look_again(path: &Path) {
    let options = SqliteOptions { create: false, looking: true, ..SqliteOptions::new(path) };
    let store = SqliteStore::connect(options).await.expect("a store");
    loop {
        let look = async {
            store.verify_schema().await?;
            store.stats().await?;
            let leases = LeaseAdmin::list(&store, &LeasePageOf::first(10)).await?.0.len();
            let lines = store.history(None, None, 10).await?.len();
            Ok::<_, StoreError>(format!("{leases} leases, {lines} lines"))
        };
        said(&look.await.unwrap_or_else(|error| format!("error {error}")));
        wait_for_go();
    }
}

/// The child's part: says what came of opening.
pub(crate) async fn open(path: &Path) {
    match SqliteStore::connect(SqliteOptions::new(path)).await {
        Ok(_) => said("open"),
        Err(StoreError::ReadOnly { .. }) => said("error ReadOnly"),
        Err(StoreError::Refused { .. }) => said("error Refused"),
        Err(other) => said(&format!("error {other:?}")),
    }
}

/// The child's part: looks, and says what it saw, and what came of writing.
pub(crate) async fn look(path: &Path) {
    let options = SqliteOptions { create: false, looking: true, ..SqliteOptions::new(path) };
    let store = match SqliteStore::connect(options).await {
        Ok(store) => store,
        Err(error) => return said(&format!("error {error:?}")),
    };
    store.verify_schema().await.expect("the schema");
    assert_eq!(store.stats().await.expect("numbers"), tenure_core::outbox::Stats::default());
    let (leases, _) = LeaseAdmin::list(&store, &LeasePageOf::first(10)).await.expect("a list");
    let written = store.try_acquire(&claim("b", "b", Duration::from_secs(6))).await;
    let written = match written {
        Err(StoreError::ReadOnly { .. }) => "ReadOnly".to_owned(),
        other => format!("{other:?}"),
    };
    said(&format!("{} lease, then {written}", leases.len()));
}

#[tokio::test]
async fn a_store_without_tables_says_what_to_do() {
    let file = SqliteFile::nothing_yet();
    let store = file.connect().await;
    let error = store.try_acquire(&claim("a", "a", Duration::from_secs(6))).await.unwrap_err();
    assert!(matches!(error, StoreError::SchemaMissing { .. }), "{error}");
    assert!(error.to_string().contains("tenure migrate"));
    assert!(matches!(store.verify_schema().await, Err(StoreError::SchemaMissing { .. })));
}

#[tokio::test]
async fn a_lock_that_is_not_had_in_time_is_busy() {
    let file = SqliteFile::start().await;
    let options =
        SqliteOptions { busy_timeout: Duration::from_millis(50), ..SqliteOptions::new(file.path()) };
    let store = SqliteStore::connect(options).await.unwrap();
    let other = file.raw();
    other.execute_batch("begin immediate").unwrap();
    let error = store.try_acquire(&claim("a", "a", Duration::from_secs(6))).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }) && error.is_transient(), "{error}");
    other.execute_batch("rollback").unwrap();
    take(&store, "a", Duration::from_secs(6)).await;
}

#[tokio::test]
async fn who_only_waits_needs_no_write_lock() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    take(&store, "a", Duration::from_secs(60)).await;
    let other = file.raw();
    other.execute_batch("begin immediate").unwrap();
    // The other's lock is kept: whoever needed it would be told that the store is busy.
    let answer = store.try_acquire(&claim("a", "b", Duration::from_secs(6))).await.unwrap();
    assert!(matches!(answer, Acquire::Held(_)));
    assert!(store.observe(&lease("a")).await.unwrap().is_some());
}
