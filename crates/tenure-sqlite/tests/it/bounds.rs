//! What an operator asks for costs the same however much there is. SQLite counts the steps of its machine, and what takes too
//! many of them is given up: so a bound is proven by a limit of time. With `TENURE_TEST_LARGE=1` among five million messages,
//! and the times are told.

use std::time::{Duration, Instant};

use tenure_core::contract::{AuditLog as _, OutboxAdmin, Stories as _};
use tenure_core::event::Position;
use tenure_core::observe::AuditSelection;
use tenure_core::outbox::{DeadWalk, Filter, Selection, State};
use tenure_core::time::StoreTime;

use crate::backend::SqliteFile;

/// So many messages, of which one in a hundred waits and one in a hundred is dead, of 60 causes.
fn fill(file: &SqliteFile, messages: i64) {
    let few = messages / 50;
    let numbers = |count: i64| {
        format!("with recursive n(i) as (select 1 union all select i + 1 from n where i < {count})")
    };
    let sql = format!(
        "pragma synchronous = off; begin;
         drop trigger tenure_outbox_enqueued;
         insert into tenure_outbox (source, source_seq, topic, type, payload, created_at)
         {0} select 's' || (i % 100000), i, case when i = 1 then 'rare' else 'orders' end, 'Placed', '{{}}',
                    1700000000000000 + i * 1000000 from n;
         insert into tenure_outbox_attempts (message, number, at, outcome, took_us, node)
         select id, 1, created_at, 'success', 5, 'n' from tenure_outbox where id % 100 not in (0, 1);
         insert into tenure_outbox_pending (lane, source_seq, source_index, id, due_at)
         select lane, source_seq, 0, id, created_at from tenure_outbox where id % 100 = 0;
         insert into tenure_outbox_dead (id, source, died_at, outcome, reason, attempts, halts, cause)
         select id, source, created_at, 'rejected', 'no', 1, id % 10000 = 1, id / 100 % 60 + 1
         from tenure_outbox where id % 100 = 1;
         insert into tenure_audit (at, actor, action, subject, detail)
         {1} select 1, 'ada', 'outbox retry', i, '' from n;
         insert into tenure_streams (stream, version) {1} select 'loan-' || i, 1 from n;
         insert into tenure_events (stream, version, event_id, type, schema_version, correlation, payload, recorded_at,
                                    any_version)
         {1} select 'loan-' || i, 1, printf('%08x-0000-4000-8000-%012x', i, i), 'Opened', 1, 'story-' || (i / 10), '{{}}', 1, 0 from n;
         commit;",
        numbers(messages),
        numbers(few)
    );
    file.raw().execute_batch(&sql).unwrap();
}

#[tokio::test]
async fn what_an_operator_asks_for_is_bounded() {
    let large = std::env::var_os("TENURE_TEST_LARGE").is_some();
    let messages: i64 = if large { 5_000_000 } else { 100_000 };
    let file = SqliteFile::start().await;
    fill(&file, messages);
    let store = file.connect().await;
    let newest = OutboxAdmin::list(&store, &Selection { limit: 1, ..Selection::default() }).await.unwrap();
    let newest = newest.messages[0].clone();
    let middle = StoreTime::from_micros(newest.created_at.as_micros() - messages / 2 * 1_000_000);
    let hour = StoreTime::from_micros(middle.as_micros() + 3_600_000_000);
    let causes = store.graves(None, 50, 1_000).await.unwrap();
    assert_eq!((causes.graves.len(), causes.more_after.is_some()), (50, true));
    let (cause, dead) = (Some(causes.graves[7].cause), Some(State::Dead));
    let any = Filter::default;
    let filters = [
        ("any", any()),
        ("rare topic", Filter { topic: Some("rare".into()), ..any() }),
        ("pending", Filter { state: Some(State::Pending), ..any() }),
        ("pending, rare topic", Filter { state: Some(State::Pending), topic: Some("rare".into()), ..any() }),
        ("dispatched", Filter { state: Some(State::Dispatched), ..any() }),
        ("dead", Filter { state: dead, ..any() }),
        ("dead, of a source", Filter { state: dead, source: Some("s1".into()), ..any() }),
        ("discarded", Filter { state: Some(State::Discarded), ..any() }),
        ("of a cause", Filter { cause, ..any() }),
        ("by id", Filter { id: Some(newest.id.clone()), ..any() }),
        ("an hour", Filter { from: Some(middle), until: Some(hour), ..any() }),
        ("dead of an hour", Filter { state: dead, from: Some(middle), until: Some(hour), ..any() }),
    ];
    let mut times = Vec::new();
    for round in 0..2 {
        for (what, filter) in &filters {
            let selection = Selection { filter: filter.clone(), limit: 50, ..Selection::default() };
            let began = Instant::now();
            let listing = OutboxAdmin::list(&store, &selection).await.unwrap();
            assert!(
                !large || *what != "pending" || listing.messages.len() == 50,
                "a page is full: {listing:?}"
            );
            times.push((round, format!("list {what} ({} found)", listing.messages.len()), began.elapsed()));
        }
        let began = Instant::now();
        let pulse = store.pulse(if large { 10_000 } else { 500 }).await.unwrap();
        assert!(pulse.pending.or_more && pulse.dead.or_more, "{pulse:?}");
        times.push((round, "pulse".into(), began.elapsed()));
        let began = Instant::now();
        store.graves(None, 50, 1_000).await.unwrap();
        times.push((round, "graves 50".into(), began.elapsed()));
        let began = Instant::now();
        store.count_dead(&DeadWalk::of(Filter { cause, ..any() }, 100)).await.unwrap();
        times.push((round, "count_dead of a cause, 100".into(), began.elapsed()));
        let nobody = Filter { topic: Some("nobody".into()), ..any() };
        let walk = DeadWalk { steps: if large { 20_000 } else { 200 }, ..DeadWalk::of(nobody, 100) };
        let began = Instant::now();
        let acted = store.retry(&walk, "ada").await.unwrap();
        assert_eq!((acted.ids.len(), acted.looked), (0, walk.steps), "a step of a walk by a rare topic");
        times.push((round, "retry of a rare topic, one step".into(), began.elapsed()));
        let began = Instant::now();
        store.show(&newest.id, 4_096).await.unwrap().unwrap();
        times.push((round, "show".into(), began.elapsed()));
        let began = Instant::now();
        let nobody = AuditSelection { actor: Some("nobody".into()), limit: 50, ..AuditSelection::default() };
        store.audit(&nobody).await.unwrap();
        times.push((round, "audit of nobody".into(), began.elapsed()));
        let began = Instant::now();
        assert_eq!(store.streams("loan-1", None, 50).await.unwrap().len(), 50);
        times.push((round, "streams".into(), began.elapsed()));
        let began = Instant::now();
        let story = store.story("story-7", Position::START, 50).await.unwrap();
        assert_eq!((story.unreadable.first(), story.events.len()), (None, 10));
        times.push((round, "story".into(), began.elapsed()));
    }
    if large {
        for (round, what, took) in &times {
            eprintln!("round {round}: {what}: {:.1} ms", took.as_secs_f64() * 1_000.0);
        }
        let began = Instant::now();
        store.retry(&DeadWalk::of(Filter { cause, ..any() }, 500), "ada").await.unwrap();
        eprintln!("retry 500 of a cause: {:.1} ms", began.elapsed().as_secs_f64() * 1_000.0);
        let began = Instant::now();
        store.stats().await.unwrap();
        eprintln!("stats, exact: {:.1} ms", began.elapsed().as_secs_f64() * 1_000.0);
    }
    let most = if large { Duration::from_millis(300) } else { Duration::from_secs(2) };
    let slow: Vec<_> = times.iter().filter(|(round, _, took)| *round == 1 && *took > most).collect();
    assert!(slow.is_empty(), "{slow:?}");
}

/// No statement of an operator's reads a table through, whatever SQLite knows of its size.
#[test]
fn no_statement_reads_a_table_through() {
    let file = SqliteFile::nothing_yet();
    let connection = file.raw();
    let script = tenure_sqlite::migrations(&tenure_core::naming::Naming::default());
    connection.execute_batch(&script).unwrap();
    let texts = [
        include_str!("../../sql/outbox_walk.sql").replace("{fits}", "1").replace("{state}", ""),
        include_str!("../../sql/outbox_walk_dead.sql")
            .replace("{fits}", "1")
            .replace("{state}", "1")
            .replace("{which}", " and x.discarded_at is null and x.cause = ?9"),
        include_str!("../../sql/dead_causes.sql").to_owned(),
        include_str!("../../sql/dead_list.sql")
            .replace("{fits}", "1")
            .replace("{cause}", " and d.cause = ?9"),
        include_str!("../../sql/dead_list.sql").replace("{fits}", "1").replace("{cause}", ""),
        include_str!("../../sql/outbox_row_before.sql").to_owned(),
        include_str!("../../sql/audit_list.sql").to_owned(),
        include_str!("../../sql/streams_list.sql").to_owned(),
        format!("select * from {{events}} {}", include_str!("../../sql/events_story.sql")),
        include_str!("../../sql/checkpoint_list.sql").to_owned(),
        include_str!("../../sql/parked_list.sql").to_owned(),
    ];
    for text in texts {
        let sql = tenure_core::naming::Naming::default().fill(&text);
        let mut statement = connection.prepare(&format!("explain query plan {sql}")).unwrap();
        let mut rows = statement.raw_query();
        let mut plan = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            plan.push(row.get::<_, String>("detail").unwrap());
        }
        // What a part of the statement has found may be gone through: it is bounded itself.
        let part = |name: &str| {
            ["CO-ROUTINE", "MATERIALIZE"].iter().any(|how| plan.contains(&format!("{how} {name}")))
                || name == "walk"
        };
        let table = |line: &&String| {
            line.strip_prefix("SCAN ").is_some_and(|rest| !part(rest.split(' ').next().unwrap_or_default()))
        };
        let bad: Vec<_> = plan
            .iter()
            .filter(table)
            .filter(|line| *line != "SCAN CONSTANT ROW" && !line.contains("(subquery"))
            .collect();
        assert!(!plan.is_empty() && bad.is_empty(), "{sql}\n{plan:#?}");
    }
}
