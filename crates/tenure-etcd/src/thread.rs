//! The thread on which the connections live.
//!
//! A gRPC connection is driven by tasks of the runtime on which it was opened. Were that the user's, a handler that
//! blocks it would silence the heartbeat (law 8), and a runtime that ends would take the connection of all others along.
//! And a call runs to its end here even if the caller's future is dropped.

use std::future::Future;
use std::sync::OnceLock;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

/// Runs `task` on that thread. Dropping the handle does not stop it.
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    handle().spawn(task)
}

fn handle() -> &'static Handle {
    static CONNECTIONS: OnceLock<Handle> = OnceLock::new();
    CONNECTIONS.get_or_init(|| start().unwrap_or_else(Handle::current))
}

/// Starts the thread; `None` when the system has no thread to give, and the caller's own runtime must do.
fn start() -> Option<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let handle = runtime.handle().clone();
    let drive = move || runtime.block_on(std::future::pending::<()>());
    thread::Builder::new().name("tenure-etcd".into()).spawn(drive).ok()?;
    Some(handle)
}
