//! Going through the dead once from the beginning to the end, by calls of a bounded cost: what operators' jobs do.

use std::collections::BTreeSet;

use tenure_core::outbox::{Acted, CauseId, DeadWalk, Filter, Kind, MessageId, NewMessage, Outcome, RowId};

use super::backend::OutboxBackend;
use super::desk::{Desk, all, dead, everywhere, id_of, message, of, only, sorted};

/// What most die of.
const NO: &str = "no paper";

/// Sends messages and has all of them rejected.
async fn bury(desk: &Desk<'_>, messages: &[NewMessage]) {
    desk.sends(messages).await;
    die(desk).await;
}

/// Everything that is due is rejected.
async fn die(desk: &Desk<'_>) {
    die_of(desk, NO).await;
}

/// The same for a reason.
async fn die_of(desk: &Desk<'_>, reason: &str) {
    let rows = desk.looks(&everywhere()).await.rows;
    let outcomes: Vec<_> =
        rows.iter().map(|row| Outcome { reason: Some(reason.into()), ..dead(row, false) }).collect();
    assert_eq!(desk.records(&outcomes).await.len(), rows.len(), "all must be given up");
}

/// Those that died for a reason.
fn of_reason(reason: &str) -> Filter {
    Filter { cause: Some(CauseId::of(Kind::Rejected, reason)), ..all() }
}

fn parsed(ids: &[String]) -> Vec<MessageId> {
    ids.iter().map(|id| id.parse().expect("an id")).collect()
}

/// What a walk to the end has done.
#[derive(Debug, Default)]
struct Whole {
    changed: Vec<MessageId>,
    looked: u32,
    calls: u32,
}

async fn step(desk: &Desk<'_>, walk: &DeadWalk) -> Acted {
    let acted = desk.admin.retry(walk, "ann").await.expect("a retry");
    assert!(acted.ids.len() <= walk.limit as usize, "a call is bounded: {acted:?}");
    assert!(acted.looked <= walk.steps(), "it looks no further than it may: {acted:?}");
    assert!(acted.more_after.is_none_or(|more| more.0 > walk.after()), "it gets on: {acted:?}");
    acted
}

/// From `walk` on to the end.
async fn retries_to_the_end(desk: &Desk<'_>, mut walk: DeadWalk) -> Whole {
    let mut whole = Whole::default();
    loop {
        let acted = step(desk, &walk).await;
        whole.changed.extend(parsed(&acted.ids));
        whole.looked += acted.looked;
        whole.calls += 1;
        assert!(whole.calls < 1_000, "a walk comes to its end");
        let Some(more) = acted.more_after else { return whole };
        walk.after = Some(more);
    }
}

/// The same without doing anything.
async fn counts_to_the_end(desk: &Desk<'_>, mut walk: DeadWalk) -> (u64, u32) {
    let (mut number, mut looked) = (0, 0);
    loop {
        let counted = desk.admin.count_dead(&walk).await.expect("a count");
        assert!(counted.number <= u64::from(walk.limit) && counted.looked <= walk.steps(), "{counted:?}");
        number += counted.number;
        looked += counted.looked;
        let Some(more) = counted.more_after else { return (number, looked) };
        assert!(more.0 > walk.after(), "it gets on: {counted:?}");
        walk.after = Some(more);
    }
}

/// A few of a rare topic among many dead: every call looks at so many and no more, and all calls together at each once.
pub async fn a_rare_topic_among_many_dead_is_gone_through_once_by_bounded_calls(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let rare = |number: u32| NewMessage { topic: "rare".into(), ..message(number) };
    let many: Vec<_> =
        (0..300).map(|number| if number % 100 == 50 { rare(number) } else { message(number) }).collect();
    bury(&desk, &many).await;
    let meant: Vec<_> = many.iter().filter(|message| message.topic == "rare").cloned().collect();
    let filter = Filter { topic: Some("rare".into()), ..all() };
    for (limit, steps) in [(10, 40), (1, 0), (2, 120), (1, 1_000), (1_000, 300)] {
        let walk = DeadWalk { limit, steps, ..DeadWalk::of(filter.clone(), limit) };
        let dry = counts_to_the_end(&desk, walk.clone()).await;
        assert_eq!(dry, (3, 300), "a dry run goes the same way: {limit}, {steps}");
        let whole = retries_to_the_end(&desk, walk).await;
        let mut changed = whole.changed.clone();
        changed.sort_unstable();
        assert_eq!(changed, sorted(&meant), "{limit}, {steps}");
        assert_eq!(whole.changed.len(), 3, "each once");
        assert_eq!(whole.looked, 300, "{limit}, {steps}: {whole:?}");
        if steps == 40 {
            assert!((8..=9).contains(&whole.calls), "300 of them, forty at a time: {whole:?}");
        }
        die(&desk).await;
    }
    // The first call of a walk that may look at forty finds nothing, and says where it has come to.
    let first = step(&desk, &DeadWalk { steps: 40, ..DeadWalk::of(filter.clone(), 10) }).await;
    assert_eq!((first.ids.len(), first.looked), (0, 40), "{first:?}");
    assert!(first.more_after.is_some());
    // All there are, exactly as many as are meant: there are no more, and it says so.
    let exact = desk.admin.count_dead(&DeadWalk::of(filter.clone(), 3)).await.expect("a count");
    assert_eq!((exact.number, exact.looked, exact.more_after), (3, 300, None));
    let fewer = desk.admin.count_dead(&DeadWalk::of(filter, 2)).await.expect("a count");
    assert_eq!((fewer.number, fewer.looked), (2, 151), "up to where the next call goes on: {fewer:?}");
    assert!(fewer.more_after.is_some());
}

/// A receiver that is not mended: what was retried dies again behind the walk, which comes to its end all the same.
pub async fn what_dies_again_behind_a_walk_is_not_met_twice(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..30).map(|number| of(&format!("s{}", number % 7), number)).collect();
    bury(&desk, &sent).await;
    for filter in [all(), of_reason(NO)] {
        let mut walk = DeadWalk { steps: 7, ..DeadWalk::of(filter.clone(), 4) };
        let mut changed = Vec::new();
        loop {
            let acted = step(&desk, &walk).await;
            changed.extend(parsed(&acted.ids));
            die(&desk).await;
            assert!(changed.len() <= sent.len(), "none is met twice");
            let Some(more) = acted.more_after else { break };
            walk.after = Some(more);
        }
        changed.sort_unstable();
        assert_eq!(changed, sorted(&sent), "each once, of {filter:?}");
        let left = desk.admin.count_dead(&DeadWalk::of(all(), 100)).await.expect("a count");
        assert_eq!(left.number, 30, "all are dead again");
    }
    // What dies for the first time before a walk has come to it is met.
    let first = step(&desk, &DeadWalk::of(all(), 10)).await;
    let late = message(100);
    desk.buries(&late, false).await;
    let rest =
        retries_to_the_end(&desk, DeadWalk { after: first.more_after, ..DeadWalk::of(all(), 10) }).await;
    assert!(rest.changed.contains(&id_of(&late)));
    assert_eq!(rest.changed.len(), 21);
}

/// Two operators go through one group at once: each message is changed by one of them, with one line of audit.
pub async fn s51_two_operators_walk_through_one_group_and_each_message_is_changed_once(
    backend: &dyn OutboxBackend,
) {
    let (ann, bob) = (Desk::open(backend).await, Desk::open(backend).await);
    let sent: Vec<_> = (0..60).map(|number| of(&format!("s{}", number % 5), number)).collect();
    bury(&ann, &sent).await;
    let walk = DeadWalk { steps: 11, ..DeadWalk::of(of_reason(NO), 7) };
    let (one, other) = tokio::join!(retries_to_the_end(&ann, walk.clone()), retries_to_the_end(&bob, walk));
    let mut changed: Vec<_> = one.changed.into_iter().chain(other.changed).collect();
    changed.sort_unstable();
    assert_eq!(changed, sorted(&sent), "each once");
    let audited: BTreeSet<_> = backend.audit().await.into_iter().map(|line| line.subject).collect();
    assert_eq!((audited.len(), backend.audit().await.len()), (60, 60), "one line for each");
    assert_eq!(ann.stats().await.dead, 0);
}

/// A walk by cause or by id looks at those and at no others, however many are dead besides.
pub async fn a_walk_by_cause_or_id_looks_at_no_others(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..40).map(message).collect();
    bury(&desk, &sent).await;
    // Two of them die a second time, of something else.
    for message in [&sent[5], &sent[30]] {
        assert_eq!(desk.retries(&only(message), "ann", 1).await.len(), 1);
    }
    die_of(&desk, "no ink").await;
    let other = of_reason("no ink");
    let cause = other.cause;
    let walk = DeadWalk { steps: 3, ..DeadWalk::of(other, 10) };
    let counted = desk.admin.count_dead(&walk).await.expect("a count");
    assert_eq!((counted.number, counted.looked, counted.more_after), (2, 2, None));
    let named = Filter { cause, ..only(&sent[30]) };
    let one = desk.admin.count_dead(&DeadWalk::of(named.clone(), 10)).await.expect("a count");
    assert_eq!((one.number, one.looked, one.more_after), (1, 1, None));
    let other = Filter { cause, ..only(&sent[7]) };
    assert_eq!(step(&desk, &DeadWalk::of(other, 10)).await, Acted::default(), "dead of something else");
    let behind = DeadWalk { after: Some(RowId(i64::MAX)), ..DeadWalk::of(named.clone(), 10) };
    assert_eq!(step(&desk, &behind).await, Acted::default(), "it stands before");
    assert_eq!(step(&desk, &DeadWalk::of(named, 10)).await.ids, [id_of(&sent[30]).to_string()]);
    assert_eq!(step(&desk, &walk).await.ids, [id_of(&sent[5]).to_string()]);
}
