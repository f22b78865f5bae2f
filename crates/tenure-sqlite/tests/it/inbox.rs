//! The receiver: what took effect, takes effect once.

use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tenure_core::contract::OutboxStore;
use tenure_core::lease::SettingsError;
use tenure_core::outbox::{Accept, Consumer, InboxSettings, Limits, Message, MessageId, deterministic_id};
use tenure_sqlite::{Inbox, SqliteStore};

use crate::backend::SqliteFile;
use crate::outbox::{look, message, only, send};

fn consumer() -> Consumer {
    Consumer::new("billing").unwrap()
}

fn id(n: i64) -> MessageId {
    deterministic_id("s", n, 0)
}

async fn start() -> (SqliteFile, SqliteStore, Inbox) {
    let file = SqliteFile::start().await;
    file.raw().execute_batch("create table effect (id text)").unwrap();
    let store = file.connect().await;
    let inbox = store.inbox(InboxSettings::default()).unwrap();
    (file, store, inbox)
}

/// A receiver's transaction: the effect is made only for what is fresh.
fn receive(connection: &mut Connection, inbox: &Inbox, id: MessageId) -> Accept {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let answer = inbox.accept_in(&transaction, &consumer(), id).unwrap();
    if answer == Accept::Fresh {
        transaction.execute("insert into effect values (?1)", [id.to_string()]).unwrap();
    }
    transaction.commit().unwrap();
    answer
}

fn effects(file: &SqliteFile) -> i64 {
    file.raw().query_row("select count(*) from effect", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn s53_of_many_at_once_one_takes_effect() {
    let (file, _store, inbox) = start().await;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut connection = file.raw();
                for n in 0..50 {
                    assert!(matches!(
                        receive(&mut connection, &inbox, id(n)),
                        Accept::Fresh | Accept::Duplicate
                    ));
                }
            });
        }
    });
    assert_eq!(effects(&file), 50);
}

#[tokio::test]
async fn s54_without_its_effect_a_message_was_not_accepted() {
    let (file, _store, inbox) = start().await;
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    assert_eq!(inbox.accept_in(&transaction, &consumer(), id(1)).unwrap(), Accept::Fresh);
    assert_eq!(inbox.accept_in(&transaction, &consumer(), id(1)).unwrap(), Accept::Duplicate);
    drop(transaction);
    assert_eq!(receive(&mut connection, &inbox, id(1)), Accept::Fresh);
    // Outside a transaction, mark and effect could not be one.
    let error = inbox.accept_in(&connection, &consumer(), id(2)).unwrap_err();
    assert!(error.to_string().contains("no transaction"), "{error}");
    assert!(inbox.refuse_in(&connection, &consumer(), id(2), "no").is_err());
}

#[tokio::test]
async fn s55_what_took_effect_is_remembered_across_restarts() {
    let (file, store, inbox) = start().await;
    assert_eq!(receive(&mut file.raw(), &inbox, id(1)), Accept::Fresh);
    drop((store, inbox));
    let store = file.connect().await;
    let inbox = store.inbox(InboxSettings::default()).unwrap();
    assert_eq!(receive(&mut file.raw(), &inbox, id(1)), Accept::Duplicate);
    let other = Consumer::new("Billing").unwrap();
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    assert_eq!(inbox.accept_in(&transaction, &other, id(1)).unwrap(), Accept::Fresh);
    let short = InboxSettings { keep: Duration::from_secs(60), ..InboxSettings::default() };
    let refused: Result<Inbox, SettingsError> = store.inbox(short);
    assert!(refused.unwrap_err().to_string().contains("retry horizon"));
}

#[tokio::test]
async fn s56_what_was_refused_is_refused_again_with_the_same_words() {
    let (file, _store, inbox) = start().await;
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    assert_eq!(inbox.accept_in(&transaction, &consumer(), id(1)).unwrap(), Accept::Fresh);
    transaction.rollback().unwrap();
    let transaction = connection.transaction().unwrap();
    let refused = Accept::Refused { reason: "no such\u{fffd}order".into() };
    let refuse = |reason| inbox.refuse_in(&transaction, &consumer(), id(1), reason).unwrap();
    assert_eq!(refuse("no such\0order"), refused);
    assert_eq!(refuse("another reason"), refused);
    transaction.commit().unwrap();
    assert_eq!(receive(&mut connection, &inbox, id(1)), refused);
    assert_eq!(effects(&file), 0);
}

async fn delivered(store: &SqliteStore) -> Message {
    tenure_core::outbox::decode(only(store).await, &Limits::default(), None).unwrap()
}

#[tokio::test]
async fn s57_another_content_under_the_same_id_is_told() {
    let (file, store, inbox) = start().await;
    send(&store, &[message("{\"n\":1}")]).await;
    let first = delivered(&store).await;
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    let accept = |message: &Message| inbox.accept_message_in(&transaction, &consumer(), message).unwrap();
    assert_eq!(accept(&first), Accept::Fresh);
    // The attempt and the term are no content.
    assert_eq!(accept(&Message { attempt: 7, term: Some(3), ..first.clone() }), Accept::Duplicate);
    assert_eq!(accept(&Message { topic: "other".into(), ..first.clone() }), Accept::Differs);
    // By its id alone, nothing is known of its content.
    assert_eq!(inbox.accept_in(&transaction, &consumer(), first.id).unwrap(), Accept::Duplicate);
    let refused = inbox.refuse_in(&transaction, &consumer(), first.id, "no").unwrap();
    assert_eq!(refused, Accept::Duplicate, "it took effect");
}

#[tokio::test]
async fn s58_a_duplicate_sends_nothing_a_second_time() {
    let (file, store, inbox) = start().await;
    let outbox = store.outbox();
    let mut connection = file.raw();
    for _ in 0..3 {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        if inbox.accept_in(&transaction, &consumer(), id(1)).unwrap() == Accept::Fresh {
            outbox.enqueue_in(&transaction, &message("1")).unwrap();
        }
        transaction.commit().unwrap();
    }
    assert_eq!(look(&store).await.rows.len(), 1);
    store.load(only(&store).await.id, &Limits::default()).await.unwrap();
}

#[cfg(feature = "sqlx")]
#[tokio::test]
async fn s53_s56_s57_the_same_on_a_connection_of_sqlx() {
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions, Connection};

    let (file, store, inbox) = start().await;
    send(&store, &[message("{\"n\":1}")]).await;
    let first = delivered(&store).await;
    let mut connection = SqliteConnectOptions::new().filename(file.path()).connect().await.unwrap();
    let error = inbox.accept(&mut connection, &consumer(), id(1)).await.unwrap_err();
    assert!(error.to_string().contains("no transaction"), "{error}");
    for answer in [Accept::Fresh, Accept::Fresh, Accept::Duplicate] {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
        assert_eq!(inbox.accept_message(&mut transaction, &consumer(), &first).await.unwrap(), answer);
        let before = store.outbox();
        before.enqueue(&mut transaction, &message("2").with_id(id(9))).await.unwrap();
        // The first time, the receiver does not get to its end.
        match file.raw().query_row("select count(*) from effect", [], |row| row.get(0)).unwrap() {
            0_i64 => transaction.rollback().await.unwrap(),
            _ => transaction.commit().await.unwrap(),
        }
        file.raw().execute("insert into effect values ('x')", []).unwrap();
    }
    let mut transaction = connection.begin().await.unwrap();
    let other = Message { topic: "other".into(), ..first.clone() };
    assert_eq!(inbox.accept_message(&mut transaction, &consumer(), &other).await.unwrap(), Accept::Differs);
    let refused = Accept::Refused { reason: "no".into() };
    for reason in ["no", "another reason"] {
        assert_eq!(inbox.refuse(&mut transaction, &consumer(), id(5), reason).await.unwrap(), refused);
    }
    assert_eq!(inbox.accept(&mut transaction, &consumer(), id(5)).await.unwrap(), refused);
    let late = inbox.refuse(&mut transaction, &consumer(), first.id, "no").await.unwrap();
    assert_eq!(late, Accept::Duplicate);
}
