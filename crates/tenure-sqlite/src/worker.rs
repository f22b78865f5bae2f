//! A thread that owns something that blocks: the connection, or the locked files of a session.
//!
//! Jobs are closures. Each runs to its end, whatever becomes of the future that asked for it: a dropped future only means
//! that nobody listens to the answer. So no transaction is ever left half-way.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tenure_core::StoreError;
use tokio::sync::{mpsc, oneshot};

/// How many jobs may wait; a caller beyond that waits for room before its job counts as given.
const QUEUE: usize = 1024;
/// How long dropping the last handle waits for the thread. Closing takes milliseconds, unless jobs are still waiting.
const END_PATIENCE: Duration = Duration::from_millis(500);

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A handle on the thread. The thread ends, and drops what it owns, when the last handle is gone and the queue is empty.
pub(crate) struct Worker<T> {
    label: String,
    jobs: mpsc::Sender<Job<T>>,
    // Behind `jobs`, for fields are dropped in their order: the thread ends when the queue is closed.
    _end: AwaitEnd,
}

/// Waits, when dropped, until the thread has closed what it owns: a program may end right after that.
struct AwaitEnd(Mutex<std::sync::mpsc::Receiver<()>>);

impl Drop for AwaitEnd {
    fn drop(&mut self) {
        // Nothing is ever sent: the wait ends when the thread's end of the channel is gone.
        let ended = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(END_PATIENCE);
    }
}

impl<T: 'static> Worker<T> {
    /// Starts a thread named `thread`, and waits until `open` has made there what it owns.
    pub(crate) async fn start(
        thread: &str,
        label: &str,
        open: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let (opened, is_open) = oneshot::channel();
        let (ending, ended) = std::sync::mpsc::channel();
        let run = move || match open() {
            Ok(owned) => {
                let _ending: std::sync::mpsc::Sender<()> = ending;
                // A caller that went away took the handle with it: the queue is closed, and the thread ends at once.
                let _ = opened.send(Ok(()));
                work(owned, waiting);
            }
            Err(error) => {
                let _ = opened.send(Err(error));
            }
        };
        thread::Builder::new().name(thread.to_owned()).spawn(run).map_err(|error| StoreError::Failed {
            store: label.to_owned(),
            message: format!("no thread for {thread}: {error}"),
            source: Some(error.into()),
        })?;
        is_open.await.unwrap_or_else(|_| Err(gone(label)))?;
        Ok(Self { label: label.to_owned(), jobs, _end: AwaitEnd(Mutex::new(ended)) })
    }

    /// Runs `job` on the thread.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> Result<R, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |owned: &mut T| {
            let _ = answer.send(job(owned));
        });
        self.jobs.send(job).await.map_err(|_| gone(&self.label))?;
        answered.await.map_err(|_| gone(&self.label))
    }

    /// Gives a job whose answer nobody waits for, unless the queue is full. Answers whether it was given.
    pub(crate) fn post(&self, job: impl FnOnce(&mut T) + Send + 'static) -> bool {
        self.jobs.try_send(Box::new(job)).is_ok()
    }
}

fn work<T>(mut owned: T, mut waiting: mpsc::Receiver<Job<T>>) {
    while let Some(job) = waiting.blocking_recv() {
        // A panic rolls its transaction back while it unwinds; it costs one answer, not the store.
        if catch_unwind(AssertUnwindSafe(|| job(&mut owned))).is_err() {
            tracing::error!(
                "a job on the store's thread panicked; its caller is told that the outcome is unknown"
            );
        }
    }
}

fn gone(label: &str) -> StoreError {
    StoreError::Unreachable { store: label.to_owned(), message: "the job was not finished".into() }
}

impl<T> fmt::Debug for Worker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("label", &self.label).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn c35_a_job_runs_to_its_end_when_its_future_is_dropped() {
        let worker = Worker::start("test", "test", || Ok(0)).await.unwrap();
        let (go, wait) = std::sync::mpsc::channel();
        let job = worker.run(move |count: &mut i32| {
            wait.recv().unwrap();
            *count += 1;
        });
        assert!(tokio::time::timeout(Duration::from_millis(1), job).await.is_err());
        go.send(()).unwrap();
        assert_eq!(worker.run(|count| *count).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_panic_costs_one_answer_and_not_the_store() {
        let worker = Worker::start("test", "test", || Ok(0)).await.unwrap();
        let answer: Result<(), _> = worker.run(|_: &mut i32| panic!("on purpose")).await;
        assert!(matches!(answer, Err(StoreError::Unreachable { .. })));
        assert_eq!(worker.run(|count| *count).await.unwrap(), 0);
    }
}
