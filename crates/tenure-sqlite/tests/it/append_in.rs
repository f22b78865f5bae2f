//! Events come in: in a transaction of the user's own.

use rusqlite::TransactionBehavior::{Deferred, Immediate};
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore};
use tenure_core::event::{Append, AppendAnswer, AppendProblem, Limits, Position, Version};
use tenure_core::outbox::NewMessage;

use crate::backend::SqliteFile;
use crate::events::{all, any, append, at, conflict, first, mark, numbers, rows};

#[tokio::test]
async fn b12_dispatches_without_an_outbox_are_an_error_at_once() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let append = at("s", 0, &[1]).with_dispatches(vec![NewMessage::json("t", "k", "1")]);
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    let error = store.events().append_in(&transaction, &append).unwrap_err();
    assert!(matches!(error, AppendError::Problem(AppendProblem::NoOutbox { dispatches: 1 })), "{error}");
    first(store.events().with_outbox().append_in(&transaction, &append).unwrap());
}

#[tokio::test]
async fn s36_what_is_rolled_back_was_never_there() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let events = store.events().with_outbox();
    let whole = at("s", 0, &[1, 2]).with_dispatches(vec![NewMessage::json("t", "k", "1")]).with_mark(mark(1));
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    assert_eq!(first(events.append_in(&transaction, &whole).unwrap()).position, Some(Position(2)));
    assert!(all(&store).await.events.is_empty());
    transaction.rollback().unwrap();
    assert_eq!(rows(&file), [0; 5]);
    assert_eq!((all(&store).await.head, all(&store).await.read_to), (Position(0), Position(0)));

    let transaction = connection.transaction().unwrap();
    first(events.append_in(&transaction, &whole).unwrap());
    transaction.commit().unwrap();
    assert_eq!(rows(&file), [1, 2, 1, 1, 1]);
    assert_eq!(numbers(&all(&store).await.events), [1, 2]);
}

#[tokio::test]
async fn s29_after_any_other_answer_the_transaction_goes_on_as_it_was() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let events = store.events().with_outbox();
    file.raw().execute_batch("create table mine (n integer)").unwrap();
    let sent = NewMessage::json("t", "k", "1").from_version("s", 1, 0);
    first(append(&store, &at("s", 0, &[1]).with_dispatches(vec![sent.clone()]).with_mark(mark(1))).await);
    let before = rows(&file);
    let mut other = sent;
    other.topic = "other".into();
    let clash = at("s", 1, &[2, 3]).with_dispatches(vec![other]).with_mark(mark(2));
    let mut connection = file.raw();
    let transaction = connection.transaction_with_behavior(Immediate).unwrap();
    transaction.execute("insert into mine values (1)", []).unwrap();
    assert_eq!(events.append_in(&transaction, &at("s", 0, &[4])).unwrap(), conflict(1));
    let again = at("s", 1, &[4]).with_mark(mark(1));
    assert_eq!(events.append_in(&transaction, &again).unwrap(), AppendAnswer::Duplicate);
    assert!(matches!(events.append_in(&transaction, &clash).unwrap_err(), AppendError::Dispatch(_)));
    transaction.execute("insert into mine values (2)", []).unwrap();
    transaction.commit().unwrap();
    let mine: i64 = file.raw().query_row("select count(*) from mine", [], |row| row.get(0)).unwrap();
    assert_eq!((rows(&file), mine), (before, 2));
    // The ids and the message are free still.
    first(append(&store, &Append { dispatches: Vec::new(), ..clash }).await);
}

#[tokio::test]
async fn a_connection_without_a_transaction_is_refused() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let error = store.events().append_in(&file.raw(), &at("s", 0, &[1])).unwrap_err();
    assert!(error.to_string().contains("no transaction is open"), "{error}");
    let nothing = SqliteFile::nothing_yet();
    let store = nothing.connect().await;
    let mut connection = nothing.raw();
    let transaction = connection.transaction().unwrap();
    let error = store.events().append_in(&transaction, &at("s", 0, &[1])).unwrap_err();
    assert!(matches!(error, AppendError::Store(StoreError::SchemaMissing { .. })), "{error}");
}

#[tokio::test]
async fn s37_a_deferred_transaction_is_not_told_that_the_store_is_busy() {
    let file = SqliteFile::start().await;
    let events = file.connect().await.events();
    std::thread::scope(|scope| {
        for writer in 0..4_u128 {
            let (events, file) = (&events, &file);
            scope.spawn(move || {
                let mut connection = file.raw();
                for number in 0..50 {
                    let transaction = connection.transaction_with_behavior(Deferred).unwrap();
                    first(events.append_in(&transaction, &any("s", &[writer * 100 + number])).unwrap());
                    transaction.commit().unwrap();
                }
            });
        }
    });
    let page = all(&file.connect().await).await;
    assert_eq!(page.events.len(), 200);
    assert!(page.events.iter().zip(1..).all(|(event, n)| event.version == Version(n)));
}

#[tokio::test]
async fn s38_limits_are_kept_before_the_database_sees_anything() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let events = store.events().with_limits(Limits { payload: 2 });
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    assert!(events.append_in(&transaction, &at("s", 0, &[99])).is_ok());
    let error = events.append_in(&transaction, &at("s", 1, &[100])).unwrap_err();
    assert!(error.to_string().contains("3 bytes; the limit is 2"), "{error}");
    let error = EventStore::append(&store, &at("s", 0, &[]), &Limits::default()).await.unwrap_err();
    assert!(error.to_string().contains("nothing to append"), "{error}");
}
