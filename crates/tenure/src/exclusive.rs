//! Work that one copy does at a time, under a named lock: taken at start, kept until it stops or the lock is lost, and
//! waited for otherwise.

use std::time::Duration;

use tenure_core::contract::SessionLocks;
use tenure_core::lease::LeaseName;

use crate::stop::Stop;

/// Runs `work` whenever this process has the lock `name`, until `stop` is given.
///
/// `work` gets a signal of its own, given when the lock is lost or `stop` is; it must return soon after. When it returns
/// earlier, the lock is given back and `retry` passes before it is taken again, by whoever comes first. A store that
/// cannot be reached is tried again after `retry`; nothing runs meanwhile, which is the safe outcome.
pub async fn run_exclusively<F, W>(
    locks: &dyn SessionLocks,
    name: &LeaseName,
    retry: Duration,
    stop: &Stop,
    mut work: F,
) where
    F: FnMut(Stop) -> W,
    W: Future<Output = ()> + Send + 'static,
{
    while !stop.is_stopped() {
        match locks.lock(name, retry).await {
            Ok(Some(lock)) => {
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
                    tracing::error!(lock = %name, %error, "work under a lock panicked");
                }
                if let Err(error) = lock.unlock().await {
                    tracing::warn!(lock = %name, %error, "a lock could not be given back; it ends with its session");
                }
            }
            Ok(None) => continue,
            Err(error) => tracing::warn!(lock = %name, %error, "a lock could not be asked for; trying again"),
        }
        tokio::select! {
            () = stop.stopped() => {}
            () = tokio::time::sleep(retry) => {}
        }
    }
}
