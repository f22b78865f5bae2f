//! Appends that meet: of two, one wins, and the other is told what happened.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{AppendError, EventStore as _};
use tenure_core::event::{AppendAnswer, Expected, Limits, Version};
use tenure_core::outbox::MessageError;

use crate::events::{appended, counts, dispatch, exact, mark, one, stream};
use crate::sandbox::{Mode, Sandbox, fresh};

async fn of_many_writers_with_one_version_one_wins(mode: Mode) {
    let Some(sandbox) = Sandbox::new(mode).await else { return };
    let store = Arc::new(sandbox.store().await);
    for version in 0..10 {
        let mut writers = Vec::new();
        for _ in 0..6 {
            let store = Arc::clone(&store);
            let append = one("a", exact(version))
                .with_dispatches(vec![dispatch(fresh(), "1")])
                .with_mark(mark(fresh()));
            writers
                .push(tokio::spawn(async move { store.append(&append, &Limits::default()).await.unwrap() }));
        }
        let mut won = 0;
        for writer in writers {
            match writer.await.unwrap() {
                AppendAnswer::Appended(done) => {
                    assert_eq!((done.version, done.repeated), (Version(version + 1), false));
                    won += 1;
                }
                answer => assert_eq!(answer, AppendAnswer::Conflict { actual: Version(version + 1) }),
            }
        }
        assert_eq!(won, 1);
    }
    assert_eq!(counts(&sandbox).await, [1, 10, 10, 10], "no rows of the losers");
}

#[tokio::test]
async fn s29_of_many_writers_with_one_version_one_wins() {
    of_many_writers_with_one_version_one_wins(Mode::Direct).await;
}

#[tokio::test]
async fn s29_pgbouncer_of_many_writers_with_one_version_one_wins() {
    of_many_writers_with_one_version_one_wins(Mode::Pooled).await;
}

/// The same message on two nodes at once: neither has seen the other's mark when it begins.
#[tokio::test]
async fn s53_of_two_marks_at_once_one_takes_effect() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, mut user) = (Arc::new(sandbox.store().await), sandbox.user().await);
    let events = store.events();
    for (at, joined) in [(1, false), (2, true)] {
        let transaction = user.transaction().await.unwrap();
        appended(events.append_on(&transaction, &one("a", Expected::Any).with_mark(mark(at))).await.unwrap());
        // In another stream, so that they meet at the mark and nowhere before.
        let second = one("b", Expected::Any).with_mark(mark(at));
        let (store, events, other) = (Arc::clone(&store), events.clone(), sandbox.user().await);
        let waiting = tokio::spawn(async move {
            if !joined {
                return store.append(&second, &Limits::default()).await.unwrap();
            }
            other.batch_execute("BEGIN").await.unwrap();
            let answer = events.append_on(&other, &second).await.unwrap();
            other.batch_execute("SELECT 1; COMMIT").await.unwrap();
            answer
        });
        // passes time: enough for one that does not wait
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!waiting.is_finished());
        transaction.commit().await.unwrap();
        assert_eq!(waiting.await.unwrap(), AppendAnswer::Duplicate, "joined: {joined}");
    }
    assert_eq!(counts(&sandbox).await, [1, 2, 0, 2]);
}

/// Both meet in the stream first: the second finds another version, and yet it is a duplicate.
#[tokio::test]
async fn s53_a_duplicate_that_lost_the_stream_as_well_is_a_duplicate() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, mut user) = (Arc::new(sandbox.store().await), sandbox.user().await);
    let transaction = user.transaction().await.unwrap();
    let first = one("a", Expected::NONE).with_mark(mark(1));
    appended(store.events().append_on(&transaction, &first).await.unwrap());
    let second = one("a", Expected::NONE).with_mark(mark(1));
    let waiting = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.append(&second, &Limits::default()).await.unwrap() }
    });
    // passes time: enough for one that does not wait
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    transaction.commit().await.unwrap();
    assert_eq!(waiting.await.unwrap(), AppendAnswer::Duplicate);
}

/// A writer that waited for one that rolled back goes on as if that had never been.
#[tokio::test]
async fn s29_a_writer_that_waited_for_a_rollback_wins() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, mut user) = (Arc::new(sandbox.store().await), sandbox.user().await);
    appended(store.append(&one("b", Expected::NONE), &Limits::default()).await.unwrap());
    for (name, expected) in [("a", Expected::NONE), ("b", exact(1))] {
        let transaction = user.transaction().await.unwrap();
        appended(store.events().append_on(&transaction, &one(name, expected)).await.unwrap());
        let waiting = tokio::spawn({
            let (store, append) = (Arc::clone(&store), one(name, expected));
            async move { store.append(&append, &Limits::default()).await.unwrap() }
        });
        // passes time: enough for one that does not wait
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!waiting.is_finished());
        transaction.rollback().await.unwrap();
        appended(waiting.await.unwrap());
    }
    assert_eq!(counts(&sandbox).await[1], 3);
}

/// A dispatch that someone else is enqueueing just now: the same is not sent twice, another one is an error.
#[tokio::test]
async fn s46_a_dispatch_enqueued_at_the_same_moment_is_compared() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = Arc::new(sandbox.store().await);
    for (at, payload, joined) in [(1, "1", false), (2, "2", false), (3, "1", true), (4, "2", true)] {
        let mut user = sandbox.user().await;
        let transaction = user.transaction().await.unwrap();
        store.outbox().enqueue_on(&transaction, &dispatch(at, "1")).await.unwrap();
        let append = one(&format!("s{at}"), Expected::NONE).with_dispatches(vec![dispatch(at, payload)]);
        let (store, other) = (Arc::clone(&store), sandbox.user().await);
        let waiting = tokio::spawn(async move {
            if !joined {
                return store.append(&append, &Limits::default()).await;
            }
            other.batch_execute("BEGIN").await.unwrap();
            let answer = store.events().with_outbox().append_on(&other, &append).await;
            other.batch_execute("SELECT 1; COMMIT").await.unwrap();
            answer
        });
        // passes time: enough for one that does not wait
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!waiting.is_finished());
        transaction.commit().await.unwrap();
        match waiting.await.unwrap() {
            Ok(answer) => {
                assert_eq!(payload, "1");
                appended(answer);
            }
            Err(error) => {
                assert_eq!(payload, "2");
                assert!(matches!(error, AppendError::Dispatch(MessageError::Conflict { .. })), "{error}");
            }
        }
    }
    assert_eq!(counts(&sandbox).await, [2, 2, 4, 0]);
}

/// Ids are what an append without an expected version is known by, also by one that runs at the same time.
#[tokio::test]
async fn s28_two_retries_at_once_are_one_append() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = Arc::new(sandbox.store().await);
    for _ in 0..10 {
        let append = one("a", Expected::Any).with_dispatches(vec![dispatch(fresh(), "1")]);
        let mut tries = Vec::new();
        for _ in 0..4 {
            let (store, append) = (Arc::clone(&store), append.clone());
            tries.push(tokio::spawn(async move { store.append(&append, &Limits::default()).await.unwrap() }));
        }
        let mut fresh = 0;
        for one in tries {
            fresh += u32::from(!appended(one.await.unwrap()).repeated);
        }
        assert_eq!(fresh, 1);
    }
    assert_eq!(counts(&sandbox).await, [1, 10, 10, 0]);
    let other = tenure_core::event::Append { stream: stream("b"), ..one("a", Expected::Any) };
    appended(store.append(&other, &Limits::default()).await.unwrap());
}
