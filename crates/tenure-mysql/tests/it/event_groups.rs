//! Appends that are put together into one transaction: each gets the answer that it would have got alone.
//!
//! Two appends that wait for a row keep the line standing; what comes meanwhile goes together when they are let go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqlx::Row as _;
use sqlx::mysql::MySqlConnection;
use tenure_core::contract::{AppendError, EventStore as _};
use tenure_core::event::{Append, AppendAnswer, Appended, Expected, Limits, Position, Version};
use tenure_core::outbox::MessageError;
use tenure_mysql::MySqlStore;
use tenure_sql::SqlStore;
use tokio::task::JoinHandle;

use crate::events::{append, appended, counts, dispatch, event, exact, execute, mark, one};
use crate::sandbox::{Sandbox, fresh, on_each};

on_each! {
    appends_at_once_share_transactions_and_are_answered_each,
    s29_a_conflict_in_a_group_is_one_caller_s_own,
    s28_an_append_that_is_there_already_gives_its_first_result_in_a_group_too,
    s46_a_dispatch_that_says_something_else_fails_alone,
    s53_a_mark_that_is_there_is_a_duplicate_alone,
    s29_a_stream_that_is_behind_what_is_expected_is_not_begun_by_a_group,
    s35_a_caller_who_goes_away_changes_nothing_for_the_others,
    what_cannot_be_in_a_group_goes_by_itself,
    s30_a_group_that_is_not_over_holds_readers,
    s34_readers_miss_nothing_of_groups,
    who_does_not_poll_holds_up_nobody,
    a_stream_that_somebody_holds_is_waited_for_by_its_own_append_alone,
    who_has_waited_for_long_goes_by_himself,
}

type Answered = Result<AppendAnswer, AppendError>;

/// How often our own appends have taken a row of a slot: one for each of their transactions that was committed.
async fn transactions(sandbox: &Sandbox) -> i64 {
    let sql = format!("SELECT CAST(SUM(uses) AS SIGNED) FROM {}", sandbox.table("append_slots"));
    sandbox.query(&sql).await[0].get(0)
}

/// A line that stands, until it is let go: two appends wait for the rows of their streams.
pub(crate) struct Jam {
    holder: MySqlConnection,
    jammed: Vec<JoinHandle<Answered>>,
}

impl Jam {
    pub(crate) async fn new(sandbox: &Sandbox, store: &SqlStore) -> Self {
        let mut holder = sandbox.user().await;
        let names = [fresh(), fresh()].map(|number| format!("jam{number}"));
        for name in &names {
            appended(append(store, &one(name, Expected::NONE)).await);
        }
        let rows = format!("'{}', '{}'", names[0], names[1]);
        let streams = sandbox.table("streams");
        execute(&mut holder, &format!("BEGIN; SELECT * FROM {streams} WHERE stream IN ({rows}) FOR UPDATE"))
            .await;
        let jammed = names.iter().map(|name| start(store, one(name, exact(1)))).collect();
        settled().await;
        Self { holder, jammed }
    }

    pub(crate) async fn let_go(mut self) {
        execute(&mut self.holder, "COMMIT").await;
        for one in self.jammed {
            assert_eq!(appended(one.await.unwrap().unwrap()).version, Version(2));
        }
    }
}

pub(crate) fn start(store: &SqlStore, append: Append) -> JoinHandle<Answered> {
    let store = store.clone();
    tokio::spawn(async move { store.append(&append, &Limits::default()).await })
}

pub(crate) async fn settled() {
    // passes time: enough for those that are on their way to come to where they wait
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// Appends that come while the line stands, and what each is answered, in their order.
async fn together(sandbox: &Sandbox, store: &SqlStore, appends: Vec<Append>) -> Vec<Answered> {
    let jam = Jam::new(sandbox, store).await;
    let waiting: Vec<_> = appends.into_iter().map(|append| start(store, append)).collect();
    settled().await;
    assert!(waiting.iter().all(|one| !one.is_finished()), "somebody has not waited");
    jam.let_go().await;
    let mut answers = Vec::new();
    for one in waiting {
        answers.push(one.await.unwrap());
    }
    answers
}

/// Where the last event of a stream stands.
pub(crate) async fn placed(sandbox: &Sandbox, stream: &str) -> Appended {
    let sql = format!(
        "SELECT version, position FROM {} WHERE stream = '{stream}' ORDER BY version DESC LIMIT 1",
        sandbox.table("events")
    );
    let row = &sandbox.query(&sql).await[0];
    Appended { version: Version(row.get(0)), position: Some(Position(row.get(1))), repeated: false }
}

pub(crate) fn full(name: &str, expected: Expected) -> Append {
    one(name, expected).with_dispatches(vec![dispatch(fresh(), "1")]).with_mark(mark(fresh()))
}

async fn appends_at_once_share_transactions_and_are_answered_each(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    appended(
        append(&store, &Append::new(one("moved", exact(0)).stream, exact(0), vec![event(), event()])).await,
    );
    let before = transactions(sandbox).await;
    let mut appends: Vec<Append> = (0..9).map(|at| full(&format!("s{at}"), Expected::NONE)).collect();
    let mut several = full("moved", exact(2));
    several.events.extend([event(), event()]);
    appends.extend([several, one("no dispatch", Expected::NONE)]);
    let names: Vec<_> = appends.iter().map(|append| append.stream.as_str().to_owned()).collect();
    let answers = together(sandbox, &store, appends).await;
    for (answer, name) in answers.into_iter().zip(names) {
        assert_eq!(appended(answer.unwrap()), placed(sandbox, &name).await, "{name}");
    }
    assert_eq!(placed(sandbox, "moved").await.version, Version(5));
    // Two that were begun, two that were jammed, and one for all the others.
    assert_eq!(transactions(sandbox).await - before, 5);
    assert_eq!(counts(sandbox).await, [13, 19, 10, 10]);
    let queued = sandbox.count("outbox_arrivals").await;
    assert_eq!(queued, 10, "each dispatch is in the queue");
    // And with nobody in the way: still fewer transactions than appends.
    let before = transactions(sandbox).await;
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for version in 0..20 {
                    let done = appended(append(&store, &full(&format!("w{writer}"), exact(version))).await);
                    assert_eq!((done.version, done.repeated), (Version(version + 1), false));
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let spent = transactions(sandbox).await - before;
    assert!(spent < 240, "{spent} transactions for 320 appends");
    assert_eq!(counts(sandbox).await, [29, 339, 330, 330]);
}

async fn s29_a_conflict_in_a_group_is_one_caller_s_own(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    for (expected, other) in [(Expected::NONE, exact(2)), (exact(2), Expected::NONE)] {
        let name = format!("a{}", fresh());
        appended(append(&store, &one(&name, Expected::NONE)).await);
        let before = counts(sandbox).await;
        let answers = together(
            sandbox,
            &store,
            vec![
                full(&format!("b{name}"), Expected::NONE),
                full(&name, expected),
                full(&format!("c{name}"), Expected::NONE),
            ],
        )
        .await;
        let [first, second, third] = answers.try_into().unwrap();
        assert_eq!(second.unwrap(), AppendAnswer::Conflict { actual: Version(1) });
        for one in [first, third] {
            assert!(!appended(one.unwrap()).repeated);
        }
        let more: Vec<_> =
            counts(sandbox).await.iter().zip(before).map(|(after, before)| after - before).collect();
        assert_eq!(more, [4, 6, 2, 2], "nothing is left of it, or of the group that was undone");
        assert_eq!(append(&store, &one(&name, other)).await, AppendAnswer::Conflict { actual: Version(1) });
        // Until the line is tried again.
        for _ in 0..48 {
            appended(append(&store, &one(&format!("x{}", fresh()), Expected::NONE)).await);
        }
    }
}

async fn s28_an_append_that_is_there_already_gives_its_first_result_in_a_group_too(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let first = full("a", Expected::NONE);
    let done = appended(append(&store, &Append { mark: None, ..first.clone() }).await);
    let again = Append { mark: None, ..first };
    let answers = together(sandbox, &store, vec![again, full("b", Expected::NONE)]).await;
    let [first, other] = answers.try_into().unwrap();
    assert_eq!(appended(first.unwrap()), Appended { repeated: true, ..done });
    assert!(!appended(other.unwrap()).repeated);
}

async fn s46_a_dispatch_that_says_something_else_fails_alone(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let (there, same) = (fresh(), fresh());
    let sends = Append::new(one("x", Expected::Any).stream, Expected::Any, Vec::new());
    appended(append(&store, &sends.with_dispatches(vec![dispatch(there, "1"), dispatch(same, "1")])).await);
    let with = |name: &str, id, payload: &str| {
        one(name, Expected::NONE).with_dispatches(vec![dispatch(id, payload)])
    };
    let appends = vec![with("a", there, "2"), with("b", same, "1"), with("c", fresh(), "1")];
    let answers = together(sandbox, &store, appends).await;
    let [differs, same, other] = answers.try_into().unwrap();
    let error = differs.unwrap_err();
    assert!(matches!(error, AppendError::Dispatch(MessageError::Conflict { .. })), "{error}");
    assert!(!appended(same.unwrap()).repeated && !appended(other.unwrap()).repeated);
    assert_eq!(counts(sandbox).await, [4, 6, 3, 0]);
}

async fn s53_a_mark_that_is_there_is_a_duplicate_alone(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    appended(append(&store, &one("x", Expected::NONE).with_mark(mark(1))).await);
    let appends = vec![full("a", Expected::NONE), one("b", Expected::NONE).with_mark(mark(1))];
    let answers = together(sandbox, &store, appends).await;
    let [other, duplicate] = answers.try_into().unwrap();
    assert_eq!(duplicate.unwrap(), AppendAnswer::Duplicate);
    appended(other.unwrap());
    assert_eq!(counts(sandbox).await, [4, 6, 1, 2]);
}

/// The statement that moves streams begins those that are not there: of one that should be, it must not.
async fn s29_a_stream_that_is_behind_what_is_expected_is_not_begun_by_a_group(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let answers = together(sandbox, &store, vec![full("a", Expected::NONE), full("b", exact(3))]).await;
    let [begun, ahead] = answers.try_into().unwrap();
    assert_eq!(ahead.unwrap(), AppendAnswer::Conflict { actual: Version(0) });
    appended(begun.unwrap());
    assert_eq!(counts(sandbox).await, [3, 5, 1, 1]);
}

async fn s35_a_caller_who_goes_away_changes_nothing_for_the_others(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let jam = Jam::new(sandbox, &store).await;
    let waiting: Vec<_> =
        ["a", "b", "c"].iter().map(|name| start(&store, full(name, Expected::NONE))).collect();
    settled().await;
    waiting[1].abort();
    jam.let_go().await;
    let mut answers = Vec::new();
    for one in waiting {
        answers.push(one.await);
    }
    assert!(answers.remove(1).unwrap_err().is_cancelled());
    for answer in answers {
        assert!(!appended(answer.unwrap().unwrap()).repeated);
    }
    assert_eq!(counts(sandbox).await, [5, 7, 3, 3], "what stood in line is done");
}

async fn what_cannot_be_in_a_group_goes_by_itself(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let jam = Jam::new(sandbox, &store).await;
    let mut late = dispatch(fresh(), "1");
    late.delay = Duration::from_secs(60);
    let large = "x".repeat(20_000);
    let alone = [
        full("any", Expected::Any),
        Append::new(one("bare", exact(0)).stream, exact(0), Vec::new()).with_mark(mark(fresh())),
        one("late", Expected::NONE).with_dispatches(vec![late]),
        one("large", Expected::NONE).with_dispatches(vec![dispatch(fresh(), &format!("\"{large}\""))]),
    ];
    for one in alone {
        appended(append(&store, &one).await);
    }
    jam.let_go().await;
}

/// Its positions are taken, and it waits for a mark that someone else has inserted and not committed.
async fn s30_a_group_that_is_not_over_holds_readers(sandbox: &Sandbox) {
    let (store, other, mut holder) = (sandbox.sql().await, sandbox.sql().await, sandbox.user().await);
    let held = one("b", Expected::NONE).with_mark(mark(1));
    let jam = Jam::new(sandbox, &store).await;
    let inbox = sandbox.table("inbox");
    let id = held.mark.as_ref().unwrap().id;
    execute(&mut holder, &format!("BEGIN; INSERT INTO {inbox} (consumer, message_id) VALUES ('c', '{id}')"))
        .await;
    let waiting = [start(&store, full("a", Expected::NONE)), start(&store, held)];
    settled().await;
    jam.let_go().await;
    settled().await;
    let late = appended(append(&other, &one("late", Expected::NONE)).await);
    let page = other.read_all(Position::START, 100).await.unwrap();
    // The group may have begun before the second of the jammed ones was over.
    assert!((3..=4).contains(&page.events.len()), "what is below the last may still appear");
    assert_eq!(Some(page.head), late.position);
    assert!(page.stall.is_some());
    execute(&mut holder, "ROLLBACK").await;
    for one in waiting {
        assert!(appended(one.await.unwrap().unwrap()).position < late.position);
    }
    let page = other.read_all(Position::START, 100).await.unwrap();
    assert_eq!((page.events.len(), page.read_to, page.stall), (7, page.head, None));
}

/// Groups, and transactions of users that stay open meanwhile: whoever reads on where he stopped has read all in the end.
async fn s34_readers_miss_nothing_of_groups(sandbox: &Sandbox) {
    let store = sandbox.store().await;
    let over = Arc::new(AtomicBool::new(false));
    let mut writers: Vec<JoinHandle<()>> = Vec::new();
    for writer in 0..12 {
        let sql = store.sql().clone();
        writers.push(tokio::spawn(async move {
            let mut version = 0;
            for round in 0..40 {
                let mut append = one(&format!("w{writer}"), exact(version));
                append.events.extend((0..round % 3).map(|_| event()));
                version = appended(sql.append(&append, &Limits::default()).await.unwrap()).version.0;
            }
        }));
    }
    for writer in 0..3_u64 {
        let (store, mut user) = (store.clone(), sandbox.user().await);
        writers.push(tokio::spawn(async move {
            for round in 0..25 {
                execute(&mut user, "BEGIN").await;
                let append = one(&format!("u{writer}"), Expected::Any);
                appended(store.events().append_in(&mut user, &append).await.unwrap());
                // passes time: groups take later positions and commit before
                tokio::time::sleep(Duration::from_millis((writer * 7 + round * 3) % 11)).await;
                execute(&mut user, if round % 4 == 0 { "ROLLBACK" } else { "COMMIT" }).await;
            }
        }));
    }
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (sql, over) = (store.sql().clone(), Arc::clone(&over));
            tokio::spawn(async move {
                let (mut after, mut read) = (Position::START, BTreeSet::new());
                loop {
                    let last = over.load(Ordering::SeqCst);
                    let page = sql.read_all(after, 50).await.unwrap();
                    assert!(page.read_to >= after);
                    read.extend(page.events.iter().map(|event| event.position.0));
                    after = page.read_to;
                    if last && after == page.head {
                        return read;
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    over.store(true, Ordering::SeqCst);
    let rows = sandbox.query(&format!("SELECT position FROM {}", sandbox.table("events"))).await;
    let there: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    for reader in readers {
        let read = reader.await.unwrap();
        let missed: Vec<_> = there.difference(&read).collect();
        assert!(missed.is_empty(), "{missed:?} were never read");
    }
}

/// Futures that were polled once and then left alone, as by whoever waits for the first of several.
async fn who_does_not_poll_holds_up_nobody(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let appends: Vec<_> = (0..4).map(|at| full(&format!("s{at}"), Expected::NONE)).collect();
    let limits = Limits::default();
    let mut futures: Vec<_> = appends[..3].iter().map(|one| Box::pin(store.append(one, &limits))).collect();
    for future in &mut futures {
        assert!(poll_once(future.as_mut()).await.is_none(), "it has to ask the server");
    }
    let mut futures = futures.into_iter();
    appended(futures.next().unwrap().await.unwrap());
    let others: Vec<_> = futures.collect();
    let last = tokio::time::timeout(Duration::from_secs(10), store.append(&appends[3], &limits)).await;
    appended(last.expect("nobody is in its way").unwrap());
    for one in others {
        appended(one.await.unwrap());
    }
    assert_eq!(counts(sandbox).await, [4, 4, 4, 4]);
}

async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        std::task::Poll::Ready(done) => std::task::Poll::Ready(Some(done)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

/// A user's transaction that has appended to a stream, and stays open.
async fn a_stream_that_somebody_holds_is_waited_for_by_its_own_append_alone(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    appended(append(&store, &one("held", Expected::NONE)).await);
    let mut holder = sandbox.user().await;
    let jam = Jam::new(sandbox, &store).await;
    let streams = sandbox.table("streams");
    execute(&mut holder, &format!("BEGIN; SELECT * FROM {streams} WHERE stream = 'held' FOR UPDATE")).await;
    let held = start(&store, one("held", exact(1)));
    let others = ["a", "z"].map(|name| start(&store, full(name, Expected::NONE)));
    settled().await;
    jam.let_go().await;
    let began = Instant::now();
    for one in others {
        appended(one.await.unwrap().unwrap());
    }
    // Less than what a lock is waited for.
    assert!(began.elapsed() < Duration::from_millis(1_500), "they have waited for {:?}", began.elapsed());
    assert!(!held.is_finished());
    execute(&mut holder, "COMMIT").await;
    assert_eq!(appended(held.await.unwrap().unwrap()).version, Version(2));
}

/// Both transactions of the line wait for rows that a user holds, who waits in line himself.
async fn who_has_waited_for_long_goes_by_himself(sandbox: &Sandbox) {
    // Locks are waited for longer than anyone may stand in line.
    let mut options = sandbox.options();
    (options.lock_timeout, options.statement_timeout) = (Duration::from_secs(20), Duration::from_secs(30));
    let store = MySqlStore::connect(options).await.unwrap().sql().clone();
    let jam = Jam::new(sandbox, &store).await;
    let own = append(&store, &one("other", Expected::NONE)).await;
    assert_eq!(appended(own).version, Version(1));
    jam.let_go().await;
}
