//! Messages that other programs insert come into the queue by a relay; until then they stand in the order of their source all
//! the same.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _};
use tenure_core::contract::{EventStore as _, OutboxAdmin as _, OutboxStore as _};
use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, StreamName};
use tenure_core::outbox::{
    Discover, Filter, Kind, LaneLook, Look, NewMessage, Next, Page, Part, Retention, Selection, State,
};
use tenure_sql::SqlStore;

use crate::outbox::{everything, look, node, outcome};
use crate::sandbox::{Sandbox, on_both};

const NONE: [i64; 0] = [];

/// What a program that knows nothing of Tenure does.
async fn insert(user: &mut MySqlConnection, sandbox: &Sandbox, source: &str, version: i64) {
    let insert = format!(
        "INSERT INTO {} (source, source_seq, topic, type, payload) VALUES ('{source}', {version}, 't', 'k', 'x')",
        sandbox.table("outbox")
    );
    sqlx::raw_sql(AssertSqlSafe(insert)).execute(user).await.unwrap();
}

async fn send(store: &SqlStore, source: &str, version: i64) {
    let message = NewMessage::json("t", "k", "{}").from_version(source, version, 0);
    store.enqueue(&[message], &Default::default()).await.unwrap();
}

/// Holds every row that is there, so that none can be put into the queue.
async fn hold(user: &mut MySqlConnection, sandbox: &Sandbox) {
    let hold = format!(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN; SELECT id FROM {} WHERE fresh = 1 FOR UPDATE",
        sandbox.table("outbox")
    );
    sqlx::raw_sql(AssertSqlSafe(hold)).fetch_all(user).await.unwrap();
}

fn versions(page: &Page, source: &str) -> Vec<i64> {
    let of = page.rows.iter().filter(|row| row.lane() == Some(source));
    of.map(|row| row.sequence.version).collect()
}

fn at_lane(source: &str) -> Look {
    let lane = LaneLook { source: source.into(), after: None, limit: 100 };
    Look { lanes: vec![lane], ..Look::default() }
}

/// Found as a source, found as one of very many rows, and asked for: three statements choose rows of sources.
#[test]
fn what_is_not_in_the_queue_yet_is_not_overtaken() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.sql().await, sandbox.user().await);
        send(&store, "s", 1).await;
        for source in ["s", "deep"] {
            insert(&mut user, &sandbox, source, 2).await;
        }
        let mut stranger = sandbox.user().await;
        hold(&mut stranger, &sandbox).await;
        for version in 3..60 {
            send(&store, "deep", version).await;
        }
        send(&store, "s", 3).await;
        send(&store, "other", 3).await;

        let page = look(&store).await;
        assert_eq!(versions(&page, "s"), NONE, "the source waits until all of it is in the queue");
        assert_eq!(versions(&page, "other"), [3], "others do not");
        assert!(page.next_due.is_some_and(|due| due > page.now), "the relay comes back soon");
        let few = Discover { after: None, sources: 3, rows_each: 2, except: Vec::new() };
        let page = store.look(&Look { discover: Some(few), ..Look::default() }).await.unwrap();
        assert_eq!(versions(&page, "deep"), NONE, "nor one that has more rows than a page");
        let page = store.look(&at_lane("s")).await.unwrap();
        assert_eq!(versions(&page, "s"), [1], "what stands before it may go");
        assert_eq!(versions(&store.look(&at_lane("deep")).await.unwrap(), "deep"), NONE);

        sqlx::raw_sql("ROLLBACK").execute(&mut stranger).await.unwrap();
        let page = look(&store).await;
        assert_eq!(versions(&page, "s"), [1, 2, 3]);
        assert_eq!(versions(&page, "deep").first(), Some(&2));
    });
}

/// A relay that is busy has rows in hand, and so does not ask first whether there is anything.
#[test]
fn a_busy_relay_puts_them_into_the_queue_too() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.sql().await, sandbox.user().await);
        insert(&mut user, &sandbox, "s", 1).await;
        assert_eq!(versions(&store.look(&at_lane("s")).await.unwrap(), "s"), [1]);
        send(&store, "s", 2).await;
        insert(&mut user, &sandbox, "s", 3).await;
        assert_eq!(versions(&store.look(&at_lane("s")).await.unwrap(), "s"), [1, 2]);
        assert_eq!(versions(&store.look(&at_lane("s")).await.unwrap(), "s"), [1, 2, 3]);
    });
}

#[test]
fn more_than_can_be_seen_hold_up_everything_that_has_a_source() {
    on_both(|sandbox| async move {
        let (store, outbox) = (sandbox.sql().await, sandbox.table("outbox"));
        let many = vec!["('x', 't', 'k', 'x')"; 1_000].join(",");
        sandbox.batch(&format!("INSERT INTO {outbox} (source, topic, type, payload) VALUES {many}")).await;
        let mut stranger = sandbox.user().await;
        hold(&mut stranger, &sandbox).await;
        send(&store, "y", 1).await;
        store.enqueue(&[NewMessage::json("t", "k", "{}")], &Default::default()).await.unwrap();
        let page = look(&store).await;
        assert_eq!((page.rows.len(), page.rows[0].lane()), (1, None));
        assert_eq!(versions(&store.look(&at_lane("y")).await.unwrap(), "y"), NONE);
        sqlx::raw_sql("ROLLBACK").execute(&mut stranger).await.unwrap();
        assert_eq!(versions(&look(&store).await, "y"), [1]);
    });
}

/// Many come at once where another program has a backlog of its own.
#[test]
fn who_cannot_see_all_of_them_says_so_until_it_can() {
    on_both(|sandbox| async move {
        let (store, outbox) = (sandbox.sql().await, sandbox.table("outbox"));
        let many = vec!["('x', 't', 'k', 'x')"; 4_000].join(",");
        for _ in 0..3 {
            sandbox
                .batch(&format!("INSERT INTO {outbox} (source, topic, type, payload) VALUES {many}"))
                .await;
        }
        let page = look(&store).await;
        assert_eq!((page.rows.len(), page.unseen), (0, true), "more than one look puts into the queue");
        assert_eq!(page.next_due, Some(page.now), "it goes on at once");
        let page = look(&store).await;
        assert!(!page.rows.is_empty() && !page.unseen);

        insert(&mut sandbox.user().await, &sandbox, "y", 1).await;
        let mut stranger = sandbox.user().await;
        hold(&mut stranger, &sandbox).await;
        let page = look(&store).await;
        assert!(page.unseen && page.next_due > Some(page.now), "what is locked may be so for long");
    });
}

/// Neither those that are open, nor what others have inserted, is waited for. What is committed late is seen then.
#[test]
fn an_open_transaction_holds_up_nobody() {
    on_both(|sandbox| async move {
        let (store, mut slow, mut quick) = (sandbox.sql().await, sandbox.user().await, sandbox.user().await);
        sqlx::raw_sql("BEGIN").execute(&mut slow).await.unwrap();
        insert(&mut slow, &sandbox, "s", 1).await;
        insert(&mut quick, &sandbox, "s", 2).await;
        insert(&mut quick, &sandbox, "other", 1).await;
        send(&store, "s", 3).await;
        let start = Instant::now();
        let page = look(&store).await;
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        assert_eq!((versions(&page, "s"), versions(&page, "other")), (vec![2, 3], vec![1]));
        assert_eq!(sandbox.count("outbox_pending").await, 3);
        sqlx::raw_sql("COMMIT").execute(&mut slow).await.unwrap();
        assert_eq!(versions(&look(&store).await, "s"), [1, 2, 3], "by its place");
    });
}

/// At the servers' default isolation a page that is split makes locks of gaps of the locks of open transactions.
#[test]
fn an_open_transaction_holds_up_nobody_while_very_many_come() {
    on_both(|sandbox| async move {
        let (store, outbox) = (sandbox.sql().await, sandbox.table("outbox"));
        let mut open = Vec::new();
        for _ in 0..5 {
            let mut user = sandbox.user().await;
            let begin = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN";
            sqlx::raw_sql(begin).execute(&mut user).await.unwrap();
            insert(&mut user, &sandbox, "open", 1).await;
            // As the library does, which puts it into the queue itself.
            let own = format!(
                "INSERT INTO {outbox} (source, topic, type, payload, fresh) VALUES ('o', 't', 'k', 'x', NULL)"
            );
            sqlx::raw_sql(AssertSqlSafe(own)).execute(&mut user).await.unwrap();
            open.push(user);
        }
        let many = vec!["('s', 't', 'k', 'x')"; 4_000].join(",");
        for mut user in open {
            for _ in 0..3 {
                sandbox
                    .batch(&format!("INSERT INTO {outbox} (source, topic, type, payload) VALUES {many}"))
                    .await;
            }
            for _ in 0..3 {
                let start = Instant::now();
                look(&store).await;
                assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
            }
            sqlx::raw_sql("COMMIT").execute(&mut user).await.unwrap();
        }
        look(&store).await;
        assert_eq!(sandbox.count("outbox_pending").await, 60_005);
    });
}

#[test]
fn of_two_who_put_them_into_the_queue_each_takes_some() {
    on_both(|sandbox| async move {
        let (one, other, outbox) = (sandbox.sql().await, sandbox.sql().await, sandbox.table("outbox"));
        let many = vec!["('t', 'k', 'x')"; 3_000].join(",");
        sandbox.batch(&format!("INSERT INTO {outbox} (topic, type, payload) VALUES {many}")).await;
        let everything = everything();
        let (first, second) = tokio::join!(one.look(&everything), other.look(&everything));
        let seen = first.unwrap().rows.len().max(second.unwrap().rows.len());
        assert_eq!((sandbox.count("outbox_pending").await, seen), (3_000, 1_000));
        let left = sandbox.query(&format!("SELECT 1 FROM {outbox} WHERE fresh IS NOT NULL")).await;
        assert!(left.is_empty());
    });
}

/// Drains a part until told to stop and nothing is left; answers what was delivered, in order.
async fn drain(store: SqlStore, part: Part, stop: Arc<AtomicBool>) -> Vec<(String, i64)> {
    let mut delivered = Vec::new();
    loop {
        let last = stop.load(Ordering::SeqCst);
        let page = store.look(&Look { part: Some(part), ..everything() }).await.unwrap();
        let done: Vec<_> =
            page.rows.iter().map(|row| outcome(row.id, 1, Kind::Success, Next::Done)).collect();
        if done.is_empty() && last {
            return delivered;
        }
        for row in page.rows {
            delivered.push((row.lane().unwrap_or_default().to_owned(), row.sequence.version));
        }
        store.record(None, &node(), &done).await.unwrap();
    }
}

/// Messages of the same sources by the library and by other programs in turn, and two relays of parts, which both put into the
/// queue what they find.
#[test]
fn order_holds_among_messages_of_both_kinds() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.sql().await, sandbox.user().await);
        let stop = Arc::new(AtomicBool::new(false));
        let relays: Vec<_> = Part::all(2)
            .unwrap()
            .map(|part| tokio::spawn(drain(store.clone(), part, Arc::clone(&stop))))
            .collect();
        for version in 0..60 {
            for source in ["a", "b", "c", "d"] {
                match version % 2 {
                    0 => insert(&mut user, &sandbox, source, version).await,
                    _ => send(&store, source, version).await,
                }
            }
        }
        stop.store(true, Ordering::SeqCst);
        let mut by_source: HashMap<String, Vec<i64>> = HashMap::new();
        for relay in relays {
            for (source, version) in relay.await.unwrap() {
                by_source.entry(source).or_default().push(version);
            }
        }
        assert_eq!(by_source.len(), 4);
        for (source, versions) in by_source {
            assert_eq!(versions, (0..60).collect::<Vec<_>>(), "{source}");
        }
        let stats = store.stats().await.unwrap();
        assert_eq!((stats.pending, stats.dispatched), (0, 240));
    });
}

/// The servers' default isolation locks what an insert reads, and the gaps around it.
#[test]
fn who_enqueues_at_repeatable_read_holds_up_no_neighbour() {
    on_both(|sandbox| async move {
        let store = sandbox.store().await;
        let session = "SET SESSION innodb_lock_wait_timeout = 1; \
                       SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN";
        let (mut one, mut other) = (sandbox.user().await, sandbox.user().await);
        for user in [&mut one, &mut other] {
            sqlx::raw_sql(session).execute(user).await.unwrap();
        }
        let ids = |of: i64| -> Vec<_> {
            (0..20).map(|n| NewMessage::json("t", "k", "{}").from_version("s", n * 3 + of, 0)).collect()
        };
        store.outbox().enqueue_all(&mut one, &ids(0)).await.unwrap();
        store.outbox().enqueue_all(&mut other, &ids(1)).await.expect("it waits for nobody");
        for message in ids(2) {
            store.sql().enqueue(&[message], &Default::default()).await.expect("nor does the store");
        }
        insert(&mut sandbox.user().await, &sandbox, "s", 99).await;
        for user in [&mut one, &mut other] {
            sqlx::raw_sql("COMMIT").execute(user).await.unwrap();
        }
        assert_eq!(versions(&look(store.sql()).await, "s"), (0..60).chain([99]).collect::<Vec<_>>());
    });
}

/// Two statements without a transaction could be parted by a crash: so it is one, and a relay does the other.
#[test]
fn without_a_transaction_a_message_is_left_to_a_relay() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.store().await, sandbox.user().await);
        let message = NewMessage::json("t", "k", "{}").from_version("s", 1, 0);
        assert!(store.outbox().enqueue(&mut user, &message).await.unwrap().fresh);
        assert_eq!((sandbox.count("outbox").await, sandbox.count("outbox_pending").await), (1, 0));
        assert!(!store.outbox().enqueue(&mut user, &message).await.unwrap().fresh);
        assert_eq!(versions(&look(store.sql()).await, "s"), [1]);

        let mut open = user.begin().await.unwrap();
        let message = NewMessage::json("t", "k", "{}").from_version("s", 2, 0);
        store.outbox().enqueue(&mut open, &message).await.unwrap();
        open.commit().await.unwrap();
        assert_eq!(sandbox.count("outbox_pending").await, 2, "with one it is in the queue at once");
    });
}

/// A message that is not in the queue, and that nobody would put there, must not be committed.
#[test]
fn a_message_that_cannot_be_put_into_the_queue_is_not_enqueued() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.store().await, sandbox.user().await);
        let (pending, aside) = (sandbox.table("outbox_pending"), sandbox.table("aside"));
        sandbox.batch(&format!("RENAME TABLE {pending} TO {aside}")).await;
        let message = NewMessage::json("t", "k", "{}").from_version("s", 1, 0);
        assert!(store.sql().enqueue(std::slice::from_ref(&message), &Default::default()).await.is_err());
        let mut open = user.begin().await.unwrap();
        assert!(store.outbox().enqueue(&mut open, &message).await.is_err());
        open.commit().await.unwrap();
        assert_eq!(sandbox.count("outbox").await, 0);
        sandbox.batch(&format!("RENAME TABLE {aside} TO {pending}")).await;
        assert!(store.sql().enqueue(&[message], &Default::default()).await.unwrap()[0].fresh);
    });
}

/// Numbers are given out anew once the messages' table was truncated by hand; their rows of the queue stay behind.
#[test]
fn what_is_left_in_the_queue_under_a_number_that_is_given_out_anew_is_written_over() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.store().await, sandbox.user().await);
        let pending = sandbox.table("outbox_pending");
        let left: Vec<_> = (1..=40).map(|id| format!("({id}, 'old', 5, 0, 7, 3)")).collect();
        sandbox
            .batch(&format!(
                "INSERT INTO {pending} (id, lane, place_a, place_b, due_us, attempts) VALUES {}",
                left.join(", ")
            ))
            .await;
        let message = |version| NewMessage::json("t", "k", "{}").from_version("new", version, 0);
        let mut open = user.begin().await.unwrap();
        for version in [1, 2] {
            assert!(store.outbox().enqueue(&mut open, &message(version)).await.unwrap().fresh);
        }
        store.outbox().enqueue_all(&mut open, &[message(3), message(4)]).await.unwrap();
        let dispatching = |stream: &str, version| {
            let stream = StreamName::of("c", stream).unwrap();
            let event = NewEvent::json(uuid::Uuid::new_v4(), "Went", "{}");
            let append = Append::new(stream, Expected::NONE, vec![event]);
            Append { dispatches: vec![message(version)], ..append }
        };
        let appended = store.events().with_outbox().append_in(&mut open, &dispatching("a", 5)).await.unwrap();
        assert!(matches!(appended, AppendAnswer::Appended(_)), "{appended:?}");
        open.commit().await.unwrap();
        assert!(store.sql().enqueue(&[message(6)], &Default::default()).await.unwrap()[0].fresh);
        let appended = store.sql().append(&dispatching("b", 7), &Default::default()).await.unwrap();
        assert!(matches!(appended, AppendAnswer::Appended(_)), "{appended:?}");
        assert_eq!(versions(&look(store.sql()).await, "new"), (1..=7).collect::<Vec<_>>());
        let over = format!("SELECT 1 FROM {pending} WHERE lane = 'new' AND attempts = 0 AND due_us > 7");
        assert_eq!(sandbox.query(&over).await.len(), 7);
    });
}

/// At REPEATABLE READ, what is looked for and not found is held, and so is what an insert has met in vain.
#[test]
fn who_meets_what_is_left_in_the_queue_holds_up_no_neighbour() {
    on_both(|sandbox| async move {
        let (store, pending) = (sandbox.store().await, sandbox.table("outbox_pending"));
        let left: Vec<_> = (1..=40).map(|id| format!("({id}, 'old', 0, 0, 0)")).collect();
        let left = left.join(", ");
        sandbox
            .batch(&format!("INSERT INTO {pending} (id, lane, place_a, place_b, due_us) VALUES {left}"))
            .await;
        let (mut one, mut other) = (sandbox.user().await, sandbox.user().await);
        let (mut one, mut other) = (one.begin().await.unwrap(), other.begin().await.unwrap());
        for version in 0..8 {
            for (user, source) in [(&mut one, "a"), (&mut other, "b")] {
                let message = NewMessage::json("t", "k", "{}").from_version(source, version, 0);
                let outbox = store.outbox();
                let enqueued =
                    tokio::time::timeout(Duration::from_secs(5), outbox.enqueue(user, &message)).await;
                assert!(enqueued.expect("it waits for nobody").unwrap().fresh);
            }
        }
        one.commit().await.unwrap();
        other.commit().await.unwrap();
        let page = look(store.sql()).await;
        assert_eq!((versions(&page, "a").len(), versions(&page, "b").len()), (8, 8));
    });
}

/// For people it is pending, and retention leaves it alone, however old it is.
#[test]
fn what_is_not_in_the_queue_yet_is_pending_all_the_same() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.sql().await, sandbox.user().await);
        send(&store, "s", 1).await;
        insert(&mut user, &sandbox, "s", 2).await;
        let (attempts, outbox) = (sandbox.table("outbox_attempts"), sandbox.table("outbox"));
        sandbox
            .batch(&format!(
                "INSERT INTO {attempts} (message, number, at, outcome, took_us, node) \
                 SELECT id, 1, '2020-01-01', 'success', 1, 'x' FROM {outbox} WHERE fresh = 1"
            ))
            .await;
        let now = Some(Duration::ZERO);
        let at_once = Retention { dispatched: now, dead: now, discarded: now, ..Retention::default() };
        assert_eq!(store.sweep(None, &at_once, None).await.unwrap().dispatched, 0);
        let stats = store.stats().await.unwrap();
        assert_eq!((stats.pending, stats.dispatched), (2, 0));
        for state in [None, Some(State::Pending)] {
            let filter = Filter { state, ..Filter::default() };
            let listed = store.list(&Selection { filter, limit: 10, ..Default::default() }).await.unwrap();
            let states: Vec<_> =
                listed.messages.iter().map(|one| (one.sequence.version, one.state)).collect();
            assert_eq!(states, [(2, State::Pending), (1, State::Pending)], "{state:?}");
        }
        let dispatched = Filter { state: Some(State::Dispatched), ..Filter::default() };
        let selection = Selection { filter: dispatched, limit: 10, ..Default::default() };
        assert_eq!(store.list(&selection).await.unwrap().messages, []);
    });
}

/// One message is put into the queue by values, several by what their rows say: the places are the same.
#[test]
fn alone_or_among_others_a_message_gets_the_same_place() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.store().await, sandbox.user().await);
        let sql = sandbox.sql().await;
        let plain = || NewMessage::json("t", "k", "{}");
        let longest = "ü".repeat(250);
        let kinds = [
            plain().from_version("s", 7, 3),
            plain().from_source(longest),
            plain().from_source("\\' é"),
            plain(),
            plain().delayed(Duration::from_secs(90)),
            plain().from_source("s").delayed(Duration::from_secs(90)),
        ];
        let places = format!(
            "SELECT HEX(p.lane), \
                    CAST(CASE WHEN p.lane = X'' THEN p.place_a - p.due_us ELSE p.place_a END AS CHAR), CAST(p.place_b AS CHAR), \
                    CAST((p.due_us - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', coalesce(o.deliver_at, o.created_at))) DIV 5000000 AS CHAR), \
                    CAST(p.queued AS CHAR), CAST(p.attempts AS CHAR), CAST(p.forgiven AS CHAR) \
             FROM {} AS p JOIN {} AS o ON o.id = p.id ORDER BY p.id",
            sandbox.table("outbox_pending"),
            sandbox.table("outbox")
        );
        for message in kinds {
            let what = format!("{:?} {:?}", message.source, message.delay);
            sandbox.batch(&format!("DELETE FROM {}", sandbox.table("outbox_pending"))).await;
            for many in [1, 2] {
                let mut open = user.begin().await.unwrap();
                let messages = vec![NewMessage { id: None, ..message.clone() }; many];
                store.outbox().enqueue_all(&mut open, &messages).await.unwrap();
                open.commit().await.unwrap();
            }
            // What has just come is laid into its lane by whoever does not ask for the list.
            look(&sql).await;
            let rows = sandbox.query(&places).await;
            let text = |row: &sqlx::mysql::MySqlRow| -> Vec<String> {
                (0..7).map(|at| sqlx::Row::get_unchecked(row, at)).collect()
            };
            let rows: Vec<_> = rows.iter().map(text).collect();
            assert_eq!(rows.len(), 3, "{what}");
            assert!(rows.iter().all(|row| *row == rows[0]), "{what}: {rows:?}");
            assert_eq!(rows[0][3..], ["0", "1", "0", "0"].map(String::from), "{what}");
        }
    });
}
