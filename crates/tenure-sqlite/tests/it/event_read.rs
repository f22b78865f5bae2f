//! Reading all events in order, waking those who wait for more, and snapshots.

use std::path::Path;
use std::time::{Duration, Instant};

use tenure_core::contract::{EventStore, Wakeup};
use tenure_core::event::{Position, Recorded, Snapshot, StreamRead, Version};
use tenure_core::outbox::Body;
use tenure_sqlite::{SqliteOptions, SqliteStore};
use tokio::time::timeout;

use crate::backend::SqliteFile;
use crate::child::{Child, said, wait_for_go};
use crate::events::{all, any, append, at, first, numbers, stream};

const LONG: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(150);
const WRITERS: usize = 4;
const APPENDS: usize = 100;

#[tokio::test]
async fn a_page_says_how_far_it_was_read() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    assert_eq!((all(&store).await.read_to, all(&store).await.head), (Position(0), Position(0)));
    first(append(&store, &at("a", 0, &[1, 2])).await);
    first(append(&store, &at("b", 0, &[3])).await);
    let page = async |after, limit| {
        let page = store.read_all(Position(after), limit).await.unwrap();
        assert_eq!((page.head, page.stall), (Position(3), None));
        (numbers(&page.events), page.read_to.0)
    };
    assert_eq!(page(0, 2).await, (vec![1, 2], 2));
    assert_eq!(page(2, 2).await, (vec![3], 3));
    assert_eq!(page(0, 3).await, (vec![1, 2, 3], 3));
    assert_eq!(page(3, 9).await, (vec![], 3));
    // Someone deleted the last event: its position stays given out.
    file.raw().execute("delete from tenure_events where position = 3", []).unwrap();
    assert_eq!(page(2, 9).await, (vec![], 3));
    first(append(&store, &at("c", 0, &[4])).await);
    assert_eq!(all(&store).await.events.last().unwrap().position, Position(4));
}

/// Catalogue: a file that was restored from an older copy has a head below what its readers know.
#[tokio::test]
async fn a_restored_file_shows_by_its_head() {
    let (file, copy) = (SqliteFile::start().await, SqliteFile::nothing_yet());
    let store = file.connect().await;
    first(append(&store, &at("a", 0, &[1])).await);
    file.raw().execute("vacuum into ?1", [copy.path().to_str().unwrap()]).unwrap();
    first(append(&store, &at("a", 1, &[2, 3])).await);
    let page = copy.connect().await.read_all(Position(3), 10).await.unwrap();
    assert_eq!((page.head, page.read_to, page.events.len()), (Position(1), Position(1), 0));
}

#[tokio::test]
async fn a_row_that_nobody_of_us_wrote_is_named_by_its_position() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    first(append(&store, &at("a", 0, &[1, 2])).await);
    first(append(&store, &at("b", 0, &[3])).await);
    for (damage, stream_left, part) in [
        ("event_id = 'no id'", true, "event_id"),
        ("type = ''", true, "type"),
        ("type = cast(x'ff' as text)", true, "utf-8"),
        ("headers = '['", true, "headers"),
        ("schema_version = -1", true, "schema_version"),
        ("schema_version = 0", true, "schema"),
        ("message_id = 'no id'", true, "message_id"),
        ("payload = null", true, "payload"),
        ("payload_bytes = x'00'", true, "payload"),
        ("version = -2", true, "version is -2"),
        ("stream = ''", false, "stream"),
    ] {
        let mut connection = file.raw();
        let transaction = connection.transaction().unwrap();
        transaction.execute_batch("create temp table kept as select * from tenure_events").unwrap();
        transaction.commit().unwrap();
        connection.execute(&format!("update tenure_events set {damage} where position = 2"), []).unwrap();
        let page = store.read_all(Position(0), 10).await.unwrap();
        assert_eq!(numbers(&page.events), [1, 3], "{damage}");
        let [row] = &page.unreadable[..] else { panic!("{damage}: {:?}", page.unreadable) };
        assert_eq!((row.position, row.stream.is_some()), (Position(2), stream_left), "{damage}");
        assert!(row.reason.to_lowercase().contains(part), "{damage}: {}", row.reason);
        if stream_left {
            let read = StreamRead::backward(stream("a"), 10);
            let error = store.read_stream(&read).await.unwrap_err().to_string();
            assert!(error.contains("position 2") && error.to_lowercase().contains(part), "{damage}: {error}");
        }
        connection
            .execute_batch(
                "delete from tenure_events; insert into tenure_events select * from kept; drop table kept",
            )
            .unwrap();
    }
}

/// Catalogue 37 and 34: many processes read and write the same streams all the time, and one reads along.
#[tokio::test]
async fn s37_s34_processes_that_append_at_once_are_never_told_that_the_store_is_busy() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let mut children: Vec<_> = (0..WRITERS).map(|_| Child::start("append", &file.path())).collect();
    for child in &mut children {
        assert_eq!(child.line(), "ready");
    }
    children.iter_mut().for_each(Child::go);
    let (mut after, mut seen) = (Position::START, Vec::<Recorded>::new());
    let end = Instant::now() + 3 * LONG;
    while seen.len() < WRITERS * APPENDS {
        let page = store.read_all(after, 7).await.unwrap();
        assert!(page.read_to >= after && page.events.iter().all(|event| event.position > after));
        seen.extend(page.events);
        after = page.read_to;
        assert!(Instant::now() < end, "{} of {}", seen.len(), WRITERS * APPENDS);
    }
    for child in &mut children {
        assert_eq!(child.line(), "done");
    }
    assert!(seen.windows(2).all(|pair| pair[0].position < pair[1].position));
    for name in ["s0", "s1", "s2"] {
        let versions: Vec<_> =
            seen.iter().filter(|event| event.stream.as_str() == name).map(|event| event.version.0).collect();
        assert!(versions.iter().copied().eq(1..=versions.len() as i64), "{name}: {versions:?}");
    }
}

/// Appends at the version that it knows, and looks again when it was wrong.
pub(crate) async fn append_along(path: &Path) {
    let store = SqliteStore::connect(SqliteOptions::new(path)).await.unwrap();
    said("ready");
    wait_for_go();
    for number in 0..APPENDS {
        let name = format!("s{}", number % 3);
        let mut version = 0;
        let id = fastrand::u128(..);
        loop {
            match EventStore::append(&store, &at(&name, version, &[id]), &Default::default()).await {
                Ok(tenure_core::event::AppendAnswer::Appended(_)) => break,
                Ok(tenure_core::event::AppendAnswer::Conflict { actual }) => version = actual.0,
                other => return said(&format!("{other:?}")),
            }
        }
    }
    said("done");
    wait_for_go();
}

async fn watch(store: &SqliteStore) -> std::sync::Arc<dyn Wakeup> {
    let wakeup = store.watch().await.unwrap().unwrap();
    wakeup.arm(true);
    while timeout(QUIET, wakeup.hint()).await.is_ok() {}
    wakeup
}

#[tokio::test]
async fn s47_an_append_wakes_whoever_made_it() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let wakeup = watch(&store).await;
    let hinted = async || timeout(LONG, wakeup.hint()).await.is_ok_and(|hint| hint.is_ok());
    // The store itself. After its first write, the log alone tells nothing of its own ones.
    for number in 1..=4 {
        first(append(&store, &any("s", &[number])).await);
        assert!(hinted().await, "append {number}");
        while timeout(QUIET, wakeup.hint()).await.is_ok() {}
    }
    // Another connection of this process.
    let mut connection = file.raw();
    let transaction = connection.transaction().unwrap();
    first(store.events().append_in(&transaction, &any("s", &[9])).unwrap());
    transaction.commit().unwrap();
    assert!(hinted().await);
    while timeout(QUIET, wakeup.hint()).await.is_ok() {}
    // Another process.
    let mut child = Child::start("append", &file.path());
    assert_eq!(child.line(), "ready");
    while timeout(QUIET, wakeup.hint()).await.is_ok() {}
    child.go();
    assert!(hinted().await);
    assert_eq!(child.line(), "done");
}

#[tokio::test]
async fn a_snapshot_is_kept_unless_there_is_a_later_one() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    assert_eq!(store.load_snapshot(&stream("s")).await.unwrap(), None);
    let snapshot = |version, body: Body| Snapshot {
        stream: stream("s"),
        version: Version(version),
        kind: "Loan".into(),
        schema: 2,
        body,
    };
    let (old, new) = (snapshot(3, Body::Text("{}".into())), snapshot(5, Body::Bytes(vec![0, 255])));
    for (saved, kept) in [(&old, &old), (&new, &new), (&old, &new)] {
        store.save_snapshot(saved).await.unwrap();
        assert_eq!(store.load_snapshot(&stream("s")).await.unwrap().as_ref(), Some(kept));
    }
    let same = snapshot(5, Body::Text("1".into()));
    store.save_snapshot(&same).await.unwrap();
    assert_eq!(store.load_snapshot(&stream("s")).await.unwrap(), Some(same));
    assert_eq!(store.load_snapshot(&stream("S")).await.unwrap(), None);
}
