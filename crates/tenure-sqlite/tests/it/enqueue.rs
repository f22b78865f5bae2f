//! Messages come in: in the user's transaction, by either driver, or by a foreign program's plain insert.

use std::time::Duration;

use rusqlite::params;
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, OutboxStore};
use tenure_core::outbox::{
    Body, ENQUEUE_MAX, Enqueued, Found, Limits, MessageError, MessageId, NewMessage, deterministic_id,
};

use crate::backend::SqliteFile;
use crate::outbox::{from, look, message, only};

fn count(file: &SqliteFile, table: &str) -> i64 {
    file.raw().query_row(&format!("select count(*) from tenure_{table}"), [], |row| row.get(0)).unwrap()
}

fn differs(error: EnqueueError) -> &'static str {
    match error {
        EnqueueError::Message(MessageError::Conflict { differs, .. }) => differs,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_foreign_programs_plain_insert_is_enough() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    file.raw()
        .execute("insert into tenure_outbox (topic, type, payload) values ('orders', 'Placed', '{}')", [])
        .unwrap();
    let row = only(&store).await;
    assert_eq!((row.topic.as_str(), row.kind.as_str(), row.lane()), ("orders", "Placed", None));
    assert_eq!(row.body, Found::Body(Body::Text("{}".into())));
    let id: MessageId = row.message_id.parse().unwrap();
    assert_eq!(id.as_uuid().get_version_num(), 4);
    assert_eq!(id.to_string(), row.message_id);
    let age = look(&store).await.now.as_micros() - row.created_at.as_micros();
    assert!((0..60_000_000).contains(&age), "{age}");
}

#[tokio::test]
async fn default_ids_are_unlike() {
    let file = SqliteFile::start().await;
    file.raw()
        .execute_batch(
            "with recursive n (n) as (select 1 union all select n + 1 from n where n < 2000) \
             insert into tenure_outbox (topic, type) select 't', 'k' from n",
        )
        .unwrap();
    let ids = "select count(distinct message_id) from tenure_outbox where message_id glob \
               '????????-????-4???-[89ab]???-????????????'";
    assert_eq!(file.raw().query_row(ids, [], |row| row.get::<_, i64>(0)).unwrap(), 2000);
    assert_eq!(count(&file, "outbox_pending"), 2000);
}

#[tokio::test]
async fn s36_what_is_rolled_back_was_never_there() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let outbox = store.outbox();
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    outbox.enqueue_in(&transaction, &message("{}")).unwrap();
    outbox.enqueue_all_in(&transaction, &[message("{}"), from("a")]).unwrap();
    assert!(look(&store).await.rows.is_empty());
    transaction.rollback().unwrap();
    assert!(look(&store).await.rows.is_empty());
    assert_eq!((count(&file, "outbox"), count(&file, "outbox_pending")), (0, 0));

    let transaction = connection.transaction().unwrap();
    let sent = outbox.enqueue_in(&transaction, &message("{}")).unwrap();
    transaction.commit().unwrap();
    assert_eq!(only(&store).await.message_id, sent.id.to_string());
}

#[tokio::test]
async fn s46_the_same_message_again_is_no_second_one_and_another_content_is_an_error() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let (outbox, connection) = (store.outbox(), file.raw());
    let first = NewMessage::json("t", "k", "{\"a\":1}").from_version("loan-7", 3, 0).with_header("h", "v");
    let id = deterministic_id("loan-7", 3, 0);
    assert_eq!(outbox.enqueue_in(&connection, &first).unwrap(), Enqueued { id, fresh: true });
    assert_eq!(outbox.enqueue_in(&connection, &first).unwrap(), Enqueued { id, fresh: false });
    // The delay is no content: a replay comes later than the first time.
    let later = first.clone().delayed(Duration::from_secs(9));
    assert!(!outbox.enqueue_in(&connection, &later).unwrap().fresh);
    type Change = fn(&mut NewMessage);
    let changed: [(&str, Change); 8] = [
        ("source", |message| message.source = Some("other".into())),
        ("sequence", |message| message.sequence.version = 4),
        ("sequence", |message| message.sequence.index = 1),
        ("topic", |message| message.topic = "T".into()),
        ("type", |message| message.kind = "K".into()),
        ("payload", |message| message.body = Body::Bytes(b"{\"a\":1}".to_vec())),
        ("content type", |message| message.content_type = None),
        ("headers", |message| message.headers.clear()),
    ];
    for (what, change) in changed {
        let mut other = first.clone();
        change(&mut other);
        assert_eq!(differs(outbox.enqueue_in(&connection, &other).unwrap_err()), what);
    }
    assert_eq!((count(&file, "outbox"), count(&file, "outbox_pending")), (1, 1));
}

#[tokio::test]
async fn s46_ids_that_differ_only_in_case_are_one() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let id = "470831A4-832F-5E77-B6EB-B9D970179689";
    let plain = "insert into tenure_outbox (message_id, topic, type, payload) values (?1, 't', 'k', 'x')";
    file.raw().execute(plain, [id]).unwrap();
    assert!(file.raw().execute(plain, [id.to_lowercase()]).is_err());
    let again = NewMessage::new("t", "k", Body::Text("x".into())).with_id(id.parse::<MessageId>().unwrap());
    assert!(!store.outbox().enqueue_in(&file.raw(), &again).unwrap().fresh);
    assert!(store.outbox().enqueue_in(&file.raw(), &again.with_header("a", "b")).is_err());
    assert_eq!(count(&file, "outbox"), 1);
}

#[tokio::test]
async fn of_several_messages_all_are_enqueued_or_none() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let outbox = store.outbox();
    let known = from("a").with_id(deterministic_id("a", 1, 1));
    outbox.enqueue_in(&file.raw(), &known).unwrap();
    let clash = NewMessage { topic: "other".into(), ..known.clone() };
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    outbox.enqueue_in(&transaction, &message("1")).unwrap();
    assert_eq!(
        differs(
            outbox.enqueue_all_in(&transaction, &[message("2"), known.clone(), clash.clone()]).unwrap_err()
        ),
        "topic"
    );
    let sent = outbox.enqueue_all_in(&transaction, &[message("3"), known.clone()]).unwrap();
    assert_eq!(sent.iter().map(|sent| sent.fresh).collect::<Vec<_>>(), [true, false]);
    transaction.commit().unwrap();
    assert_eq!(count(&file, "outbox"), 3);

    let error = store.enqueue(&[message("4"), clash], &Limits::default()).await.unwrap_err();
    assert_eq!(differs(error), "topic");
    assert_eq!(count(&file, "outbox"), 3);
    let twice = message("5").with_id(deterministic_id("b", 1, 1));
    let sent = store.enqueue(&[twice.clone(), twice], &Limits::default()).await.unwrap();
    assert_eq!(sent.iter().map(|sent| sent.fresh).collect::<Vec<_>>(), [true, false]);
}

#[tokio::test]
async fn s38_limits_are_kept_before_the_database_sees_anything() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let outbox = store.outbox().with_limits(Limits { payload: 3 });
    assert!(outbox.enqueue_in(&file.raw(), &message("123")).is_ok());
    let error = outbox.enqueue_in(&file.raw(), &message("1234")).unwrap_err();
    assert!(matches!(error, EnqueueError::Message(MessageError::PayloadTooLarge { bytes: 4, limit: 3 })));
    let many = vec![message("1"); ENQUEUE_MAX + 1];
    for error in [
        outbox.enqueue_all_in(&file.raw(), &many).unwrap_err(),
        store.enqueue(&many, &Limits::default()).await.unwrap_err(),
    ] {
        assert!(matches!(error, EnqueueError::Message(MessageError::TooMany { .. })), "{error}");
    }
    assert_eq!(count(&file, "outbox"), 1);
}

#[tokio::test]
async fn without_the_schema_the_error_says_so() {
    let file = SqliteFile::nothing_yet();
    let store = file.connect().await;
    let error = store.outbox().enqueue_in(&file.raw(), &message("1")).unwrap_err();
    assert!(matches!(error, EnqueueError::Store(StoreError::SchemaMissing { .. })), "{error}");
}

#[tokio::test]
async fn a_delayed_message_is_due_later_and_the_look_says_when() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let delay = Duration::from_secs(3600);
    store.outbox().enqueue_in(&file.raw(), &from("a").delayed(delay)).unwrap();
    store.outbox().enqueue_in(&file.raw(), &message("1").delayed(delay * 2)).unwrap();
    let page = look(&store).await;
    assert!(page.rows.is_empty());
    let wait = page.next_due.unwrap().as_micros() - page.now.as_micros();
    assert!((3_500_000_000..=3_600_000_000).contains(&wait), "{wait}");
}

#[tokio::test]
async fn the_statement_for_other_drivers_does_the_same() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let null: Option<String> = None;
    let id = deterministic_id("a", 1, 2).to_string();
    let values = params![id, "a", 1, 2, "t", "k", "application/json", null, null, null, "{}", null];
    assert_eq!(file.raw().execute(store.outbox().statement(), values).unwrap(), 1);
    assert_eq!(file.raw().execute(store.outbox().statement(), values).unwrap(), 0);
    let same = NewMessage::json("t", "k", "{}").from_version("a", 1, 2);
    assert!(!store.outbox().enqueue_in(&file.raw(), &same).unwrap().fresh);
    let by_chance = params![null, null, 0, 0, "t", "k", null, null, 5_000_000, null, null, vec![0_u8]];
    assert_eq!(file.raw().execute(store.outbox().statement(), by_chance).unwrap(), 1);
    let page = look(&store).await;
    assert_eq!(page.rows.len(), 1);
    assert!(page.next_due.is_some());
}

#[cfg(feature = "sqlx")]
mod on_sqlx {
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions, Connection, SqliteConnection};

    use super::*;

    async fn open(file: &SqliteFile) -> SqliteConnection {
        SqliteConnectOptions::new().filename(file.path()).connect().await.unwrap()
    }

    #[tokio::test]
    async fn s36_what_is_rolled_back_was_never_there() {
        let file = SqliteFile::start().await;
        let store = file.connect().await;
        let outbox = store.outbox();
        let mut connection = open(&file).await;
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
        outbox.enqueue(&mut transaction, &message("{}")).await.unwrap();
        outbox.enqueue_all(&mut transaction, &vec![message("{}"); 200]).await.unwrap();
        transaction.rollback().await.unwrap();
        assert!(look(&store).await.rows.is_empty());
        let mut transaction = connection.begin().await.unwrap();
        let sent = outbox.enqueue(&mut transaction, &from("a").with_header("x", "y")).await.unwrap();
        transaction.commit().await.unwrap();
        let row = only(&store).await;
        assert_eq!(row.message_id, sent.id.to_string());
        assert_eq!(row.headers.as_deref(), Some(r#"{"x":"y"}"#));
    }

    #[tokio::test]
    async fn s46_a_replay_is_known_and_a_clash_leaves_the_transaction_as_it_was() {
        let file = SqliteFile::start().await;
        let store = file.connect().await;
        let outbox = store.outbox();
        let mut connection = open(&file).await;
        // More than one chunk, and with some that are twice in it.
        let mut messages: Vec<_> = (0..150).map(|n| message("{}").from_version("s", n, 0)).collect();
        messages.push(messages[3].clone());
        messages[70] = NewMessage::bytes("t", "k", "x/y", [0, 159]);
        let sent = outbox.enqueue_all(&mut connection, &messages).await.unwrap();
        assert_eq!(sent.iter().filter(|sent| sent.fresh).count(), 150);
        assert!(!sent.last().unwrap().fresh);
        messages[70] = messages[71].clone();
        assert!(outbox.enqueue_all(&mut connection, &messages).await.unwrap().iter().all(|sent| !sent.fresh));

        let mut clash = messages[9].clone();
        clash.topic = "other".into();
        let mut transaction = connection.begin().await.unwrap();
        outbox.enqueue(&mut transaction, &message("1")).await.unwrap();
        let error = outbox.enqueue(&mut transaction, &clash).await.unwrap_err();
        assert_eq!(differs(error), "topic");
        let mut fresh = vec![message("2"); 100];
        fresh.push(clash);
        assert_eq!(differs(outbox.enqueue_all(&mut transaction, &fresh).await.unwrap_err()), "topic");
        transaction.commit().await.unwrap();
        assert_eq!(count(&file, "outbox"), 151);
        assert_eq!(count(&file, "outbox_pending"), 151);
    }
}

/// What a foreign program inserts is due at once: its time is never ahead of the clock that the relay reads.
#[tokio::test]
async fn a_plain_insert_is_never_created_in_the_future() {
    let file = SqliteFile::start().await;
    let connection = file.raw();
    let clock = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_micros()).unwrap()
    };
    let insert = "insert into tenure_outbox (topic, type) values ('t', 'k') returning created_at";
    for _ in 0..500 {
        let before = clock();
        let created: i64 = connection.query_row(insert, [], |row| row.get(0)).unwrap();
        assert!(created <= clock() && created > before - 1_000, "{before} {created}");
    }
}
