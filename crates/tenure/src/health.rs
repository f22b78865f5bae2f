//! Health for endpoints of one's own: gathers the facts that the core judges.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::{HealthMonitor, HealthThresholds};
//!
//! let database = tenure::open("sqlite:app.db", tenure::OpenOptions::default()).await?;
//! let monitor = HealthMonitor::new(database.for_operators(), HealthThresholds::default())?;
//! // /livez: whether the loops of this process go round. /readyz: whether messages flow as well.
//! let (live, ready) = (monitor.live().is_up(), monitor.ready().await.is_up());
//! # Ok(()) }
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::OperatorStores;
use tenure_core::health::{Facts, Findings, HealthReport, HealthThresholds, StoreState, judge, judge_loops};
use tenure_core::id::Node;
use tenure_core::lease::SettingsError;
use tenure_core::observe::METER;
use tenure_core::outbox::Pulse;
use tenure_core::time::{Clock, Monotonic};
use tokio::sync::watch;

use crate::clock::SteadyClock;
use crate::node::machine_name;
use crate::runners::runners;
use crate::stop::Stop;

/// The store is asked no more often, whoever asks.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// How long one who asks waits for the store at most; the question goes on by itself.
const PATIENCE: Duration = Duration::from_millis(2_500);
/// How often it is asked when nobody does: so long at most it is not known that the store has gone away. Six questions and more
/// each time, in every process that listens: an idle one is to ask less than one a second.
const BY_ITSELF: Duration = Duration::from_secs(10);
/// A store that gives no answer is away since its last one, if that is not older than this: nobody may have asked since.
const LAST_COUNTS: Duration = Duration::from_secs(30);

/// Whether this process lives, and whether all is well with what it is for. Clones are the same.
#[derive(Debug, Clone)]
pub struct HealthMonitor {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    stores: OperatorStores,
    thresholds: HealthThresholds,
    seen: Mutex<Seen>,
    /// Counts answers, of whatever kind.
    answers: watch::Sender<u64>,
}

/// What was found out last.
#[derive(Debug, Default)]
struct Seen {
    asking: bool,
    asked_at: Option<Monotonic>,
    away: Option<(Monotonic, String)>,
    found: Option<(Findings, Monotonic)>,
}

impl Seen {
    /// Since when a store is away that was asked at `asked` in vain.
    fn away_since(&self, asked: Monotonic) -> Monotonic {
        match (&self.away, &self.found) {
            (Some((since, _)), _) => *since,
            (None, Some((_, last))) if last.until(asked) <= LAST_COUNTS => *last,
            (None, _) => asked,
        }
    }

    /// Whether the store answers.
    fn store(&self, now: Monotonic) -> StoreState {
        // A question without an answer yet: a store that hangs is as much away as one that refuses.
        let hangs = self.asked_at.filter(|at| self.asking && at.until(now) >= PATIENCE);
        match (&self.away, hangs, &self.found) {
            (Some((since, reason)), _, _) => {
                StoreState::Away { since: since.until(now), reason: reason.clone() }
            }
            (None, Some(asked), _) => StoreState::Away {
                since: self.away_since(asked).until(now),
                reason: "no answer yet".to_owned(),
            },
            (None, None, None) => StoreState::NotAsked,
            (None, None, Some(_)) => StoreState::Answers,
        }
    }
}

impl HealthMonitor {
    /// Asks `stores`, best a handle opened for [looking](crate::Purpose::Looking), and judges by `thresholds`.
    pub fn new(stores: OperatorStores, thresholds: HealthThresholds) -> Result<Self, SettingsError> {
        thresholds.validate()?;
        let shared = Shared { stores, thresholds, seen: Mutex::default(), answers: watch::Sender::new(0) };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Whether the loops of this process go round. Asks nobody.
    pub fn live(&self) -> HealthReport {
        judge_loops(&runners().list(), &self.shared.thresholds)
    }

    /// Whether all is well. The store is asked every 2 s at most, whoever asks, and waited for 2.5 s at most.
    pub async fn ready(&self) -> HealthReport {
        let mut answers = self.shared.answers.subscribe();
        if self.begin(SteadyClock.now()) {
            // Said by the channel when it has an answer; what is known is judged in any case.
            let _ = tokio::time::timeout(PATIENCE, answers.changed()).await;
        }
        judge(&self.facts(), &self.shared.thresholds)
    }

    /// Asks by itself every 10 s until `stop` is given, so that it is known since when a store is away also if nobody has
    /// asked, and the numbers of the outbox are among the metrics.
    pub async fn run(&self, stop: &Stop) {
        while !stop.is_stopped() {
            self.refresh();
            tokio::select! {
                () = stop.stopped() => {}
                () = tokio::time::sleep(BY_ITSELF) => {}
            }
        }
    }

    /// Begins to ask the store in the background, unless it was asked just now: whoever reads the metrics next sees it.
    pub fn refresh(&self) {
        let now = SteadyClock.now();
        self.begin(now);
        let away = match self.seen().store(now) {
            StoreState::Away { since, .. } => Some(since),
            StoreState::Answers => Some(Duration::ZERO),
            StoreState::NotAsked => None,
        };
        if let Some(away) = away {
            METER.store_away.set(0, u64::try_from(away.as_millis()).unwrap_or(u64::MAX));
        }
    }

    /// Asks the store now and waits for the answer, however long it takes: for a command that judges once.
    pub async fn judge_once(&self) -> Result<HealthReport, StoreError> {
        let monitor = self.clone();
        let asking = tokio::spawn(async move { Findings::ask(&monitor.shared.stores).await });
        let found = asking.await.unwrap_or_else(|error| Err(unanswered(&error)))?;
        self.answered(Ok(found), SteadyClock.now());
        Ok(judge(&self.facts(), &self.shared.thresholds))
    }

    /// What is known now.
    pub fn facts(&self) -> Facts {
        let (seen, now) = (self.seen(), SteadyClock.now());
        let (pid, machine, loops) = (std::process::id(), machine_name(), runners().list());
        let known = seen.found.as_ref().map(|(found, at)| {
            let is_here = |node: &Node| node.pid == pid && node.machine == machine;
            found.facts(at.until(now), loops.clone(), is_here)
        });
        let nothing = || Facts { runners: loops.clone(), ..Facts::default() };
        Facts { store: seen.store(now), ..known.unwrap_or_else(nothing) }
    }

    /// Begins to ask, unless somebody does or has just done; whether an answer is awaited.
    fn begin(&self, now: Monotonic) -> bool {
        let mut seen = self.seen();
        let fresh = seen.asked_at.is_some_and(|at| at.until(now) < ASK_EVERY);
        if seen.asking || fresh {
            return seen.asking;
        }
        (seen.asking, seen.asked_at) = (true, Some(now));
        drop(seen);
        let monitor = self.clone();
        // In a task of its own: nobody who stops waiting cuts a call in half.
        tokio::spawn(async move {
            let asking = monitor.clone();
            // One that panics has ended all the same.
            let asked = tokio::spawn(async move { Findings::ask(&asking.shared.stores).await }).await;
            let answer = asked.unwrap_or_else(|error| Err(unanswered(&error)));
            monitor.answered(answer, SteadyClock.now());
        });
        true
    }

    fn answered(&self, answer: Result<Findings, StoreError>, now: Monotonic) {
        let mut seen = self.seen();
        seen.asking = false;
        match answer {
            Ok(found) => {
                for gap in &found.gaps {
                    tracing::debug!(gap, "not everything could be had for the judgement");
                }
                seen.away = None;
                tell(Some(&found.pulse));
                seen.found = Some((found, now));
            }
            Err(error) => {
                METER.store_error(&error);
                let since = seen.away_since(seen.asked_at.unwrap_or(now));
                seen.away = Some((since, error.to_string()));
                tell(None);
            }
        }
        drop(seen);
        self.shared.answers.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unanswered(error: &tokio::task::JoinError) -> StoreError {
    let message = format!("a question ended without an answer: {error}");
    StoreError::Failed { store: "health".to_owned(), message, source: None }
}

/// The numbers of the outbox, for the metrics; none while they are not known.
fn tell(pulse: Option<&Pulse>) {
    let gauges = [&METER.outbox_pending, &METER.outbox_dead, &METER.outbox_halted, &METER.outbox_lag];
    let Some(pulse) = pulse else {
        gauges.iter().for_each(|gauge| gauge.forget(0));
        return;
    };
    let lag = u64::try_from(pulse.lag.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    if pulse.lag_is_unknown() {
        METER.outbox_lag.forget(0);
    }
    let numbers = [pulse.pending.number, pulse.dead.number, pulse.halted_sources.number, lag];
    let known = gauges.len() - usize::from(pulse.lag_is_unknown());
    for (gauge, number) in gauges.into_iter().zip(numbers).take(known) {
        gauge.set(0, number);
    }
}
