//! The outbox on real servers: what the suite cannot ask of every store.

use std::process::{Command, Stdio};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, OutboxAdmin as _, OutboxStore};
use tenure_core::id::NodeName;
use tenure_core::outbox::{
    Body, DeadWalk, Discover, Filter, Found, Kind, Limits, Look, MessageError, NewMessage, Next, Outcome,
    Page, Recorded, RowId, Selection, UnorderedLook,
};
use tenure_sql::SqlStore;

use crate::outbox_alone::statements;
use crate::sandbox::{Sandbox, Server, on_both};

pub(crate) fn everything() -> Look {
    Look {
        discover: Some(Discover { after: None, sources: 1_000, rows_each: 100, except: Vec::new() }),
        unordered: Some(UnorderedLook { after: None, limit: 1_000 }),
        ..Look::default()
    }
}

pub(crate) fn outcome(id: RowId, attempt: u32, kind: Kind, next: Next) -> Outcome {
    Outcome { id, attempt, kind, next, reason: None, took: Duration::from_millis(3) }
}

pub(crate) fn node() -> NodeName {
    NodeName::new("ann").unwrap()
}

pub(crate) async fn look(store: &SqlStore) -> Page {
    store.look(&everything()).await.unwrap()
}

/// `INSERT IGNORE` would swallow these with the duplicates. Beside a message that is there already, so that both happen.
#[test]
fn every_error_but_a_duplicate_surfaces() {
    on_both(|sandbox| async move {
        let (store, outbox) = (sandbox.store().await, sandbox.table("outbox"));
        let known = NewMessage::json("t", "k", "{}").from_version("s", 1, 0);
        let (mut user, enqueue) = (sandbox.user().await, store.outbox());
        assert!(enqueue.enqueue(&mut user, &known).await.unwrap().fresh);
        let broken = [
            // A text that is too long, a number out of range, a null, a value of another type, a check.
            ("MODIFY topic varchar(3) NOT NULL", NewMessage::json("topic", "k", "{}")),
            (
                "MODIFY source_index tinyint NOT NULL DEFAULT 0",
                NewMessage::json("t", "k", "{}").from_version("s", 9, 300),
            ),
            ("MODIFY source text NOT NULL", NewMessage::json("t", "k", "{}")),
            ("MODIFY type int NOT NULL", NewMessage::json("t", "no number", "{}")),
            ("ADD CONSTRAINT `{}only` CHECK (topic = 't')", NewMessage::json("u", "k", "{}")),
        ];
        for (alter, bad) in broken {
            let copy = sandbox.table("bare");
            let alter = alter.replace("{}", &sandbox.prefix);
            // A table of the same kind, under its name, so that each error is alone.
            sandbox
                .batch(&format!(
                    "DROP TABLE IF EXISTS {copy}; RENAME TABLE {outbox} TO {copy}; CREATE TABLE {outbox} LIKE {copy}; \
                     INSERT INTO {outbox} (message_id, source, source_seq, topic, type, payload, content_type) \
                     SELECT message_id, source, source_seq, topic, IF({digits}, '1', type), payload, content_type FROM {copy}; \
                     ALTER TABLE {outbox} {alter}",
                    digits = i32::from(alter.contains("type int")),
                ))
                .await;
            let many = [known.clone(), bad.clone()];
            for messages in [&many[1..], &many[..]] {
                let answer = enqueue.enqueue_all(&mut user, messages).await;
                assert!(
                    matches!(
                        answer,
                        Err(EnqueueError::Store(StoreError::Failed { .. }) | EnqueueError::Message(_))
                    ),
                    "{alter}: {answer:?}"
                );
            }
            let answer = enqueue.enqueue(&mut user, &bad).await;
            assert!(
                matches!(answer, Err(EnqueueError::Store(StoreError::Failed { .. }))),
                "{alter}: {answer:?}"
            );
            assert_eq!(sandbox.count("outbox").await, 1, "{alter}: nothing of it is there");
            sandbox.batch(&format!("DROP TABLE {outbox}; RENAME TABLE {copy} TO {outbox}")).await;
        }
        sandbox.batch(&format!("DROP TABLE {outbox}")).await;
        let answer = enqueue.enqueue(&mut user, &known).await;
        assert!(matches!(answer, Err(EnqueueError::Store(StoreError::SchemaMissing { .. }))), "{answer:?}");
    });
}

/// Many who enqueue the same messages at once, in transactions of their own and in that of the store: one row each, one
/// of them finds it fresh, and nobody gets an error.
#[test]
fn s28_of_many_who_race_for_an_id_one_inserts_it() {
    on_both(|sandbox| async move {
        let store = sandbox.store().await;
        let mut tasks = Vec::new();
        for racer in 0..8 {
            let (outbox, sql, mut user) = (store.outbox(), store.sql().clone(), sandbox.user().await);
            tasks.push(tokio::spawn(async move {
                let mut fresh = 0;
                for number in 0..20 {
                    let message = NewMessage::json("t", "k", "{}").from_version("race", number, 0);
                    let sent = match racer % 2 {
                        0 => outbox.enqueue(&mut user, &message).await.unwrap(),
                        _ => sql.enqueue(&[message], &Default::default()).await.unwrap()[0],
                    };
                    fresh += u64::from(sent.fresh);
                }
                fresh
            }));
        }
        let mut fresh = 0;
        for task in tasks {
            fresh += task.await.unwrap();
        }
        assert_eq!((fresh, sandbox.count("outbox").await), (20, 20));
    });
}

/// A duplicate undoes its statement and nothing else: what the user wrote before it stays, and the transaction goes on. At
/// REPEATABLE READ the message that is there may be younger than the transaction's snapshot.
#[test]
fn a_users_transaction_goes_on_after_a_duplicate_at_every_isolation() {
    on_both(|sandbox| async move {
        let (store, effects) = (sandbox.store().await, sandbox.table("effects"));
        sandbox.batch(&format!("CREATE TABLE {effects} (effect varchar(20))")).await;
        for (number, level) in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"].into_iter().enumerate() {
            let version = i64::try_from(number).unwrap();
            let known = NewMessage::json("t", "k", "{}").from_version("s", version, 0);
            let next = NewMessage::json("t", "k", "{}").from_version("s", version, 1);
            let mut user = sandbox.user().await;
            let begin = format!(
                "SET SESSION TRANSACTION ISOLATION LEVEL {level}; START TRANSACTION; \
                INSERT INTO {effects} VALUES ('{level}')"
            );
            sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut user).await.unwrap();
            // The snapshot is taken here, before the other commits.
            let read = format!("SELECT count(*) FROM {}", sandbox.table("inbox"));
            sqlx::query(AssertSqlSafe(read)).fetch_one(&mut user).await.unwrap();
            store.sql().enqueue(std::slice::from_ref(&known), &Default::default()).await.unwrap();
            let sent = store.outbox().enqueue_all(&mut user, &[known.clone(), next]).await.unwrap();
            assert_eq!(sent.iter().map(|sent| sent.fresh).collect::<Vec<_>>(), [false, true], "{level}");
            let other = NewMessage { topic: "other".into(), ..known };
            let clash = store.outbox().enqueue(&mut user, &other).await;
            assert!(matches!(clash, Err(EnqueueError::Message(MessageError::Conflict { .. }))), "{clash:?}");
            sqlx::raw_sql("COMMIT").execute(&mut user).await.unwrap();
        }
        assert_eq!((sandbox.count("effects").await, sandbox.count("outbox").await), (3, 6));
    });
}

/// The script for a DBA, and the insert that a program in any language needs, through the server's own client.
#[test]
fn the_client_can_migrate_and_insert() {
    for server in [Server::MariaDb, Server::MySql] {
        let Some(sandbox) = Sandbox::empty(server) else { continue };
        let naming = sandbox.options().naming;
        let script = tenure_mysql::migrations(&naming);
        let outbox = sandbox.table("outbox");
        let Some(()) = sandbox.client(&format!(
            "{script}\nSET sql_mode = '';\nINSERT INTO {outbox} (topic, type, payload) VALUES ('orders', 'OrderPlaced', '{{\"o\": 7}}');\
             \nSET time_zone = '+09:00';\nINSERT INTO {outbox} (topic, type, payload, source) VALUES ('orders', 'OrderPaid', 'ä', 'o-7');"
        )) else {
            continue;
        };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let store = sandbox.sql().await;
            let page = look(&store).await;
            assert_eq!(page.rows.len(), 2);
            assert!(
                page.rows.iter().all(|row| row.due_at <= page.now),
                "due at once, wherever the client is"
            );
            assert_eq!((page.rows[0].lane(), page.rows[0].topic.as_str()), (Some("o-7"), "orders"));
            assert_eq!(page.rows[1].body, Found::Body(Body::Text("{\"o\": 7}".into())));
        });
    }
}

/// What no clock shows and no message has neither breaks a look nor fills the memory.
#[test]
fn s43_extreme_rows_are_read_all_the_same() {
    on_both(|sandbox| async move {
        let (store, outbox) = (sandbox.sql().await, sandbox.table("outbox"));
        // A session without the strict mode stores zeros for dates.
        for (columns, values) in [
            ("created_at", "'0000-00-00'"),
            ("created_at, deliver_at", "'9999-12-31', '1000-01-01'"),
            ("headers", "repeat('h', 10000000)"),
            ("content_type", "repeat('c', 60000)"),
            ("source", "repeat('s', 60000)"),
            ("source", "repeat('ä', 251)"),
            ("source", "''"),
            ("source_seq, source_index, source", "-9223372036854775808, -2147483648, 's'"),
            ("message_id", "'no uuid '"),
            ("deliver_at", "'9999-12-31 23:59:59.999999'"),
        ] {
            sandbox
                .batch(&format!(
                    "SET sql_mode = ''; INSERT INTO {outbox} (topic, type, payload, {columns}) VALUES ('t', 'k', 'x', {values})"
                ))
                .await;
        }
        let page = look(&store).await;
        assert_eq!(page.rows.len(), 9);
        assert!(page.next_due.is_some_and(|due| due > page.now));
        assert!(page.rows.iter().all(|row| row.headers.as_ref().is_none_or(|text| text.len() < 70_000)));
        assert!(page.rows.iter().all(|row| row.source.as_ref().is_none_or(|text| text.len() <= 4_000)));
        assert_eq!(page.rows.iter().filter(|row| row.lane().is_some()).count(), 1);
        let done: Vec<_> =
            page.rows.iter().map(|row| outcome(row.id, 1, Kind::Poison, Next::Dead { halt: true })).collect();
        let Recorded::Applied(applied) = store.record(None, &node(), &done).await.unwrap() else { panic!() };
        assert_eq!(applied.len(), 9);
        assert_eq!(store.stats().await.unwrap().pending, 1);
        let listed = store.list(&Selection { limit: 100, ..Default::default() }).await.unwrap();
        assert_eq!(listed.messages.len(), 10);
    });
}

/// Someone has written to the tables by hand: an attempt is there that its row does not know of, or a death. The rest is
/// recorded.
#[test]
fn what_another_hand_left_behind_does_not_hold_up_a_batch() {
    on_both(|sandbox| async move {
        let store = sandbox.sql().await;
        let messages: Vec<_> = (0..5).map(|n| NewMessage::json("t", "k", n.to_string())).collect();
        store.enqueue(&messages, &Default::default()).await.unwrap();
        let rows = look(&store).await.rows;
        let (attempts, dead) = (sandbox.table("outbox_attempts"), sandbox.table("outbox_dead"));
        sandbox
            .batch(&format!(
                "INSERT INTO {attempts} (message, number, outcome, took_us, node) VALUES ({id}, 1, 'success', 1, 'x'); \
                 INSERT INTO {dead} (id, outcome, attempts, halts) VALUES ({id}, 'poison', 1, 0)",
                id = rows[2].id.0
            ))
            .await;
        let done: Vec<_> =
            rows[..4].iter().map(|row| outcome(row.id, 1, Kind::Success, Next::Done)).collect();
        let Recorded::Applied(applied) = store.record(None, &node(), &done).await.unwrap() else { panic!() };
        assert_eq!(applied.len(), 4);
        let dead = outcome(rows[4].id, 1, Kind::Rejected, Next::Dead { halt: false });
        sandbox
            .batch(&format!(
                "INSERT INTO {} (id, outcome, attempts, halts) VALUES ({}, 'poison', 1, 0)",
                sandbox.table("outbox_dead"),
                rows[4].id.0
            ))
            .await;
        let Recorded::Applied(applied) = store.record(None, &node(), &[dead]).await.unwrap() else {
            panic!()
        };
        assert_eq!((applied.len(), store.stats().await.unwrap().pending), (1, 0));
    });
}

/// A sweep and a retry at the same time: the message is either gone or pending, never half of each.
#[test]
fn s50_a_message_that_is_retried_is_not_swept() {
    on_both(|sandbox| async move {
        let store = sandbox.sql().await;
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
    });
}

/// More than one statement carries: all in one transaction, the store's or the user's.
#[test]
fn a_large_batch_is_enqueued_whole_or_not_at_all() {
    on_both(|sandbox| async move {
        let store = sandbox.store().await;
        let message = |n: u32| {
            let body = Body::Bytes(vec![7; 900_000]);
            NewMessage::new("t", "k", body).from_version("big", i64::from(n), 0)
        };
        let mut messages: Vec<_> = (0..10).map(message).collect();
        let sent = store.sql().enqueue(&messages, &Default::default()).await.unwrap();
        assert!(sent.len() == 10 && sent.iter().all(|sent| sent.fresh));
        messages.push(NewMessage { topic: "other".into(), ..message(3) });
        messages.insert(0, message(99));
        store.sql().enqueue(&messages, &Default::default()).await.unwrap_err();
        assert_eq!(sandbox.count("outbox").await, 10, "nothing of a call that failed");
        let mut user = sandbox.user().await;
        sqlx::raw_sql("BEGIN").execute(&mut user).await.unwrap();
        let small = NewMessage::json("t", "k", "{}").from_version("small", 1, 0);
        store.outbox().enqueue(&mut user, &small).await.unwrap();
        store.outbox().enqueue_all(&mut user, &messages).await.unwrap_err();
        sqlx::raw_sql("COMMIT").execute(&mut user).await.unwrap();
        assert_eq!(sandbox.count("outbox").await, 11, "what stood before it stays");
        let many: Vec<_> =
            (0..1_200).map(|n| NewMessage::json("t", "k", "{}").from_version("many", n, 0)).collect();
        // Several statements without a transaction could not be undone together.
        let refused = store.outbox().enqueue_all(&mut user, &many).await;
        let Err(EnqueueError::Store(StoreError::Refused { message, .. })) = refused else {
            panic!("{refused:?}")
        };
        assert!(message.contains("no transaction is open"), "{message}");
        assert_eq!(sandbox.count("outbox").await, 11, "nothing of it is there");
        for fresh in [true, false] {
            sqlx::raw_sql("BEGIN").execute(&mut user).await.unwrap();
            let sent = store.outbox().enqueue_all(&mut user, &many).await.unwrap();
            assert!(sent.iter().all(|sent| sent.fresh == fresh));
            sqlx::raw_sql("COMMIT").execute(&mut user).await.unwrap();
        }
        assert_eq!(sandbox.count("outbox").await, 1_211);
        // Without autocommit, every statement is in a transaction.
        let others: Vec<_> =
            (0..1_200).map(|n| NewMessage::json("t", "k", "{}").from_version("others", n, 0)).collect();
        sqlx::raw_sql("SET autocommit = 0").execute(&mut user).await.unwrap();
        store.outbox().enqueue_all(&mut user, &others).await.unwrap();
        sqlx::raw_sql("ROLLBACK").execute(&mut user).await.unwrap();
        assert_eq!(sandbox.count("outbox").await, 1_211);
    });
}

/// Headers count as well as payloads: 500 messages with 60 KB of them each are more than MariaDB takes at once.
#[test]
fn statements_are_bounded_also_by_headers() {
    on_both(|sandbox| async move {
        let store = sandbox.store().await;
        let mut messages: Vec<_> = (0..500)
            .map(|n| {
                let message = NewMessage::json("t", "k", "{}").from_version("s", n, 0);
                message.with_header("x-large", "y".repeat(60_000))
            })
            .collect();
        let sent = store.sql().enqueue(&messages[..400], &Default::default()).await.unwrap();
        assert!(sent.iter().all(|sent| sent.fresh));
        let mut user = sandbox.user().await;
        sqlx::raw_sql("BEGIN").execute(&mut user).await.unwrap();
        messages.reverse();
        let sent = store.outbox().enqueue_all(&mut user, &messages).await.unwrap();
        sqlx::raw_sql("COMMIT").execute(&mut user).await.unwrap();
        assert_eq!(sent.iter().filter(|sent| sent.fresh).count(), 100);
        assert_eq!(sandbox.count("outbox").await, 500);
    });
}

/// Another hand may write what it likes: people see it all the same, and no relay turns in circles over it.
#[test]
fn what_is_written_by_hand_is_shown_or_refused() {
    on_both(|sandbox| async move {
        let (store, outbox) = (sandbox.sql().await, sandbox.table("outbox"));
        let message = NewMessage::json("t", "k", "{}").from_version("s", 1, 0);
        let id = store.enqueue(&[message], &Default::default()).await.unwrap()[0].id.to_string();
        let attempts = sandbox.table("outbox_attempts");
        sandbox
            .batch(&format!(
                "INSERT INTO {attempts} (message, number, outcome, took_us, node) SELECT id, 1, 'odd', -1, 'x' FROM {outbox}"
            ))
            .await;
        let shown = store.show(&id, usize::MAX).await.unwrap().expect("it is there");
        assert_eq!(shown.attempts.iter().map(|attempt| attempt.outcome).collect::<Vec<_>>(), [Kind::Poison]);
        let pending = sandbox.table("outbox_pending");
        for wrong in ["attempts = -1", "queued = 3", "queued = 0", "forgiven = -1"] {
            let mut user = sandbox.user().await;
            let update = AssertSqlSafe(format!("UPDATE {pending} SET {wrong}"));
            let error = sqlx::query(update).execute(&mut user).await.expect_err(wrong).to_string();
            assert!(error.to_lowercase().contains("constraint"), "{wrong}: {error}");
        }
    });
}

/// Users that may only do what is published can do their part.
#[test]
fn the_published_grants_are_enough() {
    on_both(|sandbox| async move {
        let name = |what: &str| format!("{}{what}", sandbox.prefix);
        let t = |table: &str| sandbox.table(table);
        let store = sandbox.store().await;
        sandbox
            .batch(&format!(
                "CREATE USER {producer}@'%'; CREATE USER {plain}@'%'; CREATE USER {receiver}@'%'; \
                 GRANT INSERT, SELECT, UPDATE ON {outbox} TO {producer}@'%'; \
                 GRANT INSERT, SELECT, UPDATE ON {pending} TO {producer}@'%'; \
                 GRANT INSERT, SELECT, UPDATE ON {arrivals} TO {producer}@'%'; \
                 GRANT EXECUTE ON PROCEDURE {routine} TO {producer}@'%'; GRANT INSERT ON {outbox} TO {plain}@'%'; \
                 GRANT INSERT, SELECT, UPDATE ON {inbox} TO {receiver}@'%'",
                producer = name("p"),
                plain = name("q"),
                receiver = name("r"),
                outbox = t("outbox"),
                pending = t("outbox_pending"),
                arrivals = t("outbox_arrivals"),
                routine = t("outbox_enqueue"),
                inbox = t("inbox"),
            ))
            .await;
        let mut producer = sandbox.user_named(&name("p")).await;
        let message = NewMessage::json("t", "k", "{}").from_version("s", 1, 0);
        assert!(store.outbox().enqueue(&mut producer, &message).await.unwrap().fresh);
        assert!(!store.outbox().enqueue(&mut producer, &message).await.unwrap().fresh);
        let outbox = store.outbox();
        let mut asked = 0;
        for _ in 0..2 {
            asked = statements(&mut producer).await;
            let mut open = producer.begin().await.unwrap();
            assert!(outbox.enqueue(&mut open, &NewMessage::json("t", "k", "{}")).await.unwrap().fresh);
            open.commit().await.unwrap();
        }
        // BEGIN, both rows, COMMIT; and the question for it.
        assert_eq!(statements(&mut producer).await - asked, 4, "as one, with these rights");
        assert_eq!(sandbox.count("outbox_arrivals").await, 2, "left to nobody");
        let mut plain = sandbox.user_named(&name("q")).await;
        let insert = format!("INSERT INTO {} (topic, type, payload) VALUES ('t', 'k', 'x')", t("outbox"));
        sqlx::query(AssertSqlSafe(insert)).execute(&mut plain).await.unwrap();
        let mut receiver = sandbox.user_named(&name("r")).await;
        let inbox = store.inbox(Default::default()).unwrap();
        let consumer = tenure_core::outbox::Consumer::new("c").unwrap();
        use tenure_core::outbox::{Accept, deterministic_id};
        let (id, other) = (deterministic_id("s", 1, 0), deterministic_id("s", 2, 0));
        assert_eq!(inbox.accept(&mut receiver, &consumer, id).await.unwrap(), Accept::Fresh);
        assert_eq!(inbox.accept(&mut receiver, &consumer, id).await.unwrap(), Accept::Duplicate);
        let refused = inbox.refuse(&mut receiver, &consumer, other, "no").await.unwrap();
        assert!(matches!(refused, Accept::Refused { .. }));
        for what in ["p", "q", "r"] {
            sandbox.batch(&format!("DROP USER {}@'%'", name(what))).await;
        }
    });
}

/// What the server does not take in one piece is refused before it is sent, with both numbers and what to do; the connection and
/// the transaction go on. (A server that is sent too much closes the connection, which looks like a network that broke.)
#[test]
fn a_payload_above_max_allowed_packet_is_refused_with_both_sizes() {
    on_both(|sandbox| async move {
        let store = sandbox.store().await;
        let limits = Limits { payload: 1 << 30 };
        let mut user = sandbox.user().await;
        let asked = sqlx::query("SELECT CAST(@@max_allowed_packet AS SIGNED)").fetch_one(&mut user).await;
        let most: i64 = asked.unwrap().get(0);
        let of = |bytes: usize| NewMessage::json("t", "k", format!("\"{}\"", "x".repeat(bytes)));
        let large = of(usize::try_from(most).unwrap());
        let check = |error: String| {
            let sizes = ["max_allowed_packet is", &most.to_string()];
            for part in
                sizes.into_iter().chain(["Raise max_allowed_packet", "enqueue fewer", "payload limit"])
            {
                assert!(error.contains(part), "{part}: {error}");
            }
        };
        let own = OutboxStore::enqueue(store.sql(), std::slice::from_ref(&large), &limits).await;
        check(own.expect_err("too large").to_string());
        sqlx::raw_sql("BEGIN").execute(&mut user).await.unwrap();
        let outbox = store.outbox().with_limits(limits);
        let first = outbox.enqueue(&mut user, &of(2_000_000)).await.unwrap();
        check(outbox.enqueue(&mut user, &large).await.expect_err("too large").to_string());
        let second = outbox.enqueue(&mut user, &of(10)).await.unwrap();
        sqlx::raw_sql("COMMIT").execute(&mut user).await.unwrap();
        let own = OutboxStore::enqueue(store.sql(), &[of(2_000_000)], &limits).await.unwrap();
        for id in [first.id, second.id, own[0].id] {
            assert!(store.sql().show(&id.to_string(), 0).await.unwrap().is_some(), "{id}");
        }
    });
}

/// A session that refuses what is too large before it sends it, and notes what it has sent.
#[derive(Default)]
struct Narrow {
    sent: Vec<String>,
}

#[async_trait::async_trait]
impl tenure_sql::Session for Narrow {
    async fn run(&mut self, call: &tenure_sql::Call<'_>) -> Result<tenure_sql::Answer, tenure_sql::Fault> {
        Ok(self.run_all(std::slice::from_ref(call)).await?.remove(0))
    }

    async fn run_all(
        &mut self,
        calls: &[tenure_sql::Call<'_>],
    ) -> Result<Vec<tenure_sql::Answer>, tenure_sql::Fault> {
        let bytes =
            |call: &tenure_sql::Call<'_>| call.params.iter().map(tenure_sql::Value::size).sum::<usize>();
        if calls.iter().map(bytes).sum::<usize>() > 512 * 1024 {
            return Err(tenure_sql::Fault::new(tenure_sql::FaultKind::Refused, "nothing was sent"));
        }
        self.sent.extend(calls.iter().map(|call| call.sql.to_owned()));
        Ok(vec![tenure_sql::Answer::default(); calls.len()])
    }
}

/// An earlier call has left its savepoint in the user's transaction. One that is refused before anything was sent goes back to
/// its own, or nowhere: else the user's work since then would be undone.
#[test]
fn what_was_refused_unsent_undoes_nothing_that_came_before() {
    on_both(|sandbox| async move {
        let outbox = sandbox.store().await.sql().outbox();
        let of = |bytes: usize| NewMessage::json("t", "k", format!("\"{}\"", "x".repeat(bytes)));
        let mut session = Narrow::default();
        outbox.enqueue(&mut session, &of(10)).await.unwrap();
        session.sent.push("the user's own work".into());
        outbox.enqueue_all(&mut session, &[of(300_000), of(300_000)]).await.expect_err("too large");
        let work = session.sent.iter().position(|sql| sql.starts_with("the user's")).unwrap();
        let after = &session.sent[work + 1..];
        let at = |word: &str| after.iter().position(|sql| sql.starts_with(word));
        let (opened, undone) = (at("SAVEPOINT"), at("ROLLBACK TO SAVEPOINT"));
        assert!(opened.is_some() && opened < undone, "it goes back to a savepoint of its own: {after:?}");
        assert!(!after.iter().any(|sql| sql.contains("INSERT")), "{after:?}");
    });
}

/// A receiver at REPEATABLE READ whose snapshot is older than the note of another is told of it all the same.
#[test]
fn s53_a_note_younger_than_the_snapshot_is_seen() {
    on_both(|sandbox| async move {
        let store = sandbox.store().await;
        let inbox = store.inbox(Default::default()).unwrap();
        let consumer = tenure_core::outbox::Consumer::new("c").unwrap();
        use tenure_core::outbox::{Accept, deterministic_id};
        let id = deterministic_id("s", 1, 0);
        let (mut old, mut young) = (sandbox.user().await, sandbox.user().await);
        sqlx::raw_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT").execute(&mut old).await.unwrap();
        sqlx::raw_sql("BEGIN").execute(&mut young).await.unwrap();
        assert_eq!(inbox.accept(&mut young, &consumer, id).await.unwrap(), Accept::Fresh);
        sqlx::raw_sql("COMMIT").execute(&mut young).await.unwrap();
        assert_eq!(inbox.accept(&mut old, &consumer, id).await.unwrap(), Accept::Duplicate);
        let count = format!("SELECT count(*) FROM {}", sandbox.table("inbox"));
        let seen: i64 = sqlx::query(AssertSqlSafe(count)).fetch_one(&mut old).await.unwrap().get(0);
        assert_eq!(seen, 0, "the snapshot really is older");
        sqlx::raw_sql("COMMIT").execute(&mut old).await.unwrap();
    });
}

impl Sandbox {
    /// Runs a script by the client of MariaDB or MySQL; `None`, said aloud, where there is none.
    fn client(&self, script: &str) -> Option<()> {
        use std::io::Write as _;
        let url = url::Url::parse(&self.url).expect("a URL");
        let found = ["mariadb", "mysql"].into_iter().find_map(|program| {
            let mut command = Command::new(program);
            command
                .args(["--host", url.host_str().unwrap_or_default(), "--default-character-set=utf8mb4"])
                .args(["--port", &url.port().unwrap_or(3306).to_string(), "--user", url.username()])
                .arg(url.path().trim_start_matches('/'))
                .stdin(Stdio::piped());
            if let Some(password) = url.password() {
                command.env("MYSQL_PWD", password);
            }
            command.spawn().ok()
        });
        let Some(mut child) = found else {
            crate::sandbox::say("THERE IS NO CLIENT: its test passes without having been run");
            assert!(std::env::var("CI").as_deref() != Ok("true"), "with CI=true that is a failure");
            return None;
        };
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "the client could not run the script");
        Some(())
    }
}
