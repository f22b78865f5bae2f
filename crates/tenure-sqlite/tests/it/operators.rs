//! What operators see and do.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::OutboxAdmin;
use tenure_core::outbox::{DeadWalk, Filter, MessageId, Selection, State};
use tenure_sqlite::{SqliteOptions, SqliteStore};

use crate::backend::SqliteFile;
use crate::outbox::{again, dead, done, from, look, message, only, record, send, state, summary};

fn audit(file: &SqliteFile) -> Vec<(String, String, String, String)> {
    let connection = file.raw();
    let mut statement =
        connection.prepare("select actor, action, subject, detail from tenure_audit order by id").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// `count` messages, all dead.
fn texts(ids: &[MessageId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

async fn dead_ones(store: &SqliteStore, count: usize) -> Vec<MessageId> {
    let ids = send(store, &vec![from("a"); count]).await;
    let rows = look(store).await.rows;
    record(store, &rows.iter().map(|row| dead(row.id, 1, false)).collect::<Vec<_>>()).await;
    ids
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s51_of_two_operators_each_message_is_changed_by_one_with_one_line() {
    let file = SqliteFile::start().await;
    let (one, two) = (file.connect().await, file.connect().await);
    let ids = dead_ones(&one, 500).await;
    let all = Filter::default();
    assert_eq!(one.count_dead(&DeadWalk::of(all.clone(), u32::MAX)).await.unwrap().number, 500);
    let walk = DeadWalk::of(all.clone(), 1000);
    let (ann, bob) = tokio::join!(one.retry(&walk, "ann"), two.discard(&walk, "bob"));
    let (ann, bob) = (ann.unwrap().ids, bob.unwrap().ids);
    let mut changed = [ann.clone(), bob.clone()].concat();
    changed.sort();
    let mut expected = texts(&ids);
    expected.sort();
    assert_eq!(changed, expected);
    let lines = audit(&file);
    assert_eq!(lines.len(), 500);
    for (actor, action, subject, detail) in &lines {
        let by_ann = ann.iter().any(|id| id == subject);
        let expected = if by_ann { ("ann", "outbox retry") } else { ("bob", "outbox discard") };
        assert_eq!((actor.as_str(), action.as_str()), expected);
        assert_eq!(detail, "orders/OrderPlaced: rejected 1");
    }
    for id in &ann {
        assert_eq!(state(&one, &id.parse().unwrap()).await, State::Pending);
    }
    assert_eq!(one.stats().await.unwrap().discarded, bob.len() as u64);
    assert_eq!(one.count_dead(&DeadWalk::of(all.clone(), u32::MAX)).await.unwrap().number, 0);
    assert!(one.retry(&DeadWalk::of(all.clone(), 1000), "ann").await.unwrap().ids.is_empty());
}

#[tokio::test]
async fn a_retry_has_a_full_budget_and_its_numbers_go_on() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let ids = send(&store, &[message("1")]).await;
    let row = only(&store).await;
    record(&store, &[again(row.id, 1, Duration::ZERO)]).await;
    record(&store, &[dead(row.id, 2, false)]).await;
    store.retry(&DeadWalk::of(Filter::default(), 1), "ann").await.unwrap();
    let row = only(&store).await;
    assert_eq!((row.attempts, row.forgiven), (2, 2));
    record(&store, &[done(row.id, 3)]).await;
    let shown = store.show(&ids[0].to_string(), usize::MAX).await.unwrap().unwrap();
    assert_eq!(shown.attempts.iter().map(|made| made.number).collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test]
async fn filters_pick_and_limits_bound() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let ids = dead_ones(&store, 3).await;
    let by = |change: fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        filter
    };
    let counts = [
        (by(|_| ()), 3),
        (by(|filter| filter.state = Some(State::Dead)), 3),
        (by(|filter| filter.state = Some(State::Pending)), 0),
        (by(|filter| filter.topic = Some("orders".into())), 3),
        (by(|filter| filter.topic = Some("ORDERS".into())), 0),
        (by(|filter| filter.source = Some("a".into())), 3),
        (by(|filter| filter.source = Some("b".into())), 0),
        (by(|filter| filter.kind = Some("other".into())), 0),
        (Filter { id: Some(ids[1].to_string()), ..Filter::default() }, 1),
        (Filter { id: Some("seven".into()), ..Filter::default() }, 0),
    ];
    for (filter, expected) in counts {
        assert_eq!(
            store.count_dead(&DeadWalk::of(filter.clone(), u32::MAX)).await.unwrap().number,
            expected,
            "{filter:?}"
        );
        if expected == 0 {
            assert!(store.retry(&DeadWalk::of(filter.clone(), 9), "ann").await.unwrap().ids.is_empty());
        }
    }
    assert!(store.retry(&DeadWalk::of(Filter::default(), 0), "ann").await.unwrap().ids.is_empty());
    assert_eq!(
        store.discard(&DeadWalk::of(Filter::default(), 2), "ann").await.unwrap().ids,
        texts(&ids[..2])
    );
    assert_eq!(store.count_dead(&DeadWalk::of(Filter::default(), u32::MAX)).await.unwrap().number, 1);
}

#[tokio::test]
async fn lists_show_every_state_the_newest_first_and_page_by_page() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let ids = send(&store, &[from("a"), from("b"), from("c"), from("d"), from("e")]).await;
    let rows = look(&store).await.rows;
    record(
        &store,
        &[
            done(rows[0].id, 1),
            dead(rows[1].id, 1, true),
            dead(rows[2].id, 1, false),
            again(rows[3].id, 1, Duration::from_secs(9)),
        ],
    )
    .await;
    let third = Filter { id: Some(ids[2].to_string()), ..Filter::default() };
    store.discard(&DeadWalk::of(third.clone(), 1), "ann").await.unwrap();
    let listed = async |state, before, limit| -> Vec<MessageId> {
        let filter = Filter { state, ..Filter::default() };
        let found = store.list(&Selection { filter, before, limit, steps: 0 }).await.unwrap();
        found.messages.iter().map(|found| found.id.parse().unwrap()).collect()
    };
    assert_eq!(listed(None, None, 9).await, [ids[4], ids[3], ids[2], ids[1], ids[0]]);
    assert_eq!(listed(None, Some(rows[3].id), 2).await, [ids[2], ids[1]]);
    assert_eq!(listed(Some(State::Dispatched), None, 9).await, [ids[0]]);
    assert_eq!(listed(Some(State::Dead), None, 9).await, [ids[1]]);
    assert_eq!(listed(Some(State::Discarded), None, 9).await, [ids[2]]);
    assert_eq!(listed(Some(State::Pending), None, 9).await, [ids[4], ids[3]]);
    for state in State::ALL {
        for shown in store
            .list(&Selection {
                filter: Filter { state: Some(state), ..third.clone() },
                before: None,
                limit: 9,
                steps: 0,
            })
            .await
            .unwrap()
            .messages
        {
            assert_eq!((shown.state, shown.halts), (State::Discarded, false));
            assert!(shown.finished_at.is_some());
        }
    }
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.pending, stats.retrying, stats.delayed), (2, 1, 0));
    assert_eq!((stats.dead, stats.discarded, stats.dispatched, stats.halted_sources), (1, 1, 1, 1));
}

#[tokio::test]
async fn the_lag_is_that_of_the_oldest_message_that_could_go() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let lag = async || store.stats().await.unwrap().lag;
    assert_eq!(lag().await, None);
    let old = |source: &str, seconds: u32| {
        let insert = "insert into tenure_outbox (source, topic, type, created_at) \
                      select ?1, 't', 'k', (julianday('now') - 2440587.5) * 86400000000 - ?2 * 1000000";
        let insert = insert
            .replace("(julianday", "cast((julianday")
            .replace(" - ?2 * 1000000", " as integer) - ?2 * 1000000");
        file.raw().execute(&insert, rusqlite::params![source, seconds]).unwrap();
    };
    // Halted, and what stands behind it.
    old("halted", 9000);
    old("halted", 8000);
    let head = look(&store).await.rows[0].id;
    record(&store, &[dead(head, 1, true)]).await;
    assert_eq!(lag().await, None);
    send(&store, &[message("1").delayed(Duration::from_secs(99))]).await;
    assert_eq!(lag().await, None);
    assert_eq!(store.stats().await.unwrap().delayed, 1);
    // One that has failed waits, although it is not due.
    old("free", 500);
    let head = look(&store).await.rows[0].id;
    record(&store, &[again(head, 1, Duration::from_secs(99))]).await;
    old("young", 5);
    let seconds = lag().await.unwrap().as_secs();
    assert!((500..600).contains(&seconds), "{seconds}");
}

/// A row without a proper id is dead, and can be discarded all the same.
#[tokio::test]
async fn what_has_no_proper_id_is_discarded_with_the_rest() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    file.raw()
        .execute("insert into tenure_outbox (message_id, topic, type) values ('7', 't', 'k')", [])
        .unwrap();
    let ids = send(&store, &[message("1")]).await;
    let rows = look(&store).await.rows;
    record(&store, &[dead(rows[0].id, 1, true), dead(rows[1].id, 1, true)]).await;
    assert_eq!(
        store.discard(&DeadWalk::of(Filter::default(), 9), "ann").await.unwrap().ids,
        ["7".to_owned(), ids[0].to_string()]
    );
    assert_eq!(audit(&file).len(), 2);
    assert_eq!(store.stats().await.unwrap().discarded, 2);
    assert_eq!(summary(&store, &ids[0]).await.state, State::Discarded);
}

/// A question that takes too long is given up, and says so; what comes after it is answered.
#[tokio::test]
async fn a_question_that_takes_too_long_is_given_up() {
    let file = SqliteFile::start().await;
    let fill = "insert into tenure_outbox (topic, type, payload) \
         with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) select 't', 'k', '{}' from n";
    file.raw().execute_batch(fill).unwrap();
    let mut options = SqliteOptions::new(file.path());
    options.browse_timeout = Some(Duration::ZERO);
    let hasty = SqliteStore::connect(options).await.unwrap();
    let error = hasty.stats().await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    assert!(error.to_string().contains("browse_timeout"), "{error}");
    assert_eq!(hasty.show("no such message", 0).await.unwrap(), None, "a short one is answered");
    assert_eq!(file.connect().await.stats().await.unwrap().pending, 60_000, "without a limit, it is");
}

/// Another program has written a NUL, at which a text ends for most of SQLite's functions; what it says is to be had all the same.
#[tokio::test]
async fn a_text_with_a_nul_is_shown_whole() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    for payload in ["pay\0load", "\u{e9}\0\u{e9}"] {
        let sql = "insert into tenure_outbox (topic, type, payload) values ('orders', 'Placed', ?1)";
        file.raw().execute(sql, [payload]).unwrap();
        let newest =
            store.list(&Selection { limit: 1, ..Selection::default() }).await.unwrap().messages.remove(0);
        let whole = store.show(&newest.id, usize::MAX).await.unwrap().unwrap();
        assert_eq!(
            (whole.payload.as_deref(), whole.payload_bytes),
            (Some(payload.as_bytes()), payload.len() as u64)
        );
        assert!(whole.is_text);
        let cut = store.show(&newest.id, 3).await.unwrap().unwrap();
        assert_eq!(cut.payload.as_deref(), Some(&payload.as_bytes()[..3]));
    }
}
