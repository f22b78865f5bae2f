//! The same on connections of sqlx.

use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tenure_core::contract::{AppendError, CheckpointStore, LeaseStore};
use tenure_core::event::{AppendAnswer, AppendProblem, Appended, Position, Version};
use tenure_core::lease::Fence;
use tenure_core::outbox::{Body, NewMessage};
use tenure_core::subscription::{Advance, Rewind, Step};

use crate::backend::{SqliteFile, take};
use crate::events::{
    all, any, append, aside, at, conflict, count, event, first, mark, message_id, numbers, read, rows, step,
    subscription,
};
use crate::outbox::look;

async fn open(file: &SqliteFile) -> SqliteConnection {
    SqliteConnectOptions::new().filename(file.path()).connect().await.unwrap()
}

#[tokio::test]
async fn an_event_is_read_as_it_was_appended() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let mut connection = open(&file).await;
    let mut whole = any("s", &[1]).with_mark(mark(1));
    whole.events[0].metadata.message_id = Some(message_id(1));
    whole.events[0].metadata.headers = [("a".to_owned(), "b".to_owned())].into();
    whole.events.push(tenure_core::event::NewEvent {
        body: Body::Bytes(vec![0, 255]),
        schema: 4,
        ..event(2)
    });
    whole.dispatches = (0..3).map(|at| NewMessage::json("t", "k", "1").from_version("s", 2, at)).collect();
    let mut transaction = connection.begin().await.unwrap();
    let events = store.events().with_outbox();
    let appended = first(events.append(&mut transaction, &whole).await.unwrap());
    assert_eq!(appended, Appended { version: Version(2), position: Some(Position(2)), repeated: false });
    assert!(all(&store).await.events.is_empty());
    transaction.commit().await.unwrap();
    let events = read(&store, "s").await;
    for (recorded, appended) in events.iter().zip(&whole.events) {
        assert_eq!((recorded.id, recorded.schema), (appended.id, appended.schema));
        assert_eq!((&recorded.body, &recorded.metadata), (&appended.body, &appended.metadata));
    }
    assert_eq!(look(&store).await.rows.iter().map(|row| row.sequence.index).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(rows(&file), [1, 2, 3, 3, 1]);
}

#[tokio::test]
async fn s36_what_is_rolled_back_was_never_there() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let mut connection = open(&file).await;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
    first(store.events().append(&mut transaction, &at("s", 0, &[1])).await.unwrap());
    transaction.rollback().await.unwrap();
    assert_eq!(rows(&file), [0; 5]);
    let error = store.events().append(&mut connection, &at("s", 0, &[1])).await.unwrap_err();
    assert!(error.to_string().contains("no transaction is open"), "{error}");
}

#[tokio::test]
async fn s28_s29_every_other_answer_leaves_the_transaction_as_it_was() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let events = store.events().with_outbox();
    let sent = NewMessage::json("t", "k", "1").from_version("s", 1, 0);
    let known = at("s", 0, &[1]).with_dispatches(vec![sent.clone()]);
    first(append(&store, &known).await);
    first(append(&store, &any("s", &[2]).with_mark(mark(1))).await);
    let before = rows(&file);
    let mut connection = open(&file).await;
    let mut transaction = connection.begin().await.unwrap();
    let repeated = |version| {
        let position = Some(Position(version));
        AppendAnswer::Appended(Appended { version: Version(version), position, repeated: true })
    };
    assert_eq!(events.append(&mut transaction, &known).await.unwrap(), repeated(1));
    assert_eq!(events.append(&mut transaction, &any("s", &[2])).await.unwrap(), repeated(2));
    assert_eq!(events.append(&mut transaction, &at("s", 1, &[3])).await.unwrap(), conflict(2));
    let again = at("s", 2, &[3]).with_mark(mark(1));
    assert_eq!(events.append(&mut transaction, &again).await.unwrap(), AppendAnswer::Duplicate);
    let mut other = any("s", &[2]);
    other.events[0].kind = "Other".into();
    for taken in [other, any("s", &[2, 3]), any("t", &[2])] {
        let error = events.append(&mut transaction, &taken).await.unwrap_err();
        assert!(matches!(error, AppendError::Problem(AppendProblem::OtherContent { .. })), "{error}");
    }
    let mut clash = sent;
    clash.topic = "other".into();
    let clash = at("s", 2, &[3, 4]).with_dispatches(vec![clash]).with_mark(mark(2));
    let error = events.append(&mut transaction, &clash).await.unwrap_err();
    assert!(matches!(error, AppendError::Dispatch(_)), "{error}");
    transaction.commit().await.unwrap();
    assert_eq!(rows(&file), before);

    let mut refusal = mark(3);
    refusal.refused = Some("no".into());
    let mut transaction = connection.begin().await.unwrap();
    first(events.append(&mut transaction, &any("s", &[]).with_mark(refusal.clone())).await.unwrap());
    let answer = events.append(&mut transaction, &any("s", &[5]).with_mark(mark(3))).await.unwrap();
    assert_eq!(answer, AppendAnswer::Refused { reason: "no".into() });
    transaction.commit().await.unwrap();
    assert_eq!(numbers(&all(&store).await.events), [1, 2]);
}

#[tokio::test]
async fn s35_a_checkpoint_moves_with_what_the_user_writes_or_not_at_all() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let checkpoints = store.checkpoints();
    let grant = take(&store, "subscription", Duration::from_secs(60)).await;
    let office = Fence { lease: grant.name.clone(), term: grant.term };
    let mut connection = open(&file).await;
    let mut first = step("a", 0, 5);
    first.parked = vec![aside(3), aside(4)];
    let mut transaction = connection.begin().await.unwrap();
    let answer = checkpoints.advance(&mut transaction, Some(&office), &first).await.unwrap();
    assert_eq!(answer, Advance::Advanced);
    transaction.rollback().await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    let answer = checkpoints.advance(&mut transaction, Some(&office), &first).await.unwrap();
    assert_eq!(answer, Advance::Advanced);
    let answer = checkpoints.advance(&mut transaction, Some(&office), &first).await.unwrap();
    assert_eq!(answer, Advance::Moved { at: Position(5) });
    transaction.commit().await.unwrap();
    store.release(&grant).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    let answer = checkpoints.advance(&mut transaction, Some(&office), &step("a", 5, 6)).await.unwrap();
    assert_eq!(answer, Advance::Fenced);
    transaction.commit().await.unwrap();
    assert_eq!(store.checkpoint(&subscription("a")).await.unwrap().position, Position(5));
    assert_eq!(count(&file, "parked"), 2);
    assert_eq!(store.rewind(&subscription("a"), Position(5), "ann").await.unwrap(), Rewind::Moved);
    let knows = Step { rewinds: 1, ..step("a", 5, 6) };
    let mut transaction = connection.begin().await.unwrap();
    let answer = checkpoints.advance(&mut transaction, None, &step("a", 5, 6)).await.unwrap();
    assert_eq!(answer, Advance::Moved { at: Position(5) }, "it began before the operator came");
    assert_eq!(checkpoints.advance(&mut transaction, None, &knows).await.unwrap(), Advance::Advanced);
    transaction.rollback().await.unwrap();
    let error = checkpoints.advance(&mut connection, None, &step("a", 5, 6)).await.unwrap_err();
    assert!(error.to_string().contains("no transaction is open"), "{error}");
}
