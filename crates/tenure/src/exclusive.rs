//! Work that one copy does at a time, under a named lock: taken at start, kept until it stops or the lock is lost, and
//! waited for otherwise.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{SessionLock, SessionLocks};
use tenure_core::lease::LeaseName;

use crate::stop::Stop;

/// Runs `work` whenever this process has the lock `name`, until `stop` is given.
///
/// `work` gets a signal of its own, given when the lock is lost or `stop` is; it must return soon after. When it returns
/// earlier, the lock is given back and `retry` passes before it is taken again, by whoever comes first. A store that
/// cannot be reached is tried again after `retry`; nothing runs meanwhile, which is the safe outcome.
///
/// Dropping this future is as good as giving `stop`: the work is told, and the lock given back once it has ended.
pub async fn run_exclusively<F, W>(
    locks: Arc<dyn SessionLocks>,
    name: LeaseName,
    retry: Duration,
    stop: &Stop,
    mut work: F,
) where
    F: FnMut(Stop) -> W + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    let stop = stop.child();
    let _told = StopOnDrop(stop.clone());
    let all = tokio::spawn(async move {
        while !stop.is_stopped() {
            let lock = tokio::select! {
                () = stop.stopped() => return,
                lock = locks.lock(&name, retry) => lock,
            };
            match lock {
                Ok(Some(lock)) => under(lock.as_ref(), &stop, &mut work).await,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(lock = %name, %error, "a lock could not be asked for; trying again")
                }
            }
            tokio::select! {
                () = stop.stopped() => {}
                () = tokio::time::sleep(retry) => {}
            }
        }
    });
    if let Err(error) = all.await {
        tracing::error!(%error, "the runner under a lock ended without being told");
    }
}

/// Does the work once, under a lock that is held.
async fn under<F, W>(lock: &dyn SessionLock, stop: &Stop, work: &mut F)
where
    F: FnMut(Stop) -> W,
    W: Future<Output = ()> + Send + 'static,
{
    let signal = stop.child();
    let mut running = tokio::spawn(work(signal.clone()));
    let ended = tokio::select! {
        ended = &mut running => Some(ended),
        () = lock.lost() => None,
        () = stop.stopped() => None,
    };
    signal.stop();
    // Stop acting first, then release.
    let ended = match ended {
        Some(ended) => ended,
        None => running.await,
    };
    if let Err(error) = ended {
        tracing::error!(lock = %lock.name(), %error, "work under a lock panicked");
    }
    if let Err(error) = lock.unlock().await {
        tracing::warn!(lock = %lock.name(), %error, "a lock could not be given back; it ends with its session");
    }
}

/// Gives a stop signal when it is dropped.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
