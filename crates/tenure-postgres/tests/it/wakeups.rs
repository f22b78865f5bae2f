//! Wake-ups: only while a relay sleeps, and none that it needed is lost.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{OutboxAdmin as _, OutboxStore as _, Wakeup};
use tenure_core::id::NodeName;
use tenure_core::outbox::{DeadWalk, Discover, Filter, Kind, Look, NewMessage, Next, Outcome};
use tenure_postgres::PostgresStore;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use crate::sandbox::{Mode, Sandbox};

/// Within this a hint must have come.
const SOON: Duration = Duration::from_secs(1);
/// Within this a hint that is not to come would have come.
const QUIET: Duration = Duration::from_millis(300);

async fn hinted(wakeup: &Arc<dyn Wakeup>, within: Duration) -> bool {
    match timeout(within, wakeup.hint()).await {
        Ok(hint) => hint.map(|()| true).expect("the session lives"),
        Err(_) => false,
    }
}

/// Waits until all hints of before have been taken.
async fn quiet(wakeup: &Arc<dyn Wakeup>) {
    while hinted(wakeup, QUIET).await {}
}

async fn listening(sandbox: &Sandbox) -> (PostgresStore, Arc<dyn Wakeup>) {
    let store = sandbox.store().await;
    let wakeup = store.listen().await.unwrap().expect("sessions are real");
    (store, wakeup)
}

async fn armed(wakeup: &Arc<dyn Wakeup>) {
    wakeup.arm(true);
    assert!(hinted(wakeup, SOON).await, "it has taken effect");
    quiet(wakeup).await;
}

fn insert(sandbox: &Sandbox) -> String {
    format!("INSERT INTO {} (topic, type, payload) VALUES ('t', 'k', '{{}}')", sandbox.table("outbox"))
}

/// A plain session that listens as well, and what it hears.
async fn eavesdropper(sandbox: &Sandbox) -> (Client, mpsc::UnboundedReceiver<()>) {
    let (client, mut connection) = tokio_postgres::connect(&sandbox.url, NoTls).await.unwrap();
    let (heard, hearing) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(message) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, Ok(AsyncMessage::Notification(_))) {
                let _ = heard.send(());
            }
        }
    });
    let outbox = sandbox.table("outbox");
    let number = client.query_one(&format!("SELECT '{outbox}'::regclass::oid"), &[]).await.unwrap();
    let number: u32 = number.get(0);
    client.batch_execute(&format!("LISTEN \"{outbox}_{number}\"")).await.unwrap();
    (client, hearing)
}

#[tokio::test]
async fn s47_a_commit_wakes_a_relay_that_sleeps_and_notifies_nobody_else() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (_store, wakeup) = listening(&sandbox).await;
    let (_ear, mut heard) = eavesdropper(&sandbox).await;
    let user = sandbox.user().await;
    user.batch_execute(&insert(&sandbox)).await.unwrap();
    assert!(!hinted(&wakeup, QUIET).await, "not armed yet");
    armed(&wakeup).await;
    assert!(heard.try_recv().is_err(), "nothing was sent while nobody slept");
    user.batch_execute(&insert(&sandbox)).await.unwrap();
    assert!(hinted(&wakeup, SOON).await);
    assert!(timeout(SOON, heard.recv()).await.is_ok(), "the eavesdropper does hear");
    wakeup.arm(false);
    quiet(&wakeup).await;
    while heard.try_recv().is_ok() {}
    for _ in 0..5 {
        user.batch_execute(&insert(&sandbox)).await.unwrap();
    }
    assert!(timeout(QUIET, heard.recv()).await.is_err(), "a relay that is awake is sent nothing");
    assert!(!hinted(&wakeup, QUIET).await);
}

/// It has found no relay asleep, and commits when one sleeps: the relay is told when it has committed.
#[tokio::test]
async fn s47_a_transaction_that_began_before_the_relay_slept_wakes_it() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, wakeup) = listening(&sandbox).await;
    let mut early = sandbox.user().await;
    let transaction = early.transaction().await.unwrap();
    transaction.batch_execute(&insert(&sandbox)).await.unwrap();
    wakeup.arm(true);
    assert!(!hinted(&wakeup, QUIET).await, "it has not taken effect");
    // Whoever comes while it waits wakes it at once, and does not wait for anyone.
    let late = sandbox.user().await;
    timeout(SOON, late.batch_execute(&insert(&sandbox))).await.expect("enqueueing never waits").unwrap();
    assert!(hinted(&wakeup, SOON).await, "a commit while it asks for its lock");
    quiet(&wakeup).await;
    transaction.commit().await.unwrap();
    assert!(hinted(&wakeup, SOON).await, "the early one has committed");
    let discover = None;
    let unordered = Some(tenure_core::outbox::UnorderedLook { after: None, limit: 10 });
    let look = Look { discover, unordered, ..Look::default() };
    assert_eq!(store.look(&look).await.unwrap().rows.len(), 2);
}

/// Disarmed while it still waits for its lock: nothing is left of that, and it can be armed again.
#[tokio::test]
async fn s47_arming_may_be_taken_back_before_it_took_effect() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (_store, wakeup) = listening(&sandbox).await;
    let mut early = sandbox.user().await;
    let transaction = early.transaction().await.unwrap();
    transaction.batch_execute(&insert(&sandbox)).await.unwrap();
    wakeup.arm(true);
    assert!(!hinted(&wakeup, QUIET).await);
    wakeup.arm(false);
    transaction.commit().await.unwrap();
    quiet(&wakeup).await;
    let (_ear, mut heard) = eavesdropper(&sandbox).await;
    early.batch_execute(&insert(&sandbox)).await.unwrap();
    assert!(timeout(QUIET, heard.recv()).await.is_err(), "the lock was given back");
    armed(&wakeup).await;
    early.batch_execute(&insert(&sandbox)).await.unwrap();
    assert!(hinted(&wakeup, SOON).await);
}

#[tokio::test]
async fn s36_a_rollback_wakes_nobody() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (_store, wakeup) = listening(&sandbox).await;
    armed(&wakeup).await;
    let user = sandbox.user().await;
    user.batch_execute(&format!("BEGIN; {}; ROLLBACK", insert(&sandbox))).await.unwrap();
    assert!(!hinted(&wakeup, QUIET).await);
}

#[tokio::test]
async fn s47_a_burst_of_commits_is_few_hints() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (_store, wakeup) = listening(&sandbox).await;
    armed(&wakeup).await;
    let user = sandbox.user().await;
    for _ in 0..50 {
        user.batch_execute(&insert(&sandbox)).await.unwrap();
    }
    // passes time: the last of them is on its way
    tokio::time::sleep(QUIET).await;
    assert!(hinted(&wakeup, SOON).await);
    assert!(!hinted(&wakeup, QUIET).await, "all of them are one hint");
}

/// Both relays are woken, whichever has the lock.
#[tokio::test]
async fn two_relays_that_sleep_are_both_woken() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let ((_a, one), (_b, other)) = (listening(&sandbox).await, listening(&sandbox).await);
    armed(&one).await;
    other.arm(true);
    quiet(&other).await;
    let user = sandbox.user().await;
    user.batch_execute(&insert(&sandbox)).await.unwrap();
    assert!(hinted(&one, SOON).await && hinted(&other, SOON).await);
    drop(one);
    assert!(hinted(&other, SOON * 3).await, "it has the lock now, and looks again");
    quiet(&other).await;
    user.batch_execute(&insert(&sandbox)).await.unwrap();
    assert!(hinted(&other, SOON).await);
}

#[tokio::test]
async fn s47_a_session_that_was_killed_is_told() {
    for role in ["listen", "wakeup"] {
        let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
        let (store, wakeup) = listening(&sandbox).await;
        armed(&wakeup).await;
        let waiting = tokio::spawn({
            let wakeup = Arc::clone(&wakeup);
            async move { wakeup.hint().await }
        });
        assert_eq!(sandbox.terminate(role).await, 1);
        let answer = timeout(SOON * 2, waiting).await.expect("it is told").unwrap();
        assert!(answer.is_err(), "{role}");
        assert!(wakeup.hint().await.is_err(), "and again");
        drop(wakeup);
        // Another one takes its place.
        let wakeup = store.listen().await.unwrap().expect("sessions are real");
        armed(&wakeup).await;
        sandbox.user().await.batch_execute(&insert(&sandbox)).await.unwrap();
        assert!(hinted(&wakeup, SOON).await);
    }
}

/// A value that is dropped leaves neither a session nor a lock.
#[tokio::test]
async fn a_relay_that_is_gone_is_disarmed() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (_store, wakeup) = listening(&sandbox).await;
    armed(&wakeup).await;
    drop(wakeup);
    let sql = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) \
               WHERE locktype = 'advisory' AND application_name LIKE $1";
    let pattern = format!("{} wakeup", sandbox.prefix).replace('_', "\\_");
    let client = sandbox.superuser().await;
    for _ in 0..100 {
        if client.query_one(sql, &[&pattern]).await.unwrap().get::<_, i64>(0) == 0 {
            return;
        }
        // passes time: between two looks
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the lock is still held");
}

#[tokio::test]
async fn pgbouncer_there_are_no_wakeups_behind_a_pooler() {
    let Some(sandbox) = Sandbox::new(Mode::Pooled).await else { return };
    let store = sandbox.store().await;
    assert!(store.listen().await.unwrap().is_none());
    // Enqueueing works all the same.
    store.enqueue(&[NewMessage::json("t", "k", "{}")], &Default::default()).await.unwrap();
}

/// An operator's decision is seen at once as well: the message is due, or lets its source go on.
#[tokio::test]
async fn a_retry_wakes_a_relay_that_sleeps() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (store, wakeup) = listening(&sandbox).await;
    let message = NewMessage::json("t", "k", "{}").from_source("s");
    store.enqueue(&[message], &Default::default()).await.unwrap();
    let discover = Some(Discover { after: None, sources: 10, rows_each: 10, except: Vec::new() });
    let page = store.look(&Look { discover, ..Look::default() }).await.unwrap();
    let outcome = Outcome {
        id: page.rows[0].id,
        attempt: 1,
        kind: Kind::Rejected,
        next: Next::Dead { halt: true },
        reason: Some("no".into()),
        took: Duration::ZERO,
    };
    store.record(None, &NodeName::new("n").unwrap(), &[outcome]).await.unwrap();
    armed(&wakeup).await;
    assert_eq!(store.retry(&DeadWalk::of(Filter::default(), 10), "op").await.unwrap().ids.len(), 1);
    assert!(hinted(&wakeup, SOON).await);
}
