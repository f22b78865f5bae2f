//! Reading, by stream and by position.

use tenure_core::StoreError;
use tenure_core::event::{
    Append, Direction, Expected, NewEvent, PAGE_BYTES, Position, Recorded, StreamRead, Version,
};
use tenure_core::outbox::Body;

use super::backend::EventBackend;
use super::scribe::{ALL, Scribe, at, event, numbers, stream, to};
use crate::backend::Need;
use crate::suite::skip;

/// Reads as it is asked to, and gives the numbers and the version of the stream.
async fn reads(scribe: &Scribe, direction: Direction, from: Option<i64>, limit: u32) -> (Vec<u32>, Version) {
    let read = StreamRead { stream: stream("s"), direction, from: from.map(Version), limit };
    let page = scribe.events.read_stream(&read).await.expect("a page");
    (numbers(&page.events), page.version)
}

/// From the first event on, from a version on, and not more than asked for.
pub async fn a_stream_is_read_forward(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    ann.appends(&at("s", 0, 1..=5)).await;
    ann.appends(&at("t", 0, [7])).await;
    for (from, limit, wanted) in [
        (None, 10, &[1, 2, 3, 4, 5][..]),
        (None, 2, &[1, 2]),
        (Some(0), 1, &[1]),
        (Some(1), 10, &[1, 2, 3, 4, 5]),
        (Some(3), 2, &[3, 4]),
        (Some(5), 10, &[5]),
        (Some(6), 10, &[]),
        (Some(i64::MAX), 10, &[]),
    ] {
        let page = reads(&ann, Direction::Forward, from, limit).await;
        assert_eq!(page, (wanted.to_vec(), Version(5)), "from {from:?}, at most {limit}");
    }
}

/// From the last event back, from a version back, and not more than asked for.
pub async fn a_stream_is_read_backward(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    ann.appends(&at("s", 0, 1..=5)).await;
    ann.appends(&at("t", 0, [7])).await;
    for (from, limit, wanted) in [
        (None, 10, &[5, 4, 3, 2, 1][..]),
        (None, 1, &[5]),
        (Some(4), 2, &[4, 3]),
        (Some(9), 2, &[5, 4]),
        (Some(i64::MAX), 1, &[5]),
        (Some(1), 10, &[1]),
        (Some(0), 10, &[]),
    ] {
        let page = reads(&ann, Direction::Backward, from, limit).await;
        assert_eq!(page, (wanted.to_vec(), Version(5)), "from {from:?}, at most {limit}");
    }
}

/// A stream without events is read like any other.
pub async fn a_stream_that_is_not_there_is_empty(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    for direction in [Direction::Forward, Direction::Backward] {
        assert_eq!(reads(&ann, direction, None, 10).await, (Vec::new(), Version::NONE));
    }
    ann.finds_nothing("s").await;
    assert_eq!(ann.page(Position::START, 10).await.head, Position::START);
}

/// A full page ends at its last event, and the next one goes on there.
pub async fn all_events_are_read_page_by_page(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    for number in 0..10 {
        ann.appends(&to(["a", "b", "c"][number as usize % 3], [number])).await;
    }
    for limit in [1, 3, 5, 10, 11] {
        let (mut after, mut read) = (Position::START, Vec::new());
        loop {
            let page = ann.page(after, limit).await;
            assert!(page.events.len() <= limit as usize, "a page of at most {limit}");
            assert!(page.read_to >= after && page.head >= page.read_to, "{page:?}");
            assert!(page.events.iter().all(|event| event.position > after && event.position <= page.read_to));
            assert_eq!(page.stall, None, "a page that ends at its limit is not held up");
            if page.events.len() == limit as usize {
                let last = page.events.last().map(|event| event.position);
                assert_eq!(Some(page.read_to), last, "nothing beyond a full page was read");
            }
            after = page.read_to;
            read.extend(numbers(&page.events));
            if page.events.is_empty() {
                assert_eq!(page.read_to, page.head);
                break;
            }
        }
        assert_eq!(read, (0..10).collect::<Vec<_>>(), "by pages of {limit}");
    }
}

/// Large events end a page before its number is reached: memory is bounded, and nothing is left out.
pub async fn s38_large_events_end_a_page_sooner(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let large = |number: u8| NewEvent { body: Body::Bytes(vec![number; 900 * 1024]), ..event(0) };
    for part in [0..6u8, 6..12] {
        ann.appends(&Append::new(stream("s"), Expected::Any, part.map(large).collect())).await;
    }
    let which = |events: &[Recorded]| events.iter().map(|event| event.body.as_bytes()[0]).collect::<Vec<_>>();
    let bounded = |events: &[Recorded]| {
        let bytes: usize = events.iter().map(|event| event.body.as_bytes().len()).sum();
        assert!(bytes < PAGE_BYTES + 1024 * 1024 && events.len() < 12, "{} events at once", events.len());
    };
    let (mut after, mut read) = (Position::START, Vec::new());
    while read.len() < 12 {
        let page = ann.page(after, 100).await;
        bounded(&page.events);
        assert!(!page.events.is_empty() && page.read_to > after);
        (after, read) = (page.read_to, [read, which(&page.events)].concat());
    }
    assert_eq!(read, (0..12).collect::<Vec<_>>());
    for (direction, wanted) in [(Direction::Forward, 0), (Direction::Backward, 11)] {
        let read = StreamRead { stream: stream("s"), direction, from: None, limit: 100 };
        let page = ann.events.read_stream(&read).await.expect("a page");
        bounded(&page.events);
        assert_eq!((which(&page.events)[0], page.version), (wanted, Version(12)));
    }
}

/// Who has read everything stays where it is, and sees what comes.
pub async fn a_reader_at_the_head_sees_what_comes(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    ann.appends(&to("s", [1])).await;
    let head = bob.page(Position::START, 10).await.read_to;
    let page = bob.page(head, 10).await;
    assert_eq!((page.events, page.read_to, page.head), (Vec::new(), head, head));
    let second = ann.appends(&to("s", [2])).await;
    let page = bob.page(head, 10).await;
    assert_eq!(numbers(&page.events), [2]);
    assert_eq!(second.position, Some(page.events[0].position));
}

/// A reader beyond all that was ever given out can tell: the store was restored, or is another one.
pub async fn a_reader_ahead_of_the_store_is_told(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let last = ann.appends(&to("s", [1])).await.position.expect("a position");
    let page = ann.page(Position(last.0 + 1_000), 10).await;
    assert_eq!(page.events, []);
    assert!(page.read_to < Position(last.0 + 1_000), "{page:?}");
    assert_eq!(page.read_to, page.head);
}

/// Someone has damaged a row: readers of all streams are told where, and get what stands before it and behind it.
pub async fn a_row_that_cannot_be_read_is_told_and_holds_nobody_up(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    ann.appends(&at("a", 0, [1, 2])).await;
    ann.appends(&at("b", 0, [3])).await;
    ann.appends(&at("a", 2, [4])).await;
    let all = ann.all().await;
    let (damaged, head) = (&all[1], all[3].position);
    if !backend.damage(damaged.position).await {
        return skip(backend, Need::Damage);
    }
    for limit in [1, 2, 3, ALL] {
        let (mut after, mut read, mut unreadable) = (Position::START, Vec::new(), Vec::new());
        while after < head {
            let page = ann.page(after, limit).await;
            assert_eq!((page.head, &page.stall), (head, &None));
            assert!(page.read_to > after, "a page must lead on from {after}");
            assert!(page.events.len() + page.unreadable.len() <= limit as usize, "a page of at most {limit}");
            let positions = page.events.iter().map(|event| event.position);
            let mut positions = positions.chain(page.unreadable.iter().map(|row| row.position));
            assert!(positions.all(|position| position > after && position <= page.read_to));
            read.extend(numbers(&page.events));
            unreadable.extend(page.unreadable);
            after = page.read_to;
        }
        assert_eq!(read, [1, 3, 4], "in pages of {limit}");
        let [row] = &unreadable[..] else { panic!("one row cannot be read: {unreadable:?}") };
        let told = (row.position, row.stream.as_ref(), row.version, row.kind.as_deref());
        let known = (damaged.position, Some(&damaged.stream), Some(damaged.version), Some(&damaged.kind[..]));
        assert_eq!(told, known);
        assert!(!row.reason.is_empty(), "the reason is told");
    }
}

/// Nobody acts on a stream without one of its events.
pub async fn a_stream_with_a_row_that_cannot_be_read_is_an_error(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    ann.appends(&at("a", 0, [1, 2, 3])).await;
    ann.appends(&at("b", 0, [4])).await;
    let damaged = ann.all().await[1].position;
    if !backend.damage(damaged).await {
        return skip(backend, Need::Damage);
    }
    for read in [StreamRead::forward(stream("a"), Version(1), ALL), StreamRead::backward(stream("a"), ALL)] {
        let error = ann.events.read_stream(&read).await.expect_err("a row of it cannot be read");
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(&format!("position {damaged}")), "it names the row: {error}");
    }
    // What does not need the row can be read.
    let behind = ann.events.read_stream(&StreamRead::forward(stream("a"), Version(3), ALL)).await;
    assert_eq!(numbers(&behind.expect("what stands behind it").events), [3]);
    assert_eq!((numbers(&ann.reads("b").await), ann.version("a").await), (vec![4], Version(3)));
}
