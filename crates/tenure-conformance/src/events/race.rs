//! Many who append at once, and one who reads meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::event::{AppendAnswer, Position, Recorded, Version};
use tenure_core::outbox::State;

use super::backend::EventBackend;
use super::scribe::{Scribe, assert_in_order, at, at_once, numbers, to};
use crate::backend::Need;
use crate::outbox::desk::{Desk, message};
use crate::suite::skip;

const WRITERS: usize = 8;
const APPENDS: u32 = 12;

/// One wins, the others are told the version; of them there is no row, neither of events nor of the outbox.
pub async fn s29_two_writers_one_expected_version(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    for version in [0, 2, 4] {
        let scribes = Scribe::several(backend, WRITERS).await;
        let appends: Vec<_> = (0..WRITERS as u32)
            .map(|who| at("s", version, [who, who]).with_dispatches(vec![message(who)]))
            .collect();
        let answers = at_once(
            scribes
                .into_iter()
                .zip(appends.clone())
                .map(|(scribe, append)| async move { scribe.tries(&append).await }),
        )
        .await;
        let won = |answer: &AppendAnswer| matches!(answer, AppendAnswer::Appended(_));
        assert_eq!(answers.iter().filter(|answer| won(answer)).count(), 1, "{answers:?}");
        let actual = Version(version + 2);
        for (who, (answer, append)) in answers.iter().zip(&appends).enumerate() {
            let sent = desk.details(&append.dispatches[0]).await;
            match answer {
                AppendAnswer::Appended(done) => {
                    assert_eq!((done.version, done.repeated), (actual, false));
                    assert_eq!(numbers(&ann.reads("s").await)[version as usize..], [who as u32; 2]);
                    assert_eq!(sent.expect("the winner's dispatch").summary.state, State::Pending);
                }
                other => {
                    assert_eq!(*other, AppendAnswer::Conflict { actual });
                    assert!(sent.is_none(), "a loser's dispatch is not there");
                }
            }
        }
    }
    assert_eq!(ann.all().await.len(), 6);
    assert_eq!(desk.stats().await.pending, 3);
}

/// Who expects no version waits for its turn: everything is there, each in a place of its own.
pub async fn s29_many_writers_at_any_version_all_append(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let scribes = Scribe::several(backend, WRITERS).await;
    let versions = at_once(scribes.into_iter().enumerate().map(|(who, scribe)| async move {
        let mut versions = Vec::new();
        for _ in 0..4 {
            versions.push(scribe.appends(&to("s", [who as u32])).await.version.0);
        }
        versions
    }))
    .await;
    let mut given: Vec<_> = versions.into_iter().flatten().collect();
    given.sort_unstable();
    assert_eq!(given, (1..=4 * WRITERS as i64).collect::<Vec<_>>(), "each version is given once");
    assert_in_order(&ann.all().await);
    assert_eq!(ann.version("s").await, Version(4 * WRITERS as i64));
}

/// Nothing is skipped, nothing comes twice, and each stream comes in its order.
pub async fn s34_a_reader_among_writers_misses_nothing(backend: &dyn EventBackend) {
    let scribes = Scribe::several(backend, WRITERS).await;
    let busy = Arc::new(AtomicUsize::new(WRITERS));
    let reader = tokio::spawn(follow(Scribe::open(backend).await, Arc::clone(&busy)));
    let writers = scribes.into_iter().enumerate().map(|(who, scribe)| {
        let busy = Ending(Arc::clone(&busy));
        async move {
            let _busy = busy;
            for number in 0..APPENDS {
                let own = format!("own-{who}");
                let name = if who % 2 == 0 { own.as_str() } else { "shared" };
                scribe.appends(&to(name, [number, number])).await;
            }
        }
    });
    at_once(writers).await;
    let read = reader.await.expect("the reader goes on");
    assert_all(&read, WRITERS * APPENDS as usize * 2);
}

/// The same with transactions that are open for a while, some of which are rolled back.
pub async fn s34_a_reader_among_open_transactions_misses_nothing(backend: &dyn EventBackend) {
    if !backend.writes_at_once() {
        return skip(backend, Need::ConcurrentWriters);
    }
    let Some(first) = backend.begin_append().await else { return skip(backend, Need::UserAppend) };
    drop(first);
    let busy = Arc::new(AtomicUsize::new(1));
    let reader = tokio::spawn(follow(Scribe::open(backend).await, Arc::clone(&busy)));
    let ending = Ending(busy);
    for round in 0..6 {
        // Begun in one order, ended in another.
        let mut open = Vec::new();
        for who in 0..4_usize {
            let mut transaction = backend.begin_append().await.expect("a transaction");
            let answer = transaction.append(&to(&format!("own-{who}"), [round, round])).await;
            assert!(matches!(answer, Ok(AppendAnswer::Appended(_))), "{answer:?}");
            open.push((who, transaction));
        }
        open.rotate_left(round as usize % 4);
        while let Some((who, transaction)) = open.pop() {
            match who {
                3 => transaction.rollback().await,
                _ => transaction.commit().await.expect("committed"),
            }
            tokio::task::yield_now().await;
        }
    }
    drop(ending);
    let read = reader.await.expect("the reader goes on");
    assert_all(&read, 6 * 3 * 2);
}

fn assert_all(read: &[Recorded], count: usize) {
    assert_in_order(read);
    let ids: BTreeSet<_> = read.iter().map(|event| event.id).collect();
    assert_eq!((read.len(), ids.len()), (count, count), "nothing is skipped, and nothing comes twice");
}

/// Counts a writer down, also when it panics: the reader must come to an end.
struct Ending(Arc<AtomicUsize>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Reads on from where each page ends, until nobody appends any more and the head is reached.
async fn follow(scribe: Scribe, busy: Arc<AtomicUsize>) -> Vec<Recorded> {
    let (mut after, mut read) = (Position::START, Vec::new());
    loop {
        let done = busy.load(Ordering::SeqCst) == 0;
        let page = scribe.page(after, 7).await;
        assert!(page.read_to >= after, "a reader never goes back: {page:?}");
        let last = page.events.last().map_or(after, |event| event.position);
        assert!(last <= page.read_to, "what was read is read: {page:?}");
        let idle = page.events.is_empty();
        read.extend(page.events);
        after = page.read_to;
        if done && after >= page.head {
            return read;
        }
        if idle {
            // passes time: the writers' turn
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
