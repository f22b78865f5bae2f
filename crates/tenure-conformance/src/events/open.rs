//! Appends in the transaction of a user's own program, which may be open for long, and may be rolled back.
//!
//! Handles are opened before the transaction: where there is one writer at a time, it would keep them waiting.

use tenure_core::event::{AppendAnswer, Position, Version};

use super::backend::{EventBackend, UserAppend};
use super::scribe::{Scribe, assert_in_order, at, first_time, mark, numbers, stream, to};
use crate::backend::Need;
use crate::outbox::desk::{Desk, message};
use crate::suite::skip;

/// An append that must be answered within the transaction.
async fn tries(open: &mut Box<dyn UserAppend>, append: &tenure_core::event::Append) -> AppendAnswer {
    open.append(append).await.unwrap_or_else(|error| panic!("an append must be answered: {error}"))
}

/// Everything of it is there when the transaction commits, and nothing before.
pub async fn s27_an_append_appears_with_its_transaction(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let Some(mut open) = backend.begin_append().await else { return skip(backend, Need::UserAppend) };
    let append = at("s", 0, [1, 2]).with_dispatches(vec![message(1)]).with_mark(mark());
    let first = first_time(tries(&mut open, &append).await);
    let second = first_time(tries(&mut open, &at("s", 2, [3])).await);
    assert_eq!((first.version, second.version), (Version(2), Version(3)), "it sees what it has appended");
    assert_eq!((ann.reads("s").await, desk.stats().await.pending), (Vec::new(), 0));
    open.commit().await.expect("committed");
    let read = ann.all().await;
    assert_eq!((numbers(&read), desk.stats().await.pending), (vec![1, 2, 3], 1));
    assert_eq!(Some(read[2].position), second.position);
    assert_eq!(ann.tries(&append).await, AppendAnswer::Duplicate, "the mark is there");
}

/// What commits late is not skipped by who has read what committed before it.
pub async fn s30_an_append_that_commits_late_is_not_skipped(backend: &dyn EventBackend) {
    if !backend.writes_at_once() {
        return skip(backend, Need::ConcurrentWriters);
    }
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    let Some(mut open) = backend.begin_append().await else { return skip(backend, Need::UserAppend) };
    ann.appends(&to("early", [0])).await;
    let early = first_time(tries(&mut open, &to("early", [1])).await);
    let late = ann.appends(&to("late", [2])).await;
    let mut read = Vec::new();
    let mut after = Position::START;
    for _ in 0..2 {
        let page = bob.page(after, 10).await;
        assert!(page.head >= late.position.expect("a position"), "{page:?}");
        if late.position > early.position {
            assert!(page.read_to < early.position.expect("a position"), "{page:?}");
            let stall = page.stall.expect("it is said that and why readers are held up");
            assert!(stall.at > page.read_to && !stall.reason.is_empty(), "{stall:?}");
        }
        read.extend(page.events);
        after = page.read_to;
    }
    assert!(!numbers(&read).contains(&1), "it is not committed");
    open.commit().await.expect("committed");
    ann.appends(&to("early", [3])).await;
    let page = bob.page(after, 10).await;
    assert_eq!((page.read_to, page.stall), (page.head, None));
    read.extend(page.events);
    assert_in_order(&read);
    let mut all = numbers(&read);
    assert_eq!(read.iter().filter(|event| event.stream == stream("early")).count(), 3);
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3], "everything once");
}

/// The one that is open for longest holds readers up, and only from its own place on.
pub async fn s30_of_several_open_appends_the_first_one_counts(backend: &dyn EventBackend) {
    if !backend.writes_at_once() {
        return skip(backend, Need::ConcurrentWriters);
    }
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    let Some(mut first) = backend.begin_append().await else { return skip(backend, Need::UserAppend) };
    let mut second = backend.begin_append().await.expect("a transaction");
    ann.appends(&to("before", [1])).await;
    first_time(tries(&mut first, &to("first", [2])).await);
    first_time(tries(&mut second, &to("second", [3])).await);
    ann.appends(&to("after", [4])).await;
    let before = bob.page(Position::START, 10).await;
    assert!(numbers(&before.events).contains(&1), "what was there before anyone began is read: {before:?}");
    second.commit().await.expect("committed");
    let mut read = before.events;
    let page = bob.page(before.read_to, 10).await;
    read.extend(page.events);
    first.commit().await.expect("committed");
    let last = bob.page(page.read_to, 10).await;
    read.extend(last.events);
    assert_in_order(&read);
    let mut all = numbers(&read);
    all.sort_unstable();
    assert_eq!((all, last.stall), (vec![1, 2, 3, 4], None));
}

/// A transaction that is open and has not appended holds nobody up.
pub async fn s32_who_has_not_appended_holds_nobody_up(backend: &dyn EventBackend) {
    if !backend.writes_at_once() {
        return skip(backend, Need::ConcurrentWriters);
    }
    let Some(open) = backend.begin_append().await else { return skip(backend, Need::UserAppend) };
    let ann = Scribe::open(backend).await;
    ann.appends(&to("s", [1])).await;
    assert_eq!(numbers(&ann.all().await), [1]);
    open.rollback().await;
}

/// A hole is passed over as soon as nothing can appear in it any more.
pub async fn s31_a_rolled_back_append_leaves_no_stall(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    let Some(mut open) = backend.begin_append().await else { return skip(backend, Need::UserAppend) };
    first_time(tries(&mut open, &to("gone", [1, 2])).await);
    if backend.writes_at_once() {
        ann.appends(&to("s", [3])).await;
        open.rollback().await;
    } else {
        open.rollback().await;
        ann.appends(&to("s", [3])).await;
    }
    let page = bob.page(Position::START, 10).await;
    assert_eq!((numbers(&page.events), page.read_to, page.stall), (vec![3], page.head, None));
    let mut open = backend.begin_append().await.expect("a transaction");
    first_time(tries(&mut open, &to("gone", [4])).await);
    open.rollback().await;
    let page = bob.page(page.read_to, 10).await;
    assert_eq!((page.events, page.read_to, page.stall), (Vec::new(), page.head, None), "a hole at the end");
    ann.appends(&to("s", [5])).await;
    assert_eq!(numbers(&bob.page(page.read_to, 10).await.events), [5]);
}

/// Rolled back or dropped: no event, no dispatch, no mark, no version, and the ids are free.
pub async fn s36_what_was_rolled_back_is_not_there(backend: &dyn EventBackend) {
    let Some(first) = backend.begin_append().await else { return skip(backend, Need::UserAppend) };
    first.rollback().await;
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let append = at("s", 0, [1, 2]).with_dispatches(vec![message(1)]).with_mark(mark());
    let rolled_back = |drops: bool| {
        let append = append.clone();
        async move {
            let mut open = backend.begin_append().await.expect("a transaction");
            first_time(tries(&mut open, &append).await);
            if drops { drop(open) } else { open.rollback().await }
        }
    };
    rolled_back(false).await;
    ann.finds_nothing("s").await;
    assert_eq!(desk.stats().await.pending, 0);
    rolled_back(true).await;
    let done = ann.appends(&append).await;
    assert_eq!((done.version, desk.stats().await.pending), (Version(2), 1));
    assert_eq!(numbers(&ann.reads("s").await), [1, 2]);
}

/// An answer other than yes leaves the transaction as it was, for the program to go on with.
pub async fn s29_after_a_conflict_the_transaction_goes_on(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let Some(mut open) = backend.begin_append().await else { return skip(backend, Need::UserAppend) };
    let known = mark();
    first_time(tries(&mut open, &to("s", [1]).with_mark(known.clone())).await);
    let lost = at("s", 0, [9]).with_dispatches(vec![message(1)]);
    assert_eq!(tries(&mut open, &lost).await, AppendAnswer::Conflict { actual: Version(1) });
    let again = to("s", [9]).with_mark(known).with_dispatches(vec![message(2)]);
    assert_eq!(tries(&mut open, &again).await, AppendAnswer::Duplicate, "its own mark is known to it");
    first_time(tries(&mut open, &at("s", 1, [2])).await);
    open.commit().await.expect("committed");
    assert_eq!(numbers(&ann.all().await), [1, 2]);
    assert_eq!(desk.stats().await.pending, 0);
}
