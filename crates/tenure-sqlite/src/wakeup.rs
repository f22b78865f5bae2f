//! What wakes a relay: a commit by any process or connection, other than the store's own.
//!
//! The log tells that someone wrote. Who it was is found out so:
//!
//! ```text
//!   our writing connection counts: odd while it writes, even otherwise
//!   written to while that count stood still at an even number ──▶ another one wrote: a hint
//!   otherwise ──▶ our connection is asked, after its write: does another one hold the lock, or has one committed?
//! ```
//!
//! A write that knows by itself whether it was alone (see [`OwnWrites::begin_quietly`]) does not show in the watch at all, so
//! that an idle relay's renewals lead to no question.
//!
//! A hint may come early, for a commit shows only some time after its write; the relay looks again shortly after one. It
//! is not lost: whoever wrote to the log either still holds the lock or has committed when our connection is asked.
//!
//! What the store itself enqueues or revives is told without this detour.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::Wakeup;
use tokio::sync::Notify;

use crate::log_watch::{Ear, LogWatch, Nudge};
use crate::store::{Shared, SqliteStore};

/// How long after a write the hint is given again, each after the one before.
const ECHOES: [Duration; 4] = [
    Duration::from_micros(150),
    Duration::from_micros(250),
    Duration::from_micros(400),
    Duration::from_micros(800),
];

/// Counts the beginnings and ends of our own writes.
#[derive(Debug, Default)]
pub(crate) struct OwnWrites {
    count: AtomicU64,
    bells: Arc<Bells>,
}

/// A write of ours that is going on.
pub(crate) struct OwnWrite<'a>(&'a OwnWrites);

/// A write of ours that no watch tells of.
pub(crate) struct QuietWrite<'a> {
    /// Where a watch cannot be silenced, it is one like any other.
    heard: Option<OwnWrite<'a>>,
    bells: &'a Bells,
    preemptions: Option<i64>,
}

impl OwnWrites {
    pub(crate) fn new(bells: Arc<Bells>) -> Self {
        Self { count: AtomicU64::new(0), bells }
    }

    pub(crate) fn begin(&self) -> OwnWrite<'_> {
        self.count.fetch_add(1, Ordering::SeqCst);
        OwnWrite(self)
    }

    /// Begins a write that neither waits for its lock nor needs to be heard of: it finds out by itself, under its lock,
    /// whether another one has committed before it.
    pub(crate) fn begin_quietly(&self) -> QuietWrite<'_> {
        let heard = (!self.bells.listen(false)).then(|| self.begin());
        QuietWrite { heard, bells: &self.bells, preemptions: preemptions() }
    }

    /// Another one may have committed.
    pub(crate) fn ring(&self) {
        self.bells.ring();
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }
}

impl QuietWrite<'_> {
    /// To be called right after the write. Answers whether nobody else can have written between its lock and now.
    ///
    /// A commit of another takes longer than the few microseconds since the lock was given back, unless this thread had
    /// to make way in between.
    pub(crate) fn end(self) -> bool {
        let listening = self.bells.listen(true);
        let at_once = self.preemptions.is_some() && self.preemptions == preemptions();
        // Where it was heard of, the watch asks; and where nobody wants to be woken, it does not matter.
        self.heard.is_some() || (listening && at_once) || !self.bells.any_armed()
    }
}

/// Whatever became of the write, nobody stays deaf.
impl Drop for QuietWrite<'_> {
    fn drop(&mut self) {
        self.bells.listen(true);
    }
}

impl Drop for OwnWrite<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
    }
}

/// How often this thread had to make way for others, where the system tells.
#[cfg(target_os = "linux")]
fn preemptions() -> Option<i64> {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_THREAD).ok().map(|usage| usage.involuntary_context_switches())
}

#[cfg(not(target_os = "linux"))]
fn preemptions() -> Option<i64> {
    None
}

/// Wakes one relay. Its thread ends when it is dropped.
#[derive(Debug)]
pub(crate) struct LogWakeup {
    bell: Arc<Bell>,
    nudge: Nudge,
    label: String,
}

/// What the thread and its owner tell each other.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// Remembers one hint while nobody waits.
    hint: Notify,
    armed: AtomicBool,
    /// The owner is gone.
    ended: AtomicBool,
    /// The thread is gone.
    broken: AtomicBool,
    /// By which the watch is silenced, where that can be done.
    ear: Option<Ear>,
}

/// The bells of all relays that work on a store.
#[derive(Debug, Default)]
pub(crate) struct Bells(Mutex<Vec<Weak<Bell>>>);

impl Bells {
    fn add(&self, bell: &Arc<Bell>) {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bells.retain(|bell| bell.strong_count() > 0);
        bells.push(Arc::downgrade(bell));
    }

    /// Has all watches tell of what is written from now on, or not. Answers whether all of them do.
    fn listen(&self, on: bool) -> bool {
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = true;
        for bell in bells.iter().filter_map(Weak::upgrade) {
            all &= bell.ear.as_ref().is_some_and(|ear| ear.listen(on).is_ok());
        }
        all
    }

    fn any_armed(&self) -> bool {
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bells.iter().filter_map(Weak::upgrade).any(|bell| bell.armed.load(Ordering::SeqCst))
    }

    /// Something that is due may have been committed.
    pub(crate) fn ring(&self) {
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for bell in bells.iter().filter_map(Weak::upgrade) {
            if bell.armed.load(Ordering::SeqCst) {
                bell.hint.notify_one();
            }
        }
    }
}

impl SqliteStore {
    /// Starts to watch the log.
    pub(crate) fn watch_log(&self) -> Result<LogWakeup, StoreError> {
        let shared = self.shared();
        let (watch, nudge) = LogWatch::of(shared.files.path());
        let bell = Arc::new(Bell { ear: watch.ear(), ..Bell::default() });
        shared.bells.add(&bell);
        let watcher = Watcher {
            watch,
            bell: bell.clone(),
            own: shared.own_writes.clone(),
            store: Arc::downgrade(shared),
        };
        let thread = thread::Builder::new().name("tenure-sqlite-log".into());
        thread.spawn(move || watcher.run()).map_err(|error| StoreError::Failed {
            store: self.label().to_owned(),
            message: format!("no thread to watch the log: {error}"),
            source: Some(error.into()),
        })?;
        Ok(LogWakeup { bell, nudge, label: self.label().to_owned() })
    }
}

#[async_trait]
impl Wakeup for LogWakeup {
    fn arm(&self, on: bool) {
        self.bell.armed.store(on, Ordering::SeqCst);
        self.nudge.nudge();
    }

    async fn hint(&self) -> Result<(), StoreError> {
        if !self.bell.broken.load(Ordering::SeqCst) {
            self.bell.hint.notified().await;
        }
        match self.bell.broken.load(Ordering::SeqCst) {
            false => Ok(()),
            true => Err(StoreError::Failed {
                store: self.label.clone(),
                message: "the log is no longer watched".into(),
                source: None,
            }),
        }
    }
}

impl Drop for LogWakeup {
    fn drop(&mut self) {
        self.bell.ended.store(true, Ordering::SeqCst);
        self.nudge.nudge();
    }
}

/// The thread that waits for the log to be written to.
struct Watcher {
    watch: LogWatch,
    bell: Arc<Bell>,
    own: Arc<OwnWrites>,
    store: Weak<Shared>,
}

impl Watcher {
    fn run(mut self) {
        if let Err(error) = self.listen() {
            tracing::warn!(%error, "the log is no longer watched; the relay goes by its polls alone");
        }
        self.bell.broken.store(true, Ordering::SeqCst);
        self.bell.hint.notify_one();
    }

    fn listen(&mut self) -> std::io::Result<()> {
        let mut armed = false;
        // Everything that our own connection wrote up to this count has been heard of.
        let mut heard = 0;
        while !self.bell.ended.load(Ordering::SeqCst) {
            let was_armed = std::mem::replace(&mut armed, self.bell.armed.load(Ordering::SeqCst));
            if armed && !was_armed {
                heard = self.own.count();
                self.watch.forget()?;
                self.bell.hint.notify_one();
            }
            let before_wait = self.own.count();
            let written = self.watch.wait(armed)?;
            if !written {
                heard = if armed { before_wait } else { heard };
                continue;
            }
            let before = self.own.count();
            self.watch.forget()?;
            let by_another = before == heard && before.is_multiple_of(2) && self.own.count() == before;
            heard = before;
            if by_another {
                self.ring();
            } else if !self.ask() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Another one writes: what it commits shows as soon as the disk has it, of which nothing tells. So the hint is given
    /// again a few times, more closely than a timer of the runtime could.
    fn ring(&self) {
        self.bell.hint.notify_one();
        for pause in ECHOES {
            thread::sleep(pause);
            if self.bell.ended.load(Ordering::SeqCst) || !self.bell.armed.load(Ordering::SeqCst) {
                return;
            }
            self.bell.hint.notify_one();
        }
    }

    /// Has our connection see whether another one writes or has committed. Answers false when the store is gone.
    fn ask(&self) -> bool {
        let Some(store) = self.store.upgrade() else { return false };
        let bell = self.bell.clone();
        let asked = store.worker.post(move |database| {
            if database.is_changed_by_another() {
                bell.hint.notify_one();
            }
        });
        if !asked {
            // There is much to do; a hint for nothing does no harm.
            self.bell.hint.notify_one();
        }
        true
    }
}
