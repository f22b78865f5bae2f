//! Checkpoints: moved by the one in office, from where they are.

use std::time::Duration;

use sqlx::Connection as _;
use tenure_core::StoreError;
use tenure_core::contract::CheckpointStore as _;
use tenure_core::event::{Position, Version};
use tenure_core::subscription::{Advance, Aside, Rewind, Step, SubscriptionName};

use crate::events::stream;
use crate::sandbox::{Sandbox, on_each};

pub(crate) fn step(from: i64, to: i64) -> Step {
    Step {
        name: SubscriptionName::new("S'ub").unwrap(),
        from: Position(from),
        rewinds: 0,
        to: Position(to),
        parked: Vec::new(),
    }
}

pub(crate) fn aside(position: i64, reason: &str) -> Aside {
    Aside {
        position: Position(position),
        stream: Some(stream("a")),
        version: Version(3),
        kind: "K".into(),
        reason: reason.into(),
        attempts: 4,
    }
}

on_each! {
    what_is_put_aside_again_has_its_last_reason,
    a_checkpoint_moves_in_the_handler_s_transaction,
    a_handler_without_a_transaction_is_refused,
}

async fn what_is_put_aside_again_has_its_last_reason(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let parks = Step { parked: vec![aside(6, "first"), aside(8, "second")], ..step(0, 9) };
    assert_eq!(store.advance(None, &parks).await.unwrap(), Advance::Advanced);
    let again = Step { parked: vec![aside(8, "third")], ..step(9, 9) };
    assert_eq!(store.advance(None, &again).await.unwrap(), Advance::Advanced);
    let lost = Step { parked: vec![aside(7, "never")], ..step(5, 9) };
    assert_eq!(store.advance(None, &lost).await.unwrap(), Advance::Moved { at: Position(9) });
    let parked = store.parked(&parks.name, None, 10).await.unwrap();
    let reasons: Vec<_> = parked.iter().map(|one| one.aside.reason.as_str()).collect();
    assert_eq!(reasons, ["first", "third"]);
}

async fn a_checkpoint_moves_in_the_handler_s_transaction(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let checkpoints = store.checkpoints();
    let mut transaction = user.begin().await.unwrap();
    let answer = checkpoints.advance_in(&mut transaction, None, &step(0, 4)).await.unwrap();
    assert_eq!(answer, Advance::Advanced);
    let lost = checkpoints.advance_in(&mut transaction, None, &step(3, 5)).await.unwrap();
    assert_eq!(lost, Advance::Moved { at: Position(4) });
    let ahead = Step { rewinds: 1, ..step(4, 5) };
    let lost = checkpoints.advance_in(&mut transaction, None, &ahead).await.unwrap();
    assert_eq!(lost, Advance::Moved { at: Position(4) }, "of a rewind that never was");
    let other = tokio::spawn({
        let store = store.sql().clone();
        async move { store.advance(None, &step(0, 7)).await.unwrap() }
    });
    // passes time: enough for one that does not wait
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!other.is_finished());
    transaction.commit().await.unwrap();
    assert_eq!(other.await.unwrap(), Advance::Moved { at: Position(4) }, "one of two readers moves it");
    let mut transaction = user.begin().await.unwrap();
    let answer = checkpoints.advance_in(&mut transaction, None, &step(4, 5)).await.unwrap();
    assert_eq!(answer, Advance::Advanced);
    transaction.rollback().await.unwrap();
    let name = step(0, 0).name;
    assert_eq!(store.sql().checkpoint(&name).await.unwrap().position, Position(4));
    let mut transaction = user.begin().await.unwrap();
    // An old snapshot: the rewind is not in it.
    sqlx::query(sqlx::AssertSqlSafe(format!("SELECT * FROM {}", sandbox.table("checkpoints"))))
        .fetch_all(&mut *transaction)
        .await
        .unwrap();
    assert_eq!(store.sql().rewind(&name, Position(4), "op").await.unwrap(), Rewind::Moved);
    let late = checkpoints.advance_in(&mut transaction, None, &step(4, 5)).await.unwrap();
    assert_eq!(late, Advance::Moved { at: Position(4) }, "it began before the operator came");
    assert_eq!(checkpoints.advance_in(&mut transaction, None, &ahead).await.unwrap(), Advance::Advanced);
    transaction.commit().await.unwrap();
    assert_eq!(store.sql().checkpoint(&name).await.unwrap().position, Position(5));
}

async fn a_handler_without_a_transaction_is_refused(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let error = store.checkpoints().advance_in(&mut user, None, &step(0, 4)).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    assert!(store.sql().subscriptions(None, 1_000).await.unwrap().is_empty());
}
