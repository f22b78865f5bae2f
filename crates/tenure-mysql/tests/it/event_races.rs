//! Appends that meet: of two, one wins, and the other is told what happened.

use std::time::Duration;

use sqlx::Connection as _;
use tenure_core::contract::{AppendError, EventStore as _};
use tenure_core::event::{Append, AppendAnswer, Expected, Limits, Version};
use tenure_core::outbox::MessageError;
use tokio::task::JoinHandle;

use crate::events::{appended, counts, dispatch, exact, execute, mark, one};
use crate::sandbox::{Sandbox, fresh, on_each};

on_each! {
    s29_of_many_writers_with_one_version_one_wins,
    s53_of_two_marks_at_once_one_takes_effect,
    s53_a_duplicate_that_lost_the_stream_as_well_is_a_duplicate,
    s29_a_writer_that_waited_for_a_rollback_wins,
    s46_a_dispatch_enqueued_at_the_same_moment_is_compared,
    s28_two_retries_at_once_are_one_append,
    a_deadlock_in_the_user_s_transaction_is_told_and_writes_nothing,
}

/// One that is on its way: in a transaction of its own, or in a user's.
async fn later(
    sandbox: &Sandbox,
    append: Append,
    joined: bool,
) -> JoinHandle<Result<AppendAnswer, AppendError>> {
    let (store, mut other) = (sandbox.store().await, sandbox.user().await);
    let waiting = tokio::spawn(async move {
        if !joined {
            return store.sql().append(&append, &Limits::default()).await;
        }
        execute(&mut other, "BEGIN").await;
        let answer = store.events().with_outbox().append_in(&mut other, &append).await;
        execute(&mut other, "COMMIT").await;
        answer
    });
    // passes time: enough for one that does not wait
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert!(!waiting.is_finished());
    waiting
}

async fn s29_of_many_writers_with_one_version_one_wins(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    for version in 0..10 {
        let writers: Vec<_> = (0..6)
            .map(|_| {
                let (store, one) = (store.clone(), one("a", exact(version)));
                let append = one.with_dispatches(vec![dispatch(fresh(), "1")]).with_mark(mark(fresh()));
                tokio::spawn(async move { store.append(&append, &Limits::default()).await.unwrap() })
            })
            .collect();
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
    assert_eq!(counts(sandbox).await, [1, 10, 10, 10], "no rows of the losers");
}

/// The same message on two nodes at once: neither has seen the other's mark when it begins.
async fn s53_of_two_marks_at_once_one_takes_effect(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    for (at, joined) in [(1, false), (2, true)] {
        let mut transaction = user.begin().await.unwrap();
        let first = one("a", Expected::Any).with_mark(mark(at));
        appended(store.events().append_in(&mut transaction, &first).await.unwrap());
        // In another stream, so that they meet at the mark and nowhere before.
        let waiting = later(sandbox, one("b", Expected::Any).with_mark(mark(at)), joined).await;
        transaction.commit().await.unwrap();
        assert_eq!(waiting.await.unwrap().unwrap(), AppendAnswer::Duplicate, "joined: {joined}");
    }
    assert_eq!(counts(sandbox).await, [1, 2, 0, 2]);
}

/// Both meet in the stream first: the second finds another version, and yet it is a duplicate.
async fn s53_a_duplicate_that_lost_the_stream_as_well_is_a_duplicate(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    let mut transaction = user.begin().await.unwrap();
    let first = one("a", Expected::NONE).with_mark(mark(1));
    appended(store.events().append_in(&mut transaction, &first).await.unwrap());
    let waiting = later(sandbox, one("a", Expected::NONE).with_mark(mark(1)), false).await;
    transaction.commit().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), AppendAnswer::Duplicate);
}

/// A writer that waited for one that rolled back goes on as if that had never been.
async fn s29_a_writer_that_waited_for_a_rollback_wins(sandbox: &Sandbox) {
    let (store, mut user) = (sandbox.store().await, sandbox.user().await);
    appended(store.sql().append(&one("b", Expected::NONE), &Limits::default()).await.unwrap());
    for (name, expected) in [("a", Expected::NONE), ("b", exact(1)), ("c", Expected::Any)] {
        let mut transaction = user.begin().await.unwrap();
        appended(store.events().append_in(&mut transaction, &one(name, expected)).await.unwrap());
        let waiting = later(sandbox, one(name, expected), false).await;
        transaction.rollback().await.unwrap();
        appended(waiting.await.unwrap().unwrap());
    }
    assert_eq!(counts(sandbox).await[1], 4);
}

/// A dispatch that someone else is enqueueing just now: the same is not sent twice, another one is an error.
async fn s46_a_dispatch_enqueued_at_the_same_moment_is_compared(sandbox: &Sandbox) {
    let store = sandbox.store().await;
    for (at, payload, joined) in [(1, "1", false), (2, "2", false), (3, "1", true), (4, "2", true)] {
        let mut user = sandbox.user().await;
        let mut transaction = user.begin().await.unwrap();
        let first = one(&format!("first{at}"), Expected::NONE).with_dispatches(vec![dispatch(at, "1")]);
        appended(store.events().with_outbox().append_in(&mut transaction, &first).await.unwrap());
        let append = one(&format!("s{at}"), Expected::NONE).with_dispatches(vec![dispatch(at, payload)]);
        let waiting = later(sandbox, append, joined).await;
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
    assert_eq!(counts(sandbox).await, [6, 6, 4, 0]);
}

/// Ids are what an append without an expected version is known by, also by one that runs at the same time.
async fn s28_two_retries_at_once_are_one_append(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    for _ in 0..10 {
        let append = one("a", Expected::Any).with_dispatches(vec![dispatch(fresh(), "1")]);
        let tries: Vec<_> = (0..4)
            .map(|_| {
                let (store, append) = (store.clone(), append.clone());
                tokio::spawn(async move { store.append(&append, &Limits::default()).await.unwrap() })
            })
            .collect();
        let mut fresh = 0;
        for one in tries {
            fresh += u32::from(!appended(one.await.unwrap()).repeated);
        }
        assert_eq!(fresh, 1);
    }
    assert_eq!(counts(sandbox).await, [1, 10, 10, 0]);
}

/// The server has undone the whole transaction then: nothing of the append may be written outside of it.
async fn a_deadlock_in_the_user_s_transaction_is_told_and_writes_nothing(sandbox: &Sandbox) {
    let (store, mut ann, mut bob) = (sandbox.store().await, sandbox.user().await, sandbox.user().await);
    let events = store.events();
    execute(&mut ann, "BEGIN").await;
    execute(&mut bob, "BEGIN").await;
    appended(events.append_in(&mut ann, &one("a", Expected::Any)).await.unwrap());
    appended(events.append_in(&mut bob, &one("b", Expected::Any)).await.unwrap());
    let waiting = tokio::spawn({
        let events = events.clone();
        async move {
            let answer = events.append_in(&mut ann, &one("b", Expected::Any)).await;
            (ann, answer)
        }
    });
    // passes time: until it waits
    tokio::time::sleep(Duration::from_millis(250)).await;
    let bobs = events.append_in(&mut bob, &one("a", Expected::Any)).await;
    execute(&mut bob, "COMMIT").await;
    let (mut ann, anns) = waiting.await.unwrap();
    execute(&mut ann, "COMMIT").await;
    let answers = [anns, bobs];
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    assert_eq!(counts(sandbox).await[1], 2, "those of the one that has committed");
}
