//! What the statements of an operator's tool read: no page may cost more for what is not on it.

use sqlx::mysql::MySqlConnection;
use tenure_sql::{Statements, Texts, include_statements};

use crate::outbox_plans::{filled, reads};
use crate::sandbox::{Sandbox, on_both};

const TEXTS: Texts = include_statements!("../../sql/");

/// So many rows of everything: what reads them all shows.
const MANY: u32 = 20_000;
/// Half of the messages are in the queue, and a quarter is dead, of four causes.
const DEAD: u32 = MANY / 4;

async fn fill(sandbox: &Sandbox) {
    let table = |name: &str| sandbox.table(name);
    let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 \
                  UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let numbers = format!(
        "(SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d AS n \
         FROM {digits} AS a, {digits} AS b, {digits} AS c, {digits} AS d, {digits} AS e \
         HAVING n <= {MANY} ORDER BY n) AS numbers"
    );
    let (moment, half) = ("'2026-01-01' + INTERVAL n SECOND", MANY / 2);
    sandbox
        .batch(&format!(
            "INSERT INTO {outbox} (id, source, topic, type, payload, created_at, fresh) \
             SELECT n, concat('s', n), IF(n = 7, 'rare', 't'), 'k', 'x', {moment}, NULL FROM {numbers}; \
             INSERT INTO {pending} (id, lane, place_a, place_b, due_us) \
             SELECT n, concat('s', n), 0, 0, 0 FROM {numbers} WHERE n > {half}; \
             INSERT INTO {dead} (id, outcome, reason, attempts, halts, cause) \
             SELECT n, 'rejected', 'no', 1, 0, n % 4 FROM {numbers} WHERE n <= {DEAD}; \
             INSERT INTO {audit} (at, actor, action, subject, detail) \
             SELECT {moment}, IF(n = 7, 'ada', 'bob'), 'a', 's', 'd' FROM {numbers}; \
             INSERT INTO {streams} SELECT concat('stream-', n), 1 FROM {numbers}; \
             INSERT INTO {events} (stream, version, event_id, type, schema_version, correlation, payload) \
             SELECT concat('stream-', n), 1, uuid(), 'k', 1, concat('c', n % 1000), 'x' FROM {numbers}; \
             INSERT INTO {leases} (name, term, node, incarnation, claim, machine, pid, backend, acquired_at, renewed_at, \
             expires_at) SELECT concat('lease-', n), 1, 'n', uuid(), uuid(), 'm', 1, 'mysql', {moment}, {moment}, {moment} \
             FROM {numbers}; \
             INSERT INTO {history} (name, term, cause, node, incarnation, machine, pid, at) \
             SELECT IF(n = 7, 'rare', 'x'), n, 'acquired', 'n', uuid(), 'm', 1, {moment} FROM {numbers}; \
             INSERT INTO {checkpoints} (name, position, moved_at) SELECT concat('sub-', n), 1, {moment} FROM {numbers}; \
             INSERT INTO {parked} (subscription, position, stream, version, type, attempts, reason) \
             SELECT 'sub-1', n, 's', 1, 'k', 1, 'no' FROM {numbers}",
            outbox = table("outbox"),
            pending = table("outbox_pending"),
            dead = table("outbox_dead"),
            audit = table("audit"),
            streams = table("streams"),
            events = table("events"),
            leases = table("leases"),
            history = table("lease_history"),
            checkpoints = table("checkpoints"),
            parked = table("parked"),
        ))
        .await;
}

/// A page of a list: `steps` rows are looked at from before a number on, for a topic or for any, and one more than ten found.
fn page(statement: &str, before: u32, steps: u32, topic: &str, last: &str) -> String {
    let (before, steps) = (before.to_string(), steps.to_string());
    filled(statement, &[&before, "0", &steps, topic, "NULL", "NULL", "NULL", "NULL", "11", last])
}

fn asked(texts: &Statements) -> Vec<(&'static str, String, i64)> {
    let end = "_utf8mb4 X'7B'";
    let branch = |cause: &str| filled(&texts.dead_cause, &[cause, "101"]);
    let causes = ["0", "1", "2", "3"].map(branch).join(" UNION ALL ");
    let find = |statement: &str, last: &str| {
        filled(statement, &["100", "9223372036854775807", "50", "NULL", "NULL", "NULL", "NULL", "NULL", last])
    };
    // A message that is not dead: what is dead beside it is not looked at.
    let one = |statement: &str, last: &str| {
        filled(statement, &["14999", "15000", "50", "'rare'", "NULL", "NULL", "NULL", "NULL", last])
    };
    // A row that is looked at is read once in its table, once where it was driven from, and a few times as a row of what was
    // made of it; that is at most so often.
    let each = 20;
    vec![
        ("a page of all", page(&texts.outbox_list, MANY, 11, "NULL", "0"), 11 * each),
        ("a search", page(&texts.outbox_list, 15_000, 200, "'rare'", "0"), 200 * each),
        ("a search for dispatched ones", page(&texts.outbox_list, 15_000, 200, "NULL", "1"), 200 * each),
        ("a page of what waits", page(&texts.outbox_list_pending, 15_000, 11, "NULL", ""), 11 * each),
        ("a page of dead ones", page(&texts.outbox_list_dead, 3_000, 11, "NULL", ""), 11 * each),
        ("a search for dead ones", page(&texts.outbox_list_dead, 3_000, 200, "'rare'", ""), 200 * each),
        ("a page of a cause", page(&texts.outbox_list_cause, 3_000, 11, "NULL", "2"), 11 * each),
        (
            "a search for discarded ones",
            page(&texts.outbox_list_discarded, 3_000, 200, "NULL", ""),
            200 * each,
        ),
        ("messages", filled(&texts.outbox_summaries, &["7,9,15000"]), 4 * each),
        ("a row by time", filled(&texts.outbox_row_before, &["15000"]), 2),
        ("dead ones", find(&texts.dead_find, ""), 50 * each),
        ("dead ones of a cause", find(&texts.dead_find_cause, "2"), 50 * each),
        ("one that may be dead", one(&texts.dead_find, ""), each),
        ("one that may be dead of a cause", one(&texts.dead_find_cause, "2"), each),
        ("the next cause", filled(&texts.dead_cause_next, &["1"]), 2),
        ("causes", filled(&texts.dead_causes, &[&causes]), 4 * 101 * 4),
        ("a pulse", filled(&texts.outbox_pulse, &["101"]), 101 * each),
        ("audit", filled(&texts.audit_list, &["15000", "11", "NULL", "NULL", "NULL", "11"]), 11 * each),
        (
            "a search in the audit",
            filled(&texts.audit_list, &["15000", "200", "'ada'", "NULL", "NULL", "11"]),
            200 * each,
        ),
        ("streams", filled(&texts.streams_list, &["'stream-5'", "'stream-'", "'stream.'", "10"]), 10 * each),
        (
            "few streams",
            filled(&texts.streams_list, &["''", "'stream-777'", "'stream-778'", "900"]),
            20 * each,
        ),
        ("a story", filled(&texts.events_story, &["'c7'", "0", "10", "1000000"]), 10 * each),
        ("leases", filled(&texts.lease_list, &["'lease-5'", "''", end, "10"]), 10 * each),
        ("few leases", filled(&texts.lease_list, &["''", "'lease-777'", "'lease-778'", "900"]), 20 * each),
        ("history", filled(&texts.history_list, &["15000", "10"]), 12),
        ("history of one", filled(&texts.history_of, &["15000", "10", "'rare'"]), 12),
        ("subscriptions", filled(&texts.checkpoint_list, &["''", "10", "100"]), 400),
        ("what was put aside", filled(&texts.parked_list, &["'sub-1'", "15000", "10"]), 12),
    ]
}

/// Whatever the server has counted, and also where it has counted nothing.
#[test]
fn every_page_reads_what_it_looks_at_and_little_else() {
    on_both(|sandbox| async move {
        fill(&sandbox).await;
        let texts = Statements::new(&TEXTS, &sandbox.options().naming, ('`', '`'));
        let mut user: MySqlConnection = sandbox.user().await;
        for analysed in [false, true] {
            let mut wrong = Vec::new();
            for (what, statement, most) in asked(&texts) {
                let read = reads(&mut user, &[statement]).await;
                if read > most {
                    wrong.push(format!("{what}: {read} rows were read, and not {most}, analysed {analysed}"));
                }
            }
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            let tables = ["outbox", "outbox_pending", "outbox_dead", "audit", "streams", "events", "parked"];
            let tables = tables.map(|table| sandbox.table(table)).join(", ");
            sandbox.batch(&format!("ANALYZE TABLE {tables}")).await;
        }
    });
}
