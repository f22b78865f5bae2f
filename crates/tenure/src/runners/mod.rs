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

use tenure_core::observe::{LocalRunners, RUNNER_NAME_MAX_BYTES, RunnerKind, RunnerReport};
use tenure_core::time::{Clock, Monotonic};

use crate::clock::SteadyClock;

/// While a loop waits for something, it goes round at least so often.
const WAITING_EVERY: Duration = Duration::from_secs(5);

/// The counters of a runner. Others are not kept: a report has a bound.
const COUNTERS: [&str; 9] =
    ["delivered", "rejected", "transient", "poison", "dead", "events", "parked", "swept", "failures"];

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
        });
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
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
}

impl Beat {
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
        *self.kept.state.lock().unwrap_or_else(PoisonError::into_inner) = state.into();
    }

    /// Why it does not get on; `None` once it does.
    pub fn trouble(&self, trouble: Option<String>) {
        *self.kept.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// Adds to one of its counters: `delivered`, `rejected`, `transient`, `poison`, `dead`, `events`, `parked`, `swept` or
    /// `failures`. Others are not kept.
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
