//! What an operator's tool sees where other hands have been at work, and where many write at once.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::contract::{OutboxAdmin as _, OutboxStore as _, RunnerStore as _};
use tenure_core::id::{Node, NodeName};
use tenure_core::observe::{RunnerKind, RunnerReport};
use tenure_core::outbox::{DeadWalk, Filter, Listing, NewMessage, RowId, Selection, State};

use crate::sandbox::{Sandbox, on_each, unique};

on_each!(
    a_page_of_what_waits_has_what_is_not_queued_yet_and_steps_over_what_is_gone,
    a_message_is_found_by_its_id_only_where_the_page_reaches,
    many_processes_report_at_once,
    a_search_among_many_dead_ones_looks_at_so_many_and_goes_on,
);

async fn a_page_of_what_waits_has_what_is_not_queued_yet_and_steps_over_what_is_gone(sandbox: &Sandbox) {
    let (store, outbox) = (sandbox.sql().await, sandbox.table("outbox"));
    let messages: Vec<_> = (0..40).map(|_| NewMessage::json("t", "k", "{}")).collect();
    store.enqueue(&messages, &Default::default()).await.unwrap();
    let plain = vec!["('t', 'k', 'x')"; 30].join(", ");
    sandbox.batch(&format!("INSERT INTO {outbox} (topic, type, payload) VALUES {plain}")).await;
    store.enqueue(&[NewMessage::json("t", "k", "{}")], &Default::default()).await.unwrap();
    // Their rows in the queue are left.
    sandbox.batch(&format!("DELETE FROM {outbox} WHERE id BETWEEN 11 AND 30")).await;
    let pulse = store.pulse(1_000).await.unwrap();
    let stats = store.stats().await.unwrap();
    assert_eq!((pulse.pending.number, pulse.pending.or_more), (stats.pending, false));
    assert_eq!(stats.pending, 20 + 30 + 1);
    assert!(store.pulse(10).await.unwrap().pending.or_more);

    let filter = Filter { state: Some(State::Pending), ..Filter::default() };
    let mut page = Selection { filter, limit: 7, ..Selection::default() };
    let (mut seen, mut pages) = (BTreeSet::new(), 0);
    loop {
        let listing = store.list(&page).await.unwrap();
        for message in &listing.messages {
            assert_eq!(message.state, State::Pending);
            assert!(seen.insert(message.row), "{:?} is there twice", message.row);
        }
        pages += 1;
        assert!(pages < 50, "it ends");
        let Some(before) = listing.more_before else { break };
        page.before = Some(before);
    }
    assert_eq!(seen.len(), 51);
}

async fn a_message_is_found_by_its_id_only_where_the_page_reaches(sandbox: &Sandbox) {
    let store = sandbox.sql().await;
    let messages: Vec<_> = (0..3).map(|_| NewMessage::json("t", "k", "{}")).collect();
    store.enqueue(&messages, &Default::default()).await.unwrap();
    let all = store.list(&Selection { limit: 10, ..Selection::default() }).await.unwrap().messages;
    let id = Some(all[1].id.to_uppercase());
    let one = Selection { filter: Filter { id, ..Filter::default() }, limit: 10, ..Selection::default() };
    let found = store.list(&one).await.unwrap();
    assert_eq!((found.messages.len(), found.more_before), (1, None));
    for state in State::ALL {
        let filter = Filter { state: Some(state), ..one.filter.clone() };
        let found = store.list(&Selection { filter, ..one.clone() }).await.unwrap();
        assert_eq!(found.messages.len(), usize::from(state == State::Pending), "{state:?}");
    }
    let behind = Selection { before: Some(all[1].row), ..one };
    assert!(store.list(&behind).await.unwrap().messages.is_empty());
}

fn report(name: &str) -> RunnerReport {
    RunnerReport {
        kind: RunnerKind::Relay,
        name: name.to_owned(),
        state: "leading".into(),
        trouble: None,
        cycled_ago: Some(Duration::from_millis(5)),
        advanced_ago: None,
        every: Duration::from_secs(1),
        counters: [("delivered".into(), u64::MAX)].into(),
    }
}

/// Each writes rows of its own: nobody waits for another, and none is undone for a deadlock so often that it fails.
async fn many_processes_report_at_once(sandbox: &Sandbox) {
    let mut writers = Vec::new();
    for number in 0..8 {
        let store = sandbox.sql().await;
        let name = NodeName::new(format!("node-{}", number % 4)).unwrap();
        let node = Node { name, incarnation: unique(), machine: "m".into(), pid: number };
        writers.push(tokio::spawn(async move {
            for round in 0..20 {
                let reports: Vec<_> = (0..1 + (round % 5)).map(|one| report(&format!("r{one}"))).collect();
                store.report(&node, &reports).await.unwrap();
                store.forget(Duration::from_secs(600)).await.unwrap();
                store.runners(Duration::from_secs(60), 100).await.unwrap();
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let store = sandbox.sql().await;
    let seen = store.runners(Duration::from_secs(60), 100).await.unwrap();
    assert_eq!((seen.rows.len(), seen.more), (8 * 5, false));
    assert!(seen.rows.iter().all(|row| row.report == report(&row.report.name)));
}

/// Each dead message leads to a message elsewhere: a page looks at 4,000 of them, a count at as many as it is told,
/// and both say that there is more.
async fn a_search_among_many_dead_ones_looks_at_so_many_and_goes_on(sandbox: &Sandbox) {
    let (outbox, dead) = (sandbox.table("outbox"), sandbox.table("outbox_dead"));
    let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 \
                  UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let numbers = format!(
        "(SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d AS n FROM {digits} AS a, {digits} AS b, \
         {digits} AS c, {digits} AS d, {digits} AS e HAVING n <= 12000 ORDER BY n) AS numbers"
    );
    sandbox
        .batch(&format!(
            "INSERT INTO {outbox} (id, topic, type, payload, fresh) \
             SELECT n, IF(n IN (1, 12000), 'rare', 't'), 'k', 'x', NULL FROM {numbers}; \
             INSERT INTO {dead} (id, outcome, reason, attempts, halts, cause) SELECT n, 'rejected', 'no', 1, 0, 1 FROM {numbers}"
        ))
        .await;
    let store = sandbox.sql().await;
    let filter = Filter { state: Some(State::Dead), topic: Some("rare".into()), ..Filter::default() };
    let mut page = Selection { filter: filter.clone(), limit: 10, ..Selection::default() };
    let rows = |listing: &Listing| listing.messages.iter().map(|message| message.row.0).collect::<Vec<_>>();
    let first = store.list(&page).await.unwrap();
    assert_eq!((rows(&first), first.more_before), (vec![12_000], Some(RowId(8_001))));
    page.before = first.more_before;
    let second = store.list(&page).await.unwrap();
    assert_eq!((rows(&second), second.more_before), (vec![], Some(RowId(4_001))));
    page.before = second.more_before;
    assert_eq!(rows(&store.list(&page).await.unwrap()), vec![1]);
    // A count begins with the oldest, and comes as far as row 5,000.
    let walk = DeadWalk { steps: 5_000, ..DeadWalk::of(filter, 100) };
    let count = store.count_dead(&walk).await.unwrap();
    assert_eq!((count.number, count.looked, count.more_after), (1, 5_000, Some(RowId(5_000))));
    let all = store.count_dead(&DeadWalk::of(Filter::default(), 100)).await.unwrap();
    assert_eq!((all.number, all.count().or_more), (100, true));
    let all = store.count_dead(&DeadWalk::of(Filter::default(), 15_000)).await.unwrap();
    assert_eq!((all.number, all.count().or_more), (12_000, false));
}
