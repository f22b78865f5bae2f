//! The outbox's tables as other programs see them: the trigger, plain SQL, roles, plans.

use std::time::Duration;

use tenure_core::contract::{OutboxAdmin as _, OutboxStore as _, Schema as _};
use tenure_core::id::NodeName;
use tenure_core::naming::Identifier;
use tenure_core::outbox::{
    Body, DeadWalk, Discover, Filter, Found, Kind, LaneLook, Look, NewMessage, Next, Outcome, Page, Part,
    Recorded, RowId, UnorderedLook,
};
use tenure_core::time::StoreTime;
use tenure_postgres::PostgresStore;

use crate::sandbox::{Mode, Sandbox};

fn everything() -> Look {
    Look {
        discover: Some(Discover { after: None, sources: 1000, rows_each: 1000, except: Vec::new() }),
        unordered: Some(UnorderedLook { after: None, limit: 1000 }),
        ..Look::default()
    }
}

fn outcome(id: RowId, attempt: u32, kind: Kind, next: Next) -> Outcome {
    let reason = (kind != Kind::Success).then(|| "no".to_owned());
    Outcome { id, attempt, kind, next, reason, took: Duration::from_micros(7) }
}

fn node() -> NodeName {
    NodeName::new("n").unwrap()
}

async fn look(store: &PostgresStore) -> Page {
    store.look(&everything()).await.unwrap()
}

/// Whoever inserts may have any search_path: the trigger finds its own table.
#[tokio::test]
async fn the_trigger_finds_its_table_whatever_the_search_path_is() {
    let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
    let schema = format!("{}Home", sandbox.prefix).to_lowercase();
    for configured in [false, true] {
        let mut options = sandbox.options();
        let client = sandbox.superuser().await;
        if configured {
            options.naming.schema = Some(Identifier::new("schema", &schema).unwrap());
        }
        let store = PostgresStore::connect(options).await.unwrap();
        store.migrate().await.unwrap();
        let table = sandbox.table("outbox");
        let table = if configured { format!("{schema}.{table}") } else { format!("public.{table}") };
        client.batch_execute("SET search_path = pg_catalog").await.unwrap();
        let sql = format!("INSERT INTO {table} (topic, type, payload) VALUES ('t', 'k', 'x')");
        client.batch_execute(&sql).await.unwrap();
        assert_eq!(look(&store).await.rows.len(), 1, "{table}");
        if configured {
            client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).await.unwrap();
        }
    }
}

/// The printed script and a foreign insert, by the tool that a DBA has.
#[tokio::test]
async fn psql_can_migrate_and_insert() {
    let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
    let store = sandbox.store().await;
    let psql = |sql: String| {
        let command = std::process::Command::new("psql")
            .args([&sandbox.url, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", &sql])
            .output();
        command.map(|output| {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        })
    };
    let script = store.migrations();
    let path = std::env::temp_dir().join(format!("{}script.sql", sandbox.prefix));
    std::fs::write(&path, script).unwrap();
    let ran = std::process::Command::new("psql")
        .args([&sandbox.url, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"])
        .arg(&path)
        .output();
    std::fs::remove_file(&path).unwrap();
    let Ok(ran) = ran else {
        crate::sandbox::say("psql is not installed: the printed script was not run with it");
        return;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    store.verify_schema().await.unwrap();
    let outbox = sandbox.table("outbox");
    psql(format!(
        "INSERT INTO {outbox} (topic, type, payload) VALUES ('orders', 'OrderPlaced', '{{\"o\": 7}}')"
    ))
    .unwrap();
    let page = look(&store).await;
    assert_eq!(page.rows[0].topic, "orders");
    assert_eq!(page.rows[0].body, Found::Body(Body::Text("{\"o\": 7}".into())));
}

/// Times that no clock shows, and texts longer than any message has, neither break a look nor fill the memory.
#[tokio::test]
async fn s43_extreme_rows_are_read_all_the_same() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, client) = (sandbox.store().await, sandbox.superuser().await);
    let outbox = sandbox.table("outbox");
    let insert = |columns: &str, values: &str| {
        format!("INSERT INTO {outbox} (topic, type, payload, {columns}) VALUES ('t', 'k', 'x', {values})")
    };
    for (columns, values) in [
        ("created_at", "'-infinity'"),
        ("created_at, deliver_at", "'infinity', '-infinity'"),
        ("deliver_at", "'4713-01-01 00:00:00 BC'"),
        ("headers", "repeat('h', 10000000)"),
        ("content_type", "repeat('c', 1000000)"),
        ("source", "repeat('s', 1000000)"),
        ("source", "''"),
        ("source_seq, source_index, source", "-9223372036854775808, -2147483648, 's'"),
    ] {
        client.batch_execute(&insert(columns, values)).await.unwrap();
    }
    for never in ["'infinity'", "'294276-12-31 23:59:59'"] {
        client.batch_execute(&insert("deliver_at", never)).await.unwrap();
    }
    let page = look(&store).await;
    assert_eq!(page.rows.len(), 8);
    assert!(page.next_due.is_some_and(|due| due > page.now));
    assert!(page.rows.iter().all(|row| row.headers.as_ref().is_none_or(|text| text.len() < 70_000)));
    assert!(page.rows.iter().all(|row| row.source.as_ref().is_none_or(|text| text.len() <= 4_000)));
    // Paging by a moment without end goes on behind it.
    let first = page.rows.iter().find(|row| row.lane().is_none()).unwrap();
    assert!(first.due_at < StoreTime::from_micros(0));
    let unordered = Some(UnorderedLook { after: Some((first.due_at, first.id)), limit: 100 });
    let rest = store.look(&Look { unordered, ..Look::default() }).await.unwrap();
    assert_eq!(rest.rows.len(), 6);
    assert!(store.stats().await.unwrap().pending == 10);
    assert_eq!(
        store
            .list(&tenure_core::outbox::Selection { limit: 100, ..Default::default() })
            .await
            .unwrap()
            .messages
            .len(),
        10
    );
}

/// A role that may only do what is published can do its part.
#[tokio::test]
async fn the_published_grants_are_enough() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let client = sandbox.superuser().await;
    let t = |table: &str| sandbox.table(table);
    let producer = format!("{}producer", sandbox.prefix);
    let relay = format!("{}relay", sandbox.prefix);
    let receiver = format!("{}receiver", sandbox.prefix);
    let grants = format!(
        "CREATE ROLE {producer}; CREATE ROLE {relay}; CREATE ROLE {receiver};
         GRANT INSERT, SELECT ON {outbox} TO {producer}; GRANT INSERT ON {pending} TO {producer};
         GRANT SELECT, INSERT ON {inbox} TO {receiver};
         GRANT SELECT, UPDATE ON {leases} TO {relay};
         GRANT SELECT, DELETE ON {outbox}, {attempts}, {inbox} TO {relay}; GRANT INSERT ON {attempts} TO {relay};
         GRANT UPDATE ON {inbox} TO {relay};
         GRANT SELECT, INSERT, UPDATE, DELETE ON {pending}, {dead} TO {relay};
         GRANT INSERT ON {audit} TO {relay};",
        outbox = t("outbox"),
        pending = t("outbox_pending"),
        inbox = t("inbox"),
        leases = t("leases"),
        attempts = t("outbox_attempts"),
        dead = t("outbox_dead"),
        audit = t("audit"),
    );
    client.batch_execute(&grants).await.unwrap();
    let store = sandbox.store().await;
    let user = sandbox.superuser().await;
    user.batch_execute(&format!("SET ROLE {producer}")).await.unwrap();
    let message = NewMessage::json("t", "k", "{}").from_version("s", 1, 0);
    assert!(store.outbox().enqueue_on(&user, &message).await.unwrap().fresh);
    assert!(!store.outbox().enqueue_on(&user, &message).await.unwrap().fresh);
    assert_eq!(store.outbox().enqueue_all_on(&user, &[message.clone(), message]).await.unwrap().len(), 2);
    user.batch_execute(&format!("RESET ROLE; SET ROLE {receiver}")).await.unwrap();
    let inbox = store.inbox(Default::default()).unwrap();
    let consumer = tenure_core::outbox::Consumer::new("c").unwrap();
    let id = tenure_core::outbox::deterministic_id("s", 1, 0);
    use tenure_core::outbox::Accept;
    assert_eq!(inbox.accept_on(&user, &consumer, id).await.unwrap(), Accept::Fresh);
    assert_eq!(inbox.accept_on(&user, &consumer, id).await.unwrap(), Accept::Duplicate);
    assert_eq!(inbox.refuse_on(&user, &consumer, id, "no").await.unwrap(), Accept::Duplicate);
    let other = tenure_core::outbox::deterministic_id("s", 2, 0);
    assert!(matches!(inbox.refuse_on(&user, &consumer, other, "no").await.unwrap(), Accept::Refused { .. }));
    // The relay and the operator, on connections of the store's own.
    let alter = format!("ALTER ROLE {relay} LOGIN");
    client.batch_execute(&alter).await.unwrap();
    let mut other = sandbox;
    let (_, address) = other.url.rsplit_once('@').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    other.url = format!("postgres://{relay}@{address}");
    let worker = other.store().await;
    let page = look(&worker).await;
    let dead = outcome(page.rows[0].id, 1, Kind::Rejected, Next::Dead { halt: true });
    assert_eq!(
        worker.record(None, &node(), &[dead]).await.unwrap(),
        Recorded::Applied(vec![page.rows[0].id])
    );
    assert_eq!(worker.retry(&DeadWalk::of(Filter::default(), 9), "op").await.unwrap().ids.len(), 1);
    let row = look(&worker).await.rows.remove(0);
    let done = outcome(row.id, row.attempts + 1, Kind::Success, Next::Done);
    assert_eq!(worker.record(None, &node(), &[done]).await.unwrap(), Recorded::Applied(vec![row.id]));
    worker.stats().await.unwrap();
    let now = Some(Duration::ZERO);
    let at_once = tenure_core::outbox::Retention { dispatched: now, inbox: now, ..Default::default() };
    let swept = worker.sweep(None, &at_once, None).await.unwrap();
    assert_eq!((swept.dispatched, swept.inbox), (1, 2));
    assert!(worker.listen().await.unwrap().is_some());
    drop(worker);
    let drop_roles =
        format!("DROP OWNED BY {producer}, {relay}, {receiver}; DROP ROLE {producer}, {relay}, {receiver};");
    client.batch_execute(&drop_roles).await.unwrap();
}

/// Someone has written to the tables by hand: an attempt is there that its row does not know of. The rest is recorded.
#[tokio::test]
async fn an_attempt_that_is_there_already_does_not_hold_up_the_batch() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, client) = (sandbox.store().await, sandbox.superuser().await);
    let messages: Vec<_> = (0..5).map(|n| NewMessage::json("t", "k", n.to_string())).collect();
    store.enqueue(&messages, &Default::default()).await.unwrap();
    let rows = look(&store).await.rows;
    let sql = format!(
        "INSERT INTO {} VALUES ({}, 1, now(), 'success', 1, 'x')",
        sandbox.table("outbox_attempts"),
        rows[2].id.0
    );
    client.batch_execute(&sql).await.unwrap();
    let done: Vec<_> = rows.iter().map(|row| outcome(row.id, 1, Kind::Success, Next::Done)).collect();
    let Recorded::Applied(applied) = store.record(None, &node(), &done).await.unwrap() else { panic!() };
    assert_eq!(applied.len(), 5);
    assert_eq!(store.stats().await.unwrap().pending, 0);
}

/// The plan of what a relay does, as its own connection has it: every table by an index, on tables of any size, analysed
/// or not. A plan that was made on an empty table is kept when the table has grown.
#[tokio::test]
async fn a_million_parked_rows_cost_one_probe() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, client) = (sandbox.store().await, sandbox.superuser().await);
    let (outbox, pending) = (sandbox.table("outbox"), sandbox.table("outbox_pending"));
    assert_eq!(look(&store).await.rows.len(), 0, "planned while there is nothing");
    // 30,000 stand for the million, so that a scan of them shows and the test is quick.
    client
        .batch_execute(&format!(
            "INSERT INTO {outbox} (source, topic, type, payload)
             SELECT 'parked', 't', 'k', 'x' FROM generate_series(1, 30000);
             UPDATE {pending} SET due_at = now() + interval '1 hour', attempts = 1
             WHERE id = (SELECT min(id) FROM {pending});
             INSERT INTO {outbox} (source, topic, type, payload)
             SELECT 's' || g % 20, 't', 'k', 'x' FROM generate_series(1, 200) AS g;
             INSERT INTO {outbox} (topic, type, payload) SELECT 't', 'k', 'x' FROM generate_series(1, 50)"
        ))
        .await
        .unwrap();
    let reads = async || {
        let sql = format!(
            "SELECT coalesce(seq_scan, 0), coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0) \
             FROM pg_stat_user_tables WHERE relname = '{pending}'"
        );
        let row = client.query_one(&sql, &[]).await.unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    client.batch_execute("SELECT pg_stat_force_next_flush()").await.unwrap();
    let fresh = sandbox.store().await;
    for (store, which) in [(&store, "planned when empty"), (&fresh, "planned when full")] {
        let before = settled(&reads).await;
        let page = look(store).await;
        assert_eq!(page.rows.len(), 250, "{which}");
        assert!(page.next_due.is_some());
        let lane = LaneLook { source: "s7".into(), after: Some(page.rows[0].place()), limit: 5 };
        store.look(&Look { lanes: vec![lane], ..Look::default() }).await.unwrap();
        let done: Vec<_> =
            page.rows.iter().take(20).map(|row| outcome(row.id, 9, Kind::Success, Next::Done)).collect();
        store.record(None, &node(), &done).await.unwrap();
        for part in Part::all(3).unwrap() {
            store.look(&Look { part: Some(part), ..everything() }).await.unwrap();
        }
        let after = settled(&reads).await;
        assert_eq!(after.0, before.0, "no sequential scan of the pending ({which})");
        assert!(after.1 - before.1 < 2_000, "{} rows were read ({which})", after.1 - before.1);
    }
}

/// Statistics are handed in now and then: waits until they stand still.
async fn settled(reads: &impl AsyncFn() -> (i64, i64)) -> (i64, i64) {
    let mut last = (-1, -1);
    loop {
        // passes time: idle processes of the server hand in their statistics after a second at the latest
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let now = reads().await;
        if now == last {
            return now;
        }
        last = now;
    }
}

/// The statement for other drivers does what it says, without our code.
#[tokio::test]
async fn the_statement_can_be_used_without_our_code() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, user) = (sandbox.store().await, sandbox.user().await);
    let outbox = store.outbox();
    let id = "0b8f9a52-9d2e-4b0a-a1c0-0123456789ab";
    let none = None::<&str>;
    let insert = async || {
        let params: &[&(dyn tokio_postgres::types::ToSql + Sync)] = &[
            &id,
            &"s",
            &3_i64,
            &1_i32,
            &"t",
            &"k",
            &"{}",
            &None::<&[u8]>,
            &"application/json",
            &none,
            &0_i64,
        ];
        user.query(outbox.statement(), params).await.unwrap()
    };
    assert_eq!(insert().await[0].get::<_, String>(0), id);
    assert!(insert().await.is_empty(), "it is there already");
    let row = look(&store).await.rows.remove(0);
    assert_eq!((row.message_id.as_str(), row.sequence.version, row.sequence.index), (id, 3, 1));
}

/// A sweep and a retry at the same time: the message is either gone or pending, never half of each.
#[tokio::test]
async fn s50_a_message_that_is_retried_is_not_swept() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let now = Some(Duration::ZERO);
    let at_once = tenure_core::outbox::Retention { dead: now, ..Default::default() };
    for round in 0..10 {
        let message = NewMessage::json("t", "k", round.to_string());
        store.enqueue(std::slice::from_ref(&message), &Default::default()).await.unwrap();
        let row = look(&store).await.rows.remove(0);
        let dead = outcome(row.id, row.attempts + 1, Kind::Rejected, Next::Dead { halt: false });
        store.record(None, &node(), &[dead]).await.unwrap();
        let filter = Filter::default();
        let walk = DeadWalk::of(filter.clone(), 10);
        let (swept, retried) = tokio::join!(store.sweep(None, &at_once, None), store.retry(&walk, "op"));
        let (swept, retried) = (swept.unwrap().dead, retried.unwrap().ids.len() as u64);
        assert_eq!(swept + retried, 1, "one of them has it");
        let rows = look(&store).await.rows;
        assert_eq!(rows.len() as u64, retried, "what is pending has its message");
        if let Some(row) = rows.first() {
            let done = outcome(row.id, row.attempts + 1, Kind::Success, Next::Done);
            store.record(None, &node(), &[done]).await.unwrap();
        }
    }
}

/// More than one statement carries: the payloads are cut into several, all in the user's one transaction.
#[tokio::test]
async fn a_large_batch_is_enqueued_whole_or_not_at_all() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let message = |n: u32| {
        let body = Body::Bytes(vec![7; 1_000_000]);
        NewMessage::new("t", "k", body).from_version("big", i64::from(n), 0)
    };
    let mut messages: Vec<_> = (0..40).map(message).collect();
    let sent = store.enqueue(&messages, &Default::default()).await.unwrap();
    assert!(sent.len() == 40 && sent.iter().all(|sent| sent.fresh));
    messages.push(NewMessage { topic: "other".into(), ..message(3) });
    messages.insert(0, message(99));
    store.enqueue(&messages, &Default::default()).await.unwrap_err();
    assert_eq!(store.stats().await.unwrap().pending, 40, "nothing of a call that failed");
}
