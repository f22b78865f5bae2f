//! The thread on which heartbeats run.
//!
//! Nothing slow shares a task, or even a thread, with a heartbeat: a handler that blocks the user's runtime for seconds
//! must not cost the lease. All renewals, pings and the connections they use live on one thread of our own.

use std::future::Future;
use std::sync::OnceLock;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

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
    let beat = move || runtime.block_on(std::future::pending::<()>());
    thread::Builder::new().name("tenure-heart".into()).spawn(beat).ok()?;
    Some(handle)
}
