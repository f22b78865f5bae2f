//! Telling a store what the loops of this process do, so that every node's dashboard can show them.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::RunnerStore;
use tenure_core::id::Node;
use tenure_core::observe::{RUNNERS_MAX, RunnerKind, RunnerReport};
use tokio::time::Instant;

use super::Runners;
use crate::stop::Stop;

/// How often it is told while something moves.
const MOVING: Duration = Duration::from_secs(5);
/// How often it is told otherwise.
const RESTING: Duration = Duration::from_secs(15);
/// How often a store that is away is complained of.
const COMPLAIN: Duration = Duration::from_secs(60);
/// After this long, rows of processes that are gone are deleted; how often that is seen to.
const FORGET_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
const FORGET_EVERY: Duration = Duration::from_secs(60 * 60);
/// How long the end of the process waits for its rows to go.
const LAST_WAIT: Duration = Duration::from_secs(2);

impl Runners {
    /// Writes them to `store` every few seconds until `stop` is given, and takes them back then. A store that is away
    /// stops nothing.
    pub async fn report_to(&self, store: Arc<dyn RunnerStore>, node: Node, stop: &Stop) {
        let mut last: Option<(Vec<Told>, Instant)> = None;
        let (mut complained, mut forgot) = (None::<Instant>, None::<Instant>);
        while !stop.is_stopped() {
            let reports = bounded(self.list());
            let told: Vec<Told> = reports.iter().map(Told::of).collect();
            let due = last.as_ref().is_none_or(|(before, at)| *before != told || at.elapsed() >= RESTING);
            if due {
                let (to, me) = (store.clone(), node.clone());
                match whole(async move { to.report(&me, &reports).await }).await {
                    Ok(()) => last = Some((told, Instant::now())),
                    Err(error) => {
                        if complained.is_none_or(|at| at.elapsed() >= COMPLAIN) {
                            tracing::warn!(%error, "what the loops of this process do was not written down");
                            complained = Some(Instant::now());
                        }
                    }
                }
            }
            if forgot.is_none_or(|at| at.elapsed() >= FORGET_EVERY) {
                forgot = Some(Instant::now());
                let to = store.clone();
                if let Err(error) = whole(async move { to.forget(FORGET_AFTER).await }).await {
                    tracing::debug!(%error, "runners of processes that are gone were not deleted");
                }
            }
            tokio::select! {
                () = stop.stopped() => {}
                () = tokio::time::sleep(MOVING) => {}
            }
        }
        let gone = tokio::spawn(async move { store.report(&node, &[]).await });
        // It is not cut in half: only not waited for.
        let _ = tokio::time::timeout(LAST_WAIT, gone).await;
    }
}

/// What makes a report worth telling before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    kind: RunnerKind,
    name: String,
    state: String,
    troubled: bool,
    counted: u64,
}

impl Told {
    fn of(report: &RunnerReport) -> Self {
        Self {
            kind: report.kind,
            name: report.name.clone(),
            state: report.state.clone(),
            troubled: report.trouble.is_some(),
            counted: report.counters.values().sum(),
        }
    }
}

/// No more than a process may report; the rest is one line.
fn bounded(mut reports: Vec<RunnerReport>) -> Vec<RunnerReport> {
    if reports.len() > RUNNERS_MAX {
        let more = reports.split_off(RUNNERS_MAX - 1);
        let worst = |of: fn(&RunnerReport) -> Option<Duration>| more.iter().filter_map(of).max();
        reports.push(RunnerReport {
            kind: RunnerKind::Daemon,
            name: format!("and {} more", more.len()),
            state: "not told one by one".to_owned(),
            trouble: more.iter().find_map(|report| report.trouble.clone()),
            cycled_ago: worst(|report| report.cycled_ago),
            advanced_ago: worst(|report| report.advanced_ago),
            every: more.iter().map(|report| report.every).max().unwrap_or_default(),
            counters: Default::default(),
        });
    }
    reports
}

/// Runs a call to the store to its end, also if nobody waits for it any more.
async fn whole<T: Send + 'static>(
    call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::spawn(call).await.unwrap_or_else(|failed| {
        let message = format!("the call ended early: {failed}");
        Err(StoreError::Failed { store: "the runtime".into(), message, source: None })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use tenure_core::observe::Runners as Listed;

    use super::*;
    use crate::local_node;

    #[derive(Debug, Default)]
    struct Notebook {
        told: Mutex<Vec<(Duration, Vec<RunnerReport>)>>,
        away: Mutex<bool>,
        began: Mutex<Option<Instant>>,
    }

    #[async_trait]
    impl RunnerStore for Notebook {
        async fn report(&self, _: &Node, reports: &[RunnerReport]) -> Result<(), StoreError> {
            if *self.away.lock().unwrap() {
                return Err(StoreError::Busy { store: "notebook".into(), message: "away".into() });
            }
            let at = self.began.lock().unwrap().get_or_insert_with(Instant::now).elapsed();
            self.told.lock().unwrap().push((at, reports.to_vec()));
            Ok(())
        }
        async fn runners(&self, _: Duration, _: u32) -> Result<Listed, StoreError> {
            Err(StoreError::Busy { store: "notebook".into(), message: "is not read".into() })
        }
        async fn forget(&self, _: Duration) -> Result<u64, StoreError> {
            Ok(0)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_tells_often_while_it_moves_seldom_while_it_rests_and_takes_it_back() {
        let (runners, store) = (Arc::new(Runners::default()), Arc::new(Notebook::default()));
        let beat = runners.register(RunnerKind::Relay, "outbox", Duration::from_secs(1));
        let stop = Stop::new();
        let (all, to, end) = (runners.clone(), store.clone(), stop.clone());
        let telling =
            tokio::spawn(async move { all.report_to(to, local_node(Some("one")).unwrap(), &end).await });
        // passes time: nothing moves for a minute and a bit
        tokio::time::sleep(Duration::from_secs(62)).await;
        assert_eq!(store.told.lock().unwrap().len(), 5, "at the start, and every 15 s");
        *store.away.lock().unwrap() = true;
        beat.count("delivered", 1);
        // passes time: the store is away when it is told
        tokio::time::sleep(Duration::from_secs(11)).await;
        *store.away.lock().unwrap() = false;
        // passes time: the next try
        tokio::time::sleep(Duration::from_secs(6)).await;
        let last = store.told.lock().unwrap().last().cloned().unwrap();
        assert_eq!(last.1[0].counters.values().sum::<u64>(), 1, "told when the store was there again");
        stop.stop();
        telling.await.unwrap();
        assert!(
            store.told.lock().unwrap().last().unwrap().1.is_empty(),
            "a process that ends takes its rows back"
        );
    }

    #[test]
    fn a_process_with_many_loops_reports_a_bounded_number() {
        let runners = Runners::default();
        let beats: Vec<_> =
            (0..100).map(|n| runners.register(RunnerKind::Lease, format!("l{n:03}"), MOVING)).collect();
        beats[99].trouble(Some("stuck".to_owned()));
        let reports = bounded(runners.list());
        assert_eq!(reports.len(), RUNNERS_MAX);
        let last = reports.last().unwrap();
        assert_eq!((last.name.as_str(), last.trouble.as_deref()), ("and 37 more", Some("stuck")));
    }
}
