//! Events come in, and what an append comes to.

use std::time::{Duration, Instant};

use tenure_core::contract::{AppendError, EventStore};
use tenure_core::event::{
    Append, AppendAnswer, AppendProblem, Appended, Direction, Expected, Limits, Metadata, Position,
    StreamRead, Version,
};
use tenure_core::outbox::{Body, MessageError, NewMessage};
use tenure_sqlite::SqliteStore;
use uuid::Uuid;

use crate::backend::SqliteFile;
use crate::events::{
    all, any, append, at, conflict, count, event, first, mark, message_id, numbers, read, rows, stream,
};
use crate::outbox::look;

#[tokio::test]
async fn an_event_is_read_as_it_was_appended() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let mut full = event(7);
    full.schema = 3;
    full.body = Body::Bytes(vec![0, 159, 255]);
    full.metadata = Metadata {
        message_id: Some(message_id(1)),
        correlation: Some("story-ä".into()),
        causation: Some("m'1".into()),
        headers: [("traceparent".to_owned(), "00-\"x\"".to_owned())].into(),
    };
    let appended = first(append(&store, &at("s", 0, &[]).with_mark(mark(9))).await);
    assert_eq!(appended, Appended { version: Version(0), position: None, repeated: false });
    let both = Append::new(stream("s"), Expected::NONE, vec![full.clone(), event(8)]);
    let appended = first(append(&store, &both).await);
    assert_eq!((appended.version, appended.position), (Version(2), Some(Position(2))));
    let events = read(&store, "s").await;
    let recorded = &events[0];
    assert_eq!((recorded.id, &recorded.kind, recorded.schema), (full.id, &full.kind, 3));
    assert_eq!((&recorded.body, &recorded.metadata), (&full.body, &full.metadata));
    assert_eq!((recorded.position, recorded.version), (Position(1), Version(1)));
    assert!(recorded.recorded_at.as_micros() > 1_700_000_000_000_000);
    assert_eq!(events[1].body, Body::Text("8".into()));
    // Ids stand in the rows as people search for them.
    let id: String = file
        .raw()
        .query_row("select event_id from tenure_events where position = 1", [], |row| row.get(0))
        .unwrap();
    assert_eq!(id, "00000000-0000-0000-0000-000000000007");
}

#[tokio::test]
async fn a_stream_is_read_both_ways() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    first(append(&store, &at("s", 0, &[1, 2, 3, 4, 5])).await);
    first(append(&store, &at("t", 0, &[6])).await);
    let page = async |direction, from: Option<i64>, limit| {
        let read = StreamRead { stream: stream("s"), direction, from: from.map(Version), limit };
        let page = store.read_stream(&read).await.unwrap();
        assert_eq!(page.version, Version(5));
        numbers(&page.events)
    };
    assert_eq!(page(Direction::Forward, None, 2).await, [1, 2]);
    assert_eq!(page(Direction::Forward, Some(4), 9).await, [4, 5]);
    assert_eq!(page(Direction::Forward, Some(6), 9).await, []);
    assert_eq!(page(Direction::Backward, None, 2).await, [5, 4]);
    assert_eq!(page(Direction::Backward, Some(2), 9).await, [2, 1]);
    assert_eq!(page(Direction::Backward, None, 0).await, [5], "at least one");
}

#[tokio::test]
async fn s29_of_two_with_one_expected_version_the_second_leaves_no_row() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    first(append(&store, &at("s", 0, &[1])).await);
    let before = rows(&file);
    let second = at("s", 0, &[2]).with_dispatches(vec![NewMessage::json("t", "k", "1")]).with_mark(mark(1));
    assert_eq!(append(&store, &second).await, conflict(1));
    assert_eq!(append(&store, &at("s", 2, &[2])).await, conflict(1), "a gap");
    assert_eq!(append(&store, &at("new", 1, &[2])).await, conflict(0));
    // The version is checked for those too who have nothing to append.
    assert_eq!(append(&store, &at("s", 4, &[]).with_mark(mark(1))).await, conflict(1));
    assert_eq!(rows(&file), before);
    let again = Append { expected: Expected::Exact(Version(1)), ..second };
    let appended = first(append(&store, &again).await);
    assert_eq!((appended.version, appended.position), (Version(2), Some(Position(2))), "no position is lost");
    assert_eq!(rows(&file), [1, 2, 1, 1, 1]);
}

#[tokio::test]
async fn s28_a_retry_gives_the_first_result() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let dispatch = NewMessage::json("t", "k", "1").from_version("s", 2, 0);
    let exact = at("s", 0, &[1, 2]).with_dispatches(vec![dispatch]);
    let free = any("s", &[3, 4]);
    let (one, two) = (first(append(&store, &exact).await), first(append(&store, &free).await));
    first(append(&store, &at("s", 4, &[5])).await);
    let before = rows(&file);
    for (again, then) in [(&exact, one), (&free, two)] {
        let repeated = AppendAnswer::Appended(Appended { repeated: true, ..then });
        assert_eq!(append(&store, again).await, repeated);
        let mut connection = file.raw();
        let transaction = connection.transaction().unwrap();
        let events = store.events().with_outbox();
        assert_eq!(events.append_in(&transaction, again).unwrap(), repeated);
        transaction.commit().unwrap();
    }
    assert_eq!(
        append(&store, &at("s", 0, &[1])).await,
        AppendAnswer::Appended(Appended { version: Version(1), position: Some(Position(1)), repeated: true }),
        "the ids of its places say it"
    );
    assert_eq!(append(&store, &at("s", 0, &[1, 3])).await, conflict(5), "a part of it");
    for (id, taken) in [(4, any("s", &[4, 9])), (3, any("other", &[3]))] {
        assert_eq!(taken_id(&store, &taken).await, Uuid::from_u128(id), "a part of it, or of another stream");
    }
    assert_eq!(rows(&file), before);
}

/// The id that is another event's already.
async fn taken_id(store: &SqliteStore, append: &Append) -> Uuid {
    match EventStore::append(store, append, &Limits::default()).await.unwrap_err() {
        AppendError::Problem(AppendProblem::OtherContent { id }) => id,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn s57_the_same_id_with_another_content_is_told() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    first(append(&store, &at("s", 0, &[1])).await);
    first(append(&store, &any("s", &[2])).await);
    for (id, mut other) in [(1, at("s", 0, &[1])), (2, any("s", &[2]))] {
        other.events[0].body = Body::Text("0".into());
        assert_eq!(taken_id(&store, &other).await, Uuid::from_u128(id));
    }
    assert_eq!(numbers(&all(&store).await.events), [1, 2]);
}

#[tokio::test]
async fn a_message_is_marked_with_what_came_of_it() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let print = |number| Some(Uuid::from_u128(number));
    let marked = |number| {
        at("s", 0, &[1]).with_mark(tenure_core::event::InboxMark { fingerprint: print(number), ..mark(1) })
    };
    first(append(&store, &marked(5)).await);
    let before = rows(&file);
    assert_eq!(append(&store, &marked(5)).await, AppendAnswer::Duplicate);
    assert_eq!(append(&store, &marked(6)).await, AppendAnswer::Differs);
    assert_eq!(append(&store, &at("s", 0, &[1]).with_mark(mark(1))).await, AppendAnswer::Duplicate);
    assert_eq!(rows(&file), before);

    let mut refusal = mark(2);
    refusal.refused = Some("no\0t lent".into());
    let refused = any("s", &[]).with_mark(refusal);
    let appended = first(append(&store, &refused).await);
    assert_eq!(appended, Appended { version: Version(1), position: None, repeated: false });
    let reason = "no\u{fffd}t lent".to_owned();
    let again = at("s", 1, &[2]).with_mark(mark(2));
    assert_eq!(append(&store, &again).await, AppendAnswer::Refused { reason: reason.clone() });
    assert_eq!(append(&store, &refused).await, AppendAnswer::Refused { reason });
    // A mark alone makes no stream.
    first(append(&store, &any("nothing", &[]).with_mark(mark(3))).await);
    assert_eq!(rows(&file), [1, 1, 0, 0, 3]);
}

#[tokio::test]
async fn s48_dispatches_stand_in_the_outbox_in_their_order() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let dispatches: Vec<_> =
        (0..5).map(|at| NewMessage::json("t", "k", at.to_string()).from_version("s", 1, at)).collect();
    first(append(&store, &at("s", 0, &[1]).with_dispatches(dispatches.clone())).await);
    let sent = look(&store).await.rows;
    assert_eq!(sent.iter().map(|row| row.sequence.index).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    // What is there already is not sent again; with another content, nothing of the append is written.
    first(append(&store, &at("s", 1, &[2]).with_dispatches(dispatches[..1].to_vec())).await);
    assert_eq!(count(&file, "outbox"), 5);
    let before = rows(&file);
    let mut other = dispatches[4].clone();
    other.topic = "other".into();
    let clash =
        at("s", 2, &[3]).with_dispatches(vec![NewMessage::json("t", "k", "9"), other]).with_mark(mark(1));
    let error = EventStore::append(&store, &clash, &Limits::default()).await.unwrap_err();
    assert!(
        matches!(error, AppendError::Dispatch(MessageError::Conflict { differs: "topic", .. })),
        "{error}"
    );
    assert_eq!(rows(&file), before);
}

/// Whatever the answer was, the user's own writes before and after it are committed, and nothing of the append.
/// A deferred transaction that begins with an append waits for its turn like any other.
#[tokio::test]
async fn s20_hostile_names_are_kept_apart() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let long = "x".repeat(500);
    let names = ["'; drop table tenure_events; --", "a", "A", "a ", "ä", "a\u{308}", "%", "\"", &long];
    for (name, number) in names.iter().zip(1..) {
        first(append(&store, &at(name, 0, &[number])).await);
    }
    for (name, number) in names.iter().zip(1..) {
        let events = read(&store, name).await;
        assert_eq!((numbers(&events), events[0].stream.as_str()), (vec![number], *name));
    }
}

/// What is looked for is found by its index, however many rows there are.
#[tokio::test]
async fn an_append_and_a_page_cost_the_same_with_many_rows() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    file.raw()
        .execute_batch(
            "with recursive n (n) as (select 1 union all select n + 1 from n where n < 200000) \
             insert into tenure_events (stream, version, event_id, type, schema_version, recorded_at, any_version, payload) \
             select 's' || (n % 1000), n / 1000 + 1, printf('%032x', n), 'k', 1, 0, n % 2, '{}' from n; \
             insert into tenure_streams select stream, max(version) from tenure_events group by stream",
        )
        .unwrap();
    first(append(&store, &any("s1", &[1])).await);
    let start = Instant::now();
    for number in 2..=200_u128 {
        first(append(&store, &any(&format!("s{number}"), &[1000 * number])).await);
        assert!(matches!(append(&store, &at("s1", 3, &[number])).await, AppendAnswer::Conflict { .. }));
        store.read_all(Position(100_000), 1).await.unwrap();
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    let plan = "explain query plan select 1 from tenure_events where event_id in (select value from json_each('[]')) \
                and any_version = 1";
    let connection = file.raw();
    let mut statement = connection.prepare(plan).unwrap();
    let lines = statement
        .query_map([], |row| row.get::<_, String>(3))
        .unwrap()
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    assert!(lines.iter().any(|line| line.contains("tenure_events_any_version (event_id=?)")), "{lines:?}");
}
