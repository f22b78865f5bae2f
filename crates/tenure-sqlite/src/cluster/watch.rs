//! What wakes a node: a file beside the database that is written to after every change of the cluster.
//!
//! The log of the database would not do: everyone's commits go there, also the heartbeats of all nodes, and each of them
//! would have each node look. A process that dies between its commit and the bell takes the hint with it; the next look
//! finds what it changed.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::Wakeup;
use tokio::sync::Notify;

use crate::flag_file::FlagDirectory;
use crate::log_watch::{LogWatch, Nudge};
use crate::store::SqliteStore;

/// The file by which nodes are woken.
#[derive(Debug)]
pub(crate) struct ClusterBell {
    directory: FlagDirectory,
    name: String,
}

impl ClusterBell {
    /// That of the tables with this prefix, in the directory beside the database.
    pub(crate) fn new(database: &Path, prefix: &str) -> Self {
        Self { directory: FlagDirectory::beside(database), name: format!("{prefix}cluster") }
    }

    fn ring(&self) -> io::Result<()> {
        fs::write(self.directory.bell(&self.name)?, b"!")
    }
}

/// Wakes one node. Its thread ends when it is dropped.
#[derive(Debug)]
pub(super) struct BellWakeup {
    ear: Arc<Ear>,
    nudge: Nudge,
    label: String,
}

/// What the thread and its owner tell each other.
#[derive(Debug, Default)]
struct Ear {
    /// Remembers one hint while nobody waits.
    hint: Notify,
    armed: AtomicBool,
    /// The owner is gone.
    ended: AtomicBool,
    /// The thread is gone.
    broken: AtomicBool,
}

impl SqliteStore {
    /// Wakes every node that watches. One that is not woken finds out by looking.
    pub(super) fn ring_cluster(&self) {
        if let Err(error) = self.shared().cluster_bell.ring() {
            tracing::debug!(%error, "nodes cannot be woken; they find out by looking");
        }
    }

    pub(super) fn watch_cluster(&self) -> Result<BellWakeup, StoreError> {
        let failed = |what: &str, error: io::Error| StoreError::Failed {
            store: self.label().to_owned(),
            message: format!("{what}: {error}"),
            source: Some(error.into()),
        };
        let bell = &self.shared().cluster_bell;
        let file = bell.directory.bell(&bell.name);
        let (watch, nudge) = LogWatch::of_file(file.map_err(|error| failed("the cluster's bell", error))?);
        let ear = Arc::new(Ear::default());
        let heard = ear.clone();
        let thread = thread::Builder::new().name("tenure-sqlite-bell".into());
        thread
            .spawn(move || {
                if let Err(error) = listen(watch, &heard) {
                    tracing::warn!(%error, "the cluster's bell is no longer heard");
                }
                heard.broken.store(true, Ordering::SeqCst);
                heard.hint.notify_one();
            })
            .map_err(|error| failed("no thread to hear the cluster's bell", error))?;
        Ok(BellWakeup { ear, nudge, label: self.label().to_owned() })
    }
}

fn listen(mut watch: LogWatch, ear: &Ear) -> io::Result<()> {
    while !ear.ended.load(Ordering::SeqCst) {
        if watch.wait(true)? {
            watch.forget()?;
            if ear.armed.load(Ordering::SeqCst) {
                ear.hint.notify_one();
            }
        }
    }
    Ok(())
}

#[async_trait]
impl Wakeup for BellWakeup {
    fn arm(&self, on: bool) {
        let was = self.ear.armed.swap(on, Ordering::SeqCst);
        if on && !was {
            // It listens since it was opened: what asks for a hint takes effect at once.
            self.ear.hint.notify_one();
        }
    }

    async fn hint(&self) -> Result<(), StoreError> {
        if !self.ear.broken.load(Ordering::SeqCst) {
            self.ear.hint.notified().await;
        }
        match self.ear.broken.load(Ordering::SeqCst) {
            false => Ok(()),
            true => Err(StoreError::Failed {
                store: self.label.clone(),
                message: "the cluster's bell is no longer heard".into(),
                source: None,
            }),
        }
    }
}

impl Drop for BellWakeup {
    fn drop(&mut self) {
        self.ear.ended.store(true, Ordering::SeqCst);
        self.nudge.nudge();
    }
}
