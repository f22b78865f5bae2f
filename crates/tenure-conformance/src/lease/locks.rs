//! Session locks: one holder at a time, given back by unlocking, by dropping and by the end of the session.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{SessionLock, SessionLocks};
use tenure_core::lease::LeaseName;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::player::{fresh, named, unique};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// For locks that become free: far longer than it takes.
const PATIENT: Duration = Duration::from_secs(30);

/// One has it, the others do not, and everyone is told so at once.
pub async fn a01_a_session_lock_excludes_others(backend: &dyn Backend) {
    let Some(Scene { ann, bob, name }) = scene(backend).await else { return };
    assert!(!ann.backend().is_empty(), "the registry needs a word for it");
    let lock = take(&ann, &name).await;
    assert_eq!(lock.name(), &name);
    assert!(lock.is_held());
    assert!(is_taken(&bob, &name).await);
    lock.unlock().await.expect("unlocked");
    assert!(!lock.is_held());
    let next = take(&bob, &name).await;
    assert!(is_taken(&ann, &name).await);
    assert!(next.is_held());
}

/// Session locks stack on many servers: a second lock through the same provider must not be let in.
pub async fn s11_a_session_lock_excludes_its_own_provider(backend: &dyn Backend) {
    let Some(Scene { ann, bob, name }) = scene(backend).await else { return };
    let lock = take(&ann, &name).await;
    assert!(is_taken(&ann, &name).await);
    lock.unlock().await.expect("unlocked");
    let next = take(&bob, &name).await;
    next.unlock().await.expect("unlocked");
    take(&ann, &name).await;
}

/// One who waits gets the lock when it is given back; one who runs out of patience is told so.
pub async fn a02_waiting_for_a_session_lock_ends_with_its_release(backend: &dyn Backend) {
    let Some(Scene { ann, bob, name }) = scene(backend).await else { return };
    let lock = take(&ann, &name).await;
    let impatient = bob.lock(&name, Duration::from_millis(200)).await.expect("an answer");
    assert!(impatient.is_none(), "someone still has it");
    let waiting = waits(&bob, &name);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!waiting.is_finished(), "someone still has it");
    lock.unlock().await.expect("unlocked");
    let next = waiting.await.expect("a wait ends").expect("it is free");
    assert!(next.is_held());
    assert!(is_taken(&ann, &name).await);
    next.unlock().await.expect("unlocked");
    let free = ann.lock(&name, PATIENT).await.expect("an answer");
    assert!(free.is_some(), "waiting for what is free is taking it");
}

/// Of many who wait, one gets it.
pub async fn s10_of_many_waiting_for_a_session_lock_one_gets_it(backend: &dyn Backend) {
    let Some(Scene { ann, name, .. }) = scene(backend).await else { return };
    let lock = take(&ann, &name).await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let locks = backend.locks().await.expect("locks, as before");
        let name = name.clone();
        waiting.push(tokio::spawn(async move {
            locks.lock(&name, Duration::from_secs(2)).await.expect("an answer")
        }));
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    lock.unlock().await.expect("unlocked");
    let mut got = Vec::new();
    for wait in waiting {
        got.extend(wait.await.expect("a wait ends"));
    }
    assert_eq!(got.len(), 1, "{got:?}");
}

/// A lock that is dropped is given back, soon if not at once.
pub async fn a01_a_dropped_session_lock_is_free(backend: &dyn Backend) {
    let Some(Scene { ann, bob, name }) = scene(backend).await else { return };
    let lock = take(&ann, &name).await;
    let second = Arc::clone(&lock);
    drop(lock);
    assert!(second.is_held(), "the last reference counts");
    drop(second);
    assert!(bob.lock(&name, PATIENT).await.expect("an answer").is_some());
}

/// Whoever waits for the loss of a lock is told of its release as well.
pub async fn a_session_lock_that_was_given_back_counts_as_lost(backend: &dyn Backend) {
    let Some(Scene { ann, name, .. }) = scene(backend).await else { return };
    let lock = take(&ann, &name).await;
    let losing = loses(&lock);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!losing.is_finished(), "it is held");
    lock.unlock().await.expect("unlocked");
    in_time(losing).await;
    in_time(loses(&lock)).await;
}

/// The server ends the session of a holder that sits idle: it is told, and the lock goes to another.
pub async fn s02_a_session_lock_killed_by_the_server_is_lost(backend: &dyn Backend) {
    let Some(Scene { ann, bob, name }) = scene(backend).await else { return };
    let lock = take(&ann, &name).await;
    if !backend.kill_sessions().await {
        return skip(backend, Need::KillSessions);
    }
    in_time(loses(&lock)).await;
    assert!(!lock.is_held());
    let next = eventually(&bob, &name).await;
    assert!(next.is_held());
    // The former holder cleans up: whatever it is answered, the new holder keeps the lock.
    let _ = lock.unlock().await;
    drop(lock);
    assert!(is_taken(&ann, &name).await || is_taken(&backend.locks().await.expect("locks"), &name).await);
}

/// Names are data here too, also where the server wants short names, numbers, or does not tell `a` from `A`.
pub async fn s20_session_locks_of_different_names_are_different(backend: &dyn Backend) {
    let Some(Scene { ann, bob, .. }) = scene(backend).await else { return };
    let tag = unique();
    let long = "x".repeat(160);
    let mut held = Vec::new();
    for ending in
        ["a", "A", "é", "e\u{301}", "a ", "'", "%", "\\", "; --", &format!("{long}1"), &format!("{long}2")]
    {
        let name = named(&format!("{tag}{ending}"));
        held.push(take(&ann, &name).await);
        assert!(is_taken(&bob, &name).await, "{name}");
    }
    assert!(held.iter().all(|lock| lock.is_held()));
}

struct Scene {
    ann: Arc<dyn SessionLocks>,
    bob: Arc<dyn SessionLocks>,
    name: LeaseName,
}

async fn scene(backend: &dyn Backend) -> Option<Scene> {
    let (Some(ann), Some(bob)) = (backend.locks().await, backend.locks().await) else {
        skip(backend, Need::Locks);
        return None;
    };
    Some(Scene { ann, bob, name: fresh("lock") })
}

async fn take(locks: &Arc<dyn SessionLocks>, name: &LeaseName) -> Arc<dyn SessionLock> {
    let lock = locks.try_lock(name).await.expect("an answer");
    lock.unwrap_or_else(|| panic!("{name} is free, and must be had"))
}

async fn is_taken(locks: &Arc<dyn SessionLocks>, name: &LeaseName) -> bool {
    locks.try_lock(name).await.expect("an answer").is_none()
}

fn waits(locks: &Arc<dyn SessionLocks>, name: &LeaseName) -> JoinHandle<Option<Arc<dyn SessionLock>>> {
    let (locks, name) = (Arc::clone(locks), name.clone());
    tokio::spawn(async move { locks.lock(&name, PATIENT).await.expect("an answer") })
}

/// Waits for the loss of a lock in the background.
fn loses(lock: &Arc<dyn SessionLock>) -> JoinHandle<()> {
    let lock = Arc::clone(lock);
    tokio::spawn(async move { lock.lost().await })
}

async fn in_time(losing: JoinHandle<()>) {
    let told = tokio::time::timeout(PATIENT, losing).await;
    told.expect("the holder is told of the loss in time").expect("a wait ends");
}

/// Takes the lock after every session was killed: the provider's own may have been among them.
async fn eventually(locks: &Arc<dyn SessionLocks>, name: &LeaseName) -> Arc<dyn SessionLock> {
    let began = Instant::now();
    loop {
        if let Ok(Some(lock)) = locks.try_lock(name).await {
            return lock;
        }
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{name} is not free after its holder's session ended"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
