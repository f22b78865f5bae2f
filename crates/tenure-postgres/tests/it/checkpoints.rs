//! Checkpoints: moved by the one in office, from where they are.

use std::time::Duration;

use tenure_core::contract::{CheckpointStore as _, LeaseAdmin as _, LeaseStore as _};
use tenure_core::event::{Position, Version};
use tenure_core::lease::Fence;
use tenure_core::subscription::{Advance, Aside, Checkpoint, Rewind, Step, SubscriptionName};

use crate::events::stream;
use crate::sandbox::{Mode, Sandbox, claim, granted, name};

pub(crate) fn step(from: i64, to: i64) -> Step {
    Step {
        name: SubscriptionName::new("S'ub").unwrap(),
        from: Position(from),
        rewinds: 0,
        to: Position(to),
        parked: Vec::new(),
    }
}

fn aside(position: i64, reason: &str) -> Aside {
    Aside {
        position: Position(position),
        stream: Some(stream("a")),
        version: Version(3),
        kind: "K".into(),
        reason: reason.into(),
        attempts: 4,
    }
}

async fn a_checkpoint_moves_from_where_it_is(mode: Mode) {
    let Some(sandbox) = Sandbox::new(mode).await else { return };
    let store = sandbox.store().await;
    let subscription = step(0, 0).name;
    assert_eq!(store.checkpoint(&subscription).await.unwrap(), Checkpoint::default());
    let unknown = store.advance(None, &step(3, 5)).await.unwrap();
    assert_eq!(unknown, Advance::Moved { at: Position(0) }, "a row that is not there is the start");
    assert!(store.subscriptions(None, 1_000).await.unwrap().is_empty());
    assert_eq!(store.advance(None, &step(0, 5)).await.unwrap(), Advance::Advanced);
    for from in [0, 4, 6] {
        assert_eq!(store.advance(None, &step(from, 9)).await.unwrap(), Advance::Moved { at: Position(5) });
    }
    assert!(store.advance(None, &step(5, 4)).await.is_err());
    let parks = Step { parked: vec![aside(6, "first"), aside(8, "second")], ..step(5, 9) };
    assert_eq!(store.advance(None, &parks).await.unwrap(), Advance::Advanced);
    let lost = Step { parked: vec![aside(7, "never")], ..step(5, 9) };
    assert_eq!(store.advance(None, &lost).await.unwrap(), Advance::Moved { at: Position(9) });
    let parked = store.parked(&subscription, None, 10).await.unwrap();
    assert_eq!(parked.iter().map(|one| one.aside.clone()).collect::<Vec<_>>(), parks.parked);
    assert_eq!(store.parked(&subscription, None, 1).await.unwrap().len(), 1);
    let all = store.subscriptions(None, 1_000).await.unwrap();
    assert_eq!((all.len(), all[0].position, all[0].parked.number), (1, Position(9), 2));

    assert_eq!(store.rewind(&subscription, Position(6), "op").await.unwrap(), Rewind::Moved);
    assert_eq!(
        store.checkpoint(&subscription).await.unwrap(),
        Checkpoint { position: Position(6), rewinds: 1 }
    );
    assert_eq!(
        store.parked(&subscription, None, 10).await.unwrap().len(),
        1,
        "what is read again is forgotten"
    );
    let sql = format!("SELECT actor, action, subject, detail FROM {}", sandbox.table("audit"));
    let row = sandbox.superuser().await.query_one(&sql, &[]).await.unwrap();
    let line: [String; 4] = [row.get(0), row.get(1), row.get(2), row.get(3)];
    assert_eq!(line[..3], ["op", "subscription rewind", "S'ub"]);
    assert!(line[3].contains("from 9 to 6"), "{}", line[3]);
}

#[tokio::test]
async fn a_checkpoint_moves_from_where_it_is_direct() {
    a_checkpoint_moves_from_where_it_is(Mode::Direct).await;
}

#[tokio::test]
async fn a_checkpoint_moves_from_where_it_is_pgbouncer() {
    a_checkpoint_moves_from_where_it_is(Mode::Pooled).await;
}

#[tokio::test]
async fn s63_a_reader_that_is_not_in_office_moves_nothing() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let grant = granted(store.try_acquire(&claim("reader", Duration::from_secs(60))).await.unwrap());
    let fence = Fence { lease: name("reader"), term: grant.term };
    assert_eq!(store.advance(Some(&fence), &step(0, 1)).await.unwrap(), Advance::Advanced);
    let nobody = Fence { lease: name("nobody"), term: grant.term };
    assert_eq!(store.advance(Some(&nobody), &step(1, 2)).await.unwrap(), Advance::Fenced);
    store.revoke(&name("reader"), "op", true).await.unwrap();
    let parks = Step { parked: vec![aside(2, "no")], ..step(1, 2) };
    assert_eq!(store.advance(Some(&fence), &parks).await.unwrap(), Advance::Fenced);
    assert_eq!(store.checkpoint(&parks.name).await.unwrap().position, Position(1));
    assert!(store.parked(&parks.name, None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_checkpoint_moves_in_the_handler_s_transaction() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let checkpoints = store.checkpoints();
    let transaction = user.transaction().await.unwrap();
    assert_eq!(checkpoints.advance_on(&transaction, None, &step(0, 4)).await.unwrap(), Advance::Advanced);
    let other = tokio::spawn({
        let store = store.clone();
        async move { store.advance(None, &step(0, 7)).await.unwrap() }
    });
    // passes time: enough for one that does not wait
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!other.is_finished());
    transaction.commit().await.unwrap();
    assert_eq!(other.await.unwrap(), Advance::Moved { at: Position(4) }, "one of two readers moves it");
    let transaction = user.transaction().await.unwrap();
    let answer = checkpoints.advance_on(&transaction, None, &step(4, 5)).await.unwrap();
    assert_eq!(answer, Advance::Advanced);
    transaction.rollback().await.unwrap();
    assert_eq!(store.checkpoint(&step(0, 0).name).await.unwrap().position, Position(4));
    assert_eq!(store.rewind(&step(0, 0).name, Position(4), "op").await.unwrap(), Rewind::Moved);
    let transaction = user.transaction().await.unwrap();
    let late = checkpoints.advance_on(&transaction, None, &step(4, 5)).await.unwrap();
    assert_eq!(late, Advance::Moved { at: Position(4) }, "it began before the operator came");
    let knows = Step { rewinds: 1, ..step(4, 5) };
    assert_eq!(checkpoints.advance_on(&transaction, None, &knows).await.unwrap(), Advance::Advanced);
}

#[cfg(feature = "sqlx")]
#[tokio::test]
async fn pgbouncer_a_checkpoint_moves_in_a_transaction_of_sqlx() {
    use sqlx::Connection as _;
    let Some(sandbox) = Sandbox::new(Mode::Pooled).await else { return };
    let store = sandbox.store().await;
    let mut connection = sandbox.sqlx().await;
    let mut tx = connection.begin().await.unwrap();
    let checkpoints = store.checkpoints();
    assert_eq!(checkpoints.advance_in(&mut tx, None, &step(0, 4)).await.unwrap(), Advance::Advanced);
    let lost = checkpoints.advance_in(&mut tx, None, &step(3, 5)).await.unwrap();
    assert_eq!(lost, Advance::Moved { at: Position(4) });
    let ahead = Step { rewinds: 1, ..step(4, 5) };
    let lost = checkpoints.advance_in(&mut tx, None, &ahead).await.unwrap();
    assert_eq!(lost, Advance::Moved { at: Position(4) }, "of a rewind that never was");
    tx.commit().await.unwrap();
    assert_eq!(store.checkpoint(&step(0, 0).name).await.unwrap().position, Position(4));
    assert_eq!(store.rewind(&step(0, 0).name, Position(4), "op").await.unwrap(), Rewind::Moved);
    let mut tx = connection.begin().await.unwrap();
    let late = checkpoints.advance_in(&mut tx, None, &step(4, 5)).await.unwrap();
    assert_eq!(late, Advance::Moved { at: Position(4) }, "it began before the operator came");
    assert_eq!(checkpoints.advance_in(&mut tx, None, &ahead).await.unwrap(), Advance::Advanced);
}
