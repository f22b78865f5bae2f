//! Appending and reading: what is written, what is not, and what is answered.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore as _, OutboxStore as _};
use tenure_core::event::{
    Append, AppendAnswer, AppendProblem, Appended, Expected, InboxMark, Limits, NewEvent, Position, Snapshot,
    StreamName, StreamRead, Version,
};
use tenure_core::outbox::{Body, Consumer, MessageError, MessageId, NewMessage};
use tenure_postgres::PostgresStore;
use uuid::Uuid;

use crate::sandbox::{Mode, Sandbox, fresh};

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

pub(crate) async fn append(store: &PostgresStore, append: &Append) -> AppendAnswer {
    store.append(append, &Limits::default()).await.unwrap()
}

pub(crate) fn appended(answer: AppendAnswer) -> Appended {
    match answer {
        AppendAnswer::Appended(appended) => appended,
        other => panic!("{other:?}"),
    }
}

/// How many rows there are of streams, events, messages and marks.
pub(crate) async fn counts(sandbox: &Sandbox) -> [i64; 4] {
    let client = sandbox.superuser().await;
    let mut counts = [0; 4];
    for (count, table) in counts.iter_mut().zip(["streams", "events", "outbox", "inbox"]) {
        let sql = format!("SELECT count(*) FROM {}", sandbox.table(table));
        *count = client.query_one(&sql, &[]).await.unwrap().get(0);
    }
    counts
}

async fn everything_is_written_in_one_append_and_read_back(mode: Mode) {
    let Some(sandbox) = Sandbox::new(mode).await else { return };
    let store = sandbox.store().await;
    let mut rich = event();
    rich.schema = 3;
    rich.body = Body::Bytes(vec![0, 255, 1]);
    rich.metadata.message_id = Some(Uuid::from_u128(5).into());
    rich.metadata.correlation = Some("story".into());
    rich.metadata.causation = Some("cause".into());
    rich.metadata.headers.insert("traceparent".into(), "00-1-2-01".into());
    let first = Append::new(stream("a"), Expected::NONE, vec![event(), rich.clone()])
        .with_dispatches(vec![dispatch(1, "1"), NewMessage::json("t", "k", "2")])
        .with_mark(mark(9));
    let done = appended(append(&store, &first).await);
    assert_eq!((done.version, done.repeated), (Version(2), false));
    assert_eq!(counts(&sandbox).await, [1, 2, 2, 1]);
    appended(append(&store, &one("a", exact(2))).await);
    appended(append(&store, &one("b", Expected::Any)).await);
    let done = appended(append(&store, &one("a", Expected::Any)).await);
    assert_eq!(done.version, Version(4));

    let page = store.read_stream(&StreamRead::forward(stream("a"), Version(2), 2)).await.unwrap();
    assert_eq!(page.version, Version(4));
    assert_eq!(page.events.iter().map(|event| event.version.0).collect::<Vec<_>>(), [2, 3]);
    let read = &page.events[0];
    assert_eq!((read.id, &read.kind, read.schema), (rich.id, &rich.kind, 3));
    assert_eq!((&read.body, &read.metadata), (&rich.body, &rich.metadata));
    assert!(read.recorded_at.as_micros() > 1_700_000_000_000_000, "{}", read.recorded_at);
    let back = store.read_stream(&StreamRead::backward(stream("a"), 3)).await.unwrap();
    assert_eq!(back.events.iter().map(|event| event.version.0).collect::<Vec<_>>(), [4, 3, 2]);
    let none = store.read_stream(&StreamRead::backward(stream("none"), 3)).await.unwrap();
    assert_eq!((none.events.len(), none.version), (0, Version::NONE));

    let all = store.read_all(Position::START, 100).await.unwrap();
    assert_eq!(all.events.len(), 5);
    assert!(all.events.is_sorted_by_key(|event| event.position));
    assert_eq!((all.read_to, all.head, &all.stall), (all.events[4].position, all.events[4].position, &None));
    assert_eq!(done.position, Some(all.head));
    let page = store.read_all(Position::START, 2).await.unwrap();
    assert_eq!((page.events.len(), page.read_to), (2, all.events[1].position));
    let ahead = store.read_all(Position(1_000_000), 2).await.unwrap();
    assert_eq!((ahead.events.len(), ahead.read_to), (0, all.head), "the reader is ahead of the store");
}

#[tokio::test]
async fn s27_everything_is_written_in_one_append_and_read_back() {
    everything_is_written_in_one_append_and_read_back(Mode::Direct).await;
}

#[tokio::test]
async fn s27_pgbouncer_everything_is_written_in_one_append_and_read_back() {
    everything_is_written_in_one_append_and_read_back(Mode::Pooled).await;
}

#[tokio::test]
async fn s29_another_version_is_a_conflict_and_leaves_nothing() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let with_all = |expected| one("a", expected).with_dispatches(vec![dispatch(1, "1")]).with_mark(mark(1));
    for expected in [exact(1), exact(7)] {
        let answer = append(&store, &with_all(expected)).await;
        assert_eq!(answer, AppendAnswer::Conflict { actual: Version(0) });
    }
    assert_eq!(counts(&sandbox).await, [0, 0, 0, 0]);
    appended(append(&store, &one("a", Expected::NONE)).await);
    for expected in [Expected::NONE, exact(2)] {
        let answer = append(&store, &with_all(expected)).await;
        assert_eq!(answer, AppendAnswer::Conflict { actual: Version(1) });
    }
    assert_eq!(counts(&sandbox).await, [1, 1, 0, 0]);
}

async fn the_same_append_again_gives_the_first_result(mode: Mode) {
    let Some(sandbox) = Sandbox::new(mode).await else { return };
    let store = sandbox.store().await;
    for (at, expected) in [Expected::NONE, exact(2), Expected::Any].into_iter().enumerate() {
        let base = fresh();
        let events = vec![event(), event()];
        let first = Append::new(stream("a"), expected, events)
            .with_dispatches(vec![dispatch(base, "1"), dispatch(base + 1, "2")]);
        let done = appended(append(&store, &first).await);
        appended(append(&store, &one("b", Expected::Any)).await);
        let before = counts(&sandbox).await;
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
        assert_eq!(counts(&sandbox).await, before, "{at}");
    }
}

#[tokio::test]
async fn s28_the_same_append_again_gives_the_first_result() {
    the_same_append_again_gives_the_first_result(Mode::Direct).await;
}

#[tokio::test]
async fn s28_pgbouncer_the_same_append_again_gives_the_first_result() {
    the_same_append_again_gives_the_first_result(Mode::Pooled).await;
}

#[tokio::test]
async fn s53_a_marked_message_takes_effect_once() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let marked = |mark| one("a", Expected::Any).with_mark(mark).with_dispatches(vec![dispatch(fresh(), "1")]);
    appended(append(&store, &marked(mark(1))).await);
    let before = counts(&sandbox).await;
    assert_eq!(append(&store, &marked(mark(1))).await, AppendAnswer::Duplicate);
    let unknown = InboxMark { fingerprint: None, ..mark(1) };
    assert_eq!(append(&store, &marked(unknown)).await, AppendAnswer::Duplicate);
    let other = InboxMark { fingerprint: Some(Uuid::from_u128(8)), ..mark(1) };
    assert_eq!(append(&store, &marked(other)).await, AppendAnswer::Differs);
    let conflict = one("a", exact(77)).with_mark(mark(1));
    assert_eq!(append(&store, &conflict).await, AppendAnswer::Duplicate, "the mark comes first");
    assert_eq!(counts(&sandbox).await, before);

    let refusal = InboxMark { refused: Some("no".into()), ..mark(2) };
    let refused = Append::new(stream("new"), Expected::Any, Vec::new()).with_mark(refusal.clone());
    let done = appended(append(&store, &refused).await);
    assert_eq!(done, Appended { version: Version(0), position: None, repeated: false });
    let again = append(&store, &marked(InboxMark { refused: None, ..refusal })).await;
    assert_eq!(again, AppendAnswer::Refused { reason: "no".into() });
    let [streams, events, messages, _] = counts(&sandbox).await;
    assert_eq!([streams, events, messages], before[..3], "a refusal makes no stream");
}

#[tokio::test]
async fn an_append_without_events_checks_the_version_and_makes_no_stream() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
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
    assert_eq!(counts(&sandbox).await, [1, 1, 1, 2]);
}

#[tokio::test]
async fn s46_a_dispatch_that_is_there_must_say_the_same() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    store.enqueue(&[dispatch(1, "1")], &Default::default()).await.unwrap();
    let with = |dispatches| one("a", Expected::NONE).with_dispatches(dispatches);
    let differs = [vec![dispatch(2, "1"), dispatch(1, "2")], vec![dispatch(3, "1"), dispatch(3, "2")]];
    for dispatches in differs {
        let error = store.append(&with(dispatches), &Limits::default()).await.unwrap_err();
        assert!(matches!(error, AppendError::Dispatch(MessageError::Conflict { .. })), "{error}");
    }
    assert_eq!(counts(&sandbox).await, [0, 0, 1, 0]);
    let same = vec![dispatch(1, "1"), dispatch(2, "1"), dispatch(2, "1")];
    assert!(!appended(append(&store, &with(same)).await).repeated);
    assert_eq!(counts(&sandbox).await, [1, 1, 2, 0]);
    // The ids of dispatches often follow from stream and version: who comes second has lost the race, and no more.
    let late = one("a", Expected::NONE).with_dispatches(vec![dispatch(2, "3")]);
    assert_eq!(append(&store, &late).await, AppendAnswer::Conflict { actual: Version(1) });
}

#[tokio::test]
async fn b12_dispatches_need_an_outbox() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let sends = one("a", Expected::NONE).with_dispatches(vec![dispatch(1, "1")]);
    let transaction = user.transaction().await.unwrap();
    let error = store.events().append_on(&transaction, &sends).await.unwrap_err();
    assert!(matches!(error, AppendError::Problem(AppendProblem::NoOutbox { dispatches: 1 })), "{error}");
    appended(store.events().with_outbox().append_on(&transaction, &sends).await.unwrap());
    transaction.commit().await.unwrap();
    assert_eq!(counts(&sandbox).await, [1, 1, 1, 0]);
}

/// Whatever an append in the user's transaction comes to, nothing is left of it, and the transaction goes on.
async fn a_user_s_transaction_goes_on_after_an_append_that_came_to_nothing(mode: Mode) {
    let Some(sandbox) = Sandbox::new(mode).await else { return };
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let events = store.events().with_outbox();
    appended(append(&store, &one("a", Expected::NONE).with_mark(mark(1))).await);
    store.enqueue(&[dispatch(1, "1")], &Default::default()).await.unwrap();
    let before = counts(&sandbox).await;
    let transaction = user.transaction().await.unwrap();
    let conflict = events.append_on(&transaction, &one("a", Expected::NONE)).await.unwrap();
    assert_eq!(conflict, AppendAnswer::Conflict { actual: Version(1) });
    let duplicate = one("a", exact(1)).with_mark(mark(1)).with_dispatches(vec![dispatch(2, "1")]);
    assert_eq!(events.append_on(&transaction, &duplicate).await.unwrap(), AppendAnswer::Duplicate);
    let differs = one("a", exact(1)).with_dispatches(vec![dispatch(2, "1"), dispatch(1, "2")]);
    let error = events.append_on(&transaction, &differs).await.unwrap_err();
    assert!(matches!(error, AppendError::Dispatch(MessageError::Conflict { .. })), "{error}");
    let last =
        one("a", exact(1)).with_mark(mark(2)).with_dispatches(vec![dispatch(1, "1"), dispatch(2, "1")]);
    assert_eq!(appended(events.append_on(&transaction, &last).await.unwrap()).version, Version(2));
    appended(events.append_on(&transaction, &one("b", Expected::Any)).await.unwrap());
    assert_eq!(counts(&sandbox).await, before, "nothing can be seen yet");
    transaction.commit().await.unwrap();
    assert_eq!(counts(&sandbox).await, [2, 3, 2, 2]);
}

#[tokio::test]
async fn s36_a_user_s_transaction_goes_on_after_an_append_that_came_to_nothing() {
    a_user_s_transaction_goes_on_after_an_append_that_came_to_nothing(Mode::Direct).await;
}

#[tokio::test]
async fn s36_pgbouncer_a_user_s_transaction_goes_on_after_an_append_that_came_to_nothing() {
    a_user_s_transaction_goes_on_after_an_append_that_came_to_nothing(Mode::Pooled).await;
}

#[cfg(feature = "sqlx")]
async fn a_transaction_of_sqlx_goes_on_as_well(mode: Mode) {
    use sqlx::Connection as _;
    let Some(sandbox) = Sandbox::new(mode).await else { return };
    let store = sandbox.store().await;
    let events = store.events().with_outbox();
    appended(append(&store, &one("a", Expected::NONE).with_mark(mark(1))).await);
    let mut connection = sandbox.sqlx().await;
    let mut tx = connection.begin().await.unwrap();
    let conflict = events.append_in(&mut tx, &one("a", Expected::NONE)).await.unwrap();
    assert_eq!(conflict, AppendAnswer::Conflict { actual: Version(1) });
    let duplicate = one("a", exact(1)).with_mark(mark(1));
    assert_eq!(events.append_in(&mut tx, &duplicate).await.unwrap(), AppendAnswer::Duplicate);
    let last = one("a", exact(1)).with_mark(mark(2)).with_dispatches(vec![dispatch(1, "1")]);
    assert_eq!(appended(events.append_in(&mut tx, &last).await.unwrap()).version, Version(2));
    tx.commit().await.unwrap();
    assert_eq!(counts(&sandbox).await, [1, 2, 1, 2]);
    let mut tx = connection.begin().await.unwrap();
    appended(events.append_in(&mut tx, &one("b", Expected::Any)).await.unwrap());
    tx.rollback().await.unwrap();
    assert_eq!(counts(&sandbox).await, [1, 2, 1, 2], "rolled back");
}

#[cfg(feature = "sqlx")]
#[tokio::test]
async fn s36_a_transaction_of_sqlx_goes_on_as_well() {
    a_transaction_of_sqlx_goes_on_as_well(Mode::Direct).await;
}

#[cfg(feature = "sqlx")]
#[tokio::test]
async fn s36_pgbouncer_a_transaction_of_sqlx_goes_on_as_well() {
    a_transaction_of_sqlx_goes_on_as_well(Mode::Pooled).await;
}

#[tokio::test]
async fn snapshots_never_go_back() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    assert_eq!(store.load_snapshot(&stream("a")).await.unwrap(), None);
    let snapshot = |version, payload: &str| Snapshot {
        stream: stream("a"),
        version: Version(version),
        kind: "loan".into(),
        schema: 2,
        body: Body::Text(payload.into()),
    };
    for (saved, stands) in
        [((4, "1"), (4, "1")), ((3, "2"), (4, "1")), ((4, "3"), (4, "3")), ((9, "4"), (9, "4"))]
    {
        store.save_snapshot(&snapshot(saved.0, saved.1)).await.unwrap();
        let there = store.load_snapshot(&stream("a")).await.unwrap();
        assert_eq!(there, Some(snapshot(stands.0, stands.1)));
    }
}

/// A role with the rights that the documentation names, and no others.
#[tokio::test]
async fn the_rights_that_are_named_are_enough() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, client) = (sandbox.store().await, sandbox.superuser().await);
    let role = format!("{}role", sandbox.prefix);
    let table = |name: &str| sandbox.table(name);
    let grants = format!(
        "CREATE ROLE {role}; GRANT SELECT, INSERT ON {}, {}, {} TO {role}; GRANT SELECT, INSERT, UPDATE ON {} TO {role}; \
         GRANT INSERT ON {} TO {role}; GRANT SELECT ON {} TO {role}; SET ROLE {role}",
        table("events"),
        table("inbox"),
        table("outbox"),
        table("streams"),
        table("outbox_pending"),
        table("events_position_seq"),
    );
    client.batch_execute(&grants).await.unwrap();
    let all = one("a", Expected::Any).with_mark(mark(1)).with_dispatches(vec![dispatch(1, "1")]);
    let events = store.events().with_outbox();
    client.batch_execute("BEGIN").await.unwrap();
    appended(events.append_on(&client, &all).await.unwrap());
    appended(events.append_on(&client, &one("a", exact(1))).await.unwrap());
    client.batch_execute("COMMIT; RESET ROLE").await.unwrap();
    client.batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
    assert_eq!(counts(&sandbox).await, [1, 2, 1, 1]);
}

/// The tables are found by their schema, whatever the path of the one who appends is.
#[tokio::test]
async fn a_schema_of_its_own_needs_no_search_path() {
    let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
    let mut options = sandbox.options();
    let schema = format!("{}home", sandbox.prefix);
    options.naming.schema = Some(tenure_core::naming::Identifier::new("schema", &schema).unwrap());
    let store = PostgresStore::connect(options).await.unwrap();
    tenure_core::contract::Schema::migrate(&store).await.unwrap();
    let mut user = sandbox.user().await;
    user.batch_execute("SET search_path = pg_catalog").await.unwrap();
    let transaction = user.transaction().await.unwrap();
    let all = one("a", Expected::Any).with_mark(mark(1)).with_dispatches(vec![dispatch(1, "1")]);
    appended(store.events().with_outbox().append_on(&transaction, &all).await.unwrap());
    transaction.commit().await.unwrap();
    assert_eq!(store.read_all(Position::START, 10).await.unwrap().events.len(), 1);
    sandbox.superuser().await.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).await.unwrap();
}

/// An append whose caller went away is there as a whole or not at all, and the next one finds a connection.
#[tokio::test]
async fn s35_an_append_that_is_dropped_leaves_nothing_half_done() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    for micros in (0..4000).step_by(200) {
        let all =
            one("a", Expected::Any).with_dispatches(vec![dispatch(fresh(), "1")]).with_mark(mark(fresh()));
        let _ =
            tokio::time::timeout(Duration::from_micros(micros), store.append(&all, &Limits::default())).await;
    }
    appended(append(&store, &one("b", Expected::Any)).await);
    // passes time: the server may still be at work on the last one
    tokio::time::sleep(Duration::from_millis(200)).await;
    let [_, events, messages, marks] = counts(&sandbox).await;
    assert_eq!((events - 1, messages), (marks, marks));
}

#[tokio::test]
async fn a_call_without_a_schema_says_how_to_make_one() {
    let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
    let error = sandbox.store().await.append(&one("a", Expected::Any), &Limits::default()).await.unwrap_err();
    assert!(matches!(error, AppendError::Store(StoreError::SchemaMissing { .. })), "{error}");
}

#[tokio::test]
async fn a_row_that_nobody_of_us_wrote_is_told_with_its_reason() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, client) = (sandbox.store().await, sandbox.superuser().await);
    appended(append(&store, &Append::new(stream("a"), Expected::NONE, vec![event(), event()])).await);
    appended(append(&store, &one("b", Expected::NONE)).await);
    let all = store.read_all(Position::START, 10).await.unwrap().events;
    let (damaged, table) = (all[1].position, sandbox.table("events"));
    for (damage, stream_left, part) in [
        ("type = ''", true, "type"),
        ("headers = '['", true, "headers"),
        ("headers = '{\"a\":1}'", true, "headers"),
        ("schema_version = -1", true, "schema_version"),
        ("schema_version = 0", true, "schema"),
        ("payload = NULL", true, "no payload"),
        ("payload_bytes = ''", true, "two payloads"),
        ("version = -2", true, "version is -2"),
        ("stream = ''", false, "stream"),
        ("stream = E'a\\nb'", false, "stream"),
    ] {
        let keep = format!("CREATE TEMP TABLE kept AS SELECT * FROM {table} WHERE position = {damaged}");
        client.batch_execute(&keep).await.unwrap();
        let sql = format!("UPDATE {table} SET {damage} WHERE position = {damaged}");
        client.batch_execute(&sql).await.unwrap();
        let page = store.read_all(Position::START, 10).await.unwrap();
        assert_eq!(page.events, [all[0].clone(), all[2].clone()], "{damage}");
        let [row] = &page.unreadable[..] else { panic!("{damage}: {:?}", page.unreadable) };
        assert_eq!((row.position, row.stream.is_some()), (damaged, stream_left), "{damage}");
        assert!(row.reason.contains(part), "{damage}: {}", row.reason);
        if stream_left {
            let error =
                store.read_stream(&StreamRead::backward(stream("a"), 10)).await.unwrap_err().to_string();
            let place = format!("position {damaged}");
            assert!(error.contains(&place) && error.contains(part), "{damage}: {error}");
        }
        let mend = format!(
            "DELETE FROM {table} WHERE position = {damaged}; \
             INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM kept; DROP TABLE kept"
        );
        client.batch_execute(&mend).await.unwrap();
    }
    assert_eq!(store.read_all(Position::START, 10).await.unwrap().events, all);
    // A table that is not ours is no matter of single rows: they would all be put aside.
    client.batch_execute(&format!("ALTER TABLE {table} ALTER event_id TYPE text")).await.unwrap();
    let error = sandbox.store().await.read_all(Position::START, 10).await.unwrap_err().to_string();
    assert!(error.contains("event_id") && error.contains("text"), "{error}");
}
