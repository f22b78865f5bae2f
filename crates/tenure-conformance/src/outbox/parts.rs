//! Parts: several relays drain one outbox, each what belongs to its part, and a source belongs to one of them.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::outbox::{
    Discover, Look, MessageId, NewMessage, Page, Part, RelaySettings, State, Stored, UnorderedLook,
};

use super::backend::OutboxBackend;
use super::desk::{Desk, again, at_lane, ids, message, of};
use super::driver::{Ledger, Relay, is_settled, quick};

/// A look is broken off after a bounded number of steps: a store that never comes to an end is wrong.
const LOOKS_MAX: u32 = 2_000;
const COUNTS: [u32; 4] = [1, 2, 3, 8];

fn part(index: u32, count: u32) -> Part {
    Part::new(index, count).expect("a part")
}

fn parts(count: u32) -> impl Iterator<Item = Part> {
    Part::all(count).expect("parts")
}

fn id(row: &Stored) -> MessageId {
    row.message_id.parse().expect("an id")
}

/// All that a part has to show: few sources and few rows a look, from where the one before it ended.
async fn all_of(desk: &Desk<'_>, part: Part) -> Vec<Stored> {
    let mut rows = sources_of(desk, part, 5).await;
    let mut after = None;
    for _ in 0..LOOKS_MAX {
        let unordered = Some(UnorderedLook { after, limit: 3 });
        let page = look(desk, Look { unordered, part: Some(part), ..Look::default() }).await;
        let last = page.rows.last().map(|row| (row.due_at, row.id));
        let full = page.rows.len() == 3;
        rows.extend(page.rows);
        match page.unordered_after.or(last.filter(|_| full)) {
            Some(place) => after = Some(place),
            None => return rows,
        }
    }
    panic!("the search for rows without a source does not come to its end");
}

/// The same of what has a source.
async fn sources_of(desk: &Desk<'_>, part: Part, sources: u32) -> Vec<Stored> {
    let (mut rows, mut after) = (Vec::new(), None);
    for _ in 0..LOOKS_MAX {
        let discover = Some(Discover { after, sources, rows_each: 100, except: Vec::new() });
        let page = look(desk, Look { discover, part: Some(part), ..Look::default() }).await;
        let found: BTreeSet<_> = page.rows.iter().filter_map(Stored::lane).collect();
        assert!(found.len() <= sources as usize, "more sources than were asked for: {found:?}");
        rows.extend(page.rows);
        after = page.more_after;
        if after.is_none() {
            return rows;
        }
    }
    panic!("the rotation over the sources does not come to its end");
}

async fn look(desk: &Desk<'_>, look: Look) -> Page {
    desk.looks(&look).await
}

/// Messages of many sources, and as many without.
async fn fills(desk: &Desk<'_>, sources: u32, each: u32) -> Vec<NewMessage> {
    let mut sent = Vec::new();
    for number in 0..each {
        // One by one in turn, as an application does that sends two in each transaction.
        let pair = |source| [of(&format!("source-{source}"), number), message(number)];
        sent.extend((0..sources).flat_map(pair));
    }
    desk.sends(&sent).await;
    sent
}

/// Whatever the number of parts: each message is seen in one of them, and only there.
pub async fn e7_parts_are_disjoint_and_complete(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let mut expected = ids(&fills(&desk, 40, 3).await);
    expected.sort_unstable();
    for count in COUNTS {
        let mut seen = Vec::new();
        for part in parts(count) {
            let rows = all_of(&desk, part).await;
            let again: BTreeSet<_> = all_of(&desk, part).await.iter().map(id).collect();
            assert_eq!(rows.iter().map(id).collect::<BTreeSet<_>>(), again, "part {part} changes");
            seen.extend(rows.iter().map(id));
        }
        seen.sort_unstable();
        assert!(seen == expected, "{} of {} messages are seen by {count} parts", seen.len(), expected.len());
    }
    assert_eq!(desk.due().await.len(), expected.len(), "who does not ask for a part sees everything");
}

/// All rows of a source, also such as come later or have failed, and by whatever kind of look.
pub async fn e7_a_source_stays_in_one_part(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    fills(&desk, 12, 2).await;
    let mut homes: BTreeMap<String, Part> = BTreeMap::new();
    for part in parts(3) {
        for row in sources_of(&desk, part, 100).await {
            let home = *homes.entry(row.lane().expect("a source").into()).or_insert(part);
            assert_eq!(home, part, "{:?} is in two parts", row.lane());
        }
    }
    assert_eq!(homes.len(), 12);
    assert!(homes.values().collect::<BTreeSet<_>>().len() > 1, "sources are spread");
    fills(&desk, 12, 3).await;
    for (source, home) in homes {
        let head = desk.looks(&at_lane(&source, None, 1)).await.rows.remove(0);
        desk.settles(again(&head, std::time::Duration::ZERO)).await;
        for part in parts(3) {
            let lane = Look { part: Some(part), ..at_lane(&source, None, 100) };
            let of_lane = look(&desk, lane).await.rows.len();
            let found = sources_of(&desk, part, 100).await;
            let discovered = found.iter().filter(|row| row.lane() == Some(&source)).count();
            let expected = if part == home { 5 } else { 0 };
            assert_eq!((of_lane, discovered), (expected, expected), "{source} in {part}, at home in {home}");
        }
    }
}

/// Rows without a source are shared out evenly, also where every other row has one.
pub async fn e7_what_has_no_source_is_spread_over_all_parts(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    fills(&desk, 8, 50).await;
    for count in COUNTS {
        let fair = 400 / count as usize;
        for part in parts(count) {
            let rows = all_of(&desk, part).await;
            let share = rows.iter().filter(|row| row.lane().is_none()).count();
            assert!((fair / 3..=fair * 3).contains(&share), "part {part} has {share} of 400");
        }
    }
}

/// A part finds all its sources among a thousand, and a message behind thousands of others, by looks that are bounded.
pub async fn e7_nothing_starves_among_the_sources_of_other_parts(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..1_000).map(|source| of(&format!("many-{source}"), 1)).collect();
    desk.sends(&sent).await;
    let mut found = BTreeSet::new();
    for part in parts(8) {
        let rows = sources_of(&desk, part, 1).await;
        assert!((60..=250).contains(&rows.len()), "part {part} has {} of 1000 sources", rows.len());
        found.extend(rows.iter().map(id));
    }
    assert_eq!(found.len(), 1_000);
    // The same by a relay with little room, while the other parts stand still.
    let expected = sources_of(&desk, part(0, 8), 100).await;
    let settings = RelaySettings { part: Some(part(0, 8)), read_ahead: 8, ..quick() };
    let mut ledger = Ledger::open(backend, 7);
    Relay::start(backend, settings, None).await.drains(&mut ledger).await;
    assert_eq!(ledger.came.len(), expected.len());
    assert_eq!(desk.stats().await.pending, 1_000 - expected.len() as u64, "the rest is left to others");
}

/// A message without a source is found behind any number of those that other parts have left lying.
pub async fn e7_a_search_goes_on_behind_rows_of_other_parts(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..600).map(message).collect();
    desk.sends(&sent).await;
    let mine = part(5, 8);
    let expected = all_of(&desk, mine).await.len();
    assert!((25..=225).contains(&expected), "part {mine} has {expected} of 600");
    let mut ledger = Ledger::open(backend, 8);
    let settings = RelaySettings { part: Some(mine), read_ahead: 1, ..quick() };
    Relay::start(backend, settings, None).await.drains(&mut ledger).await;
    assert_eq!(ledger.came.len(), expected);
    assert_eq!(desk.stats().await.pending, 600 - expected as u64);
}

/// What a part waits for is told to it.
pub async fn e7_a_part_is_told_when_its_own_is_due(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let later = std::time::Duration::from_secs(3_600);
    let source = of("waits", 1).delayed(later);
    desk.sends(std::slice::from_ref(&source)).await;
    let everything = |part| Look { part: Some(part), ..super::desk::everywhere() };
    let mut told = Vec::new();
    for part in parts(8) {
        told.extend(look(&desk, everything(part)).await.next_due.map(|_| part));
    }
    assert_eq!(told.len(), 1, "a source that waits belongs to one part: {told:?}");
    let unordered: Vec<_> = (0..100).map(|number| message(number).delayed(later)).collect();
    desk.sends(&unordered).await;
    for part in parts(8) {
        assert!(
            look(&desk, everything(part)).await.next_due.is_some(),
            "part {part} has something that waits"
        );
    }
}

/// Relays of all parts, one after another and with failures: all is delivered, in order, once in effect.
pub async fn e7_order_within_a_source_is_kept_by_parts(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for sent in fills(&desk, 9, 6).await {
        let text = String::from_utf8_lossy(sent.body.as_bytes()).into_owned();
        expected.entry(sent.source.unwrap_or_else(|| "-".into())).or_default().push(text);
    }
    let mut ledger = Ledger::open(backend, 9);
    (ledger.fails_before, ledger.fails_after) = (20, 15);
    for part in parts(3) {
        let settings = RelaySettings { part: Some(part), run: 2, ..quick() };
        let mut relay = Relay::start(backend, settings, None).await;
        relay.lose_every = 3;
        relay.drains(&mut ledger).await;
    }
    is_settled(backend, &expected).await;
    let pending = tenure_core::outbox::Filter { state: Some(State::Pending), ..super::desk::all() };
    assert!(desk.lists(pending, None, 10).await.is_empty(), "everything is finished");
}
