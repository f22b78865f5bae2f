//! What an operator asks for costs the same however much there is: no table is read through, and no more rows are touched
//! than was said. With `TENURE_TEST_LARGE=1` among five million messages, and the times are told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenure_core::contract::{AuditLog as _, CheckpointStore as _, LeaseAdmin, OutboxAdmin, Stories as _};
use tenure_core::event::Position;
use tenure_core::lease::LeasePageOf;
use tenure_core::observe::AuditSelection;
use tenure_core::outbox::{DeadWalk, Filter, RowId, Selection, State};
use tenure_core::time::StoreTime;
use tokio_postgres::Client;

use crate::sandbox::{Mode, Sandbox};

/// The tables that may be large.
const LARGE: [&str; 6] = ["outbox", "outbox_pending", "outbox_dead", "audit", "events", "streams"];

/// So many messages, of which one in a hundred waits and one in a hundred is dead, of 60 causes.
async fn fill(sandbox: &Sandbox, client: &Client, messages: i64) {
    let [outbox, pending, dead, attempts, audit, events, streams] =
        ["outbox", "outbox_pending", "outbox_dead", "outbox_attempts", "audit", "events", "streams"]
            .map(|table| sandbox.table(table));
    let few = messages / 50;
    let sql = format!(
        "SET session_replication_role = replica;
         INSERT INTO {outbox} (source, source_seq, topic, type, payload, created_at)
         SELECT 's' || i % 100000, i, CASE WHEN i = 1 THEN 'rare' ELSE 'orders' END, 'Placed', '{{\"n\":' || i || '}}',
                clock_timestamp() - ({messages} - i) * interval '1 second'
         FROM generate_series(1, {messages}) AS i;
         INSERT INTO {attempts} (message, number, at, outcome, took_us, node)
         SELECT id, 1, created_at, 'success', 5, 'n' FROM {outbox} WHERE id % 100 NOT IN (0, 1);
         INSERT INTO {pending} (id, source, source_seq, source_index, due_at)
         SELECT id, source, source_seq, 0, created_at FROM {outbox} WHERE id % 100 = 0;
         INSERT INTO {dead} (id, source, died_at, outcome, reason, attempts, halts, cause)
         SELECT id, source, created_at, 'rejected', 'no ' || id % 60, 1, id % 10000 = 1, id / 100 % 60 + 1
         FROM {outbox} WHERE id % 100 = 1;
         INSERT INTO {audit} (at, actor, action, subject, detail)
         SELECT clock_timestamp(), 'ada', 'outbox retry', i::text, '' FROM generate_series(1, {few}) AS i;
         INSERT INTO {streams} (stream, version) SELECT 'loan-' || i, 1 FROM generate_series(1, {few}) AS i;
         INSERT INTO {events} (stream, version, event_id, type, schema_version, correlation, payload, recorded_at, any_version)
         SELECT 'loan-' || i, 1, gen_random_uuid(), 'Opened', 1, 'story-' || i / 10, '{{}}', clock_timestamp(), false
         FROM generate_series(1, {few}) AS i;
         SET session_replication_role = origin;
         ANALYZE {outbox}, {pending}, {dead}, {attempts}, {audit}, {events}, {streams};"
    );
    client.batch_execute(&sql).await.unwrap();
}

/// How often each table was read through, and how many of its rows were had by an index.
async fn touched(sandbox: &Sandbox, client: &Client) -> BTreeMap<&'static str, (i64, i64)> {
    let mut touched = BTreeMap::new();
    for table in LARGE {
        let sql = "SELECT seq_scan, coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = $1";
        let row = client.query_one(sql, &[&sandbox.table(table).trim_matches('"')]).await.unwrap();
        touched.insert(table, (row.get(0), row.get(1)));
    }
    touched
}

#[tokio::test]
async fn what_an_operator_asks_for_touches_no_more_rows_than_it_may() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let large = std::env::var_os("TENURE_TEST_LARGE").is_some();
    let messages: i64 = if large { 5_000_000 } else { 30_000 };
    let client = sandbox.superuser().await;
    fill(&sandbox, &client, messages).await;
    // Statistics of the filling session are handed in when it ends, or a while later.
    drop(client);
    // passes time: until the server has counted what that session did
    tokio::time::sleep(Duration::from_millis(500)).await;
    let client = sandbox.superuser().await;
    let before = touched(&sandbox, &client).await;

    let store = sandbox.store().await;
    let newest =
        OutboxAdmin::list(&store, &Selection { limit: 1, ..Selection::default() }).await.unwrap().messages[0]
            .clone();
    let middle = StoreTime::from_micros(newest.created_at.as_micros() - messages / 2 * 1_000_000);
    let hour = StoreTime::from_micros(middle.as_micros() + 3_600_000_000);
    let causes = store.graves(None, 50, 1_000).await.unwrap();
    assert_eq!((causes.graves.len(), causes.more_after.is_some()), (50, true));
    let cause = Some(causes.graves[7].cause);
    let dead = Some(State::Dead);
    let filters = [
        ("any", Filter::default()),
        ("rare topic", Filter { topic: Some("rare".into()), ..Filter::default() }),
        ("pending", Filter { state: Some(State::Pending), ..Filter::default() }),
        (
            "pending, rare topic",
            Filter { state: Some(State::Pending), topic: Some("rare".into()), ..Filter::default() },
        ),
        ("dispatched", Filter { state: Some(State::Dispatched), ..Filter::default() }),
        ("dead", Filter { state: dead, ..Filter::default() }),
        ("dead, of a source", Filter { state: dead, source: Some("s1".into()), ..Filter::default() }),
        ("discarded", Filter { state: Some(State::Discarded), ..Filter::default() }),
        ("of a cause", Filter { cause, ..Filter::default() }),
        ("by id", Filter { id: Some(newest.id.clone()), ..Filter::default() }),
        ("an hour", Filter { from: Some(middle), until: Some(hour), ..Filter::default() }),
        (
            "dead of an hour",
            Filter { state: dead, from: Some(middle), until: Some(hour), ..Filter::default() },
        ),
    ];
    let mut times = Vec::new();
    for round in 0..2 {
        let steps = if large { 0 } else { 500 };
        for (what, filter) in &filters {
            let selection = Selection { filter: filter.clone(), limit: 50, steps, before: None };
            let began = Instant::now();
            let listing = OutboxAdmin::list(&store, &selection).await.unwrap();
            times.push((round, format!("list {what} ({} found)", listing.messages.len()), began.elapsed()));
        }
        let at_most = if large { 10_000 } else { 200 };
        let began = Instant::now();
        let pulse = store.pulse(at_most).await.unwrap();
        assert!(pulse.pending.or_more && pulse.dead.or_more, "{pulse:?}");
        times.push((round, format!("pulse {at_most}"), began.elapsed()));
        let began = Instant::now();
        store.graves(None, 50, if large { 1_000 } else { 3 }).await.unwrap();
        times.push((round, "graves 50".into(), began.elapsed()));
        let began = Instant::now();
        store.count_dead(&DeadWalk::of(Filter { cause, ..Filter::default() }, 100)).await.unwrap();
        times.push((round, "count_dead of a cause, 100".into(), began.elapsed()));
        let nobody = Filter { topic: Some("nobody".into()), ..Filter::default() };
        let walk = DeadWalk { steps: if large { 20_000 } else { 200 }, ..DeadWalk::of(nobody, 100) };
        let began = Instant::now();
        let acted = store.retry(&walk, "ada").await.unwrap();
        assert_eq!((acted.ids.len(), acted.looked), (0, walk.steps), "a step of a walk by a rare topic");
        times.push((round, "retry of a rare topic, one step".into(), began.elapsed()));
        let began = Instant::now();
        store.show(&newest.id, 4_096).await.unwrap().unwrap();
        times.push((round, "show".into(), began.elapsed()));
        let began = Instant::now();
        let nobody =
            AuditSelection { actor: Some("nobody".into()), limit: 50, steps, ..AuditSelection::default() };
        store.audit(&nobody).await.unwrap();
        times.push((round, "audit of nobody".into(), began.elapsed()));
        let began = Instant::now();
        assert_eq!(store.streams("loan-1", None, 50).await.unwrap().len(), 50);
        times.push((round, "streams".into(), began.elapsed()));
        let began = Instant::now();
        assert_eq!(store.story("story-7", Position::START, 50).await.unwrap().events.len(), 10);
        times.push((round, "story".into(), began.elapsed()));
        let began = Instant::now();
        LeaseAdmin::list(&store, &LeasePageOf::first(50)).await.unwrap();
        store.history(None, None, 50).await.unwrap();
        store.subscriptions(None, 50).await.unwrap();
        times.push((round, "leases, history, subscriptions".into(), began.elapsed()));
    }
    if large {
        for (round, what, took) in &times {
            eprintln!("round {round}: {what}: {:.1} ms", took.as_secs_f64() * 1_000.0);
        }
        let began = Instant::now();
        store.retry(&DeadWalk::of(Filter { cause, ..Filter::default() }, 500), "ada").await.unwrap();
        eprintln!("retry 500 of a cause: {:.1} ms", began.elapsed().as_secs_f64() * 1_000.0);
        let began = Instant::now();
        store.stats().await.unwrap();
        eprintln!("stats, exact: {:.1} ms", began.elapsed().as_secs_f64() * 1_000.0);
        let slow = times.iter().filter(|(round, _, took)| *round == 1 && *took > Duration::from_millis(300));
        assert_eq!(slow.collect::<Vec<_>>(), Vec::<&(i32, String, Duration)>::new());
        return;
    }
    // Statistics are handed in when a session ends.
    drop(store);
    // passes time: until the sessions have ended and the server has counted what they did
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let after = touched(&sandbox, &client).await;
    for (table, (scans, rows)) in &after {
        let (scans_before, rows_before) = before[table];
        assert_eq!(*scans, scans_before, "{table} was read through");
        let rows = rows - rows_before;
        // Two rounds of twelve lists of 500 each and a few more; a list without a bound would touch 30,000 each.
        assert!(rows < 2 * 30_000, "{table}: {rows} rows were touched");
    }
    let all: i64 = after.values().map(|(_, rows)| rows).sum::<i64>()
        - before.values().map(|(_, rows)| rows).sum::<i64>();
    assert!(all > 1_000, "the server has counted: {all}");
}

/// Among very many messages that wait, a search for finished ones reads the part of the queue that it goes by, and no more.
#[tokio::test]
async fn a_search_for_finished_messages_reads_only_so_much_of_the_queue() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let client = sandbox.superuser().await;
    let (outbox, pending) = (sandbox.table("outbox"), sandbox.table("outbox_pending"));
    let sql = format!(
        "SET session_replication_role = replica;
         INSERT INTO {outbox} (source, source_seq, topic, type, payload)
         SELECT 's' || i, i, 'orders', 'Placed', '{{}}' FROM generate_series(1, 20000) AS i;
         INSERT INTO {pending} (id, source, source_seq, source_index, due_at)
         SELECT id, source, source_seq, 0, created_at FROM {outbox};
         SET session_replication_role = origin;
         ANALYZE {outbox}, {pending};"
    );
    client.batch_execute(&sql).await.unwrap();
    drop(client);
    // passes time: until the server has counted what that session did
    tokio::time::sleep(Duration::from_millis(500)).await;
    let client = sandbox.superuser().await;
    let before = touched(&sandbox, &client).await;
    let store = sandbox.store().await;
    let filter = Filter { state: Some(State::Dispatched), ..Filter::default() };
    // From the middle on: neither what is newer nor what is older than the walk is read.
    let selection = Selection { filter, limit: 10, steps: 500, before: Some(RowId(10_000)) };
    let listing = OutboxAdmin::list(&store, &selection).await.unwrap();
    assert_eq!((listing.messages.len(), listing.more_before), (0, Some(RowId(9_500))));
    drop(store);
    // passes time: until the sessions have ended and the server has counted what they did
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let after = touched(&sandbox, &client).await;
    for (table, most) in [("outbox", 1_500), ("outbox_pending", 1_500)] {
        let rows = after[table].1 - before[table].1;
        assert!((100..=most).contains(&rows), "{table}: {rows} rows were touched");
        assert_eq!(after[table].0, before[table].0, "{table} was read through");
    }
}

/// Among very many dead messages a count says that there may be more, and where each one fits it reads none of their messages.
#[tokio::test]
async fn a_count_of_dead_messages_looks_at_so_many_and_says_so() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let client = sandbox.superuser().await;
    let (outbox, dead) = (sandbox.table("outbox"), sandbox.table("outbox_dead"));
    let sql = format!(
        "SET session_replication_role = replica;
         INSERT INTO {outbox} (topic, type, payload)
         SELECT CASE WHEN i IN (1, 12000) THEN 'rare' ELSE 'orders' END, 'Placed', '{{}}' FROM generate_series(1, 12000) AS i;
         INSERT INTO {dead} (id, died_at, outcome, reason, attempts, halts, cause)
         SELECT id, created_at, 'rejected', 'no', 1, false, 1 FROM {outbox};
         SET session_replication_role = origin;
         ANALYZE {outbox}, {dead};"
    );
    client.batch_execute(&sql).await.unwrap();
    drop(client);
    let store = sandbox.store().await;
    let rare = Filter { topic: Some("rare".into()), ..Filter::default() };
    let walk = DeadWalk { steps: 5_000, ..DeadWalk::of(rare, 100) };
    let count = store.count_dead(&walk).await.unwrap();
    assert_eq!(
        (count.number, count.looked, count.count().or_more),
        (1, 5_000, true),
        "it begins with the oldest, and comes as far as it was told"
    );
    let all = store.count_dead(&DeadWalk::of(Filter::default(), 15_000)).await.unwrap();
    assert_eq!((all.number, all.count().or_more), (12_000, false));
    let few = store.count_dead(&DeadWalk::of(Filter::default(), 10)).await.unwrap();
    assert_eq!((few.number, few.count().or_more), (10, true));
}
