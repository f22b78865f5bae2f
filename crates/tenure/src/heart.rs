//! The thread on which heartbeats run.
//!
//! Nothing slow shares a task, or even a thread, with a heartbeat: a handler that blocks the user's runtime for seconds
//! must not cost the lease. All renewals, pings and the connections they use live on one thread of our own.

use std::future::Future;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use tenure_core::observe::RunnerKind;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

use crate::runners::runners;

/// How often the thread shows that it lives.
const BEAT: Duration = Duration::from_secs(2);

/// Runs `task` on the heartbeat thread. Dropping the handle does not stop it.
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    handle().spawn(task)
}

fn handle() -> &'static Handle {
    static HEART: OnceLock<Handle> = OnceLock::new();
    HEART.get_or_init(|| start().unwrap_or_else(Handle::current))
}

/// Starts the thread; `None` when the system has no thread to give, and the caller's own runtime must do.
fn start() -> Option<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(beat());
    thread::Builder::new().name("tenure-heart".into()).spawn(run).ok()?;
    Some(handle)
}

/// Lives for ever, and shows it: something that blocks this thread costs every lease, and is the one thing that nobody sees
/// otherwise.
async fn beat() {
    let beat = runners().register(RunnerKind::Heart, "heart", BEAT);
    let _watch = beat.watch();
    beat.state("beating");
    loop {
        beat.cycled();
        beat.advanced();
        tokio::time::sleep(BEAT).await;
    }
}
