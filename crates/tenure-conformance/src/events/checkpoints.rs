//! Checkpoints: how far each subscription has come, what it has put aside, and who may move it.

use tenure_core::event::{Position, Version};
use tenure_core::lease::{Fence, Term};
use tenure_core::subscription::{Advance, Aside, Checkpoint, Rewind, Step};

use super::backend::EventBackend;
use super::scribe::{Scribe, at_once, step, stream, subscription, to};
use crate::backend::Need;
use crate::lease::player::{LONG, Player, fresh, outlive};
use crate::outbox::desk::Desk;
use crate::suite::skip;

/// An event that is put aside.
fn aside(position: i64, reason: &str) -> Aside {
    Aside {
        position: Position(position),
        stream: Some(stream("s'")),
        version: Version(position * 2),
        kind: "Happened".into(),
        reason: reason.to_owned(),
        attempts: 3,
    }
}

fn parking(name: &str, from: i64, to: i64, parked: Vec<Aside>) -> Step {
    Step { parked, ..step(name, from, to) }
}

/// A step of a reader that knows of so many rewinds.
fn knowing(rewinds: u64, step: Step) -> Step {
    Step { rewinds, ..step }
}

async fn parked(scribe: &Scribe, name: &str, limit: u32) -> Vec<Aside> {
    let parked = scribe.checkpoints.parked(&subscription(name), None, limit).await.expect("an answer");
    parked.into_iter().map(|parked| parked.aside).collect()
}

/// From the start on, step by step, each subscription for itself.
pub async fn a_checkpoint_moves_step_by_step(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    assert_eq!(ann.checkpoint("n").await, Position::START);
    assert_eq!(ann.steps(&step("n", 0, 5)).await, Advance::Advanced);
    assert_eq!(bob.checkpoint("n").await, Position(5));
    assert_eq!(bob.steps(&step("n", 5, 9)).await, Advance::Advanced);
    assert_eq!((ann.checkpoint("n").await, ann.checkpoint("N").await), (Position(9), Position::START));
    let largest = step("n ", 0, i64::MAX);
    assert_eq!(ann.steps(&largest).await, Advance::Advanced);
    assert_eq!((ann.checkpoint("n ").await, ann.checkpoint("n").await), (Position(i64::MAX), Position(9)));
}

/// Only from where the reader knows it to be; else nothing moves, and it is told where the checkpoint is.
pub async fn a_checkpoint_moves_only_from_where_it_is(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    assert_eq!(ann.steps(&step("n", 3, 5)).await, Advance::Moved { at: Position::START });
    assert_eq!(ann.checkpoint("n").await, Position::START);
    assert_eq!(ann.steps(&step("n", 0, 5)).await, Advance::Advanced);
    for stale in [step("n", 0, 7), step("n", 4, 7), step("n", 6, 7), step("n", 0, 5)] {
        let stale = Step { parked: vec![aside(1, "late")], ..stale };
        assert_eq!(bob.steps(&stale).await, Advance::Moved { at: Position(5) }, "{stale:?}");
    }
    assert_eq!((ann.checkpoint("n").await, parked(&ann, "n", 10).await), (Position(5), Vec::new()));
}

/// Two readers that both believe to be the only one: one of them moves it.
pub async fn of_many_steps_from_one_place_one_is_taken(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    for from in [0, 10] {
        let scribes = Scribe::several(backend, 6).await;
        let answers = at_once(scribes.into_iter().enumerate().map(|(who, scribe)| async move {
            let aside = aside(from + 1, &who.to_string());
            scribe.steps(&parking("n", from, from + 10, vec![aside])).await
        }))
        .await;
        let advanced = answers.iter().filter(|answer| **answer == Advance::Advanced).count();
        let moved = Advance::Moved { at: Position(from + 10) };
        assert_eq!(advanced, 1, "{answers:?}");
        assert_eq!(answers.iter().filter(|answer| **answer == moved).count(), 5, "{answers:?}");
    }
    assert_eq!(ann.checkpoint("n").await, Position(20));
    assert_eq!(parked(&ann, "n", 10).await.len(), 2, "what the others put aside is not there");
}

/// A step that leads back is an error of the caller's.
pub async fn a_step_back_is_an_error(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    assert_eq!(ann.steps(&step("n", 0, 5)).await, Advance::Advanced);
    let back = parking("n", 5, 4, vec![aside(5, "no")]);
    assert!(ann.checkpoints.advance(None, &back).await.is_err());
    assert_eq!((ann.checkpoint("n").await, parked(&ann, "n", 10).await), (Position(5), Vec::new()));
}

/// What is put aside is there with the step, the oldest first.
pub async fn what_is_put_aside_is_kept(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    let (first, second) = (aside(2, "it says 'no' \u{2603}"), aside(4, ""));
    // Of an event whose row cannot be read, only the place may be known.
    let second = Aside { stream: None, version: Version::NONE, kind: String::new(), ..second };
    let third = Aside { attempts: 1, kind: "Other".into(), ..aside(7, "again no") };
    let before = desk.now().await;
    let both = parking("n", 0, 5, vec![second.clone(), first.clone()]);
    assert_eq!(ann.steps(&both).await, Advance::Advanced);
    assert_eq!(ann.steps(&parking("n", 5, 7, vec![third.clone()])).await, Advance::Advanced);
    assert_eq!(ann.steps(&parking("m", 0, 7, vec![third.clone()])).await, Advance::Advanced);
    let after = desk.now().await;
    assert_eq!(parked(&ann, "n", 10).await, [first.clone(), second.clone(), third.clone()]);
    assert_eq!(parked(&ann, "n", 2).await, [first, second]);
    assert_eq!((parked(&ann, "m", 9).await, parked(&ann, "none", 9).await), (vec![third], Vec::new()));
    for parked in ann.checkpoints.parked(&subscription("n"), None, 10).await.expect("an answer") {
        assert!(before <= parked.parked_at && parked.parked_at <= after, "by the store's clock");
    }
}

/// Who ever moved is listed by the bytes of its name.
pub async fn subscriptions_are_listed_with_their_progress(backend: &dyn EventBackend) {
    let (ann, desk) = (Scribe::open(backend).await, Desk::open(backend).await);
    assert_eq!(ann.checkpoints.subscriptions(None, 1_000).await.expect("a list"), []);
    let before = desk.now().await;
    for name in ["b", "\u{e4}", "B", "a b", "a'"] {
        assert_eq!(ann.steps(&parking(name, 0, 3, vec![aside(1, "no")])).await, Advance::Advanced);
    }
    assert_eq!(ann.steps(&parking("b", 3, 8, vec![aside(4, "no")])).await, Advance::Advanced);
    let after = desk.now().await;
    let list = ann.checkpoints.subscriptions(None, 1_000).await.expect("a list");
    let shown: Vec<_> = list
        .iter()
        .map(|progress| (progress.name.as_str(), progress.position.0, progress.parked.number))
        .collect();
    assert_eq!(shown, [("B", 3, 1), ("a b", 3, 1), ("a'", 3, 1), ("b", 8, 2), ("\u{e4}", 3, 1)]);
    assert!(list.iter().all(|progress| before <= progress.moved_at && progress.moved_at <= after));
}

/// Who is out of office moves nothing and puts nothing aside: deposed, expired, released or never granted.
pub async fn s41_a_reader_out_of_office_moves_nothing(backend: &dyn EventBackend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let scribe = Scribe::open(backend).await;
    let name = fresh("deposed-reader");
    let old = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &bob, &name).await;
    refused(&scribe, &old.fence(), "an expired one").await;
    let new = bob.takes(&name, LONG).await;
    refused(&scribe, &old.fence(), "a deposed one").await;
    let released = ann.takes(&fresh("released-reader"), LONG).await;
    ann.releases(&released).await;
    refused(&scribe, &released.fence(), "one that has released").await;
    refused(&scribe, &Fence { lease: fresh("no-reader"), term: Term::FIRST }, "one that never was").await;
    let later = Fence { term: new.term.next().expect("a term"), ..new.fence() };
    refused(&scribe, &later, "one of a term that was never granted").await;
    let step = parking("n", 0, 5, vec![aside(1, "no")]);
    let advance = scribe.checkpoints.advance(Some(&new.fence()), &step).await.expect("an answer");
    assert_eq!((advance, scribe.checkpoint("n").await), (Advance::Advanced, Position(5)));
    let stale = scribe.checkpoints.advance(Some(&new.fence()), &step).await.expect("an answer");
    assert_eq!(stale, Advance::Moved { at: Position(5) }, "in office the place counts as well");
}

async fn refused(scribe: &Scribe, fence: &Fence, who: &str) {
    let step = parking("n", 0, 5, vec![aside(1, "no")]);
    let advance = scribe.checkpoints.advance(Some(fence), &step).await.expect("an answer");
    assert_eq!(advance, Advance::Fenced, "{who}");
    assert_eq!((scribe.checkpoint("n").await, parked(scribe, "n", 9).await), (Position::START, Vec::new()));
    assert_eq!(scribe.checkpoints.subscriptions(None, 1_000).await.expect("a list"), []);
}

/// An operator puts it anywhere; what was put aside after that place is read again, and so forgotten.
pub async fn a_rewind_forgets_what_was_put_aside_after_it(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let all = [aside(2, "no"), aside(4, "no"), aside(6, "no")];
    for name in ["n", "other"] {
        assert_eq!(ann.steps(&parking(name, 0, 9, all.to_vec())).await, Advance::Advanced);
    }
    ann.rewinds("n", 4).await;
    assert_eq!((ann.checkpoint("n").await, parked(&ann, "n", 9).await), (Position(4), all[..2].to_vec()));
    assert_eq!((ann.checkpoint("other").await, parked(&ann, "other", 9).await), (Position(9), all.to_vec()));
    let told = ann.steps(&knowing(1, step("n", 9, 10))).await;
    assert_eq!(told, Advance::Moved { at: Position(4) }, "its reader is told");
    let again = knowing(1, parking("n", 4, 9, vec![aside(6, "still no")]));
    assert_eq!(ann.steps(&again).await, Advance::Advanced);
    assert_eq!(parked(&ann, "n", 9).await[2].reason, "still no");
    ann.rewinds("n", 0).await;
    assert_eq!((ann.checkpoint("n").await, parked(&ann, "n", 9).await), (Position::START, Vec::new()));
    assert_eq!(ann.steps(&knowing(2, step("n", 0, 1))).await, Advance::Advanced);
    // Forward too, and for one that has never moved.
    let end = ann.appends(&to("s", 1..=3)).await.position.expect("a position");
    for (name, rewinds) in [("n", 3), ("new", 1)] {
        ann.rewinds(name, end.0).await;
        assert_eq!(ann.checkpoint(name).await, end);
        assert_eq!(ann.steps(&knowing(rewinds, step(name, end.0, end.0 + 1))).await, Advance::Advanced);
    }
}

/// One digit too many would pass over events that are appended later, and nobody would notice.
pub async fn a_rewind_goes_no_further_than_the_end_of_the_log(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let rewind = async |name: &str, place: i64| {
        ann.checkpoints.rewind(&subscription(name), Position(place), "eve").await.expect("an answer")
    };
    assert_eq!(rewind("n", 1).await, Rewind::Beyond { end: Position::START }, "an empty log");
    let end = ann.appends(&to("s", 1..=3)).await.position.expect("a position");
    for name in ["n", "stands"] {
        assert_eq!(ann.steps(&parking(name, 0, 1, vec![aside(1, "no")])).await, Advance::Advanced);
        for place in [end.0 + 1, end.0 * 1_000, i64::MAX] {
            assert_eq!(rewind(name, place).await, Rewind::Beyond { end }, "to {place}");
        }
        let there = Checkpoint { position: Position(1), rewinds: 0 };
        assert_eq!(
            (ann.knows(name).await, parked(&ann, name, 9).await.len()),
            (there, 1),
            "nothing has moved"
        );
    }
    let lines = backend.subscription_audit().await.unwrap_or_default();
    assert_eq!(lines, [], "nothing was done");
    assert_eq!(rewind("n", end.0).await, Rewind::Moved);
    assert_eq!(ann.knows("n").await, Checkpoint { position: end, rewinds: 1 });
    assert_eq!(rewind("new", end.0 + 1).await, Rewind::Beyond { end });
    let known = ann.checkpoints.subscriptions(None, 1_000).await.expect("a list");
    assert_eq!(known.len(), 2, "a refusal makes no subscription");
    // One that is ahead, as after the restore of an older backup, can come back towards the end, and go no further.
    let ahead = end.0 + 10;
    assert_eq!(ann.steps(&step("stands", 1, ahead)).await, Advance::Advanced);
    assert_eq!(rewind("stands", ahead + 1).await, Rewind::Beyond { end });
    assert_eq!(rewind("stands", ahead - 1).await, Rewind::Moved);
}

/// Who began before a rewind moves nothing after it, also when the checkpoint stands again where it left it: what the
/// operator wants handled again would be passed over.
pub async fn a_step_from_before_a_rewind_is_refused_wherever_the_checkpoint_is(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    // One that has never moved stands at the start before and after.
    ann.rewinds("new", 0).await;
    assert_eq!(ann.knows("new").await, Checkpoint { position: Position::START, rewinds: 1 });
    let stale = parking("new", 0, 5, vec![aside(1, "late")]);
    assert_eq!(bob.steps(&stale).await, Advance::Moved { at: Position::START });
    assert_eq!((ann.checkpoint("new").await, parked(&ann, "new", 9).await), (Position::START, Vec::new()));
    let known: Vec<_> = ann.checkpoints.subscriptions(None, 1_000).await.expect("a list");
    assert_eq!(known.len(), 1, "it has a row from then on");
    assert_eq!(ann.steps(&knowing(1, step("new", 0, 5))).await, Advance::Advanced);

    assert_eq!(ann.steps(&step("n", 0, 9)).await, Advance::Advanced);
    assert_eq!(ann.knows("n").await, Checkpoint { position: Position(9), rewinds: 0 });
    ann.rewinds("n", 4).await;
    ann.rewinds("n", 4).await;
    assert_eq!(bob.knows("n").await, Checkpoint { position: Position(4), rewinds: 2 });
    assert_eq!(bob.steps(&knowing(2, step("n", 4, 9))).await, Advance::Advanced);
    for rewinds in [0, 1, 3] {
        let stale = knowing(rewinds, parking("n", 9, 12, vec![aside(10, "late")]));
        assert_eq!(ann.steps(&stale).await, Advance::Moved { at: Position(9) }, "{stale:?}");
        let stays = knowing(rewinds, step("n", 9, 9));
        assert_eq!(ann.steps(&stays).await, Advance::Moved { at: Position(9) }, "{stays:?}");
    }
    assert_eq!((ann.checkpoint("n").await, parked(&ann, "n", 9).await), (Position(9), Vec::new()));
    assert_eq!(bob.steps(&knowing(2, step("n", 9, 12))).await, Advance::Advanced);
    // A reader's own steps are not counted.
    assert_eq!(ann.knows("n").await, Checkpoint { position: Position(12), rewinds: 2 });
}

/// Who did it, and to what.
pub async fn a_rewind_is_audited(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    assert_eq!(ann.steps(&step("n", 0, 9)).await, Advance::Advanced);
    let Some(before) = backend.subscription_audit().await else { return skip(backend, Need::Audit) };
    assert_eq!(before, [], "a reader's own steps are not audited");
    ann.rewinds("n", 4).await;
    let lines = backend.subscription_audit().await.expect("an audit");
    let shown: Vec<_> =
        lines.iter().map(|line| (line.by.as_str(), line.action.as_str(), line.subject.as_str())).collect();
    assert_eq!(shown, [("eve", "subscription rewind", "n")]);
    assert!(lines[0].detail.contains('4'), "where to: {:?}", lines[0].detail);
}

/// Subscriptions, and what one has put aside, are read page by page.
pub async fn subscriptions_and_what_they_put_aside_come_page_by_page(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let names = ["a", "b", "b ", "c%", "\u{e4}"];
    for name in names {
        let parked = (1..=5).map(|position| aside(position, "no")).collect();
        assert_eq!(ann.steps(&parking(name, 0, 5, parked)).await, Advance::Advanced);
    }
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = ann.checkpoints.subscriptions(after.as_ref(), 2).await.expect("a list");
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = Some(last.name.clone());
        found.extend(page);
    }
    assert_eq!(found.iter().map(|progress| progress.name.as_str()).collect::<Vec<_>>(), names);
    assert!(found.iter().all(|progress| progress.parked.number == 5 && !progress.parked.or_more));
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = ann.checkpoints.parked(&subscription("b"), after, 2).await.expect("a list");
        let Some(last) = page.last() else { break };
        after = Some(last.aside.position);
        found.extend(page.iter().map(|parked| parked.aside.position.0));
    }
    assert_eq!(found, [1, 2, 3, 4, 5]);
}
