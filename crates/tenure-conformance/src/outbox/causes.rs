//! Dead messages by what they have in common.

use tenure_core::outbox::{
    CauseId, Count, Filter, Grave, Graves, Kind, NewMessage, Next, Outcome, Selection, State,
};

use super::backend::OutboxBackend;
use super::desk::{Desk, all, id_of, message, of, only, outcome, sorted};

/// Sends a message and gives it up for this reason.
async fn dies(desk: &Desk<'_>, message: &NewMessage, kind: Kind, reason: &str) {
    desk.sends(std::slice::from_ref(message)).await;
    dies_again(desk, message, kind, reason).await;
}

async fn dies_again(desk: &Desk<'_>, message: &NewMessage, kind: Kind, reason: &str) {
    let row = desk.row(message).await;
    let dead = outcome(&row, kind, Next::Dead { halt: false });
    desk.settles(Outcome { reason: Some(reason.to_owned()), ..dead }).await;
}

async fn graves(desk: &Desk<'_>, after: Option<CauseId>, limit: u32, count_max: u32) -> Graves {
    let graves = desk.admin.graves(after, limit, count_max).await;
    graves.unwrap_or_else(|error| panic!("causes must be answered: {error}"))
}

async fn all_graves(desk: &Desk<'_>) -> Vec<Grave> {
    let graves = graves(desk, None, 100, 1_000).await;
    assert_eq!(graves.more_after, None);
    graves.graves
}

fn of_cause(cause: CauseId) -> Filter {
    Filter { cause: Some(cause), ..all() }
}

/// One outage is one line, whatever numbers and names stand in its reasons.
pub async fn dead_messages_of_one_cause_are_one_group(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    assert_eq!(all_graves(&desk).await, []);
    let sent: Vec<_> = (0..7).map(|number| of(&format!("s{number}"), number)).collect();
    for (number, message) in sent.iter().enumerate().take(5) {
        dies(&desk, message, Kind::Transient, &format!("order {number} timed out after {number}.5 s")).await;
    }
    dies(&desk, &sent[5], Kind::Transient, "connection refused").await;
    dies(&desk, &sent[6], Kind::Rejected, "connection refused").await;
    desk.sends(&[message(100)]).await;
    let found = all_graves(&desk).await;
    assert!(found.windows(2).all(|pair| pair[0].cause < pair[1].cause), "in the order of causes: {found:?}");
    let mut counts: Vec<_> = found.iter().map(|grave| grave.messages).collect();
    counts.sort_by_key(|count| count.number);
    assert_eq!(counts, [Count::exactly(1), Count::exactly(1), Count::exactly(5)]);
    let group = found.iter().find(|grave| grave.messages.number == 5).expect("a group");
    assert_eq!(group.cause, CauseId::of(Kind::Transient, "order 1 timed out after 1 s"));
    assert_eq!(group.oldest.id, id_of(&sent[0]).to_string());
    assert_eq!(group.newest.id, id_of(&sent[4]).to_string());
    assert_eq!(group.newest.state, State::Dead);
    assert_eq!(group.newest.last_error.as_deref(), Some("order 4 timed out after 4.5 s"));
    let selection = Selection { filter: of_cause(group.cause), limit: 2, ..Selection::default() };
    let listing = desk.admin.list(&selection).await.expect("a list");
    let listed: Vec<_> = listing.messages.iter().map(|message| message.id.clone()).collect();
    assert_eq!(listed, [id_of(&sent[4]).to_string(), id_of(&sent[3]).to_string()]);
    assert_eq!(listing.more_before, Some(listing.messages[1].row));
    let rest = Selection { before: listing.more_before, limit: 10, ..selection };
    let rest = desk.admin.list(&rest).await.expect("a list");
    assert_eq!((rest.messages.len(), rest.more_before), (3, None));
}

/// Causes come page by page, and each is counted only as far as was asked for.
pub async fn causes_come_page_by_page(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let words = ["north", "south", "east", "west", "up"];
    for (number, word) in words.iter().enumerate() {
        for copy in 0..=number as u32 {
            dies(&desk, &message(copy), Kind::Rejected, &format!("no way {word}")).await;
        }
    }
    let whole = all_graves(&desk).await;
    assert_eq!(whole.len(), 5);
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = graves(&desk, after, 2, 3).await;
        assert!(page.graves.len() <= 2);
        after = page.more_after;
        paged.extend(page.graves);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(paged.len(), 5);
    for (short, long) in paged.iter().zip(&whole) {
        assert_eq!((short.cause, &short.newest, &short.oldest), (long.cause, &long.newest, &long.oldest));
        assert_eq!(short.messages, Count::up_to(3, long.messages.number));
    }
    let exactly = graves(&desk, None, 5, 1_000).await;
    assert_eq!((exactly.graves.len(), exactly.more_after), (5, None), "there are no more, and it says so");
    assert_eq!(graves(&desk, None, 0, 10).await.graves, []);
    assert_eq!(graves(&desk, whole.last().map(|last| last.cause), 10, 10).await, Graves::default());
}

/// A retry and a discard of a cause change its messages and no others.
pub async fn retry_of_a_cause_leaves_other_causes_alone(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..9).map(|number| of(&format!("s{}", number % 2), number)).collect();
    for (number, message) in sent.iter().enumerate() {
        let reason = ["out of paper", "out of ink", "out of office"][number % 3];
        dies(&desk, message, Kind::Rejected, reason).await;
    }
    let [paper, ink] = ["out of paper", "out of ink"].map(|reason| CauseId::of(Kind::Rejected, reason));
    let count = async |filter: &Filter| desk.counts(filter, 100).await;
    assert_eq!(count(&of_cause(paper)).await, Count::exactly(3));
    let narrow = Filter { source: Some("s0".into()), ..of_cause(paper) };
    assert_eq!(count(&narrow).await.number, 2, "the source counts as well");
    let pending = Filter { state: Some(State::Pending), ..of_cause(paper) };
    assert_eq!((count(&pending).await.number, desk.retries(&pending, "ann", 9).await.len()), (0, 0));
    let none = of_cause(CauseId::of(Kind::Rejected, "nobody died of this"));
    assert_eq!((count(&none).await.number, desk.retries(&none, "ann", 9).await.len()), (0, 0));
    let mut changed = desk.retries(&of_cause(paper), "ann", 100).await;
    changed.sort_unstable();
    assert_eq!(changed, sorted(&[sent[0].clone(), sent[3].clone(), sent[6].clone()]));
    assert_eq!(desk.discards(&of_cause(ink), "ann", 2).await.len(), 2);
    let left: Vec<_> = all_graves(&desk).await.iter().map(|grave| grave.messages.number).collect();
    assert_eq!(left.iter().sum::<u64>(), 4, "one of ink, three of office: {left:?}");
    for (number, message) in sent.iter().enumerate() {
        let state = desk.state(message).await;
        match number % 3 {
            0 => assert_eq!(state, State::Pending),
            1 => assert!(matches!(state, State::Dead | State::Discarded)),
            _ => assert_eq!(state, State::Dead),
        }
    }
}

/// Two operators retry one group at once: each message is changed once, by one of them, with one line of audit.
pub async fn s51_two_operators_retry_one_group_and_each_message_is_changed_once(backend: &dyn OutboxBackend) {
    let (ann, bob) = (Desk::open(backend).await, Desk::open(backend).await);
    let sent: Vec<_> = (0..12).map(|number| of(&format!("s{}", number % 3), number)).collect();
    for message in &sent {
        dies(&ann, message, Kind::Rejected, "no paper").await;
    }
    let filter = of_cause(CauseId::of(Kind::Rejected, "no paper"));
    let (one, other) = tokio::join!(ann.retries(&filter, "ann", 100), bob.retries(&filter, "bob", 100));
    let mut changed: Vec<_> = one.into_iter().chain(other).collect();
    changed.sort_unstable();
    assert_eq!(changed, sorted(&sent), "each once");
    assert_eq!(backend.audit().await.len(), sent.len(), "one line for each");
    assert_eq!(all_graves(&ann).await, []);
}

/// What was decided about waits for nobody.
pub async fn discarded_messages_are_in_no_group(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [message(1), message(2), message(3)];
    for message in &sent {
        dies(&desk, message, Kind::Rejected, "no").await;
    }
    desk.discards(&only(&sent[2]), "ann", 1).await;
    let found = all_graves(&desk).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].messages, Count::exactly(2));
    assert_eq!(found[0].newest.id, id_of(&sent[1]).to_string());
    let listed = desk.lists(of_cause(found[0].cause), None, 10).await;
    assert_eq!(listed.len(), 2);
    desk.discards(&of_cause(found[0].cause), "ann", 10).await;
    assert_eq!(all_graves(&desk).await, []);
}

/// A message that dies again of the same is in the same group, and of something else in another.
pub async fn a_cause_survives_retry_and_a_second_death(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent = [message(1), message(2)];
    for message in &sent {
        dies(&desk, message, Kind::Rejected, "item 7 is gone").await;
    }
    let first = all_graves(&desk).await;
    assert_eq!(first.len(), 1);
    desk.retries(&of_cause(first[0].cause), "ann", 10).await;
    assert_eq!(all_graves(&desk).await, []);
    dies_again(&desk, &sent[0], Kind::Rejected, "item 8 is gone").await;
    dies_again(&desk, &sent[1], Kind::Rejected, "item 8 is broken").await;
    let second = all_graves(&desk).await;
    assert_eq!(second.len(), 2, "{second:?}");
    let same = second.iter().find(|grave| grave.cause == first[0].cause).expect("the same cause");
    assert_eq!(same.newest.id, id_of(&sent[0]).to_string());
}

/// A dry run over an outage's worth of dead messages is answered in time.
pub async fn a_count_of_the_dead_ends_where_it_was_told(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    for number in 0..8 {
        dies(&desk, &message(number), Kind::Rejected, "no").await;
    }
    let cause = CauseId::of(Kind::Rejected, "no");
    let filters = [
        all(),
        of_cause(cause),
        Filter { topic: Some("orders".into()), ..all() },
        Filter { topic: Some("orders".into()), ..of_cause(cause) },
    ];
    for filter in filters {
        for (at_most, found) in [(3, Count { number: 3, or_more: true }), (8, Count::exactly(8))] {
            assert_eq!(desk.counts(&filter, at_most).await, found, "{filter:?}");
        }
        assert_eq!(desk.counts(&filter, u32::MAX).await, Count::exactly(8));
    }
}
