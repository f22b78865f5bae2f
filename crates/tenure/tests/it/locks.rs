//! Named locks over leases, and work that one copy does at a time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::core::contract::{LeaseAdmin, SessionLocks};
use tenure::{LeaseLocks, LeaseName, Stop, run_exclusively};

use crate::faulty::{Faulty, quick};

const PATIENCE: Duration = Duration::from_secs(10);

fn name(text: &str) -> LeaseName {
    LeaseName::new(text).unwrap()
}

fn locks(store: &Arc<Faulty>, node: &str) -> LeaseLocks {
    LeaseLocks::new(store.node(node), quick())
}

#[tokio::test]
async fn a1_a_lock_over_a_lease_excludes_waits_and_fences() {
    let store = Faulty::new(true);
    let (a, b) = (locks(&store, "a"), locks(&store, "b"));
    let held = a.try_lock(&name("x")).await.unwrap().unwrap();
    assert!(held.is_held() && held.fence().is_some());
    assert!(b.try_lock(&name("x")).await.unwrap().is_none());
    assert!(b.try_lock(&name("X")).await.unwrap().is_some(), "names differ by case");
    assert!(b.lock(&name("x"), Duration::from_millis(50)).await.unwrap().is_none());
    let waiting = tokio::spawn(async move { b.lock(&name("x"), PATIENCE).await });
    held.unlock().await.unwrap();
    assert!(!held.is_held() && held.fence().is_none());
    assert!(waiting.await.unwrap().unwrap().unwrap().is_held());
}

#[tokio::test]
async fn a1_a_dropped_lock_is_free() {
    let store = Faulty::new(true);
    let (a, b) = (locks(&store, "a"), locks(&store, "b"));
    drop(a.try_lock(&name("x")).await.unwrap().unwrap());
    assert!(b.lock(&name("x"), PATIENCE).await.unwrap().is_some());
}

/// Which copies work, how many at once at the most, and how many started.
#[derive(Default)]
struct Rota {
    working: Mutex<Vec<usize>>,
    most: AtomicU32,
    started: AtomicU32,
}

impl Rota {
    async fn work(self: Arc<Self>, copy: usize, signal: Stop) {
        let now_working = {
            let mut working = self.working.lock().unwrap();
            working.push(copy);
            working.len() as u32
        };
        self.most.fetch_max(now_working, Ordering::SeqCst);
        self.started.fetch_add(1, Ordering::SeqCst);
        signal.stopped().await;
        self.working.lock().unwrap().retain(|other| *other != copy);
    }
}

#[tokio::test]
async fn a2_a_runner_works_on_one_copy_at_a_time_and_moves_when_it_stops() {
    let store = Faulty::new(true);
    let rota = Arc::new(Rota::default());
    let start = |copy: usize| {
        let (locks, stop, rota) = (locks(&store, &format!("n{copy}")), Stop::new(), rota.clone());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let work = move |signal| rota.clone().work(copy, signal);
            run_exclusively(Arc::new(locks), name("runner"), Duration::from_millis(50), &stopped, work).await;
        });
        (stop, task)
    };
    let copies: Vec<_> = (0..3).map(start).collect();
    for round in 1..=3 {
        while rota.started.load(Ordering::SeqCst) < round {
            tokio::task::yield_now().await;
        }
        // The copy that works is stopped; the next round begins when another one has started.
        let working = rota.working.lock().unwrap()[0];
        copies[working].0.stop();
    }
    for (_, task) in copies {
        tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap();
    }
    assert_eq!(rota.most.load(Ordering::SeqCst), 1);
    assert_eq!(rota.started.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a2_a_lost_lock_stops_the_work_and_it_is_taken_again() {
    let store = Faulty::new(true);
    let locks = locks(&store, "a");
    let (stop, rounds) = (Stop::new(), Arc::new(AtomicU32::new(0)));
    let runner = {
        let (stop, rounds) = (stop.clone(), rounds.clone());
        tokio::spawn(async move {
            let work = move |signal: Stop| {
                rounds.fetch_add(1, Ordering::SeqCst);
                async move { signal.stopped().await }
            };
            run_exclusively(Arc::new(locks), name("runner"), Duration::from_millis(20), &stop, work).await;
        })
    };
    for round in 1..=2 {
        while rounds.load(Ordering::SeqCst) < round {
            tokio::task::yield_now().await;
        }
        store.inner.revoke(&name("runner"), "test", false).await.unwrap();
    }
    while rounds.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    stop.stop();
    tokio::time::timeout(PATIENCE, runner).await.unwrap().unwrap();
}

/// Law 4: whoever drops the runner stops the work first, and frees the lock after it.
#[tokio::test]
async fn a2_a_dropped_runner_stops_its_work_before_the_lock_is_free() {
    let store = Faulty::new(true);
    let rota = Arc::new(Rota::default());
    let (mine, other) = (locks(&store, "a"), locks(&store, "b"));
    let runner = {
        let rota = rota.clone();
        tokio::spawn(async move {
            let work = move |signal| rota.clone().work(0, signal);
            run_exclusively(Arc::new(mine), name("runner"), Duration::from_millis(20), &Stop::new(), work)
                .await;
        })
    };
    while rota.working.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    runner.abort();
    let lock = other.lock(&name("runner"), PATIENCE).await.unwrap().expect("it is free in the end");
    assert!(rota.working.lock().unwrap().is_empty(), "the work ended before the lock was free");
    assert!(lock.is_held());
}
