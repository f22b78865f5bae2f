//! One message in the user's own transaction, and several: what is behind the numbers that they were given.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};
use tenure_core::contract::{EnqueueError, OutboxStore as _, Schema as _};
use tenure_core::outbox::{MessageId, NewMessage, deterministic_id};
use tenure_mysql::Outbox;

use crate::outbox::look;
use crate::sandbox::{Sandbox, Server, on_both};

fn message(id: Option<MessageId>) -> NewMessage {
    NewMessage { id, ..NewMessage::json("t", "k", "{}").from_source("s") }
}

/// A message whose id is given, and one whose id is made.
fn each_kind() -> [NewMessage; 2] {
    [message(Some(deterministic_id("s", 1, 0))), message(None)]
}

/// Enqueues a message, and commits whatever came of it beside a row of the user's own.
async fn send(
    sandbox: &Sandbox,
    user: &mut MySqlConnection,
    outbox: &Outbox,
    message: &NewMessage,
) -> Result<bool, EnqueueError> {
    let mut open = user.begin().await.unwrap();
    let effect = format!("INSERT INTO {} VALUES ('e')", sandbox.table("effects"));
    sqlx::raw_sql(AssertSqlSafe(effect)).execute(&mut *open).await.unwrap();
    let sent = outbox.enqueue(&mut open, message).await;
    open.commit().await.unwrap();
    sent.map(|sent| sent.fresh)
}

async fn effects(sandbox: &Sandbox) {
    sandbox.batch(&format!("CREATE TABLE {} (effect varchar(20))", sandbox.table("effects"))).await;
}

/// Who may not write to the queue: the message is taken out again, or left to a relay, or it is said that it must not be committed.
#[test]
fn a_message_without_a_place_is_never_left_in_the_transaction_unsaid() {
    on_both(|sandbox| async move {
        let (store, name) = (sandbox.store().await, format!("{}n", sandbox.prefix));
        let (outbox, user) = (sandbox.table("outbox"), format!("{name}@'%'"));
        effects(&sandbox).await;
        for (rights, expected) in [("DELETE", "an error"), ("UPDATE", "for a relay"), ("", "roll back")] {
            for message in each_kind() {
                let more = if rights.is_empty() { String::new() } else { format!(", {rights}") };
                sandbox
                    .batch(&format!(
                        "DELETE FROM {outbox}; CREATE USER {user}; GRANT INSERT, SELECT{more} ON {outbox} TO {user}; \
                         GRANT INSERT ON {} TO {user}",
                        sandbox.table("effects")
                    ))
                    .await;
                let mut connection = sandbox.user_named(&name).await;
                let sent = send(&sandbox, &mut connection, &store.outbox(), &message).await;
                let there = sandbox.count("outbox").await;
                let what = format!("{expected}, {:?}: {sent:?}, {there}", message.id);
                match (expected, &sent) {
                    ("for a relay", Ok(true)) => assert_eq!(look(store.sql()).await.rows.len(), 1, "{what}"),
                    (_, Err(error)) => {
                        let unsent = there > 0;
                        assert_eq!(unsent, error.to_string().contains("roll the transaction back"), "{what}");
                        assert!(!unsent || expected == "roll back", "{what}");
                        assert!(
                            error.to_string().contains("outbox_arrivals"),
                            "it says what is missing: {what}"
                        );
                    }
                    _ => panic!("{what}"),
                }
                sandbox.batch(&format!("DROP USER {user}")).await;
            }
        }
        assert_eq!(sandbox.count("effects").await, 6, "the user's work is never undone");
    });
}

#[test]
fn a_number_that_was_left_on_the_list_is_as_good() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.store().await, sandbox.user().await);
        effects(&sandbox).await;
        let left = (1..=40).map(|id| format!("({id})")).collect::<Vec<_>>().join(", ");
        sandbox.batch(&format!("INSERT INTO {} (id) VALUES {left}", sandbox.table("outbox_arrivals"))).await;
        for message in each_kind() {
            assert!(send(&sandbox, &mut user, &store.outbox(), &message).await.unwrap());
        }
        assert_eq!((sandbox.count("outbox").await, sandbox.count("effects").await), (2, 2));
        assert_eq!(look(store.sql()).await.rows.len(), 2);
    });
}

/// Modes of the session in which texts are read otherwise.
#[test]
fn whatever_mode_the_session_has_a_message_is_enqueued() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.store().await, sandbox.user().await);
        effects(&sandbox).await;
        let modes = ["", "ANSI", "NO_BACKSLASH_ESCAPES,TRADITIONAL"];
        for mode in modes {
            let set = format!("SET SESSION sql_mode = '{mode}'");
            sqlx::raw_sql(AssertSqlSafe(set)).execute(&mut user).await.unwrap();
            for (source, body) in
                [("it's \\ ü", r#"{"it":"s \\ 'é'"}"#), ("it's \\", r#"{"it":"s '[~]\\\\'"}"#)]
            {
                let message = NewMessage::json("t", "k", body).from_source(source);
                assert!(send(&sandbox, &mut user, &store.outbox(), &message).await.unwrap(), "{mode}");
            }
        }
        let rows = look(store.sql()).await.rows;
        assert_eq!(rows.len(), 2 * modes.len());
        let bodies = |source: &str| -> HashSet<_> {
            let of = rows.iter().filter(|row| row.source.as_deref() == Some(source));
            of.map(|row| format!("{:?}", row.body)).collect()
        };
        assert_eq!((bodies("it's \\ ü").len(), bodies("it's \\").len()), (1, 1), "{rows:?}");
    });
}

/// That the numbers of one insert follow one another is not promised by the servers, and so it is not relied upon.
#[test]
fn numbers_that_do_not_follow_one_another_are_found_out() {
    on_both(|sandbox| async move {
        let (store, outbox) = (sandbox.store().await, sandbox.table("outbox"));
        let trigger = format!("CREATE TRIGGER {outbox}_n BEFORE INSERT ON {outbox} FOR EACH ROW");
        // As if the numbers between were somebody else's; and as if none had been given out in this session.
        for every in [
            "SET @n = @n + 1, NEW.id = IF(@n = 1, NEW.id, 1000 + 7 * @n)",
            "SET @n = @n + 1, NEW.id = 1000 + 7 * @n",
        ] {
            sandbox.batch(&format!("{trigger} {every}")).await;
            for places in [
                [message(None), message(None)],
                [1, 2].map(|version| NewMessage::json("t", "k", "{}").from_version("p", version, 0)),
            ] {
                let mut user = sandbox.user().await;
                sqlx::raw_sql("SET @n = 0").execute(&mut user).await.unwrap();
                let mut open = user.begin().await.unwrap();
                let sent = store.outbox().enqueue_all(&mut open, &places).await;
                let error = sent.expect_err("it is found out").to_string();
                assert!(error.contains("out of range"), "{error}");
                open.commit().await.unwrap();
            }
            for table in ["outbox", "outbox_arrivals", "outbox_pending"] {
                assert_eq!(sandbox.count(table).await, 0, "{table}");
            }
            sandbox.batch(&format!("DROP TRIGGER {outbox}_n")).await;
        }
    });
}

/// At REPEATABLE READ the gap is held of what is looked for and not found: so it is not looked for. (Those around what is
/// there are held: here nothing belongs there. MySQL also holds the end of the table behind an insert that was undone.)
#[test]
fn who_meets_a_message_that_is_there_holds_up_nobody_who_sends_others() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let Some(sandbox) = Sandbox::new(Server::MariaDb).await else { return };
        let store = sandbox.store().await;
        let there = [1, 2, 3].map(|id| message(Some(MessageId::new(uuid::Uuid::from_u128(id)))));
        assert!(store.sql().enqueue(&there, &Default::default()).await.unwrap()[0].fresh);
        let [known, ..] = there;
        let (mut one, mut other) = (sandbox.user().await, sandbox.user().await);
        let mut open = [one.begin().await.unwrap(), other.begin().await.unwrap()];
        for _ in 0..8 {
            for user in &mut open {
                let both = [known.clone(), message(None)];
                let sent =
                    tokio::time::timeout(Duration::from_secs(5), store.outbox().enqueue_all(user, &both))
                        .await;
                let sent = sent.expect("it waits for nobody").unwrap();
                assert_eq!(sent.iter().map(|sent| sent.fresh).collect::<Vec<_>>(), [false, true]);
            }
        }
        for user in open {
            user.commit().await.unwrap();
        }
        assert_eq!(sandbox.count("outbox").await, 19);
    });
}

/// To keep nothing prepared is what is said to drivers behind some proxies.
#[test]
fn whoever_keeps_nothing_prepared_is_not_made_to_wait_for_it() {
    on_both(|sandbox| async move {
        let store = sandbox.store().await;
        effects(&sandbox).await;
        let options: MySqlConnectOptions = sandbox.url.parse().unwrap();
        let mut user = options.statement_cache_capacity(0).connect().await.unwrap();
        let outbox = store.outbox();
        let before = prepared(&mut user).await;
        for _ in 0..20 {
            assert!(send(&sandbox, &mut user, &outbox, &message(None)).await.unwrap());
        }
        assert!(prepared(&mut user).await - before <= 1);
        assert_eq!(look(store.sql()).await.rows.len(), 20);
    });
}

/// How many statements a session has prepared.
async fn prepared(user: &mut MySqlConnection) -> u64 {
    let rows = sqlx::raw_sql("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'").fetch_one(user).await.unwrap();
    rows.get_unchecked::<String, _>(1).parse().unwrap()
}

/// MariaDB's block and MySQL's routine are prepared once, and are one question.
#[test]
fn both_rows_are_one_question() {
    on_both(|sandbox| async move {
        let (store, mut user) = (sandbox.store().await, sandbox.user().await);
        effects(&sandbox).await;
        let outbox = store.outbox();
        // That the first one fails, here with its connection, says nothing of those that follow.
        let mut other = sandbox.user().await;
        let mut open = other.begin().await.unwrap();
        let id: i64 = sqlx::query_scalar("SELECT CAST(CONNECTION_ID() AS SIGNED)")
            .persistent(false)
            .fetch_one(&mut *open)
            .await
            .unwrap();
        sandbox.batch(&format!("KILL {id}")).await;
        assert!(outbox.enqueue(&mut open, &message(None)).await.is_err());
        drop(open);
        // Nor does one that is sent as a text, for its letters, and leaves nothing prepared.
        let letters = NewMessage::json("t", "k", r#"{"name":"Zoë"}"#);
        send(&sandbox, &mut user, &outbox, &letters).await.unwrap();
        send(&sandbox, &mut user, &outbox, &message(None)).await.unwrap();
        // What was found out is the store's.
        assert_eq!(questions_of_one(&sandbox, &mut user, &store.outbox()).await, 1);
    });
}

/// A trigger of the user's own on our table may fail with whatever number: also with those by which the server says that the routine is not
/// there, or not to be called, or that a row is there already. Then the first row may be there without the second.
#[test]
fn whatever_the_place_fails_with_no_message_is_left_without_one() {
    on_both(|sandbox| async move {
        let list = sandbox.table("outbox_arrivals");
        effects(&sandbox).await;
        for number in [1305, 1370, 1062, 1064, 1304] {
            let trigger = format!(
                "CREATE TRIGGER {list}_f BEFORE INSERT ON {list} FOR EACH ROW \
                 SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'no such thing'"
            );
            sandbox.batch(&trigger).await;
            for message in each_kind() {
                // As each would find it: who has learned from the first asks otherwise.
                let fresh = sandbox.store().await;
                let mut user = sandbox.user().await;
                let sent = send(&sandbox, &mut user, &fresh.outbox(), &message).await;
                let there = sandbox.count("outbox").await;
                assert!(sent.is_err() && there == 0, "{number}, {:?}: {sent:?}, {there}", message.id);
            }
            sandbox.batch(&format!("DROP TRIGGER {list}_f")).await;
        }
    });
}

/// How many questions a message takes, beside those for the transaction around it.
async fn questions_of_one(sandbox: &Sandbox, user: &mut MySqlConnection, outbox: &Outbox) -> u64 {
    let before = statements(user).await;
    send(sandbox, user, outbox, &message(None)).await.unwrap();
    // BEGIN, the row of the user's own, COMMIT; and the question for it.
    statements(user).await - before - 4
}

/// A migration does not change any more: should the statements change, another one makes the routine again.
#[test]
fn the_routine_does_what_the_statements_do() {
    on_both(|sandbox| async move {
        let store = sandbox.store().await;
        let name = sandbox.table("outbox_enqueue");
        let asked = format!(
            "SELECT CAST(routine_definition AS char), CAST(security_type AS char) FROM information_schema.routines \
             WHERE routine_schema = database() AND routine_name = '{name}'"
        );
        let kept = &sandbox.query(&asked).await[0];
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let texts = store.sql().statements();
        let given = ["id", "source", "topic", "type", "payload", "content_type", "headers"];
        let insert = (1..).zip(given).fold(texts.outbox_insert_one.clone(), |sql, (number, name)| {
            sql.replace(&format!("${number}"), &format!("new_{name}"))
        });
        let expected = format!("BEGIN {insert}; {}; END", texts.arrivals_add_new);
        assert_eq!(words(&kept.get::<String, _>(0)), words(&expected));
        // Whoever calls it needs the rights on the tables.
        assert_eq!(kept.get::<String, _>(1), "INVOKER");
    });
}

/// As after a restore from a dump without routines, and as a user who was granted what was published before there was one.
#[test]
fn without_the_routine_or_the_right_to_it_messages_are_enqueued_all_the_same() {
    on_both(|sandbox| async move {
        let (store, name) = (sandbox.store().await, format!("{}e", sandbox.prefix));
        effects(&sandbox).await;
        let rights = ["outbox", "outbox_arrivals", "effects"]
            .map(|table| format!("GRANT SELECT, INSERT, UPDATE ON {} TO {name}@'%'; ", sandbox.table(table)));
        sandbox.batch(&format!("CREATE USER {name}@'%'; {}", rights.concat())).await;
        let (mut poor, mut user) = (sandbox.user_named(&name).await, sandbox.user().await);
        let outbox = store.outbox();
        assert!(send(&sandbox, &mut poor, &outbox, &message(None)).await.unwrap());
        for _ in 0..2 {
            assert!(send(&sandbox, &mut poor, &outbox, &message(None)).await.unwrap());
        }
        sandbox
            .batch(&format!("DROP USER {name}@'%'; DROP PROCEDURE {}", sandbox.table("outbox_enqueue")))
            .await;
        let store = sandbox.store().await;
        let outbox = store.outbox();
        for _ in 0..3 {
            assert!(send(&sandbox, &mut user, &outbox, &message(None)).await.unwrap());
        }
        let store = sandbox.store().await;
        // A text that says of itself what letters it is of.
        let other = NewMessage::json("t", "k", r#"{"name":"Zoë"}"#);
        assert!(send(&sandbox, &mut user, &store.outbox(), &other).await.unwrap());
        assert_eq!((sandbox.count("outbox").await, sandbox.count("effects").await), (7, 7));
        assert_eq!(sandbox.count("outbox_arrivals").await, 7);
        store.sql().verify_schema().await.unwrap();
    });
}

/// How many questions a session has asked.
pub(crate) async fn statements(user: &mut MySqlConnection) -> u64 {
    let (_, count): (String, String) =
        sqlx::query_as("SHOW SESSION STATUS LIKE 'Questions'").fetch_one(user).await.unwrap();
    count.parse().unwrap()
}
