//! The loops of this process: each has a beat, by which others see that it lives and whether it gets on.
//!
//! ```text
//!   cycled    it went round: not to, for long, means that the loop stopped     (liveness)
//!   advanced  it got on, or had nothing to do: not to means that it is stuck   (readiness)
//! ```
//!
//! One list for a process. What this crate runs registers by itself; a loop of one's own can be [added](Runners::register).

mod report;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tenure_core::observe::{
    LocalBeat, LocalRunners, RUNNER_FALLEN, RUNNER_NAME_MAX_BYTES, RunnerKind, RunnerReport,
};
use tenure_core::time::{Clock, Monotonic};

use crate::clock::SteadyClock;

/// While a loop waits for something, it goes round at least so often.
const WAITING_EVERY: Duration = Duration::from_secs(5);

/// The counters of a runner. Others are not kept: a report has a bound.
const COUNTERS: [&str; 10] = [
    "delivered",
    "rejected",
    "transient",
    "poison",
    "dead",
    "events",
    "parked",
    "swept",
    "failures",
    "changed",
];

/// The loops of this process.
pub fn runners() -> Arc<Runners> {
    static ALL: OnceLock<Arc<Runners>> = OnceLock::new();
    ALL.get_or_init(Arc::default).clone()
}

/// A list of loops, each with its beat.
#[derive(Debug, Default)]
pub struct Runners {
    all: Mutex<Vec<Weak<Kept>>>,
}

impl Runners {
    /// Adds a loop, which goes round every so often when nothing happens. It is on the list while its beat, or a clone of
    /// it, is kept.
    pub fn register(&self, kind: RunnerKind, name: impl Into<String>, every: Duration) -> Beat {
        let kept = Arc::new(Kept {
            kind,
            name: cut(name.into()),
            every,
            cycled: AtomicU64::new(0),
            advanced: AtomicU64::new(0),
            state: Mutex::new(Cow::Borrowed("starting")),
            trouble: Mutex::default(),
            counters: Default::default(),
            fallen: Mutex::default(),
        });
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.iter().filter_map(Weak::upgrade);
        for before in before.filter(|before| (before.kind, &before.name) == (kind, &kept.name)) {
            // It was begun again.
            before.fallen.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        all.retain(|kept| kept.strong_count() > 0);
        all.push(Arc::downgrade(&kept));
        drop(all);
        let beat = Beat { kept };
        beat.cycled();
        beat.advanced();
        beat
    }

    /// What they say of themselves now, by kind and name. Two of one name are told apart by a number.
    pub fn list(&self) -> Vec<RunnerReport> {
        let now = SteadyClock.now();
        let all: Vec<_> = {
            let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        let mut reports: Vec<RunnerReport> = all.iter().map(|kept| kept.report(now)).collect();
        reports.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        let mut number = 1;
        for at in 1..reports.len() {
            let (before, rest) = reports.split_at_mut(at);
            let first = &before[at - number];
            number = match (first.kind, &first.name) == (rest[0].kind, &rest[0].name) {
                true => number + 1,
                false => 1,
            };
            if number > 1 {
                rest[0].name = format!("{} ({number})", first.name);
            }
        }
        reports
    }
}

impl LocalRunners for Runners {
    fn list(&self) -> Vec<RunnerReport> {
        Self::list(self)
    }

    fn add(&self, kind: RunnerKind, name: String, every: Duration) -> Box<dyn LocalBeat> {
        Box::new(self.register(kind, name, every))
    }
}

impl LocalBeat for Beat {
    fn cycled(&self) {
        Self::cycled(self);
    }

    fn advanced(&self) {
        Self::advanced(self);
    }

    fn state(&self, state: &'static str) {
        Self::state(self, state);
    }

    fn trouble(&self, trouble: Option<String>) {
        Self::trouble(self, trouble);
    }

    fn count(&self, name: &'static str, by: u64) {
        Self::count(self, name, by);
    }
}

/// By which a loop says that it lives. Clones are the same; when the last one is dropped, the loop is off the list.
#[derive(Debug, Clone)]
pub struct Beat {
    kept: Arc<Kept>,
}

#[derive(Debug)]
struct Kept {
    kind: RunnerKind,
    name: String,
    every: Duration,
    /// Microseconds of the steady clock.
    cycled: AtomicU64,
    advanced: AtomicU64,
    state: Mutex<Cow<'static, str>>,
    trouble: Mutex<Option<String>>,
    counters: [AtomicU64; COUNTERS.len()],
    /// Itself, once a panic has ended it: it stays on the list although nobody keeps its beat.
    fallen: Mutex<Option<Arc<Self>>>,
}

/// Kept by a loop while it runs, and dropped with it: should that be by a panic, the loop stays on the list as one that has
/// stopped, until another of its kind and name begins.
#[derive(Debug)]
#[must_use = "a loop is watched while this is kept"]
pub struct LoopWatch {
    beat: Beat,
}

impl Drop for LoopWatch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.beat.state(RUNNER_FALLEN);
            let kept = self.beat.kept.clone();
            *self.beat.kept.fallen.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        }
    }
}

impl Beat {
    /// Has others see it if a panic ends the loop, as long as what this gives is kept in it.
    pub fn watch(&self) -> LoopWatch {
        LoopWatch { beat: self.clone() }
    }

    /// It went round.
    pub fn cycled(&self) {
        self.cycled_at(SteadyClock.now());
    }

    /// The same for one that has just read the clock.
    pub(crate) fn cycled_at(&self, now: Monotonic) {
        self.kept.cycled.store(micros(now), Relaxed);
    }

    /// It got on with its work, or found that there is none.
    pub fn advanced(&self) {
        self.kept.advanced.store(micros(SteadyClock.now()), Relaxed);
    }

    /// What it is, in a word or two.
    pub fn state(&self, state: impl Into<Cow<'static, str>>) {
        let mut now = self.kept.state.lock().unwrap_or_else(PoisonError::into_inner);
        // What a panic has ended is nothing else any more.
        if *now != RUNNER_FALLEN {
            *now = state.into();
        }
    }

    /// Why it does not get on; `None` once it does.
    pub fn trouble(&self, trouble: Option<String>) {
        *self.kept.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// Adds to one of its counters: `delivered`, `rejected`, `transient`, `poison`, `dead`, `events`, `parked`, `swept`,
    /// `failures` or `changed`. Others are not kept.
    pub fn count(&self, name: &str, by: u64) {
        if let Some(at) = COUNTERS.iter().position(|known| *known == name) {
            self.kept.counters[at].fetch_add(by, Relaxed);
        }
    }

    /// Goes round while it waits for `work`, which may take long: the loop lives, whether it gets on or not.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        self.beside(work, || {}).await
    }

    /// The same for a wait that is as it should be: for a lease that somebody else holds, for something to do.
    pub async fn waiting<T>(&self, work: impl Future<Output = T>) -> T {
        self.beside(work, || self.advanced()).await
    }

    async fn beside<T>(&self, work: impl Future<Output = T>, tick: impl Fn()) -> T {
        let mut work = pin!(work);
        loop {
            self.cycled();
            tick();
            tokio::select! {
                biased;
                done = &mut work => {
                    self.cycled();
                    return done;
                }
                () = tokio::time::sleep(WAITING_EVERY) => {}
            }
        }
    }
}

impl Kept {
    fn report(&self, now: Monotonic) -> RunnerReport {
        let ago = |at: &AtomicU64| {
            let at = at.load(Relaxed);
            (at > 0).then(|| Monotonic::from_origin(Duration::from_micros(at)).until(now))
        };
        let counters = COUNTERS.iter().zip(&self.counters).map(|(name, count)| (*name, count.load(Relaxed)));
        RunnerReport {
            kind: self.kind,
            name: self.name.clone(),
            state: self.state.lock().unwrap_or_else(PoisonError::into_inner).clone().into_owned(),
            trouble: self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            cycled_ago: ago(&self.cycled),
            advanced_ago: ago(&self.advanced),
            every: self.every,
            counters: counters
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| (Cow::Borrowed(name), count))
                .collect::<BTreeMap<_, _>>(),
        }
    }
}

fn micros(at: Monotonic) -> u64 {
    // Zero is never: the machine has been up for longer than a microsecond.
    u64::try_from(at.since_origin().as_micros()).unwrap_or(u64::MAX).max(1)
}

fn cut(mut name: String) -> String {
    // Room for the number of a second one of the same name.
    let mut end = name.len().min(RUNNER_NAME_MAX_BYTES - 10);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.truncate(end);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_on_the_list_while_its_beat_is_kept() {
        let runners = Runners::default();
        let one = runners.register(RunnerKind::Relay, "outbox", Duration::from_secs(1));
        let again = one.clone();
        let two = runners.register(RunnerKind::Relay, "outbox", Duration::from_secs(1));
        let _other = runners.register(RunnerKind::Lease, "outbox", Duration::from_secs(1));
        let three = runners.register(RunnerKind::Relay, "outbox", Duration::from_secs(1));
        drop(one);
        let names: Vec<_> = runners.list().into_iter().map(|report| (report.kind, report.name)).collect();
        let relay = |name: &str| (RunnerKind::Relay, name.to_owned());
        assert_eq!(
            names,
            [
                relay("outbox"),
                relay("outbox (2)"),
                relay("outbox (3)"),
                (RunnerKind::Lease, "outbox".to_owned())
            ]
        );
        drop((again, two, three));
        assert_eq!(runners.list().len(), 1);
    }

    #[test]
    fn a_loop_that_a_panic_has_ended_stays_on_the_list_until_it_is_begun_again() {
        let runners = Runners::default();
        let other = runners.register(RunnerKind::Relay, "outbox", Duration::from_secs(1));
        let looped = |panics: bool| {
            let beat = runners.register(RunnerKind::Sweeper, "retention", Duration::from_secs(600));
            let _watch = beat.watch();
            beat.state("at work");
            assert!(!panics, "the loop's own fault");
        };
        looped(false);
        assert_eq!(runners.list().len(), 1, "one that ended by itself is off the list");
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| looped(true)));
        assert!(ended.is_err());
        let fallen = |runners: &Runners| runners.list().iter().filter(|report| report.has_fallen()).count();
        assert_eq!((runners.list().len(), fallen(&runners)), (2, 1));
        looped(false);
        assert_eq!((runners.list().len(), fallen(&runners)), (1, 0));
        drop(other);
    }

    #[test]
    fn a_report_says_what_the_beat_was_told_last() {
        let runners = Runners::default();
        let beat = runners.register(RunnerKind::Daemon, "ü".repeat(500), Duration::from_secs(2));
        beat.state("leading");
        beat.trouble(Some("the store is away".to_owned()));
        beat.count("delivered", 3);
        beat.count("delivered", 4);
        beat.count("what nobody knows", 1);
        let report = runners.list().remove(0);
        assert!(report.name.len() <= RUNNER_NAME_MAX_BYTES);
        assert_eq!((report.state.as_str(), report.every), ("leading", Duration::from_secs(2)));
        assert_eq!(report.trouble.as_deref(), Some("the store is away"));
        assert_eq!(report.counters, BTreeMap::from([(Cow::Borrowed("delivered"), 7)]));
        assert!(report.cycled_ago.is_some_and(|ago| ago < Duration::from_secs(5)));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_waits_goes_round_and_only_a_wait_that_is_right_gets_on() {
        let runners = Runners::default();
        let beat = runners.register(RunnerKind::Relay, "outbox", Duration::from_secs(1));
        let old = 1;
        let reset = || {
            beat.kept.cycled.store(old, Relaxed);
            beat.kept.advanced.store(old, Relaxed);
        };
        reset();
        beat.during(tokio::time::sleep(Duration::from_secs(20))).await;
        assert_ne!(beat.kept.cycled.load(Relaxed), old);
        assert_eq!(beat.kept.advanced.load(Relaxed), old, "to wait for a handler is not to get on");
        reset();
        beat.waiting(tokio::time::sleep(Duration::from_secs(20))).await;
        assert_ne!(beat.kept.advanced.load(Relaxed), old);
    }
}
