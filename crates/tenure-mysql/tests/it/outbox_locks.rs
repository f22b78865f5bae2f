//! What others have under way in small tables is not waited for by anyone who has nothing to do with it. Without an index
//! that is told to it, a server reads a small table through, and locks what it reads.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _};
use tenure_core::contract::OutboxStore as _;
use tenure_core::outbox::{Kind, LaneLook, Look, NewMessage, Next, Recorded, Retention, RowId};
use tenure_sql::{Statements, Texts, include_statements};

use crate::outbox::{look, node, outcome};
use crate::sandbox::{Sandbox, on_both};

const TEXTS: Texts = include_statements!("../../sql/");

/// How many rows each table has.
const FEW: u32 = 20;
/// Where the numbers begin that are on the list of what has just come.
const LISTED: u32 = 1_000;

/// The rows with these numbers, in every table that rows are taken out of, or held in, together.
fn rows(sandbox: &Sandbox, numbers: impl Iterator<Item = u32>) -> String {
    let t = |table: &str| sandbox.table(table);
    let one = |n: u32| {
        let id = format!("00000000-0000-4000-8000-{n:012}");
        format!(
            "INSERT INTO {outbox} (id, message_id, source, topic, type, payload, fresh) \
             VALUES ({n}, '{id}', 's{n}', 't', 'k', 'x', NULL); \
             INSERT INTO {pending} (id, lane, place_a, place_b, due_us) VALUES ({n}, 's{n}', 0, 0, 0); \
             INSERT INTO {arrivals} (id) VALUES ({listed}); \
             INSERT INTO {attempts} (message, number, outcome, took_us, node) VALUES ({n}, 1, 'success', 1, 'n'); \
             INSERT INTO {dead} (id, outcome, attempts, halts) VALUES ({n}, 'poison', 1, 0); \
             INSERT INTO {inbox} (consumer, message_id, accepted_at) VALUES ('c', '{id}', '2020-01-01'); \
             INSERT INTO {events} (stream, version, event_id, any_id, type, schema_version, payload) \
             VALUES ('s', {n}, '{id}', '{id}', 't', 1, 'x'); \
             INSERT INTO {streams} (stream, version) VALUES ('st{n}', 1); \
             INSERT INTO {parked} (subscription, position, stream, version, type, attempts, reason) \
             VALUES ('{subscription}', {n}, 's', 1, 't', 1, ''); \
             INSERT INTO {nodes} VALUES ('n{n}', '', 1, '', 1, '', '', 1, 1, '', 0, '2020-01-01', 1); \
             INSERT INTO {assignments} (daemon, state, reason, since, weight, labels, retired, failures, avoids, moves, revision) \
             VALUES ('d{n}', 'unassigned', '', '2020-01-01', 1, '', 0, 0, '', 0, 1); \
             INSERT INTO {leases} (name, term, node, incarnation, claim, machine, pid, backend, acquired_at, renewed_at, expires_at) \
             VALUES ('l{n}', 1, 'n', '', '', '', 1, 'b', '2020-01-01', '2020-01-01', '2020-01-01'); \
             INSERT INTO {fences} VALUES ('l{n}', 1, 1);",
            outbox = t("outbox"),
            pending = t("outbox_pending"),
            arrivals = t("outbox_arrivals"),
            listed = n + LISTED,
            attempts = t("outbox_attempts"),
            dead = t("outbox_dead"),
            inbox = t("inbox"),
            events = t("events"),
            streams = t("streams"),
            parked = t("parked"),
            nodes = t("nodes"),
            assignments = t("assignments"),
            leases = t("leases"),
            fences = t("fences"),
            // Whoever forgets all of one subscription after a place holds all of its rows.
            subscription = if n > FEW { "other" } else { "sub" },
        )
    };
    numbers.map(one).collect()
}

fn filled(statement: &str, values: &[&str]) -> String {
    let mut text = statement.to_owned();
    for (at, value) in values.iter().enumerate().rev() {
        text = text.replace(&format!("${}", at + 1), value);
    }
    text
}

/// Every statement that locks some rows of a table, for so many of them.
fn locking(texts: &Statements, many: u32) -> Vec<String> {
    let list = |one: &dyn Fn(u32) -> String| (1..=many).map(one).collect::<Vec<_>>().join(",");
    let numbers = list(&|n| n.to_string());
    let ids = list(&|n| format!("'00000000-0000-4000-8000-{n:012}'"));
    let leases = list(&|n| format!("'l{n}'"));
    let streams = list(&|n| format!("'st{n}'"));
    let listed = list(&|n| (n + LISTED).to_string());
    let (first, last) = (&*(1 + LISTED).to_string(), &*(many + LISTED).to_string());
    vec![
        filled(&texts.outbox_delete, &[&numbers]),
        filled(&texts.attempts_delete, &[&numbers]),
        filled(&texts.dead_delete, &[&numbers]),
        filled(&texts.dead_discard, &[&numbers]),
        filled(&texts.outbox_lock, &[&numbers]),
        filled(&texts.outbox_finish, &[&numbers, "0"]),
        filled(&texts.outbox_halt, &[&numbers]),
        filled(&texts.outbox_revive, &[&numbers]),
        filled(&texts.outbox_release, &[&numbers]),
        filled(&texts.outbox_again, &["7", "1000"]),
        filled(&texts.outbox_existing, &[&ids]),
        filled(&texts.fresh_hold, &["256", "0", "500"]),
        filled(&texts.pending_lay, &[&numbers]),
        filled(&texts.arrivals_hold, &[&listed]),
        filled(&texts.arrivals_orphans, &[&listed]),
        filled(&texts.arrivals_remove, &[&listed]),
        filled(&texts.arrivals_remove_run, &[first, &(many + LISTED - 1).to_string(), last]),
        filled(&texts.attempts_add_run, &[first, last, "'success'", "1", "'n'", "1"]),
        filled(&texts.fresh_clear, &[&numbers]),
        filled(&texts.inbox_delete, &["'c'", &ids, "1000"]),
        filled(&texts.inbox_read, &["'c'", "'00000000-0000-4000-8000-000000000007'"]),
        filled(&texts.events_known, &[&ids]),
        filled(&texts.events_standing, &["'s'", "3", "12"]),
        filled(&texts.streams_free, &[&streams]),
        filled(&texts.parked_clear, &["'sub'", &numbers]),
        filled(&texts.parked_forget, &["'sub'", "1"]),
        filled(&texts.leases_hold, &[&leases]),
        filled(&texts.fences_try, &[&leases]),
    ]
}

#[test]
fn no_statement_waits_for_rows_that_it_does_not_ask_for() {
    on_both(|sandbox| async move {
        sandbox.batch(&rows(&sandbox, 1..=FEW)).await;
        let mut stranger = sandbox.user().await;
        let mut open = stranger.begin().await.unwrap();
        let theirs = rows(&sandbox, FEW + 1..=FEW + 3);
        sqlx::raw_sql(AssertSqlSafe(theirs)).execute(&mut *open).await.unwrap();

        let texts = Statements::new(&TEXTS, &sandbox.options().naming, ('`', '`'));
        let mut user = sandbox.user().await;
        let session = "SET SESSION innodb_lock_wait_timeout = 1; \
                       SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
        sqlx::raw_sql(session).execute(&mut user).await.unwrap();
        let mut waited = Vec::new();
        let tables = tenure_core::naming::TABLES.map(|table| sandbox.table(table)).join(", ");
        for (analysed, many) in
            [(false, 3), (false, 10), (false, 16), (true, 3), (true, 10), (true, 16), (true, FEW)]
        {
            if analysed {
                sandbox.batch(&format!("ANALYZE TABLE {tables}")).await;
            }
            for statement in &locking(&texts, many) {
                let mut tried = user.begin().await.unwrap();
                let ran = sqlx::raw_sql(AssertSqlSafe(statement.clone())).fetch_all(&mut *tried).await;
                if let Err(error) = ran {
                    waited.push(format!("analysed {analysed}: {statement}: {error}"));
                }
                tried.rollback().await.unwrap();
            }
        }
        assert!(waited.is_empty(), "{}", waited.join("\n"));
        open.rollback().await.unwrap();
    });
}

/// The same through the store: a relay records, and a sweeper sweeps, beside transactions that enqueue, give up and accept.
#[test]
fn relay_and_sweeper_go_on_beside_open_transactions() {
    on_both(|sandbox| async move {
        let mut options = sandbox.options();
        options.lock_timeout = Duration::from_secs(1);
        let store = tenure_mysql::MySqlStore::connect(options).await.expect("a store");
        sandbox.batch(&rows(&sandbox, 1..=FEW)).await;
        // Old ones that were delivered, and others that were not.
        let (outbox, attempts, dead) =
            (sandbox.table("outbox"), sandbox.table("outbox_attempts"), sandbox.table("outbox_dead"));
        sandbox
            .batch(&format!(
                "DELETE FROM {dead}; UPDATE {attempts} SET at = '2020-01-01'; \
                 UPDATE {outbox} SET created_at = '2020-01-01'; DELETE FROM {pending} WHERE id <= 16",
                pending = sandbox.table("outbox_pending")
            ))
            .await;
        let mut stranger = sandbox.user().await;
        let mut open = stranger.begin().await.unwrap();
        let theirs = rows(&sandbox, FEW + 1..=FEW + 3);
        sqlx::raw_sql(AssertSqlSafe(theirs)).execute(&mut *open).await.unwrap();
        store.outbox().enqueue(&mut open, &NewMessage::json("t", "k", "{}")).await.unwrap();

        let lost = outcome(RowId(18), 1, Kind::Poison, Next::Dead { halt: true });
        let recorded = store.sql().record(None, &node(), &[lost]).await.unwrap();
        assert_eq!(recorded, Recorded::Applied(vec![RowId(18)]));
        let keep = Some(Duration::from_secs(3600));
        let retention = Retention { dispatched: keep, inbox: keep, ..Retention::default() };
        let swept = store.sql().sweep(None, &retention, None).await.unwrap();
        assert_eq!((swept.dispatched, swept.inbox), (16, u64::from(FEW)));
        open.rollback().await.unwrap();
        assert_eq!((sandbox.count("outbox").await, sandbox.count("inbox").await), (4, 0));
    });
}

/// A relay of a part has the list laid before it looks. What comes on the list after that, and what is put straight into a lane behind
/// it, also in one transaction with it, stand in their order all the same.
#[test]
fn what_comes_while_the_list_is_laid_is_not_overtaken() {
    on_both(|sandbox| async move {
        let (store, mut stranger) = (sandbox.sql().await, sandbox.user().await);
        let outbox = sandbox.store().await.outbox();
        let send = async |message: NewMessage| store.enqueue(&[message], &Default::default()).await.unwrap();
        let plain = |source: &str| NewMessage::json("t", "k", "{}").from_source(source);
        let placed = |source: &str| NewMessage::json("t", "k", "{}").from_version(source, 5, 0);
        send(plain("x")).await;
        let session = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
        sqlx::raw_sql(session).execute(&mut stranger).await.unwrap();
        let mut open = stranger.begin().await.unwrap();
        let hold = format!("SELECT id FROM {} FOR UPDATE", sandbox.table("outbox_arrivals"));
        sqlx::raw_sql(AssertSqlSafe(hold)).fetch_all(&mut *open).await.unwrap();
        let mut user = sandbox.user().await;
        let mut both = user.begin().await.unwrap();
        for message in [plain("both"), placed("both")] {
            outbox.enqueue(&mut both, &message).await.unwrap();
        }
        let looking = tokio::spawn({
            let store = store.clone();
            async move { look(&store).await }
        });
        // passes time: until it waits for what is on the list
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!looking.is_finished());
        both.commit().await.unwrap();
        send(plain("s")).await;
        send(placed("s")).await;
        open.rollback().await.unwrap();
        let page = looking.await.unwrap();
        let told: Vec<_> = page.rows.iter().map(|row| (row.lane(), row.sequence.version)).collect();
        assert_eq!(told, [(Some("x"), 0)], "what came meanwhile is for the next look");
        assert!(page.next_due.is_some_and(|due| due.as_micros() < page.now.as_micros() + 100_000));
        let page = look(&store).await;
        let told: Vec<_> = page.rows.iter().map(|row| (row.lane(), row.sequence.version)).collect();
        let (both, s, x) = (Some("both"), Some("s"), Some("x"));
        assert_eq!(told, [(both, 0), (both, 5), (s, 0), (s, 5), (x, 0)]);
        // And read as a source that is known.
        send(plain("t")).await;
        let mut open = stranger.begin().await.unwrap();
        let hold = format!("SELECT id FROM {} FOR UPDATE", sandbox.table("outbox_arrivals"));
        sqlx::raw_sql(AssertSqlSafe(hold)).fetch_all(&mut *open).await.unwrap();
        let looking = tokio::spawn(async move {
            let lane = LaneLook { source: "both".into(), after: None, limit: 100 };
            store.look(&Look { lanes: vec![lane], ..Look::default() }).await.unwrap()
        });
        // passes time: the same
        tokio::time::sleep(Duration::from_millis(300)).await;
        outbox_send(&outbox, &mut user, plain("both")).await;
        open.rollback().await.unwrap();
        let told: Vec<_> = looking.await.unwrap().rows.iter().map(|row| row.sequence.version).collect();
        assert_eq!(told, [0], "the second one stands before what has a place of its own");
    });
}

async fn outbox_send(outbox: &tenure_mysql::Outbox, user: &mut sqlx::MySqlConnection, message: NewMessage) {
    let mut transaction = user.begin().await.unwrap();
    outbox.enqueue(&mut transaction, &message).await.unwrap();
    transaction.commit().await.unwrap();
}
