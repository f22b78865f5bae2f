//! Appending: versions, positions, and the version that is expected.

use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendAnswer, AppendProblem, EVENTS_MAX, Expected, Version};

use super::backend::EventBackend;
use super::scribe::{Scribe, assert_in_order, at, event, numbers, stream, to};

/// The first event has version 1, and each follows the one before it.
pub async fn versions_count_from_one(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    assert_eq!(ann.version("s").await, Version::NONE);
    let first = ann.appends(&at("s", 0, [1])).await;
    assert_eq!(first.version, Version(1));
    let second = ann.appends(&at("s", 1, [2, 3])).await;
    assert_eq!(second.version, Version(3));
    let read = ann.reads("s").await;
    assert_eq!(numbers(&read), [1, 2, 3]);
    assert_eq!(read.iter().map(|event| event.version.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(first.position, Some(read[0].position));
    assert_eq!(second.position, Some(read[2].position), "the position of the last event");
    assert_eq!(ann.version("s").await, Version(3));
}

/// Positions rise from append to append, over all streams.
pub async fn positions_rise_over_all_streams(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let bob = Scribe::open(backend).await;
    for number in 0..6 {
        let (who, name) = if number % 2 == 0 { (&ann, "a") } else { (&bob, "b") };
        who.appends(&to(name, [number])).await;
    }
    let all = ann.all().await;
    assert_eq!(numbers(&all), [0, 1, 2, 3, 4, 5]);
    assert_in_order(&all);
    assert!(all[0].position.0 > 0, "the start is before the first event");
    let b: Vec<_> = all.iter().filter(|event| event.stream == stream("b")).cloned().collect();
    assert_eq!(ann.reads("b").await, b, "an event is the same whichever way it is read");
}

/// Only at the expected version.
pub async fn only_the_expected_version_is_appended_to(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    ann.appends(&at("s", 0, [1, 2])).await;
    let conflict = AppendAnswer::Conflict { actual: Version(2) };
    for (wrong, what) in [(0, "a stream that should be empty"), (1, "an old version"), (3, "a gap")] {
        assert_eq!(ann.tries(&at("s", wrong, [9])).await, conflict, "{what}");
    }
    assert_eq!(numbers(&ann.reads("s").await), [1, 2]);
    assert_eq!(ann.appends(&at("s", 2, [3])).await.version, Version(3));
    assert_eq!(numbers(&ann.all().await), [1, 2, 3]);
}

/// A version of a stream that has no event.
pub async fn a_gap_at_the_start_is_a_conflict(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let answer = ann.tries(&at("none", 1, [1])).await;
    assert_eq!(answer, AppendAnswer::Conflict { actual: Version::NONE });
    ann.finds_nothing("none").await;
    assert_eq!(ann.appends(&at("none", 0, [1])).await.version, Version(1), "nothing is left of it");
}

/// Whatever the version is.
pub async fn any_version_is_appended_to(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    assert_eq!(ann.appends(&to("s", [1])).await.version, Version(1));
    assert_eq!(ann.appends(&to("s", [2, 3])).await.version, Version(3));
    assert_eq!(ann.appends(&at("s", 3, [4])).await.version, Version(4), "both ways on one stream");
    assert_eq!(ann.appends(&to("s", [5])).await.version, Version(5));
    assert_eq!(numbers(&ann.reads("s").await), [1, 2, 3, 4, 5]);
}

/// As many as there may be in one append, and no more.
pub async fn a_thousand_events_are_one_append(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let most = u32::try_from(EVENTS_MAX).expect("a small number");
    let first = at("s", 0, 0..most);
    assert_eq!(ann.appends(&first).await.version, Version(i64::from(most)));
    ann.appends(&to("s", 0..most)).await;
    let all = ann.all().await;
    assert_eq!(all.len(), 2 * EVENTS_MAX);
    assert_in_order(&all);
    assert_eq!(numbers(&all), (0..most).chain(0..most).collect::<Vec<_>>());
    let again = ann.tries(&first).await;
    assert!(matches!(again, AppendAnswer::Appended(done) if done.repeated), "and one retry");
    let error = ann.fails(&to("s", 0..=most)).await;
    assert!(matches!(error, AppendError::Problem(AppendProblem::TooMany { what: "events", .. })), "{error}");
}

/// Nothing, two events of one id, a negative version: refused before anything is written.
pub async fn what_makes_no_sense_is_refused(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let nothing = ann.fails(&to("s", [])).await;
    assert!(matches!(nothing, AppendError::Problem(AppendProblem::Nothing)), "{nothing}");
    let twice = event(1);
    let twins = Append::new(stream("s"), Expected::Any, vec![twice.clone(), twice]);
    let error = ann.fails(&twins).await;
    assert!(matches!(error, AppendError::Problem(AppendProblem::Event { index: 1, .. })), "{error}");
    let error = ann.fails(&at("s", -1, [1])).await;
    assert!(matches!(error, AppendError::Problem(AppendProblem::NegativeVersion)), "{error}");
    ann.finds_nothing("s").await;
}
