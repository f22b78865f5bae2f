//! The registry at work: writes down who holds what, and never stands in the way of holding it.
//!
//! A [`Recorder`] can be told of holdings directly ([`Recorder::taken`]), or can be put around a provider, which then
//! records by itself ([`RecordingLocks`], [`RecordingLeases`]). Every failure of the registry is a warning in the log;
//! the lock works on, only less visible.

mod leases;
mod locks;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_core::contract::LeaseRegistry;
use tenure_core::id::Node;
use tenure_core::lease::{Fence, LeaseName, Term};
use tenure_core::registry::{Classifier, Entry, Recorded, Touched};

pub use self::leases::RecordingLeases;
pub use self::locks::RecordingLocks;
use crate::stop::Stop;
use crate::{heart, node};

/// A registry that hangs holds nobody up for longer than this.
const PATIENCE: Duration = Duration::from_secs(2);

/// How holdings are recorded.
#[derive(Debug, Clone)]
pub struct RecorderOptions {
    /// A row that was not touched for this long belongs to a holder that is gone, and is swept. 60 s.
    pub stale_after: Duration,
    /// Tells the kind of work from a lock's name.
    pub classifier: Classifier,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self { stale_after: Duration::from_secs(60), classifier: Classifier::default() }
    }
}

/// Writes holdings of one node into a registry.
#[derive(Debug, Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    registry: Arc<dyn LeaseRegistry>,
    node: Node,
    options: RecorderOptions,
    /// Ends the sweep with the last clone of the recorder.
    swept: Stop,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.swept.stop();
    }
}

impl Recorder {
    /// Creates the tables if they are not there, and sweeps stale rows from now on. Both in the background: a registry
    /// that cannot be reached delays nobody.
    pub fn start(registry: Arc<dyn LeaseRegistry>, node: Node, options: RecorderOptions) -> Self {
        let swept = Stop::new();
        heart::spawn(sweep(registry.clone(), options.stale_after, swept.clone()));
        Self { shared: Arc::new(Shared { registry, node, options, swept }) }
    }

    /// Records that this node took `name`, which `backend` granted. The row is touched until the recording ends.
    pub fn taken(&self, name: &LeaseName, backend: &str) -> Recording {
        self.taken_while(name, backend, || true)
    }

    /// As [`Recorder::taken`], for a holding that can end by itself: `alive` tells whether it still lasts, without I/O.
    ///
    /// A recording that reaches the registry when the holding is over is stamped as given back at once, and its fence is
    /// never shown: a holder that was paused must not come back with the highest term.
    pub fn taken_while(
        &self,
        name: &LeaseName,
        backend: &str,
        alive: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Recording {
        let entry = Entry {
            name: name.clone(),
            node: self.shared.node.clone(),
            claim: node::random_unique(),
            backend: backend.to_owned(),
            kind: self.shared.options.classifier.kind(name.as_str()),
            origin: None,
        };
        let kept =
            Kept { alive: Arc::new(alive), term: Arc::default(), ended: Stop::new(), done: Stop::new() };
        heart::spawn(keep(self.shared.clone(), entry, kept.clone()));
        Recording { name: name.clone(), kept }
    }
}

/// What a recording and its task share.
#[derive(Clone)]
struct Kept {
    alive: Arc<dyn Fn() -> bool + Send + Sync>,
    term: Arc<Mutex<Option<Term>>>,
    ended: Stop,
    done: Stop,
}

impl Kept {
    fn term(&self) -> Option<Term> {
        *self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_term(&self, term: Option<Term>) {
        *self.term.lock().unwrap_or_else(PoisonError::into_inner) = term;
    }
}

/// A holding that is being recorded. Dropping it stamps the row as given back, in the background.
pub struct Recording {
    name: LeaseName,
    kept: Kept,
}

impl Recording {
    /// The fence under which the registry's store knows this holding; `None` until it is written there, and once the
    /// holding is over.
    pub fn fence(&self) -> Option<Fence> {
        let term = self.kept.term().filter(|_| (self.kept.alive)())?;
        Some(Fence { lease: self.name.clone(), term })
    }

    /// Stamps the row as given back, and returns when that is done, has failed, or takes too long to wait for.
    pub async fn released(self) {
        self.kept.ended.stop();
        // Only the waiting is cut short; the write goes on in its own task.
        let _ = tokio::time::timeout(PATIENCE, self.kept.done.stopped()).await;
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("name", &self.name).field("term", &self.kept.term()).finish()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.kept.ended.stop();
    }
}

/// Writes one holding, touches it as long as it lasts, and stamps it when it ends.
async fn keep(shared: Arc<Shared>, entry: Entry, kept: Kept) {
    while !kept.ended.is_stopped() && (kept.alive)() {
        match kept.term() {
            None => {
                let written = write(&shared, &entry).await;
                kept.set_term(written);
            }
            Some(term) if !still_ours(&shared, &entry, term).await => {
                // Someone else took office since. To write again would take it back from him.
                kept.set_term(None);
                kept.ended.stop();
            }
            Some(_) => {}
        }
        tokio::select! {
            () = kept.ended.stopped() => {}
            () = tokio::time::sleep(shared.options.stale_after / 3) => {}
        }
    }
    if let Some(term) = kept.term()
        && let Err(error) = shared.registry.stamp_released(&entry, term).await
    {
        tracing::warn!(lock = %entry.name, %error, "the registry could not write a release; the lock is not affected");
    }
    kept.set_term(None);
    kept.done.stop();
}

async fn write(shared: &Shared, entry: &Entry) -> Option<Term> {
    match shared.registry.record(entry, shared.options.stale_after).await {
        Ok(Recorded::At(term) | Recorded::Anew { term, .. }) => Some(term),
        Ok(Recorded::Behind { recorded, by }) => {
            tracing::warn!(lock = %entry.name, %recorded, %by, "not recorded: a later holding is");
            None
        }
        Ok(Recorded::NameTaken { by, place }) => {
            tracing::warn!(lock = %entry.name, %by, ?place, "not recorded: a lease of the same name is held");
            None
        }
        Err(error) => {
            tracing::warn!(lock = %entry.name, %error, "the registry could not write a holding; the lock works on");
            None
        }
    }
}

/// Touches the row; false when it belongs to someone else, or was swept. Without an answer it counts as ours: the next
/// touch tells.
async fn still_ours(shared: &Shared, entry: &Entry, term: Term) -> bool {
    match shared.registry.touch(entry, term, shared.options.stale_after).await {
        Ok(Touched::Living) => true,
        Ok(Touched::Over(loss)) => {
            tracing::warn!(lock = %entry.name, %term, reason = %loss, "this holding is over in the registry");
            false
        }
        Err(error) => {
            tracing::warn!(lock = %entry.name, %error, "the registry could not renew a holding; the lock works on");
            true
        }
    }
}

async fn sweep(registry: Arc<dyn LeaseRegistry>, stale_after: Duration, stop: Stop) {
    if let Err(error) = registry.prepare().await {
        tracing::warn!(%error, "the registry's tables could not be made; locks work on without it");
    }
    loop {
        tokio::select! {
            () = stop.stopped() => return,
            () = tokio::time::sleep(stale_after / 2) => {}
        }
        match registry.sweep().await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "stamped rows of holders that are gone"),
            Err(error) => tracing::warn!(%error, "the registry could not be swept"),
        }
    }
}
