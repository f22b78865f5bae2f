//! Files that are removed or replaced while a lease is held: its holder has lost it, and knows so at once.

use std::time::Duration;

use rusqlite::TransactionBehavior;
use tenure_core::contract::{LeaseAdmin, LeaseStore, Schema};
use tenure_core::lease::{FenceError, Loss, Release, Renew, Renewal};
use tenure_core::{StoreError, lease::Acquire};
use tenure_sqlite::{SqliteOptions, SqliteStore};

use crate::backend::{SqliteFile, claim, lease, take, unique};
use crate::child::{Child, said};

const TTL: Duration = Duration::from_secs(60);
const NEXT: Renewal = Renewal { number: 1, presence: None };

fn remove(file: &SqliteFile, ends: &[&str]) {
    for end in ends {
        std::fs::remove_file(file.path().with_file_name(format!("app.db{end}"))).unwrap();
    }
}

fn is_final(error: &StoreError) {
    assert!(matches!(error, StoreError::Refused { .. }) && !error.is_transient(), "{error}");
    let text = error.to_string();
    assert!(text.contains("removed or replaced") && text.contains("must be restarted"), "{error}");
}

/// All that a store says once its files are gone.
async fn has_lost_everything(store: &SqliteStore, grant: &tenure_core::lease::Grant) {
    is_final(&store.try_acquire(&claim("b", "a", TTL)).await.unwrap_err());
    is_final(&store.try_acquire(&claim("a", "other", TTL)).await.unwrap_err());
    is_final(&store.observe(&lease("a")).await.unwrap_err());
    is_final(&store.list(&tenure_core::lease::LeasePageOf::first(5)).await.unwrap_err());
    is_final(&store.migrate().await.unwrap_err());
    assert_eq!(store.renew(grant, &NEXT).await.unwrap(), Renew::Lost(Loss::Unknown));
    assert_eq!(store.release(grant).await.unwrap(), Release::NotHeld);
}

#[tokio::test]
async fn a_lease_is_lost_with_any_of_the_files_it_stands_in() {
    for ends in [&["", "-wal", "-shm"][..], &["-wal", "-shm"], &["-wal"], &["-shm"], &[""]] {
        let file = SqliteFile::start().await;
        let store = file.connect().await;
        let grant = take(&store, "a", TTL).await;
        remove(&file, ends);
        has_lost_everything(&store, &grant).await;
    }
}

#[tokio::test]
async fn a_ping_notices_it() {
    for ends in [&["-wal", "-shm"][..], &[""]] {
        let file = SqliteFile::start().await;
        let store = file.connect().await;
        let session = store.presence().unwrap().open(unique(), TTL).await.unwrap();
        session.ping().await.unwrap();
        remove(&file, ends);
        is_final(&session.ping().await.unwrap_err());
    }
}

/// A file that comes back has missed what happened meanwhile.
#[tokio::test]
async fn a_file_that_was_gone_for_a_while_stays_lost() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "a", TTL).await;
    let aside = file.path().with_file_name("aside");
    std::fs::rename(file.path(), &aside).unwrap();
    assert_eq!(store.renew(&grant, &NEXT).await.unwrap(), Renew::Lost(Loss::Unknown));
    std::fs::rename(&aside, file.path()).unwrap();
    has_lost_everything(&store, &grant).await;
}

/// The tester's case: without its log the file has no leases, and the next process is granted the same term.
#[tokio::test]
async fn of_two_with_one_term_the_one_whose_log_was_removed_has_lost() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "a", TTL).await;
    remove(&file, &["-wal", "-shm"]);
    let mut other = Child::start("take", &file.path());
    assert_eq!(other.line(), format!("granted {}", grant.term));
    assert_eq!(store.renew(&grant, &NEXT).await.unwrap(), Renew::Lost(Loss::Unknown));
    has_lost_everything(&store, &grant).await;
    drop(store);
    other.go();
    assert_eq!(other.line(), "extended");
}

/// The files' sums, by another process: opening and closing them in this one would drop SQLite's locks.
fn sums(file: &SqliteFile) -> Vec<u8> {
    let log = file.path().with_file_name("app.db-wal");
    let sums = std::process::Command::new("cksum").arg(file.path()).arg(log).output().unwrap();
    assert!(sums.status.success(), "{sums:?}");
    sums.stdout
}

/// SQLite would write the old log into the file, and remove the new one by its name.
#[tokio::test]
async fn closing_what_was_lost_leaves_the_files_of_others_alone() {
    for killed in [false, true] {
        let file = SqliteFile::start().await;
        let store = file.connect().await;
        take(&store, "a", TTL).await;
        remove(&file, &["-wal", "-shm"]);
        let mut other = Child::start("take", &file.path());
        assert!(other.line().starts_with("granted"));
        // Without the other's locks, this connection would count as the last one.
        let other = (!killed).then_some(other);
        let before = sums(&file);
        drop(store);
        assert_eq!(sums(&file), before, "the other process was killed: {killed}");
        drop(other);
    }
}

/// The other process: takes the lease, and renews it when told.
pub(crate) async fn take_and_renew(path: &std::path::Path) {
    let store = SqliteStore::connect(SqliteOptions::new(path)).await.unwrap();
    match store.try_acquire(&claim("a", "child", TTL)).await.unwrap() {
        Acquire::Granted(grant) => {
            said(&format!("granted {}", grant.term));
            crate::child::wait_for_go();
            match store.renew(&grant, &NEXT).await.unwrap() {
                Renew::Extended => said("extended"),
                other => said(&format!("{other:?}")),
            }
        }
        Acquire::Held(_) => said("held"),
    }
}

#[tokio::test]
async fn a_fence_is_refused_even_where_another_has_its_term() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "a", TTL).await;
    let fencing = store.fencing();
    let mut connection = file.raw();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    fencing.check(&transaction, &grant.fence()).unwrap();
    remove(&file, &["-wal", "-shm"]);
    let refused = fencing.check(&transaction, &grant.fence());
    assert!(matches!(refused, Err(FenceError::Fenced(fenced)) if fenced.loss == Loss::Unknown));
}

/// SQLite itself removes the log with the last connection: that is no loss for a fence that is checked later.
#[tokio::test]
async fn a_fence_goes_on_holding_when_its_store_was_closed() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "a", TTL).await;
    let fencing = store.fencing();
    drop(store);
    // The numbers of the files that were removed are free; the next ones shall have others.
    for end in 0..8 {
        std::fs::write(file.path().with_file_name(format!("other-{end}")), "").unwrap();
    }
    let mut connection = file.raw();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    fencing.check(&transaction, &grant.fence()).unwrap();
}
