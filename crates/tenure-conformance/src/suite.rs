//! How a case is run: on a runtime of its own, with an end, and never skipped in silence.

use std::collections::BTreeSet;
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::backend::{Backend, Need};
use crate::cluster::{self, ClusterBackend};
use crate::events::{self, EventBackend};
use crate::lease;
use crate::outbox::{self, OutboxBackend};

/// After this long a case counts as hung. The slowest takes a few seconds.
const CASE_LIMIT: Duration = Duration::from_secs(120);

/// A case under way.
pub type Running<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// One property that every backend must have.
#[derive(Debug)]
pub struct Case<B: ?Sized = dyn Backend> {
    /// The property, with the number of its scenario in front.
    pub name: &'static str,
    /// The module it lives in.
    pub theme: &'static str,
    /// Panics when the backend does not have the property.
    pub run: for<'a> fn(&'a B) -> Running<'a>,
}

/// What a suite can be given as its backend.
pub trait IntoBackend {
    /// The backend; `None` when it is not to be had on this machine.
    fn into_backend(self) -> Option<Arc<dyn Backend>>;
}

impl<B: Backend + 'static> IntoBackend for B {
    fn into_backend(self) -> Option<Arc<dyn Backend>> {
        Some(Arc::new(self))
    }
}

impl<B: Backend + 'static> IntoBackend for Option<B> {
    fn into_backend(self) -> Option<Arc<dyn Backend>> {
        self.map(|backend| Arc::new(backend) as Arc<dyn Backend>)
    }
}

impl IntoBackend for Arc<dyn Backend> {
    fn into_backend(self) -> Option<Arc<dyn Backend>> {
        Some(self)
    }
}

impl IntoBackend for Option<Arc<dyn Backend>> {
    fn into_backend(self) -> Option<Arc<dyn Backend>> {
        self
    }
}

/// What a suite of the outbox can be given as its backend.
pub trait IntoOutboxBackend {
    /// The backend; `None` when it is not to be had on this machine.
    fn into_backend(self) -> Option<Arc<dyn OutboxBackend>>;
}

impl<B: OutboxBackend + 'static> IntoOutboxBackend for B {
    fn into_backend(self) -> Option<Arc<dyn OutboxBackend>> {
        Some(Arc::new(self))
    }
}

impl<B: OutboxBackend + 'static> IntoOutboxBackend for Option<B> {
    fn into_backend(self) -> Option<Arc<dyn OutboxBackend>> {
        self.map(|backend| Arc::new(backend) as Arc<dyn OutboxBackend>)
    }
}

/// What a suite of the events can be given as its backend.
pub trait IntoEventBackend {
    /// The backend; `None` when it is not to be had on this machine.
    fn into_backend(self) -> Option<Arc<dyn EventBackend>>;
}

impl<B: EventBackend + 'static> IntoEventBackend for B {
    fn into_backend(self) -> Option<Arc<dyn EventBackend>> {
        Some(Arc::new(self))
    }
}

impl<B: EventBackend + 'static> IntoEventBackend for Option<B> {
    fn into_backend(self) -> Option<Arc<dyn EventBackend>> {
        self.map(|backend| Arc::new(backend) as Arc<dyn EventBackend>)
    }
}

/// What a suite of the cluster can be given as its backend.
pub trait IntoClusterBackend {
    /// The backend; `None` when it is not to be had on this machine.
    fn into_backend(self) -> Option<Arc<dyn ClusterBackend>>;
}

impl<B: ClusterBackend + 'static> IntoClusterBackend for B {
    fn into_backend(self) -> Option<Arc<dyn ClusterBackend>> {
        Some(Arc::new(self))
    }
}

impl<B: ClusterBackend + 'static> IntoClusterBackend for Option<B> {
    fn into_backend(self) -> Option<Arc<dyn ClusterBackend>> {
        self.map(|backend| Arc::new(backend) as Arc<dyn ClusterBackend>)
    }
}

/// Runs one case by its name; what [`lease_suite!`](crate::lease_suite) makes of every case.
pub fn run<S>(name: &'static str, start: S)
where
    S: Future<Output: IntoBackend>,
{
    run_case(named(lease::CASES, name), async { start.await.into_backend() });
}

/// Runs one case by its name; what [`outbox_suite!`](crate::outbox_suite) makes of every case.
pub fn run_outbox<S>(name: &'static str, start: S)
where
    S: Future<Output: IntoOutboxBackend>,
{
    run_case(named(outbox::CASES, name), async { start.await.into_backend() });
}

/// Runs one case by its name; what [`event_suite!`](crate::event_suite) makes of every case.
pub fn run_events<S>(name: &'static str, start: S)
where
    S: Future<Output: IntoEventBackend>,
{
    run_case(named(events::CASES, name), async { start.await.into_backend() });
}

/// Runs one case by its name; what [`cluster_suite!`](crate::cluster_suite) makes of every case.
pub fn run_cluster<S>(name: &'static str, start: S)
where
    S: Future<Output: IntoClusterBackend>,
{
    run_case(named(cluster::CASES, name), async { start.await.into_backend() });
}

fn named<B: ?Sized>(cases: &'static [Case<B>], name: &str) -> &'static Case<B> {
    cases.iter().find(|case| case.name == name).expect("every test of the suite has a case")
}

fn run_case<B, S>(case: &'static Case<B>, start: S)
where
    B: ?Sized + Send + Sync + 'static,
    S: Future<Output = Option<Arc<B>>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Panics and skips then carry the case's name.
        .thread_name(case.name)
        .enable_all()
        .build()
        .expect("a runtime");
    let ended = runtime.block_on(async {
        match start.await {
            Some(backend) => to_its_end(case, backend).await,
            None => {
                unavailable();
                Ok(())
            }
        }
    });
    // Whatever a backend left behind (a watch without patience, a thread that writes) must not keep the test waiting.
    runtime.shutdown_timeout(Duration::from_secs(1));
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Runs a case in a task of its own, so that a hung one can be told from a slow one without cancelling its calls.
async fn to_its_end<B: ?Sized + Send + Sync + 'static>(
    case: &'static Case<B>,
    backend: Arc<B>,
) -> Result<(), Box<dyn std::any::Any + Send>> {
    let running = tokio::spawn(async move { (case.run)(&*backend).await });
    tokio::select! {
        ended = running => ended.map_err(tokio::task::JoinError::into_panic),
        () = tokio::time::sleep(CASE_LIMIT) => panic!("{} has not ended after {CASE_LIMIT:?}", case.name),
    }
}

/// Says that a case cannot be run on this backend; fails when the backend promised what is missing.
pub(crate) fn skip(backend: &dyn Backend, need: Need) {
    assert!(!backend.promises().contains(&need), "this backend promises {need}, and has none");
    let thread = std::thread::current();
    say(&format!("{} skipped: this backend has no {need}", thread.name().unwrap_or("a case")));
}

/// Says that the servers of this program's tests cannot be had everywhere: their absence is no failure, also with `CI=true`.
pub fn servers_may_be_missing() {
    MAY_BE_MISSING.store(true, Ordering::Relaxed);
}

static MAY_BE_MISSING: AtomicBool = AtomicBool::new(false);

fn unavailable() {
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let excused = MAY_BE_MISSING.load(Ordering::Relaxed);
    assert!(!in_ci || excused, "the backend is not available, and with CI=true that is a failure");
    say("A BACKEND IS NOT AVAILABLE HERE: its cases pass without having been run");
}

/// Writes past the test harness, which shows nothing of a test that passes; once for each line.
fn say(line: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let fresh = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(line.to_owned());
    if fresh {
        let _ = writeln!(std::io::stderr(), "tenure-conformance: {line}");
    }
}
