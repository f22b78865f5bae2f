//! Appending and reading: what is written, what is not, and what is answered.

use std::time::Duration;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore as _};
use tenure_core::event::{
    Append, AppendAnswer, AppendProblem, Appended, Expected, InboxMark, Limits, NewEvent, Position,
    StreamName, StreamRead, Version,
};
use tenure_core::outbox::{Body, Consumer, MessageError, MessageId, NewMessage};
use tenure_sql::SqlStore;
use uuid::Uuid;

use crate::sandbox::{Sandbox, Server, fresh, on_each};

pub(crate) fn stream(text: &str) -> StreamName {
    StreamName::new(text).unwrap()
}

pub(crate) fn event() -> NewEvent {
    NewEvent::json(Uuid::from_u128(fresh()), "Happened", r#"{"a":1}"#)
}

pub(crate) fn exact(version: i64) -> Expected {
    Expected::Exact(Version(version))
}

pub(crate) fn one(name: &str, expected: Expected) -> Append {
    Append::new(stream(name), expected, vec![event()])
}

pub(crate) fn mark(id: u128) -> InboxMark {
    InboxMark {
        consumer: Consumer::new("c").unwrap(),
        id: MessageId::new(Uuid::from_u128(id)),
        fingerprint: Some(Uuid::from_u128(7)),
        refused: None,
    }
}

pub(crate) fn dispatch(id: u128, payload: &str) -> NewMessage {
    NewMessage::json("t", "k", payload).with_id(Uuid::from_u128(id))
}

pub(crate) async fn append(store: &SqlStore, append: &Append) -> AppendAnswer {
    store.append(append, &Limits::default()).await.unwrap()
}

pub(crate) fn appended(answer: AppendAnswer) -> Appended {
    match answer {
        AppendAnswer::Appended(appended) => appended,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn execute(connection: &mut MySqlConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.expect("executed");
}

/// How many rows there are of streams, events, messages and marks.
pub(crate) async fn counts(sandbox: &Sandbox) -> [i64; 4] {
    let mut user = sandbox.user().await;
    let mut counts = [0; 4];
    for (count, table) in counts.iter_mut().zip(["streams", "events", "outbox", "inbox"]) {
        let sql = format!("SELECT COUNT(*) FROM {}", sandbox.table(table));
        *count = sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut user).await.unwrap().get(0);
    }
    counts
}

on_each! {
    s29_another_version_is_a_conflict_and_leaves_nothing,
    s28_the_same_append_again_gives_the_first_result,
    an_append_without_events_checks_the_version_and_makes_no_stream,
    s46_a_dispatch_that_is_there_must_say_the_same,
    b12_dispatches_need_an_outbox,
    s36_a_user_s_transaction_goes_on_after_an_append_that_came_to_nothing,
    s36_a_connection_without_a_transaction_is_refused,
    s35_an_append_that_is_dropped_leaves_nothing_half_done,
    s30_positions_are_read_back_and_not_counted,
    large_appends_take_several_trips_and_are_whole,
    s30_a_payload_that_was_shortened_hides_no_later_event,
    a_dispatch_with_a_delay_is_due_later,
    the_rights_that_are_named_are_enough,
}

async fn s29_another_version_is_a_conflict_and_leaves_nothing(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let with_all = |expected| one("a", expected).with_dispatches(vec![dispatch(1, "1")]).with_mark(mark(1));
    for expected in [exact(1), exact(7)] {
        let answer = append(&store, &with_all(expected)).await;
        assert_eq!(answer, AppendAnswer::Conflict { actual: Version(0) });
    }
    assert_eq!(counts(sandbox).await, [0, 0, 0, 0]);
    appended(append(&store, &one("a", Expected::NONE)).await);
    for expected in [Expected::NONE, exact(2)] {
        let answer = append(&store, &with_all(expected)).await;
        assert_eq!(answer, AppendAnswer::Conflict { actual: Version(1) });
    }
    assert_eq!(counts(sandbox).await, [1, 1, 0, 0]);
}

async fn s28_the_same_append_again_gives_the_first_result(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    for (at, expected) in [Expected::NONE, exact(2), Expected::Any].into_iter().enumerate() {
        let base = fresh();
        let first = Append::new(stream("a"), expected, vec![event(), event()])
            .with_dispatches(vec![dispatch(base, "1"), dispatch(base + 1, "2")]);
        let done = appended(append(&store, &first).await);
        appended(append(&store, &one("b", Expected::Any)).await);
        let before = counts(sandbox).await;
        let again = appended(append(&store, &first).await);
        assert_eq!(again, Appended { repeated: true, ..done.clone() }, "{at}");
        let mut other = first.clone();
        other.events[1].body = Body::Text("2".into());
        let error = store.append(&other, &Limits::default()).await.unwrap_err();
        let id = other.events[1].id;
        assert!(
            matches!(&error, AppendError::Problem(AppendProblem::OtherContent { id: said }) if *said == id),
            "{error}"
        );
        let partly = Append { events: vec![first.events[0].clone(), event()], ..first.clone() };
        match store.append(&partly, &Limits::default()).await {
            Err(AppendError::Problem(AppendProblem::OtherContent { id })) => {
                assert_eq!((expected, id), (Expected::Any, first.events[0].id));
            }
            answer => {
                assert_ne!(expected, Expected::Any);
                assert!(matches!(answer, Ok(AppendAnswer::Conflict { .. })), "{answer:?}");
            }
        }
        assert_eq!(counts(sandbox).await, before, "{at}");
    }
}

async fn an_append_without_events_checks_the_version_and_makes_no_stream(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let bare = |expected, id| Append::new(stream("a"), expected, Vec::new()).with_mark(mark(id));
    assert_eq!(append(&store, &bare(exact(3), 1)).await, AppendAnswer::Conflict { actual: Version(0) });
    assert_eq!(appended(append(&store, &bare(Expected::NONE, 1)).await).version, Version(0));
    appended(append(&store, &one("a", Expected::NONE)).await);
    assert_eq!(append(&store, &bare(Expected::NONE, 2)).await, AppendAnswer::Conflict { actual: Version(1) });
    let done = appended(append(&store, &bare(exact(1), 2)).await);
    assert_eq!(done, Appended { version: Version(1), position: None, repeated: false });
    let sent = Append::new(stream("b"), Expected::Any, Vec::new()).with_dispatches(vec![dispatch(3, "1")]);
    appended(append(&store, &sent).await);
    appended(append(&store, &sent).await);
    assert_eq!(counts(sandbox).await, [1, 1, 1, 2]);
}

async fn s46_a_dispatch_that_is_there_must_say_the_same(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let sends = Append::new(stream("x"), Expected::Any, Vec::new()).with_dispatches(vec![dispatch(1, "1")]);
    appended(append(&store, &sends).await);
    let with = |dispatches| one("a", Expected::NONE).with_dispatches(dispatches);
    let differs = [vec![dispatch(2, "1"), dispatch(1, "2")], vec![dispatch(3, "1"), dispatch(3, "2")]];
    for dispatches in differs {
        let error = store.append(&with(dispatches), &Limits::default()).await.unwrap_err();
        assert!(matches!(error, AppendError::Dispatch(MessageError::Conflict { .. })), "{error}");
    }
    assert_eq!(counts(sandbox).await, [0, 0, 1, 0]);
    let same = vec![dispatch(1, "1"), dispatch(2, "1"), dispatch(2, "1")];
    assert!(!appended(append(&store, &with(same)).await).repeated);
    assert_eq!(counts(sandbox).await, [1, 1, 2, 0]);
    // The ids of dispatches often follow from stream and version: who comes second has lost the race, and no more.
    let late = one("a", Expected::NONE).with_dispatches(vec![dispatch(2, "3")]);
    assert_eq!(append(&store, &late).await, AppendAnswer::Conflict { actual: Version(1) });
}

async fn b12_dispatches_need_an_outbox(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let sends = one("a", Expected::NONE).with_dispatches(vec![dispatch(1, "1")]);
    let mut transaction = user.begin().await.unwrap();
    let error = store.events().append_in(&mut transaction, &sends).await.unwrap_err();
    assert!(matches!(error, AppendError::Problem(AppendProblem::NoOutbox { dispatches: 1 })), "{error}");
    appended(store.events().with_outbox().append_in(&mut transaction, &sends).await.unwrap());
    transaction.commit().await.unwrap();
    assert_eq!(counts(sandbox).await, [1, 1, 1, 0]);
}

/// Whatever an append in the user's transaction comes to, nothing is left of it, and the transaction goes on.
async fn s36_a_user_s_transaction_goes_on_after_an_append_that_came_to_nothing(sandbox: &Sandbox) {
    for isolation in ["READ COMMITTED", "REPEATABLE READ"] {
        let (store, mut user) = (sandbox.store().await, sandbox.user().await);
        execute(&mut user, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")).await;
        let events = store.events().with_outbox();
        let [marked, unmarked, sent, unsent] = [fresh(), fresh(), fresh(), fresh()];
        let [a, b] = [format!("a{marked}"), format!("b{marked}")];
        let mut transaction = user.begin().await.unwrap();
        // An old snapshot: what others do from here on is not in it.
        let sql = format!("SELECT COUNT(*) FROM {}", sandbox.table("streams"));
        sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut *transaction).await.unwrap();
        let first =
            one(&a, Expected::NONE).with_mark(mark(marked)).with_dispatches(vec![dispatch(sent, "1")]);
        appended(append(store.sql(), &first).await);
        let before = counts(sandbox).await;
        let conflict = events.append_in(&mut transaction, &one(&a, Expected::NONE)).await.unwrap();
        assert_eq!(conflict, AppendAnswer::Conflict { actual: Version(1) }, "{isolation}");
        let ahead = events.append_in(&mut transaction, &one(&a, exact(5))).await.unwrap();
        assert_eq!(ahead, AppendAnswer::Conflict { actual: Version(1) });
        let repeated = Append { dispatches: Vec::new(), mark: None, ..first.clone() };
        assert!(appended(events.append_in(&mut transaction, &repeated).await.unwrap()).repeated);
        let duplicate =
            one(&a, exact(1)).with_mark(mark(marked)).with_dispatches(vec![dispatch(unsent, "1")]);
        assert_eq!(events.append_in(&mut transaction, &duplicate).await.unwrap(), AppendAnswer::Duplicate);
        let differs = one(&a, exact(1)).with_dispatches(vec![dispatch(unsent, "1"), dispatch(sent, "2")]);
        let error = events.append_in(&mut transaction, &differs).await.unwrap_err();
        assert!(matches!(error, AppendError::Dispatch(MessageError::Conflict { .. })), "{error}");
        let last = one(&a, exact(1))
            .with_mark(mark(unmarked))
            .with_dispatches(vec![dispatch(sent, "1"), dispatch(unsent, "1")]);
        assert_eq!(appended(events.append_in(&mut transaction, &last).await.unwrap()).version, Version(2));
        appended(events.append_in(&mut transaction, &one(&b, Expected::Any)).await.unwrap());
        assert_eq!(counts(sandbox).await, before, "nothing can be seen yet");
        transaction.commit().await.unwrap();
        let after = counts(sandbox).await;
        let more: Vec<i64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        assert_eq!(more, [1, 2, 1, 1], "{isolation}");
    }
}

async fn s36_a_connection_without_a_transaction_is_refused(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let error = store.events().append_in(&mut user, &one("a", Expected::NONE)).await.unwrap_err();
    assert!(matches!(error, AppendError::Store(StoreError::Refused { .. })), "{error}");
    assert!(error.to_string().contains("no transaction"), "{error}");
    assert_eq!(counts(sandbox).await, [0, 0, 0, 0]);
    execute(&mut user, "SET autocommit = 0").await;
    appended(store.events().append_in(&mut user, &one("a", Expected::NONE)).await.unwrap());
    execute(&mut user, "COMMIT").await;
    assert_eq!(counts(sandbox).await, [1, 1, 0, 0]);
}

/// An append whose caller went away is there as a whole or not at all, and the next one finds a connection.
async fn s35_an_append_that_is_dropped_leaves_nothing_half_done(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    for micros in (0..4000).step_by(200) {
        let all =
            one("a", Expected::Any).with_dispatches(vec![dispatch(fresh(), "1")]).with_mark(mark(fresh()));
        let _ =
            tokio::time::timeout(Duration::from_micros(micros), store.append(&all, &Limits::default())).await;
    }
    appended(append(&store, &one("b", Expected::Any)).await);
    // passes time: the server may still be at work on the last one
    tokio::time::sleep(Duration::from_millis(300)).await;
    let [_, events, messages, marks] = counts(sandbox).await;
    assert_eq!((events - 1, messages), (marks, marks));
    let page = store.read_all(Position::START, 100).await.unwrap();
    assert_eq!((page.read_to, page.stall), (page.head, None), "none of them is open");
}

/// Positions of one statement need not follow each other.
async fn s30_positions_are_read_back_and_not_counted(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    execute(&mut user, "SET SESSION auto_increment_increment = 7, SESSION auto_increment_offset = 3").await;
    let mut last = Position::START;
    for round in 0..3 {
        let three = Append::new(stream("a"), exact(round * 3), vec![event(), event(), event()]);
        let mut transaction = user.begin().await.unwrap();
        let done = appended(store.events().append_in(&mut transaction, &three).await.unwrap());
        transaction.commit().await.unwrap();
        let page = store.sql().read_stream(&StreamRead::backward(stream("a"), 3)).await.unwrap();
        assert_eq!(done.position, Some(page.events[0].position));
        assert!(
            page.events[0].position.0 - page.events[2].position.0 == 14 && page.events[2].position > last
        );
        last = page.events[0].position;
        appended(append(store.sql(), &one("b", Expected::Any)).await);
    }
    let all = store.sql().read_all(Position::START, 100).await.unwrap();
    assert_eq!((all.events.len(), all.read_to), (12, all.head));
}

/// Above what goes as one text, above what one statement carries: still one transaction.
async fn large_appends_take_several_trips_and_are_whole(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let large = |size: usize| NewEvent { body: Body::Bytes(vec![7; size]), ..event() };
    let events =
        || vec![event(), large(900_000), large(1_000_000), large(1_000_000), large(1_000_000), event()];
    let own = Append::new(stream("own"), Expected::NONE, [events(), events(), events()].concat());
    assert_eq!(appended(append(store.sql(), &own).await).version, Version(18));
    let again = appended(append(store.sql(), &own).await);
    assert!(again.repeated);
    let mut transaction = user.begin().await.unwrap();
    let joined = Append::new(stream("joined"), Expected::Any, events());
    appended(store.events().append_in(&mut transaction, &joined).await.unwrap());
    transaction.commit().await.unwrap();
    assert_eq!(counts(sandbox).await, [2, 24, 0, 0]);
    let page = store.sql().read_stream(&StreamRead::forward(stream("own"), Version(1), 100)).await.unwrap();
    assert!(page.events.len() < 18, "a page of 8 MiB");
    assert_eq!(page.events[1].body, own.events[1].body);
}

/// Someone erases personal data by hand: pages are then cut by what stands there, and not by what stood there once.
async fn s30_a_payload_that_was_shortened_hides_no_later_event(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    for _ in 0..2 {
        let large = || NewEvent { body: Body::Bytes(vec![7; 900_000]), ..event() };
        let events = (0..10).map(|_| large()).collect();
        appended(append(store.sql(), &Append::new(stream("a"), Expected::Any, events)).await);
    }
    let table = sandbox.table("events");
    execute(&mut user, &format!("UPDATE {table} SET payload_bytes = '' WHERE version < 10")).await;
    let (mut found, mut after) = (Vec::new(), Position::START);
    loop {
        let page = store.sql().read_all(after, 1000).await.unwrap();
        found.extend(page.events.iter().map(|event| event.version.0));
        after = page.read_to;
        if after == page.head {
            break;
        }
    }
    assert_eq!(found, (1..=20).collect::<Vec<_>>());
}

async fn a_dispatch_with_a_delay_is_due_later(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let mut late = dispatch(1, "1");
    late.delay = Duration::from_secs(3600);
    appended(
        append(store.sql(), &one("a", Expected::NONE).with_dispatches(vec![late, dispatch(2, "1")])).await,
    );
    let sql = format!(
        "SELECT TIMESTAMPDIFF(SECOND, created_at, deliver_at) FROM {} ORDER BY id",
        sandbox.table("outbox")
    );
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut user).await.unwrap();
    let delays: Vec<Option<i64>> = rows.iter().map(|row| row.get(0)).collect();
    assert!(matches!(delays[..], [Some(3595..=3600), None]), "{delays:?}");
}

/// A user with the rights that the documentation names, and no others.
async fn the_rights_that_are_named_are_enough(sandbox: &Sandbox) {
    let (store, mut root) = (sandbox.store().await, sandbox.user().await);
    let name = sandbox.prefix.trim_end_matches('_').to_owned();
    let table = |table: &str| format!("tenure.{}", sandbox.table(table));
    let mut grants = format!("CREATE USER {name}@'127.0.0.1' IDENTIFIED BY 'x';");
    for (rights, tables) in [
        (
            "SELECT, INSERT, UPDATE",
            ["events", "streams", "inbox", "outbox", "outbox_pending", "outbox_arrivals", "checkpoints"]
                .as_slice(),
        ),
        ("INSERT", &["append_slots"]),
        ("SELECT, INSERT, DELETE", &["parked"]),
    ] {
        for one in tables {
            grants.push_str(&format!("GRANT {rights} ON {} TO {name}@'127.0.0.1';", table(one)));
        }
    }
    execute(&mut root, &grants).await;
    let url = sandbox.url.replace("root@", &format!("{name}:x@"));
    let options: sqlx::mysql::MySqlConnectOptions = url.parse().unwrap();
    let mut user = sqlx::ConnectOptions::connect(&options).await.expect("it may log in");
    let all = one("a", Expected::Any).with_mark(mark(1)).with_dispatches(vec![dispatch(1, "1")]);
    let events = store.events().with_outbox();
    let mut transaction = user.begin().await.unwrap();
    appended(events.append_in(&mut transaction, &all).await.unwrap());
    let again = events.append_in(&mut transaction, &all).await.unwrap();
    assert_eq!(again, AppendAnswer::Duplicate);
    appended(events.append_in(&mut transaction, &one("a", exact(1))).await.unwrap());
    let step = crate::checkpoints::step(0, 4);
    let step = tenure_core::subscription::Step { parked: vec![crate::checkpoints::aside(3, "no")], ..step };
    let advanced = store.checkpoints().advance_in(&mut transaction, None, &step).await.unwrap();
    assert_eq!(advanced, tenure_core::subscription::Advance::Advanced);
    transaction.commit().await.unwrap();
    execute(&mut root, &format!("DROP USER {name}@'127.0.0.1'")).await;
    assert_eq!(counts(sandbox).await, [1, 2, 1, 1]);
}

async fn a_call_without_a_schema_says_how_to_make_one(server: Server) {
    let Some(sandbox) = Sandbox::empty(server) else { return };
    let error = sandbox.sql().await.append(&one("a", Expected::Any), &Limits::default()).await.unwrap_err();
    assert!(matches!(error, AppendError::Store(StoreError::SchemaMissing { .. })), "{error}");
}

#[tokio::test]
async fn a_call_without_a_schema_says_how_to_make_one_mariadb() {
    a_call_without_a_schema_says_how_to_make_one(Server::MariaDb).await;
}

#[tokio::test]
async fn a_call_without_a_schema_says_how_to_make_one_mysql() {
    a_call_without_a_schema_says_how_to_make_one(Server::MySql).await;
}
