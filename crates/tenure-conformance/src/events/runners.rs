//! What the loops of each process say of themselves.

use std::borrow::Cow;
use std::time::Duration;

use tenure_core::id::Node;
use tenure_core::observe::{RUNNER_NAME_MAX_BYTES, RUNNERS_MAX, RunnerKind, RunnerReport, Runners};

use super::backend::EventBackend;
use crate::lease::player::node;

const LONG: Duration = Duration::from_secs(600);

fn report(kind: RunnerKind, name: &str, delivered: u64) -> RunnerReport {
    RunnerReport {
        kind,
        name: name.to_owned(),
        state: "live".into(),
        trouble: None,
        cycled_ago: Some(Duration::from_millis(250)),
        advanced_ago: None,
        every: Duration::from_secs(5),
        counters: [(Cow::Borrowed("delivered"), delivered)].into(),
    }
}

async fn says(backend: &dyn EventBackend, node: &Node, reports: &[RunnerReport]) {
    backend.operators().await.runners.report(node, reports).await.expect("a report");
}

async fn runners(backend: &dyn EventBackend, within: Duration, limit: u32) -> Runners {
    backend.operators().await.runners.runners(within, limit).await.expect("runners")
}

async fn names(backend: &dyn EventBackend) -> Vec<String> {
    let rows = runners(backend, LONG, 100).await.rows;
    rows.into_iter().map(|row| format!("{}/{}/{}", row.node.name, row.report.kind, row.report.name)).collect()
}

/// A process says it all at once: what it does not say any more is gone, and other processes are left alone.
pub async fn a_report_replaces_the_last_one_of_its_process(backend: &dyn EventBackend) {
    let (ann, again, bob) = (node("ann"), node("ann"), node("bob"));
    let empty = runners(backend, LONG, 10).await;
    assert_eq!((empty.rows, empty.more), (Vec::new(), false));
    let first = [report(RunnerKind::Relay, "outbox", 1), report(RunnerKind::Sweeper, "outbox", 0)];
    says(backend, &ann, &first).await;
    says(backend, &bob, &[report(RunnerKind::Relay, "outbox", 7)]).await;
    let found = runners(backend, LONG, 10).await;
    assert_eq!(found.rows.len(), 3);
    let relay = &found.rows[0];
    assert_eq!((&relay.node, &relay.report), (&ann, &first[0]), "as it was said");
    assert!(relay.started_at <= relay.seen_at && relay.seen_at <= found.now);
    backend.pass(Duration::from_millis(20)).await;

    let troubled = RunnerReport {
        state: "halted; drop table x".into(),
        trouble: Some("it's \"broken\" \u{1f980}\n".into()),
        cycled_ago: None,
        advanced_ago: Some(Duration::from_secs(3_600)),
        counters: [(Cow::Borrowed("delivered"), u64::from(u32::MAX) * 8), (Cow::Borrowed("dead"), 0)].into(),
        ..first[0].clone()
    };
    let third = report(RunnerKind::Daemon, "work/ä'%_", 3);
    says(backend, &ann, &[troubled.clone(), third.clone()]).await;
    let found = runners(backend, LONG, 10).await;
    assert_eq!(found.rows.len(), 3, "{found:?}");
    let now = found.rows.iter().find(|row| row.report.kind == RunnerKind::Relay && row.node == ann);
    let now = now.expect("the relay");
    assert_eq!(now.report, troubled);
    assert!(now.seen_at > relay.seen_at && now.started_at == relay.started_at, "{now:?}");
    assert!(found.rows.iter().any(|row| row.report == third));
    assert!(found.rows.iter().all(|row| row.report.kind != RunnerKind::Sweeper), "not said any more");

    // Another process of the same name is another.
    says(backend, &again, &first).await;
    assert_eq!(runners(backend, LONG, 10).await.rows.len(), 5);
    says(backend, &ann, &[]).await;
    assert_eq!(
        names(backend).await,
        ["ann/relay/outbox", "ann/sweeper/outbox", "bob/relay/outbox"],
        "by node, kind and name"
    );
    let some = runners(backend, LONG, 2).await;
    assert_eq!((some.rows.len(), some.more), (2, true));
    assert!(!runners(backend, LONG, 3).await.more);
}

/// Who has not said anything for a while is not shown, and is forgotten at last.
pub async fn a_runner_that_is_gone_is_not_shown(backend: &dyn EventBackend) {
    let (ann, bob) = (node("ann"), node("bob"));
    let store = backend.operators().await.runners;
    says(backend, &ann, &[report(RunnerKind::Relay, "a", 0), report(RunnerKind::Relay, "b", 0)]).await;
    backend.pass(Duration::from_millis(300)).await;
    says(backend, &bob, &[report(RunnerKind::Relay, "c", 0)]).await;
    let fresh = runners(backend, Duration::from_millis(250), 10).await;
    let fresh: Vec<_> = fresh.rows.into_iter().map(|row| row.report.name).collect();
    assert_eq!(fresh, ["c"]);
    assert_eq!(names(backend).await.len(), 3);
    assert_eq!(store.forget(LONG).await.expect("an answer"), 0);
    assert_eq!(store.forget(Duration::from_millis(250)).await.expect("an answer"), 2);
    assert_eq!(names(backend).await, ["bob/relay/c"]);
    assert_eq!(runners(backend, Duration::MAX, u32::MAX).await.rows.len(), 1, "no span is too long");
}

/// As many as one process may say, with the longest names.
pub async fn many_runners_of_one_process_are_kept(backend: &dyn EventBackend) {
    let ann = node("ann");
    let long = "n".repeat(RUNNER_NAME_MAX_BYTES - 2);
    let said: Vec<_> = (10..10 + RUNNERS_MAX as u64)
        .map(|number| report(RunnerKind::Daemon, &format!("{number}{long}"), number))
        .collect();
    says(backend, &ann, &said).await;
    says(backend, &ann, &said).await;
    let found = runners(backend, LONG, 1_000).await.rows;
    assert_eq!(found.into_iter().map(|row| row.report).collect::<Vec<_>>(), said);
}
