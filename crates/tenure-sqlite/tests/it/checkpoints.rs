//! How far subscriptions have come: moved by the store, or in the user's own transaction.

use std::time::Duration;

use tenure_core::contract::{CheckpointStore, LeaseStore};
use tenure_core::event::Position;
use tenure_core::lease::Fence;
use tenure_core::subscription::{Advance, Rewind, Step};

use crate::backend::{SqliteFile, take};
use crate::events::{aside, count, step, subscription};

const TTL: Duration = Duration::from_secs(60);

async fn place(store: &tenure_sqlite::SqliteStore, name: &str) -> i64 {
    store.checkpoint(&subscription(name)).await.unwrap().position.0
}

#[tokio::test]
async fn a_checkpoint_moves_only_from_where_it_is() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    assert_eq!(place(&store, "a").await, 0);
    assert_eq!(store.advance(None, &step("a", 3, 4)).await.unwrap(), Advance::Moved { at: Position(0) });
    assert_eq!(count(&file, "checkpoints"), 0);
    assert_eq!(store.advance(None, &step("a", 0, 4)).await.unwrap(), Advance::Advanced);
    assert_eq!(store.advance(None, &step("a", 0, 9)).await.unwrap(), Advance::Moved { at: Position(4) });
    assert_eq!(store.advance(None, &step("a", 4, 4)).await.unwrap(), Advance::Advanced);
    let error = store.advance(None, &step("a", 4, 3)).await.unwrap_err().to_string();
    assert!(error.contains("back from 4 to 3"), "{error}");
    assert_eq!((place(&store, "a").await, place(&store, "A").await), (4, 0));
}

#[tokio::test]
async fn s12_who_is_not_in_office_moves_nothing() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "subscription", TTL).await;
    let office = Fence { lease: grant.name.clone(), term: grant.term };
    assert_eq!(store.advance(Some(&office), &step("a", 0, 1)).await.unwrap(), Advance::Advanced);
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    let checkpoints = store.checkpoints();
    assert_eq!(
        checkpoints.advance_in(&transaction, Some(&office), &step("a", 1, 2)).unwrap(),
        Advance::Advanced
    );
    transaction.commit().unwrap();
    store.release(&grant).await.unwrap();
    assert_eq!(store.advance(Some(&office), &step("a", 2, 3)).await.unwrap(), Advance::Fenced);
    let transaction = connection.transaction().unwrap();
    assert_eq!(
        checkpoints.advance_in(&transaction, Some(&office), &step("a", 2, 3)).unwrap(),
        Advance::Fenced
    );
    transaction.commit().unwrap();
    assert_eq!(place(&store, "a").await, 2);
}

#[tokio::test]
async fn s35_a_checkpoint_moves_with_what_the_user_writes_or_not_at_all() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let checkpoints = store.checkpoints();
    file.raw().execute_batch("create table totals (n integer)").unwrap();
    let mut connection = file.raw();
    for (commit, place_after) in [(false, 0), (true, 5)] {
        let transaction = connection.transaction().unwrap();
        transaction.execute("insert into totals values (1)", []).unwrap();
        let mut step = step("a", 0, 5);
        step.parked = vec![aside(3)];
        assert_eq!(checkpoints.advance_in(&transaction, None, &step).unwrap(), Advance::Advanced);
        if commit {
            transaction.commit().unwrap()
        } else {
            transaction.rollback().unwrap()
        }
        assert_eq!(place(&store, "a").await, place_after);
        assert_eq!(count(&file, "parked"), i64::from(commit));
    }
    let transaction = connection.transaction().unwrap();
    let answer = checkpoints.advance_in(&transaction, None, &step("a", 0, 9)).unwrap();
    assert_eq!(answer, Advance::Moved { at: Position(5) });
    drop(transaction);
    for (connection, message) in [(&connection, "no transaction is open"), (&connection, "leads back")] {
        let to = if message == "leads back" { 4 } else { 6 };
        let error = checkpoints.advance_in(connection, None, &step("a", 5, to)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[tokio::test]
async fn what_was_put_aside_is_listed_and_a_rewind_forgets_what_comes_again() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let mut first = step("a", 0, 10);
    first.parked = vec![aside(7), aside(2)];
    first.parked[0].reason = "x".repeat(100_000);
    assert_eq!(store.advance(None, &first).await.unwrap(), Advance::Advanced);
    let mut other = step("b'", 0, 10);
    other.parked = vec![aside(9)];
    assert_eq!(store.advance(None, &other).await.unwrap(), Advance::Advanced);

    let parked = store.parked(&subscription("a"), None, 10).await.unwrap();
    assert_eq!(parked.iter().map(|parked| parked.aside.position.0).collect::<Vec<_>>(), [2, 7]);
    assert_eq!(parked[0].aside, aside(2));
    assert!(parked[1].aside.reason.len() < 10_000 && parked[0].parked_at.as_micros() > 0);
    assert_eq!(store.parked(&subscription("a"), None, 1).await.unwrap().len(), 1);

    let progress = store.subscriptions(None, 1_000).await.unwrap();
    let seen: Vec<_> =
        progress.iter().map(|one| (one.name.as_str(), one.position.0, one.parked.number)).collect();
    assert_eq!(seen, [("a", 10, 2), ("b'", 10, 1)]);

    assert_eq!(store.rewind(&subscription("a"), Position(5), "ann").await.unwrap(), Rewind::Moved);
    assert_eq!(place(&store, "a").await, 5);
    assert_eq!(store.parked(&subscription("a"), None, 10).await.unwrap().len(), 1);
    assert_eq!(store.parked(&subscription("b'"), None, 10).await.unwrap().len(), 1);
    // The reader that was there before is told.
    assert_eq!(store.advance(None, &step("a", 10, 11)).await.unwrap(), Advance::Moved { at: Position(5) });
    let audit = "select actor || '|' || action || '|' || subject || '|' || detail from tenure_audit";
    let audit: String = file.raw().query_row(audit, [], |row| row.get(0)).unwrap();
    assert_eq!(audit, "ann|subscription rewind|a|from 10 to 5");
    // Nowhere beyond the end of the log, which is empty here.
    let refused = store.rewind(&subscription("c"), Position(8), "ann").await.unwrap();
    assert_eq!((refused, place(&store, "c").await), (Rewind::Beyond { end: Position(0) }, 0));
}

/// An event that is put aside again keeps one row.
#[tokio::test]
async fn s35_of_many_readers_each_step_is_one_readers() {
    let file = SqliteFile::start().await;
    let stores = [file.connect().await, file.connect().await, file.connect().await];
    let mut moves = Vec::new();
    for at in 0..20 {
        let (mut one, mut two, mut three) =
            (step("a", at, at + 1), step("a", at, at + 1), step("a", at, at + 1));
        for step in [&mut one, &mut two, &mut three] {
            step.parked = vec![aside(at + 1)];
        }
        let answers = tokio::join!(
            stores[0].advance(None, &one),
            stores[1].advance(None, &two),
            stores[2].advance(None, &three)
        );
        let answers = [answers.0.unwrap(), answers.1.unwrap(), answers.2.unwrap()];
        moves.push(answers.iter().filter(|answer| **answer == Advance::Advanced).count());
    }
    assert_eq!(moves, [1; 20]);
    assert_eq!((place(&stores[0], "a").await, count(&file, "parked")), (20, 20));
}

/// In the user's own transaction as well.
#[tokio::test]
async fn a_step_from_before_a_rewind_is_refused_in_the_users_transaction() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    assert_eq!(store.advance(None, &step("a", 0, 4)).await.unwrap(), Advance::Advanced);
    assert_eq!(store.rewind(&subscription("a"), Position(4), "ann").await.unwrap(), Rewind::Moved);
    let knows = Step { rewinds: 1, ..step("a", 4, 5) };
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    let checkpoints = store.checkpoints();
    let late = checkpoints.advance_in(&transaction, None, &step("a", 4, 5)).unwrap();
    assert_eq!(late, Advance::Moved { at: Position(4) });
    assert_eq!(checkpoints.advance_in(&transaction, None, &knows).unwrap(), Advance::Advanced);
    transaction.commit().unwrap();
    assert_eq!(place(&store, "a").await, 5);
}
