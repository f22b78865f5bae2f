//! Several processes on one outbox.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use tenure_core::contract::OutboxStore;
use tenure_sqlite::{SqliteOptions, SqliteStore};
use tokio::time::timeout;

use crate::backend::SqliteFile;
use crate::child::{Child, said, wait_for_go};
use crate::outbox::{done, from, look, record};

const MESSAGES: usize = 300;

/// One process enqueues, two take what they find and record it: each attempt is one process's, none is lost.
#[tokio::test]
async fn s41_two_processes_on_one_file_record_each_attempt_once() {
    let file = SqliteFile::start().await;
    let mut sender = Child::start("enqueue", &file.path());
    let mut relays = [Child::start("relay", &file.path()), Child::start("relay", &file.path())];
    for child in relays.iter_mut().chain([&mut sender]) {
        assert_eq!(child.line(), "ready");
        child.go();
    }
    assert_eq!(sender.line(), "sent");
    let mut ids = BTreeSet::new();
    for relay in &mut relays {
        loop {
            let line = relay.line();
            match line.strip_prefix("id ") {
                Some(id) => assert!(ids.insert(id.to_owned()), "recorded twice: {id}"),
                None => {
                    assert_eq!(line, "done");
                    break;
                }
            }
        }
    }
    assert_eq!(ids.len(), MESSAGES);
    let count =
        "select (select count(*) from tenure_outbox_attempts), (select count(*) from tenure_outbox_pending)";
    let counted: (i64, i64) = file.raw().query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(counted, (MESSAGES as i64, 0));
}

pub(crate) async fn enqueue(path: &Path) {
    let store = SqliteStore::connect(SqliteOptions::new(path)).await.unwrap();
    let outbox = store.outbox();
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    said("ready");
    wait_for_go();
    for n in 0..MESSAGES {
        outbox.enqueue_in(&connection, &from(&format!("s{}", n % 7))).unwrap();
    }
    said("sent");
    wait_for_go();
}

pub(crate) async fn relay(path: &Path) {
    let store = SqliteStore::connect(SqliteOptions::new(path)).await.unwrap();
    let wakeup = store.listen().await.unwrap().unwrap();
    wakeup.arm(true);
    said("ready");
    wait_for_go();
    let mut found = Instant::now();
    while found.elapsed() < Duration::from_secs(2) {
        let rows = look(&store).await.rows;
        if rows.is_empty() {
            let _ = timeout(Duration::from_millis(100), wakeup.hint()).await;
            continue;
        }
        found = Instant::now();
        for id in record(&store, &rows.iter().map(|row| done(row.id, 1)).collect::<Vec<_>>()).await {
            said(&format!("id {}", id.0));
        }
    }
    said("done");
}
