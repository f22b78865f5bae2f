//! The answer to an append was lost, and it is done again with the same ids.

use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendAnswer, AppendProblem, Appended, Expected, NewEvent, Version};
use tenure_core::outbox::{Body, NewMessage};

use super::backend::EventBackend;
use super::scribe::{Scribe, at, at_once, event, first_time, numbers, stream, to};
use crate::outbox::desk::{Desk, message};

/// The first result, and one set of rows; also when others have appended meanwhile.
pub async fn s28_a_retry_gives_the_first_result(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    let desk = Desk::open(backend).await;
    for name in ["exact", "any"] {
        // The second dispatch has no id: only the events tell that it was sent.
        let dispatches = vec![message(1), NewMessage::json("orders", "OrderPlaced", "{}")];
        let append = if name == "any" { to(name, [1, 2]) } else { at(name, 0, [1, 2]) };
        let append = append.with_dispatches(dispatches);
        let pending = desk.stats().await.pending;
        let first = ann.appends(&append).await;
        let repeated = AppendAnswer::Appended(Appended { repeated: true, ..first });
        assert_eq!(bob.tries(&append).await, repeated, "{name}");
        bob.appends(&to(name, [3])).await;
        assert_eq!(bob.tries(&append).await, repeated, "{name}, with others behind it");
        assert_eq!(numbers(&ann.reads(name).await), [1, 2, 3]);
        assert_eq!(desk.stats().await.pending, pending + 2, "each dispatch once");
    }
    assert_eq!(ann.all().await.len(), 6);
}

/// In the middle of a stream it is known by its place.
pub async fn s28_a_retry_further_up_gives_the_first_result(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    ann.appends(&at("s", 0, [1])).await;
    let append = at("s", 1, [2, 3]);
    let first = ann.appends(&append).await;
    ann.appends(&at("s", 3, [4])).await;
    let repeated = AppendAnswer::Appended(Appended { repeated: true, ..first });
    assert_eq!(ann.tries(&append).await, repeated);
    let elsewhere = Append { expected: Expected::NONE, ..append };
    assert_eq!(
        ann.tries(&elsewhere).await,
        AppendAnswer::Conflict { actual: Version(4) },
        "the same events at another place are another append"
    );
}

/// The same id that says something else is an error, and writes nothing.
pub async fn s28_the_same_id_with_another_content_is_told(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    for (name, expected) in [("exact", Expected::NONE), ("any", Expected::Any)] {
        let first = event(1);
        let append = Append::new(stream(name), expected, vec![first.clone(), event(2)]);
        ann.appends(&append).await;
        let others = [
            NewEvent { body: Body::Text("{\"number\":9}".into()), ..first.clone() },
            NewEvent { kind: "Undone".into(), ..first.clone() },
            NewEvent { body: Body::Bytes(first.body.as_bytes().to_vec()), ..first.clone() },
        ];
        for other in others {
            let mut events = append.events.clone();
            events[0] = other;
            let again = Append { events, ..append.clone() }.with_dispatches(vec![message(1)]);
            match ann.fails(&again).await {
                AppendError::Problem(AppendProblem::OtherContent { id }) => assert_eq!(id, first.id),
                error => panic!("the id must be named, but the error is {error}"),
            }
        }
        assert_eq!(numbers(&ann.reads(name).await), [1, 2]);
    }
    assert_eq!(desk.stats().await.pending, 0);
}

/// A part of it with something else, or in another order, is another append.
pub async fn s28_a_part_of_an_append_is_no_retry(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    for (name, expected) in [("exact", Expected::NONE), ("any", Expected::Any)] {
        let (first, second) = (event(1), event(2));
        ann.appends(&Append::new(stream(name), expected, vec![first.clone(), second.clone()])).await;
        for other in [vec![first.clone(), event(3)], vec![second, first]] {
            let append = Append::new(stream(name), expected, other);
            if expected == Expected::Any {
                // There is no other version to try it with: a conflict would be tried for ever.
                taken(&ann, &append).await;
                continue;
            }
            let answer = ann.tries(&append).await;
            assert_eq!(answer, AppendAnswer::Conflict { actual: Version(2) }, "{name}");
        }
        assert_eq!(numbers(&ann.reads(name).await), [1, 2]);
    }
}

/// The id of an event that stands in another stream cannot be taken again.
pub async fn s28_an_id_of_another_stream_is_told(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let first = event(1);
    ann.appends(&Append::new(stream("one"), Expected::Any, vec![first.clone()])).await;
    taken(&ann, &Append::new(stream("other"), Expected::Any, vec![event(2), first])).await;
    assert!(ann.reads("other").await.is_empty());
}

async fn taken(ann: &Scribe, append: &Append) {
    match ann.fails(append).await {
        AppendError::Problem(AppendProblem::OtherContent { id }) => {
            assert!(append.events.iter().any(|event| event.id == id), "the id must be one of the append's");
        }
        error => panic!("the id must be named, but the error is {error}"),
    }
}

/// A program that gave up and one that did not, at the same time.
pub async fn s28_of_the_same_append_many_times_at_once_one_is_written(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    for (round, name) in ["exact", "any"].into_iter().enumerate() {
        let append = if name == "any" { to(name, [1, 2]) } else { at(name, 0, [1, 2]) };
        let append = append.with_dispatches(vec![message(1)]);
        let scribes = Scribe::several(backend, 6).await;
        let answers = at_once(scribes.into_iter().map(|scribe| {
            let append = append.clone();
            async move { scribe.tries(&append).await }
        }));
        let answers = answers.await;
        let done: Vec<_> = answers
            .iter()
            .map(|answer| match answer {
                AppendAnswer::Appended(done) => done,
                other => panic!("{name}: each gets the same result, and not {other:?}"),
            })
            .collect();
        assert_eq!(done.iter().filter(|done| !done.repeated).count(), 1, "{name}: {done:?}");
        let place = (Version(2), done[0].position);
        assert!(done.iter().all(|done| (done.version, done.position) == place), "{done:?}");
        assert_eq!(numbers(&ann.reads(name).await), [1, 2]);
        assert_eq!(desk.stats().await.pending, round as u64 + 1);
    }
}

/// A retry that follows a conflict is an append like any other.
pub async fn a_conflict_leaves_the_ids_free(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    ann.appends(&at("s", 0, [1])).await;
    let lost = at("s", 0, [2]);
    assert_eq!(ann.tries(&lost).await, AppendAnswer::Conflict { actual: Version(1) });
    let again = Append { expected: Expected::Exact(Version(1)), ..lost };
    assert_eq!(first_time(ann.tries(&again).await).version, Version(2));
    assert_eq!(numbers(&ann.reads("s").await), [1, 2]);
}
