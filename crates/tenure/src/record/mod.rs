//! The registry at work: writes down who holds what, and never stands in the way of holding it.
//!
//! A [`Recorder`] can be told of holdings directly ([`Recorder::taken`]), or can be put around a provider, which then
//! records by itself ([`RecordingLocks`], [`RecordingLeases`]). Every failure of the registry is a warning in the log;
//! the lock works on, only less visible.

mod leases;
mod locks;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_core::contract::LeaseRegistry;
use tenure_core::id::Node;
use tenure_core::lease::{Fence, LeaseName, Term};
use tenure_core::registry::{Classifier, Entry, Recorded};

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
        let entry = Entry {
            name: name.clone(),
            node: self.shared.node.clone(),
            claim: node::random_unique(),
            backend: backend.to_owned(),
            kind: self.shared.options.classifier.kind(name.as_str()),
        };
        let (ended, term) = (Stop::new(), Arc::default());
        let done = Stop::new();
        heart::spawn(keep(self.shared.clone(), entry, Arc::clone(&term), ended.clone(), done.clone()));
        Recording { name: name.clone(), term, ended, done }
    }
}

/// A holding that is being recorded. Dropping it stamps the row as given back, in the background.
#[derive(Debug)]
pub struct Recording {
    name: LeaseName,
    term: Arc<Mutex<Option<Term>>>,
    ended: Stop,
    done: Stop,
}

impl Recording {
    /// The fence under which the registry's store knows this holding; `None` until it is written there.
    pub fn fence(&self) -> Option<Fence> {
        let term = *self.term.lock().unwrap_or_else(PoisonError::into_inner);
        term.map(|term| Fence { lease: self.name.clone(), term })
    }

    /// Stamps the row as given back, and returns when that is done, has failed, or takes too long to wait for.
    pub async fn released(self) {
        self.ended.stop();
        // Only the waiting is cut short; the write goes on in its own task.
        let _ = tokio::time::timeout(PATIENCE, self.done.stopped()).await;
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.ended.stop();
    }
}

/// Writes one holding, touches it as long as it lasts, and stamps it when it ends.
async fn keep(shared: Arc<Shared>, entry: Entry, term: Arc<Mutex<Option<Term>>>, ended: Stop, done: Stop) {
    let stale_after = shared.options.stale_after;
    loop {
        let known = *term.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match known {
            None => write(&shared, &entry).await,
            Some(known) => touch(&shared, &entry, known).await,
        };
        *term.lock().unwrap_or_else(PoisonError::into_inner) = written;
        tokio::select! {
            () = ended.stopped() => break,
            () = tokio::time::sleep(stale_after / 3) => {}
        }
    }
    let known = *term.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known
        && let Err(error) = shared.registry.stamp_released(&entry, known).await
    {
        tracing::warn!(lock = %entry.name, %error, "the registry could not write a release; the lock is not affected");
    }
    done.stop();
}

async fn write(shared: &Shared, entry: &Entry) -> Option<Term> {
    match shared.registry.record(entry, shared.options.stale_after).await {
        Ok(Recorded::At(term)) => Some(term),
        Ok(Recorded::NameTaken) => {
            tracing::warn!(lock = %entry.name, "not recorded: a lease of this store has the same name and is held");
            None
        }
        Err(error) => {
            tracing::warn!(lock = %entry.name, %error, "the registry could not write a holding; the lock works on");
            None
        }
    }
}

/// Touches the row. Without an answer the old term stays: the next touch tells.
async fn touch(shared: &Shared, entry: &Entry, term: Term) -> Option<Term> {
    match shared.registry.touch(entry, term, shared.options.stale_after).await {
        Ok(true) => Some(term),
        Ok(false) => write(shared, entry).await,
        Err(error) => {
            tracing::warn!(lock = %entry.name, %error, "the registry could not renew a holding; the lock works on");
            Some(term)
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
