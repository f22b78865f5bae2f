//! Presence by locked files: see [`flag_file`](crate::flag_file).
//!
//! A session is a thread that holds the files of its flags. Watching a flag is a thread that waits for its file's lock;
//! watchers of one flag share it, and it goes on when they lose interest, so that looking again costs no new one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Presence, PresenceSession, Raise, Watch};
use tenure_core::id::Unique;
use tenure_core::lease::Flag;
use tokio::sync::watch;

use crate::error::{Fault, file_system};
use crate::files::Files;
use crate::flag_file::{FlagDirectory, FlagFile};
use crate::worker::Worker;

/// The most flags that one store watches at a time, each with a thread; who comes later looks at the row instead.
const WATCHED_MAX: usize = 1024;
/// A thread that only waits needs little.
const WATCH_STACK_BYTES: usize = 128 * 1024;
const CLOSED: &str = "the presence session is closed, or one of its files was removed";

/// Presence on one database.
#[derive(Debug)]
pub(crate) struct FilePresence {
    namespace: String,
    label: String,
    directory: Arc<FlagDirectory>,
    files: Arc<Files>,
    watched: Arc<Mutex<Watched>>,
}

/// What came of waiting for a flag: nothing yet, its fall, or why it could not be waited for.
type Fall = Option<Result<(), Arc<std::io::Error>>>;
type Watched = HashMap<String, watch::Receiver<Fall>>;

impl FilePresence {
    /// Flags of the tables with this prefix, in the directory beside the database.
    pub(crate) fn new(files: Arc<Files>, prefix: &str, label: &str) -> Self {
        Self {
            namespace: prefix.to_owned(),
            label: label.to_owned(),
            directory: Arc::new(FlagDirectory::beside(files.path())),
            files,
            watched: Arc::default(),
        }
    }

    /// The wait for this flag's fall, started if nobody waits for it yet.
    fn follow(&self, flag: &Flag) -> Result<watch::Receiver<Fall>, StoreError> {
        let name = file_name(flag, &self.namespace);
        let mut watched = lock(&self.watched);
        if let Some(running) = watched.get(&name) {
            return Ok(running.clone());
        }
        let failed =
            |message: String| StoreError::Failed { store: self.label.clone(), message, source: None };
        if watched.len() >= WATCHED_MAX {
            return Err(failed(format!("{WATCHED_MAX} flags are watched already")));
        }
        let (fell, follow) = watch::channel(None);
        let wait = {
            let (name, directory, watched) = (name.clone(), self.directory.clone(), self.watched.clone());
            move || {
                let fall = directory.wait_for_fall(&name).map_err(Arc::new);
                // Forgotten first: whoever asks from now on looks at the file again.
                lock(&watched).remove(&name);
                fell.send_replace(Some(fall));
            }
        };
        let thread = thread::Builder::new().name("tenure-watch".into()).stack_size(WATCH_STACK_BYTES);
        thread.spawn(wait).map_err(|error| failed(format!("no thread to watch a flag: {error}")))?;
        watched.insert(name, follow.clone());
        Ok(follow)
    }
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers only: a lease's name is the user's text and has no place in a path.
fn file_name(flag: &Flag, namespace: &str) -> String {
    format!("{:016x}-{}-{}", flag.key(namespace), flag.term, flag.session)
}

#[async_trait]
impl Presence for FilePresence {
    /// The kernel ends a session only with its process, so `idle_timeout` has no use here.
    async fn open(
        &self,
        id: Unique,
        _idle_timeout: Duration,
    ) -> Result<Arc<dyn PresenceSession>, StoreError> {
        let (directory, files) = (self.directory.clone(), self.files.clone());
        let open = move || {
            let removed = directory.sweep();
            if removed > 0 {
                tracing::debug!(removed, "removed the files of flags that fell with nobody watching");
            }
            Ok(Flags { directory, files, up: Some(HashMap::new()) })
        };
        let flags = Worker::start("tenure-presence", &self.label, open).await?;
        Ok(Arc::new(Session { id, namespace: self.namespace.clone(), label: self.label.clone(), flags }))
    }

    async fn watch(&self, flag: &Flag, patience: Duration) -> Result<Watch, StoreError> {
        let mut follow = self.follow(flag)?;
        let waited = tokio::time::timeout(patience, follow.wait_for(Option::is_some)).await;
        match waited.map(|fell| fell.map(|fall| fall.clone())) {
            Err(_) => Ok(Watch::StillUp),
            Ok(Ok(Some(Ok(())))) => Ok(Watch::Fallen),
            Ok(Ok(Some(Err(error)))) => Err(file_system(&self.label, "a flag cannot be watched", &error)),
            Ok(Ok(None) | Err(_)) => Err(broken(&self.label, "the wait for a flag ended without an answer")),
        }
    }
}

/// The flags of one session. Lives on the session's thread; dropped with it, and then all flags fall.
struct Flags {
    directory: Arc<FlagDirectory>,
    /// The database that the flags belong to.
    files: Arc<Files>,
    /// `None` once the session is closed or broken.
    up: Option<HashMap<Flag, FlagFile>>,
}

impl Flags {
    /// Whether all flags are up, and belong to the database that others find.
    fn stand(&mut self) -> Result<(), Fault> {
        let standing = match self.files.check() {
            Ok(()) if self.up.as_ref().is_some_and(|up| up.values().all(FlagFile::stands)) => Ok(()),
            Ok(()) => Err(Fault::Unreachable(CLOSED.into())),
            Err(fault) => Err(fault),
        };
        if standing.is_err() {
            // Broken for good: others may have seen a flag fall already.
            self.up = None;
        }
        standing
    }
}

struct Session {
    id: Unique,
    namespace: String,
    label: String,
    flags: Worker<Flags>,
}

#[async_trait]
impl PresenceSession for Session {
    fn id(&self) -> Unique {
        self.id
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let standing = self.flags.run(Flags::stand).await?;
        standing.map_err(|fault| fault.at(&self.label))
    }

    async fn raise(&self, flag: &Flag) -> Result<Raise, StoreError> {
        let (name, wanted) = (file_name(flag, &self.namespace), flag.clone());
        let raise = move |flags: &mut Flags| {
            let Some(up) = &mut flags.up else { return None };
            if up.contains_key(&wanted) {
                return Some(Ok(Raise::Raised));
            }
            Some(flags.directory.raise(&name).map(|raised| match raised {
                None => Raise::Collided,
                Some(file) => {
                    up.insert(wanted, file);
                    Raise::Raised
                }
            }))
        };
        match self.flags.run(raise).await? {
            None => Err(broken(&self.label, "the presence session is closed")),
            Some(raised) => {
                raised.map_err(|error| file_system(&self.label, "a flag cannot be raised", &error))
            }
        }
    }

    async fn lower(&self, flag: &Flag) -> Result<(), StoreError> {
        let flag = flag.clone();
        self.flags.run(move |flags| flags.up.as_mut().map(|up| up.remove(&flag))).await.map(drop)
    }

    async fn close(&self) {
        // No answer means that the thread is gone, and the flags with it.
        let _ = self.flags.run(|flags| flags.up = None).await;
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

fn broken(label: &str, message: &str) -> StoreError {
    StoreError::Unreachable { store: label.to_owned(), message: message.to_owned() }
}
