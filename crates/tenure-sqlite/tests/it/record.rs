//! What is written down about attempts, and who may.

use std::time::Duration;

use tenure_core::contract::{LeaseAdmin, LeaseStore, OutboxAdmin, OutboxStore};
use tenure_core::lease::{Acquire, Fence, Grant, Term};
use tenure_core::outbox::{DeadWalk, Details, Filter, Kind, MessageId, Next, Outcome, Recorded, State};
use tenure_sqlite::SqliteStore;

use crate::backend::{SqliteFile, claim, lease, take};
use crate::outbox::{
    again, dead, done, from, look, message, node, only, outcome, record, send, state, summary,
};

const TTL: Duration = Duration::from_secs(60);

async fn under(store: &SqliteStore, grant: &Grant, outcomes: &[Outcome]) -> Recorded {
    OutboxStore::record(store, Some(&grant.fence()), &node(), outcomes).await.unwrap()
}

async fn details(store: &SqliteStore, id: &MessageId) -> Details {
    store.show(&id.to_string(), usize::MAX).await.unwrap().unwrap()
}

#[tokio::test]
async fn every_attempt_is_kept_with_who_made_it() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let grant = take(&store, "relay", TTL).await;
    let ids = send(&store, &[message("1")]).await;
    let row = only(&store).await;
    let first = again(row.id, 1, Duration::ZERO);
    assert_eq!(under(&store, &grant, &[first]).await, Recorded::Applied(vec![row.id]));
    assert_eq!(only(&store).await.attempts, 1);
    assert_eq!(under(&store, &grant, &[done(row.id, 2)]).await, Recorded::Applied(vec![row.id]));
    let shown = details(&store, &ids[0]).await;
    assert_eq!((shown.summary.state, shown.summary.attempts), (State::Dispatched, 2));
    assert_eq!(shown.summary.last_error.as_deref(), Some("transient 1"));
    assert_eq!(shown.payload.as_deref(), Some(&b"1"[..]));
    assert!(shown.is_text);
    let made: Vec<_> = shown.attempts.iter().map(|made| (made.number, made.outcome, made.term)).collect();
    let term = Some(grant.term.get());
    assert_eq!(made, [(1, Kind::Transient, term), (2, Kind::Success, term)]);
    assert_eq!((shown.attempts[0].took_us, shown.attempts[0].node.as_str()), (7, "relay"));
    assert_eq!(shown.summary.finished_at, Some(shown.attempts[1].at));
}

#[tokio::test]
async fn s41_no_attempt_counts_twice() {
    let file = SqliteFile::start().await;
    let (one, two) = (file.connect().await, file.connect().await);
    let ids = send(&one, &[message("1"), message("2")]).await;
    let rows = look(&one).await.rows;
    let outcomes = [done(rows[0].id, 1), again(rows[1].id, 1, Duration::ZERO)];
    let (first, second) = tokio::join!(record(&one, &outcomes), record(&two, &outcomes));
    let mut both = [first, second].concat();
    both.sort();
    assert_eq!(both, [rows[0].id, rows[1].id]);
    // Neither one from the past, nor one that skips, nor one that is no attempt.
    for attempt in [0, 1, 3] {
        assert!(record(&one, &[done(rows[1].id, attempt)]).await.is_empty(), "{attempt}");
    }
    for id in &ids {
        assert_eq!(details(&one, id).await.attempts.len(), 1);
    }
}

#[tokio::test]
async fn s41_a_relay_that_is_no_longer_in_office_changes_nothing() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let ids = send(&store, &[message("1")]).await;
    let row = only(&store).await;
    let refused = async |fence: &Fence, why: &str| {
        let answer = OutboxStore::record(&store, Some(fence), &node(), &[done(row.id, 1)]).await.unwrap();
        assert_eq!(answer, Recorded::Fenced, "{why}");
        assert_eq!(state(&store, &ids[0]).await, State::Pending, "{why}");
    };
    refused(&Fence { lease: lease("never"), term: Term::FIRST }, "unknown").await;
    let first = take(&store, "relay", TTL).await;
    store.release(&first).await.unwrap();
    refused(&first.fence(), "released").await;
    let second = take(&store, "relay", TTL).await;
    refused(&first.fence(), "taken over").await;
    store.revoke(&lease("relay"), "ann", false).await.unwrap();
    refused(&second.fence(), "revoked").await;
    let short = take(&store, "short", Duration::from_millis(5)).await;
    // passes time: the ttl of the grant
    tokio::time::sleep(Duration::from_millis(10)).await;
    refused(&short.fence(), "expired").await;
    assert!(details(&store, &ids[0]).await.attempts.is_empty());
}

#[tokio::test]
async fn s42_what_is_finished_never_goes_back() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let ids = send(&store, &[message("1"), message("2")]).await;
    let rows = look(&store).await.rows;
    record(&store, &[done(rows[0].id, 1), dead(rows[1].id, 1, false)]).await;
    for attempt in [1, 2] {
        for row in &rows {
            let late =
                [done(row.id, attempt), dead(row.id, attempt, true), again(row.id, attempt, Duration::ZERO)];
            assert!(record(&store, &late).await.is_empty());
        }
    }
    assert_eq!(state(&store, &ids[0]).await, State::Dispatched);
    assert_eq!(state(&store, &ids[1]).await, State::Dead);
}

#[tokio::test]
async fn s45_a_dead_message_halts_its_source_until_an_operator_has_decided() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    for decision in ["retry", "discard"] {
        let ids = send(&store, &[from("a"), from("a"), from("b")]).await;
        let head = look(&store).await.rows[0].clone();
        assert_eq!(record(&store, &[dead(head.id, 1, true)]).await, [head.id]);
        let shown = summary(&store, &ids[0]).await;
        assert_eq!((shown.state, shown.halts, shown.due_at), (State::Dead, true, None));
        assert_eq!(shown.last_error.as_deref(), Some("rejected 1"));
        let rows = look(&store).await.rows;
        assert_eq!(rows.iter().map(|row| row.lane()).collect::<Vec<_>>(), [Some("b")]);
        assert_eq!(store.stats().await.unwrap().halted_sources, 1);
        // It is dead, so nothing more is recorded of it.
        assert!(record(&store, &[done(head.id, 2)]).await.is_empty());

        let filter = Filter { id: Some(ids[0].to_string()), ..Filter::default() };
        let changed = match decision {
            "retry" => store.retry(&DeadWalk::of(filter.clone(), 9), "ann").await.unwrap().ids,
            _ => store.discard(&DeadWalk::of(filter.clone(), 9), "ann").await.unwrap().ids,
        };
        assert_eq!(changed, [ids[0].to_string()]);
        let rows = look(&store).await.rows;
        let lane: Vec<_> = rows.iter().filter(|row| row.lane() == Some("a")).collect();
        assert_eq!(lane.len(), if decision == "retry" { 2 } else { 1 });
        if decision == "retry" {
            assert_eq!((lane[0].id, lane[0].attempts, lane[0].forgiven), (head.id, 1, 1));
        }
        let rest: Vec<_> = rows.iter().map(|row| done(row.id, row.attempts + 1)).collect();
        assert_eq!(record(&store, &rest).await.len(), rest.len());
        assert_eq!(store.stats().await.unwrap().halted_sources, 0);
    }
}

#[tokio::test]
async fn s45_a_dead_message_lets_its_source_go_on_unless_it_is_told_to_halt() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    send(&store, &[from("a"), from("a"), message("1")]).await;
    let rows = look(&store).await.rows;
    // What has no source can halt none.
    record(&store, &[dead(rows[0].id, 1, false), dead(rows[2].id, 1, true)]).await;
    assert_eq!(only(&store).await.id, rows[1].id);
    assert_eq!(store.stats().await.unwrap().halted_sources, 0);
}

#[tokio::test]
async fn the_next_attempt_is_due_by_the_stores_clock() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let ids = send(&store, &[message("1")]).await;
    let row = only(&store).await;
    let before = look(&store).await.now;
    record(&store, &[again(row.id, 1, Duration::from_secs(5))]).await;
    let due_at = summary(&store, &ids[0]).await.due_at.unwrap();
    let wait = due_at.as_micros() - before.as_micros();
    assert!((5_000_000..35_000_000).contains(&wait), "{wait}");
    // A pause without end must not become one in the past.
    record(&store, &[again(row.id, 2, Duration::MAX)]).await;
    assert!(summary(&store, &ids[0]).await.due_at.is_none_or(|at| at > due_at));
}

/// A take-over while a batch is being recorded: the whole batch is of the one term or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s41_a_batch_is_recorded_in_office_or_not_at_all() {
    let file = SqliteFile::start().await;
    let (store, other) = (file.connect().await, file.connect().await);
    for _ in 0..20 {
        let grant = take(&store, "relay", TTL).await;
        send(&store, &vec![message("1"); 50]).await;
        let rows = look(&store).await.rows;
        let outcomes: Vec<_> = rows.iter().map(|row| outcome(row.id, 1, Kind::Success, Next::Done)).collect();
        let take_over = async {
            other.release(&grant).await.unwrap();
            match other.try_acquire(&claim("relay", "b", TTL)).await.unwrap() {
                Acquire::Granted(grant) => grant,
                Acquire::Held(_) => panic!("held"),
            }
        };
        let (recorded, successor) = tokio::join!(under(&store, &grant, &outcomes), take_over);
        let left = look(&store).await.rows;
        match recorded {
            Recorded::Applied(ids) => assert_eq!((ids.len(), left.len()), (50, 0)),
            Recorded::Fenced => assert_eq!(left.len(), 50),
        }
        assert_eq!(under(&store, &grant, &outcomes).await, Recorded::Fenced);
        let rest: Vec<_> = left.iter().map(|row| done(row.id, 1)).collect();
        under(&other, &successor, &rest).await;
        other.release(&successor).await.unwrap();
    }
}
