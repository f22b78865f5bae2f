//! Groups of appends whose connections are killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore as _};
use tenure_core::event::{Appended, Expected, Limits, Version};

use crate::bed::{Bed, on_both};
use crate::event_groups::{Jam, full, placed, settled, start};
use crate::events::{append, appended, counts, dispatch, exact, execute, one};
use crate::sandbox::{Server, fresh};

on_both! {
    s31_when_the_connection_of_a_group_is_killed_all_hear_of_it,
    s28_appends_that_are_retried_after_kills_are_there_once,
}

/// As an operator would, or a server that goes down.
async fn s31_when_the_connection_of_a_group_is_killed_all_hear_of_it(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let (sandbox, store) = (&bed.sandbox, bed.sql().await);
    appended(append(&store, &one("there", Expected::NONE)).await);
    let mut holder = sandbox.user().await;
    let appends = [
        full("a", Expected::NONE),
        full("held", Expected::NONE),
        one("there", exact(1)),
        full("z", Expected::NONE),
    ];
    let (inbox, id) = (sandbox.table("inbox"), appends[1].mark.as_ref().unwrap().id);
    execute(&mut holder, &format!("BEGIN; INSERT INTO {inbox} (consumer, message_id) VALUES ('c', '{id}')"))
        .await;
    let jam = Jam::new(sandbox, &store).await;
    let waiting: Vec<_> = appends.iter().map(|append| start(&store, append.clone())).collect();
    settled().await;
    jam.let_go().await;
    settled().await;
    assert_eq!(bed.kill("Query").await, 1, "one transaction is under way, for all of them");
    for one in waiting {
        let error = one.await.unwrap().unwrap_err();
        assert!(matches!(error, AppendError::Store(StoreError::Unreachable { .. })), "{error}");
    }
    execute(&mut holder, "ROLLBACK").await;
    for append in &appends {
        let version = if append.expected == exact(1) { Version(2) } else { Version(1) };
        let done = store.append(append, &Limits::default()).await;
        assert_eq!(appended(done.unwrap()).version, version);
    }
    assert_eq!(counts(sandbox).await, [6, 9, 3, 3]);
}

/// Wherever the connections are cut, also between the commit and its answer.
async fn s28_appends_that_are_retried_after_kills_are_there_once(server: Server) {
    const WRITERS: usize = 12;
    // Until something was killed that often, however seldom something is under way on a server that is fast; and no longer than this.
    const KILLS: usize = 8;
    const EACH: std::ops::RangeInclusive<i64> = 250..=20_000;
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let (over, enough) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, enough) = (store.clone(), Arc::clone(&enough));
            tokio::spawn(async move {
                let mut last = None;
                for version in 0..*EACH.end() {
                    if version >= *EACH.start() && enough.load(Ordering::SeqCst) {
                        break;
                    }
                    let append = one(&format!("w{writer}"), exact(version))
                        .with_dispatches(vec![dispatch(fresh(), "1")]);
                    let done = loop {
                        match store.append(&append, &Limits::default()).await {
                            Ok(answer) => break appended(answer),
                            Err(AppendError::Store(error)) => assert!(error.is_transient(), "{error}"),
                            Err(error) => panic!("{error}"),
                        }
                    };
                    assert_eq!(done.version, Version(version + 1));
                    last = Some(Appended { repeated: false, ..done });
                }
                last.unwrap()
            })
        })
        .collect();
    let mut killed = 0;
    let ended = tokio::spawn({
        let over = Arc::clone(&over);
        async move {
            let mut ended = Vec::new();
            for writer in writers {
                ended.push(writer.await.unwrap());
            }
            over.store(true, Ordering::SeqCst);
            ended
        }
    });
    while !over.load(Ordering::SeqCst) {
        killed += bed.kill("Query").await;
        enough.fetch_or(killed >= KILLS, Ordering::SeqCst);
        // passes time: until there is something to be killed again
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    let mut all = 0;
    for (writer, done) in ended.await.unwrap().into_iter().enumerate() {
        all += done.version.0;
        assert_eq!(done, placed(&bed.sandbox, &format!("w{writer}")).await);
    }
    assert!(killed >= KILLS, "only {killed} were ever killed");
    assert_eq!(counts(&bed.sandbox).await, [WRITERS as i64, all, all, 0]);
}
