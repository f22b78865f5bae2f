//! How long an operator waits for a page where there are millions of messages. Run by hand, for filling takes minutes:
//! `TENURE_TEST_LARGE=2000000 cargo test -p tenure-mysql --test it large`, on a server that is not busy with anything else.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::{AuditLog, LeaseAdmin, OutboxAdmin, Stories};
use tenure_core::event::Position;
use tenure_core::lease::LeasePageOf;
use tenure_core::observe::AuditSelection;
use tenure_core::outbox::{CauseId, DeadWalk, Filter, RowId, Selection, State};
use tenure_core::time::StoreTime;
use tenure_sql::SqlStore;

use crate::sandbox::{Sandbox, Server, on_both, say};

/// So many are inserted by one statement.
const BATCH: u64 = 100_000;
/// How long a page may take.
const PAGE: Duration = Duration::from_millis(300);
/// When the first message was enqueued, in seconds since 1970; each further one a second later.
const FIRST: i64 = 1_700_000_000;

async fn fill(sandbox: &Sandbox, rows: u64) {
    let table = |name: &str| sandbox.table(name);
    let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 \
                  UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let (outbox, pending, dead, attempts) =
        (table("outbox"), table("outbox_pending"), table("outbox_dead"), table("outbox_attempts"));
    let (audit, streams, events) = (table("audit"), table("streams"), table("events"));
    // The last 50,000 wait; of the others, 50,000 are dead, of sixty causes.
    let (waiting, grave) = (rows - rows / 40, (rows / 50_000).max(2));
    for begin in (0..rows).step_by(usize::try_from(BATCH).unwrap()) {
        let numbers = format!(
            "(SELECT {begin} + 1 + a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d AS n \
             FROM {digits} AS a, {digits} AS b, {digits} AS c, {digits} AS d, {digits} AS e ORDER BY 1) AS numbers"
        );
        let moment = format!("'1970-01-01' + INTERVAL ({FIRST} + n) SECOND");
        sandbox
            .batch(&format!(
                "SET sql_log_bin = 0; BEGIN; \
                 INSERT INTO {outbox} (id, source, topic, type, payload, created_at, fresh) \
                 SELECT n, concat('s', n % 100000), IF(n = 7, 'rare', 'orders'), 'placed', repeat('x', 300), {moment}, NULL \
                 FROM {numbers}; \
                 INSERT INTO {pending} (id, lane, place_a, place_b, due_us, attempts) \
                 SELECT n, concat('s', n % 100000), 0, 0, {FIRST} * 1000000, n % 50 = 0 FROM {numbers} WHERE n > {waiting}; \
                 INSERT INTO {dead} (id, outcome, reason, attempts, halts, cause) \
                 SELECT n, 'rejected', 'no', 1, 0, 1 + (n div {grave}) % 60 FROM {numbers} WHERE n <= {waiting} AND n % {grave} = 0; \
                 INSERT INTO {attempts} (message, number, outcome, took_us, node) \
                 SELECT n, 1, IF(n % {grave} = 0, 'rejected', 'success'), 1, 'n' FROM {numbers} WHERE n <= {waiting}; \
                 INSERT INTO {audit} (at, actor, action, subject, detail) \
                 SELECT {moment}, IF(n = 7, 'ada', 'bob'), 'outbox retry', 's', 'd' FROM {numbers} WHERE n % 10 = 7; \
                 INSERT INTO {streams} SELECT concat('stream-', n), 1 FROM {numbers} WHERE n % 10 = 0; \
                 INSERT INTO {events} (stream, version, event_id, type, schema_version, correlation, payload) \
                 SELECT concat('stream-', n), 1, uuid(), 'k', 1, concat('c', n % 1000), 'x' FROM {numbers} WHERE n % 10 = 0; \
                 COMMIT"
            ))
            .await;
    }
}

fn searches(rows: u64) -> Vec<(&'static str, Selection)> {
    let page = |filter: Filter| Selection { filter, limit: 50, ..Selection::default() };
    let of = |state| page(Filter { state: Some(state), ..Filter::default() });
    let rare = |state| page(Filter { state, topic: Some("rare".into()), ..Filter::default() });
    let at = |row: u64| Some(StoreTime::from_micros((FIRST + row.cast_signed()) * 1_000_000));
    let range = Filter { from: at(rows / 2), until: at(rows / 2 + 5_000), ..Filter::default() };
    let cause = CauseId::from_column(7);
    vec![
        ("list", page(Filter::default())),
        (
            "list, from the middle",
            Selection { before: Some(RowId(rows.cast_signed() / 2)), ..page(Filter::default()) },
        ),
        ("list pending", of(State::Pending)),
        ("list dispatched", of(State::Dispatched)),
        ("list dead", of(State::Dead)),
        ("list discarded", of(State::Discarded)),
        ("list of a cause", page(Filter { cause: Some(cause), ..Filter::default() })),
        ("search a topic", rare(None)),
        ("search a topic, dispatched", rare(Some(State::Dispatched))),
        ("search a topic, pending", rare(Some(State::Pending))),
        ("search a topic, dead", rare(Some(State::Dead))),
        ("list of a range of time", page(range.clone())),
        ("search a topic in a range", page(Filter { topic: Some("rare".into()), ..range })),
    ]
}

/// Calls it ten times: how long it took at the most, and in the middle.
async fn time<T, F: Future<Output = Result<T, StoreError>>>(
    server: &str,
    what: &str,
    call: impl Fn() -> F,
) -> Duration {
    let mut took = Vec::new();
    for _ in 0..10 {
        let began = Instant::now();
        call().await.unwrap();
        took.push(began.elapsed());
    }
    took.sort();
    say(&format!("{server}, {what}: {:?} in the middle, {:?} at the most", took[5], took[9]));
    took[5]
}

async fn all(store: &SqlStore, server: &str, rows: u64) -> Vec<(String, Duration)> {
    let mut took = Vec::new();
    for (what, selection) in searches(rows) {
        took.push((
            format!("{server}, {what}"),
            time(server, what, || OutboxAdmin::list(store, &selection)).await,
        ));
    }
    let rare = DeadWalk::of(Filter { topic: Some("rare".into()), ..Filter::default() }, 10_000);
    let cause = Filter { cause: Some(CauseId::from_column(7)), ..Filter::default() };
    let cause = DeadWalk::of(cause, 10_000);
    let newest = OutboxAdmin::list(store, &Selection { limit: 1, ..Selection::default() }).await.unwrap();
    let (id, first) = (&newest.messages[0].id, LeasePageOf::first(50));
    let ada = AuditSelection { actor: Some("ada".into()), limit: 50, ..AuditSelection::default() };
    let others = [
        ("pulse", time(server, "pulse", || store.pulse(10_000)).await),
        ("graves", time(server, "graves", || store.graves(None, 50, 1_000)).await),
        ("count a cause", time(server, "count a cause", || store.count_dead(&cause)).await),
        ("show", time(server, "show", || store.show(id, 65_536)).await),
        ("search the audit", time(server, "search the audit", || store.audit(&ada)).await),
        ("streams", time(server, "streams", || store.streams("stream-7", None, 50)).await),
        ("a story", time(server, "a story", || store.story("c70", Position(0), 100)).await),
        ("leases", time(server, "leases", || LeaseAdmin::list(store, &first)).await),
    ];
    took.extend(others.map(|(what, span)| (format!("{server}, {what}"), span)));
    time(server, "count a topic among the dead", || store.count_dead(&rare)).await;
    time(server, "exact numbers", || store.stats()).await;
    took
}

#[test]
fn every_page_of_millions_comes_in_time() {
    let Some(rows) = std::env::var("TENURE_TEST_LARGE").ok().and_then(|rows| rows.parse::<u64>().ok()) else {
        return;
    };
    let late = Mutex::new(Vec::new());
    on_both(|sandbox| async {
        let Some(maria) = Sandbox::empty(Server::MariaDb) else { return };
        let server = if sandbox.url == maria.url { "MariaDB" } else { "MySQL" };
        fill(&sandbox, rows).await;
        say(&format!("{rows} messages on {server}"));
        let took = all(&sandbox.sql().await, server, rows).await;
        late.lock().unwrap().extend(took.into_iter().filter(|(_, span)| *span > PAGE));
        drop(sandbox);
    });
    let late = late.into_inner().unwrap();
    assert!(late.is_empty(), "{late:?}");
}
