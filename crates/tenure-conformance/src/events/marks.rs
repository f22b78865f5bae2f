//! The mark of the message that an append is caused by: it takes effect once, whoever it comes to.

use tenure_core::event::{Append, AppendAnswer, InboxMark, Version};
use tenure_core::outbox::{Accept, Consumer};
use uuid::Uuid;

use super::backend::EventBackend;
use super::scribe::{Scribe, at, at_once, mark, numbers, only_mark, refused, stream, to};
use crate::outbox::desk::{Desk, message};

/// What is answered to a message that was refused for this reason.
fn no(reason: &str) -> AppendAnswer {
    AppendAnswer::Refused { reason: reason.to_owned() }
}

/// It comes again, to any node and with new ids of events: nothing is written, and nothing is sent.
pub async fn s53_a_message_takes_effect_once(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    let desk = Desk::open(backend).await;
    let mark = mark();
    let first = at("s", 0, [1]).with_mark(mark.clone()).with_dispatches(vec![message(1)]);
    ann.appends(&first).await;
    let again = [
        first,
        to("s", [2]).with_mark(mark.clone()).with_dispatches(vec![message(2)]),
        at("s", 1, [3]).with_mark(mark.clone()),
        at("s", 0, [4]).with_mark(mark.clone()),
        to("elsewhere", [5]).with_mark(mark.clone()),
        only_mark("s", mark.clone()),
        only_mark("s", refused(&mark, "too late")),
    ];
    for append in &again {
        assert_eq!(bob.tries(append).await, AppendAnswer::Duplicate, "{append:?}");
    }
    assert_eq!((numbers(&ann.all().await), desk.stats().await.pending), (vec![1], 1));
    let other = InboxMark { consumer: Consumer::new("another").expect("a consumer"), ..mark };
    ann.appends(&to("s", [6]).with_mark(other)).await;
}

/// On two nodes at once: one effect, and the other one is told that it is a duplicate.
pub async fn s53_of_many_duplicates_at_once_one_takes_effect(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    // To one stream, and each to its own: then only the mark stands between.
    for (round, apart) in [false, true].into_iter().enumerate() {
        let mark = mark();
        let scribes = Scribe::several(backend, 6).await;
        let answers = at_once(scribes.into_iter().enumerate().map(|(who, scribe)| {
            let name = if apart { format!("own-{who}") } else { "s".to_owned() };
            let append = to(&name, [who as u32]).with_mark(mark.clone()).with_dispatches(vec![message(1)]);
            async move { scribe.tries(&append).await }
        }))
        .await;
        let effects = answers.iter().filter(|answer| matches!(answer, AppendAnswer::Appended(_))).count();
        let duplicates = answers.iter().filter(|answer| **answer == AppendAnswer::Duplicate).count();
        assert_eq!((effects, duplicates), (1, 5), "{answers:?}");
        let rows = round + 1;
        assert_eq!((ann.all().await.len(), desk.stats().await.pending), (rows, rows as u64));
    }
}

/// A message that changes nothing is remembered too, and makes no stream.
pub async fn s53_a_mark_without_events_is_remembered(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let known = mark();
    let done = ann.appends(&only_mark("s", known.clone())).await;
    assert_eq!((done.version, done.position), (Version::NONE, None));
    ann.finds_nothing("s").await;
    assert_eq!(ann.tries(&to("s", [1]).with_mark(known)).await, AppendAnswer::Duplicate);
    ann.appends(&at("s", 0, [1])).await;
    let done = ann.appends(&only_mark("s", mark())).await;
    assert_eq!((done.version, done.position), (Version(1), None));
    assert_eq!(ann.appends(&at("s", 1, [2])).await.version, Version(2), "the version has not changed");
}

/// An append that does not happen leaves no mark: the message is fresh when it comes again.
pub async fn s54_a_conflict_writes_no_mark(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    ann.appends(&at("s", 0, [1])).await;
    let (mark, conflict) = (mark(), AppendAnswer::Conflict { actual: Version(1) });
    assert_eq!(ann.tries(&at("s", 0, [2]).with_mark(mark.clone())).await, conflict);
    assert_eq!(ann.tries(&at("s", 2, [2]).with_mark(mark.clone())).await, conflict);
    let alone = Append { events: Vec::new(), ..at("s", 3, []) }.with_mark(mark.clone());
    assert_eq!(ann.tries(&alone).await, conflict, "without events the version counts as well");
    assert_eq!(ann.appends(&at("s", 1, [2]).with_mark(mark)).await.version, Version(2));
}

/// The same refusal, and no effect.
pub async fn s56_a_refusal_is_repeated(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    ann.appends(&at("s", 0, [1])).await;
    let mark = mark();
    let done = ann.appends(&only_mark("s", refused(&mark, "the book is lent: \u{fc}'"))).await;
    assert_eq!((done.version, done.position), (Version(1), None));
    for append in [
        to("s", [2]).with_mark(mark.clone()).with_dispatches(vec![message(1)]),
        at("s", 1, [2]).with_mark(mark.clone()),
        only_mark("s", mark.clone()),
        only_mark("s", refused(&mark, "another reason")),
    ] {
        assert_eq!(ann.tries(&append).await, no("the book is lent: \u{fc}'"), "{append:?}");
    }
    assert_eq!((numbers(&ann.all().await), desk.stats().await.pending), (vec![1], 0));
}

/// A refusal makes no stream.
pub async fn s56_a_refusal_leaves_the_stream_as_it_is(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let done = ann.appends(&only_mark("s", refused(&mark(), "no"))).await;
    assert_eq!((done.version, done.position), (Version::NONE, None));
    ann.finds_nothing("s").await;
    ann.appends(&at("s", 0, [1])).await;
}

/// Another content under one id is told, and writes nothing.
pub async fn s57_another_content_under_one_id_is_told(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let mark = mark();
    ann.appends(&to("s", [1]).with_mark(mark.clone())).await;
    let other = InboxMark { fingerprint: Some(Uuid::from_u128(fastrand::u128(..))), ..mark.clone() };
    assert_eq!(ann.tries(&to("s", [2]).with_mark(other)).await, AppendAnswer::Differs);
    let unknown = InboxMark { fingerprint: None, ..mark };
    assert_eq!(ann.tries(&to("s", [2]).with_mark(unknown.clone())).await, AppendAnswer::Duplicate);
    let bare = InboxMark { id: crate::outbox::desk::unique_id(), ..unknown };
    ann.appends(&to("s", [3]).with_mark(bare.clone())).await;
    let told = InboxMark { fingerprint: Some(Uuid::from_u128(7)), ..bare };
    assert_eq!(ann.tries(&to("s", [4]).with_mark(told)).await, AppendAnswer::Duplicate);
    assert_eq!(numbers(&ann.reads("s").await), [1, 3]);
}

/// A duplicate sends nothing of what the first one sent, also when that was delivered.
pub async fn s58_a_duplicate_sends_nothing_again(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let (mark, sent) = (mark(), message(1));
    let append = to("s", [1]).with_mark(mark).with_dispatches(vec![sent.clone()]);
    ann.appends(&append).await;
    let row = desk.row(&sent).await;
    desk.settles(crate::outbox::desk::done(&row)).await;
    assert_eq!(ann.tries(&append).await, AppendAnswer::Duplicate);
    let anew = Append { dispatches: vec![message(2)], ..append };
    assert_eq!(ann.tries(&anew).await, AppendAnswer::Duplicate);
    assert_eq!((desk.stats().await.pending, desk.stats().await.dispatched), (0, 1));
}

/// Marks of appends and of plain transactions are in one inbox.
pub async fn s53_there_is_one_inbox(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let [appended, accepted, declined] = [mark(), mark(), mark()];
    ann.appends(&to("s", [1]).with_mark(appended.clone())).await;
    let mut user = backend.begin().await;
    let accept = user.accept(&appended.consumer, appended.id).await.expect("an answer");
    assert_eq!(accept, Accept::Duplicate);
    assert_eq!(user.accept(&accepted.consumer, accepted.id).await.expect("an answer"), Accept::Fresh);
    user.commit().await.expect("committed");
    let mut user = backend.begin().await;
    let refusal = user.refuse(&declined.consumer, declined.id, "no").await.expect("an answer");
    assert_eq!(refusal, Accept::Refused { reason: "no".into() });
    user.commit().await.expect("committed");
    assert_eq!(ann.tries(&to("s", [2]).with_mark(accepted)).await, AppendAnswer::Duplicate);
    assert_eq!(ann.tries(&to("s", [3]).with_mark(declined)).await, no("no"));
    assert_eq!(ann.all().await.iter().filter(|event| event.stream == stream("s")).count(), 1);
}
