//! Fences in the user's own transactions.

use std::time::Duration;

use rusqlite::{TransactionBehavior, params};
use tenure_core::contract::{LeaseAdmin, LeaseStore};
use tenure_core::lease::{Acquire, Fence, FenceError, Loss, Term};
use tenure_sqlite::{FenceParameters, SqliteStore};

use crate::backend::{SqliteFile, claim, lease, take};

const TTL: Duration = Duration::from_secs(60);

/// What both ways of asking say; they must agree.
fn asked(file: &SqliteFile, store: &SqliteStore, fence: &Fence) -> Option<Loss> {
    let fencing = store.fencing();
    let mut connection = file.raw();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let loss = match fencing.check(&transaction, fence) {
        Ok(()) => None,
        Err(FenceError::Fenced(fenced)) => Some(fenced.loss),
        Err(error) => panic!("{error}"),
    };
    let FenceParameters { lease, term, wall_us, boot, steady_us } = fencing.parameters(fence);
    let mut statement = transaction.prepare(fencing.statement()).unwrap();
    let holds = statement.exists(params![lease, term, wall_us, boot, steady_us]).unwrap();
    assert_eq!(holds, loss.is_none(), "the statement for other drivers says otherwise");
    loss
}

#[tokio::test]
async fn a_fence_holds_with_its_grant_and_falls_with_it() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let unknown = Fence { lease: lease("x"), term: Term::FIRST };
    assert_eq!(asked(&file, &store, &unknown), Some(Loss::Unknown));

    let first = take(&store, "a", TTL).await;
    assert_eq!(asked(&file, &store, &first.fence()), None);
    store.release(&first).await.unwrap();
    assert_eq!(asked(&file, &store, &first.fence()), Some(Loss::Released));

    let second = take(&store, "a", TTL).await;
    assert!(matches!(asked(&file, &store, &first.fence()), Some(Loss::Taken { .. })));
    assert_eq!(asked(&file, &store, &second.fence()), None);
    store.revoke(&lease("a"), "ann", false).await.unwrap();
    assert_eq!(asked(&file, &store, &second.fence()), Some(Loss::Revoked));

    let short = take(&store, "b", Duration::from_millis(5)).await;
    // passes time: the ttl of the grant
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(asked(&file, &store, &short.fence()), Some(Loss::Expired));
}

#[tokio::test]
async fn a_fence_outside_a_transaction_is_refused() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "a", TTL).await;
    let error = store.fencing().check(&file.raw(), &grant.fence()).unwrap_err();
    assert!(error.to_string().contains("no transaction"), "{error}");
}

#[tokio::test]
async fn a_checked_fence_blocks_no_reader_and_no_other_check() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "a", TTL).await;
    let (mut one, mut two) = (file.raw(), file.raw());
    let writer = one.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    store.fencing().check(&writer, &grant.fence()).unwrap();
    let reader = two.transaction().unwrap();
    store.fencing().check(&reader, &grant.fence()).unwrap();
    drop(reader);
    assert!(store.observe(&lease("a")).await.unwrap().is_some());
    let waiting = store.try_acquire(&claim("a", "b", TTL)).await.unwrap();
    assert!(matches!(waiting, Acquire::Held(_)));
}

/// A take-over between the check and the write of a deferred transaction: the write must not happen.
#[tokio::test]
async fn a_deferred_transaction_cannot_write_past_a_take_over() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let mut connection = file.raw();
    connection
        .execute_batch("create table account (balance integer) strict; insert into account values (0)")
        .unwrap();
    let grant = take(&store, "a", TTL).await;
    let transaction = connection.transaction().unwrap();
    store.fencing().check(&transaction, &grant.fence()).unwrap();
    store.release(&grant).await.unwrap();
    take(&store, "a", TTL).await;
    let error = transaction.execute("update account set balance = 1", []).unwrap_err();
    assert_eq!(error.sqlite_error().unwrap().extended_code, rusqlite::ffi::SQLITE_BUSY_SNAPSHOT);
}

#[cfg(feature = "sqlx")]
#[tokio::test]
async fn a_fence_is_checked_on_a_connection_of_sqlx() {
    use sqlx::ConnectOptions;
    use sqlx::sqlite::SqliteConnectOptions;

    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let fencing = store.fencing();
    let mut connection = SqliteConnectOptions::new().filename(file.path()).connect().await.unwrap();
    let grant = take(&store, "a", TTL).await;

    let error = fencing.check_sqlx(&mut connection, &grant.fence()).await.unwrap_err();
    assert!(error.to_string().contains("no transaction"), "{error}");

    use sqlx::Connection;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
    fencing.check_sqlx(&mut transaction, &grant.fence()).await.unwrap();
    transaction.rollback().await.unwrap();

    store.release(&grant).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    let refused = fencing.check_sqlx(&mut transaction, &grant.fence()).await;
    assert!(matches!(refused, Err(FenceError::Fenced(fenced)) if fenced.loss == Loss::Released));
    transaction.rollback().await.unwrap();

    file.raw().execute_batch("drop table tenure_leases").unwrap();
    let mut transaction = connection.begin().await.unwrap();
    let error = fencing.check_sqlx(&mut transaction, &grant.fence()).await.unwrap_err();
    assert!(matches!(error, FenceError::Store(tenure_core::StoreError::SchemaMissing { .. })), "{error}");
}
