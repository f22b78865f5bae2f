//! Events, dispatches and mark are there together, or none of them is.

use tenure_core::contract::AppendError;
use tenure_core::event::{AppendAnswer, AppendProblem, Version};
use tenure_core::outbox::{MessageError, NewMessage, State};

use super::backend::EventBackend;
use super::scribe::{Scribe, at, mark, numbers, to};
use crate::outbox::desk::{Desk, id_of, ids, message, of};

/// One append, one transaction.
pub async fn b1_events_and_dispatches_are_there_together(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let dispatches = vec![message(1), of("s", 2)];
    ann.appends(&at("s", 0, [1]).with_dispatches(dispatches.clone())).await;
    assert_eq!(numbers(&ann.reads("s").await), [1]);
    for dispatch in &dispatches {
        let details = desk.details(dispatch).await.expect("a dispatch is in the outbox");
        assert_eq!(details.summary.state, State::Pending);
        assert_eq!(details.payload.as_deref(), Some(dispatch.body.as_bytes()));
    }
    let mut due = desk.due().await;
    due.sort_unstable();
    assert_eq!(due, crate::outbox::desk::sorted(&dispatches), "and is due at once");
}

/// Dispatches of a source are delivered in the order of the appends, and in their order there.
pub async fn s44_dispatches_of_a_stream_keep_their_order(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let mut sent = Vec::new();
    for version in 0..3 {
        let dispatch = |index| message(7).from_version("s", version + 1, index);
        let dispatches = vec![dispatch(0), dispatch(1), dispatch(2)];
        ann.appends(&at("s", version, [1]).with_dispatches(dispatches.clone())).await;
        sent.extend(dispatches);
    }
    assert_eq!(desk.due().await, ids(&sent));
}

/// A dispatch whose id is taken by another content: nothing of the append is there.
pub async fn s27_a_failing_dispatch_leaves_nothing(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let taken = message(1);
    desk.sends(std::slice::from_ref(&taken)).await;
    let other = message(2).with_id(id_of(&taken));
    let (good, mark) = (message(3), mark());
    let append = at("s", 0, [1, 2]).with_mark(mark);
    for dispatches in [vec![good.clone(), other.clone()], vec![other, good.clone()]] {
        let failing = append.clone().with_dispatches(dispatches);
        match ann.fails(&failing).await {
            AppendError::Dispatch(MessageError::Conflict { id, .. }) => assert_eq!(id, id_of(&taken)),
            error => panic!("the dispatch must be named, but the error is {error:?}"),
        }
        ann.finds_nothing("s").await;
        assert_eq!(desk.stats().await.pending, 1, "only what was there before");
        assert!(desk.details(&good).await.is_none());
    }
    // Neither is the mark: done right, it all takes effect.
    let done = ann.appends(&append.with_dispatches(vec![good.clone(), taken.clone()])).await;
    assert_eq!(done.version, Version(2));
    assert_eq!(desk.stats().await.pending, 2, "what was sent before with the same content is not sent again");
}

/// A dispatch that could never be sent is refused before anything is written.
pub async fn s27_an_impossible_dispatch_leaves_nothing(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let bad = NewMessage::json("orders", "Order\0Placed", "{}");
    let error = ann.fails(&at("s", 0, [1]).with_dispatches(vec![message(1), bad])).await;
    assert!(matches!(error, AppendError::Problem(AppendProblem::Dispatch { index: 1, .. })), "{error:?}");
    ann.finds_nothing("s").await;
    assert_eq!(desk.stats().await.pending, 0);
}

/// A conflict sends nothing.
pub async fn s29_a_conflict_sends_nothing(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    ann.appends(&at("s", 0, [1])).await;
    let lost = at("s", 0, [2]).with_dispatches(vec![message(1)]);
    assert_eq!(ann.tries(&lost).await, AppendAnswer::Conflict { actual: Version(1) });
    assert_eq!(desk.stats().await.pending, 0);
    assert_eq!(ann.all().await.len(), 1);
}

/// Dispatches without events check the version, and do not change it.
pub async fn dispatches_alone_leave_the_stream_as_it_is(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let alone = at("s", 0, []).with_dispatches(vec![message(1)]);
    let done = ann.appends(&alone).await;
    assert_eq!((done.version, done.position), (Version::NONE, None));
    ann.finds_nothing("s").await;
    let late = at("s", 1, []).with_dispatches(vec![message(2)]);
    assert_eq!(ann.tries(&late).await, AppendAnswer::Conflict { actual: Version::NONE });
    assert_eq!(desk.stats().await.pending, 1);
    ann.appends(&to("s", [1])).await;
    assert_eq!(ann.appends(&late).await.version, Version(1));
    assert_eq!(desk.stats().await.pending, 2);
}
