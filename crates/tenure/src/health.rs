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
use tenure_core::cluster::ClusterLook;
use tenure_core::contract::OperatorStores;
use tenure_core::event::Position;
use tenure_core::health::{
    Facts, HealthReport, HealthThresholds, LeaderState, Others, StoreState, SubscriptionFacts, judge,
    judge_loops,
};
use tenure_core::lease::SettingsError;
use tenure_core::observe::METER;
use tenure_core::outbox::{PULSE_MAX, Pulse};
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
/// How often it is asked when nobody does, for the numbers' sake.
const BY_ITSELF: Duration = Duration::from_secs(10);
/// Loops of other processes count if they were seen within this time.
const OTHERS_WITHIN: Duration = Duration::from_secs(90);
const OTHERS_MAX: u32 = 200;
const SUBSCRIPTIONS_MAX: u32 = 100;

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
    vacant_since: Option<Monotonic>,
    found: Option<(Found, Monotonic)>,
}

#[derive(Debug, Clone)]
struct Found {
    pulse: Pulse,
    /// What else could be had: the store answers, and one question that it does not take is no outage.
    look: Option<ClusterLook>,
    others: Option<Others>,
    subscriptions: Vec<SubscriptionFacts>,
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

    /// Asks by itself every 10 s until `stop` is given, so that the numbers of the outbox are among the metrics.
    pub async fn run(&self, stop: &Stop) {
        while !stop.is_stopped() {
            self.begin(SteadyClock.now());
            tokio::select! {
                () = stop.stopped() => {}
                () = tokio::time::sleep(BY_ITSELF) => {}
            }
        }
    }

    /// Begins to ask the store in the background, unless it was asked just now: whoever reads the metrics next sees it.
    pub fn refresh(&self) {
        self.begin(SteadyClock.now());
    }

    /// What is known now.
    pub fn facts(&self) -> Facts {
        let (seen, now) = (self.seen(), SteadyClock.now());
        let store = match (&seen.away, &seen.found) {
            (Some((since, reason)), _) => {
                StoreState::Away { since: since.until(now), reason: reason.clone() }
            }
            // A question without an answer yet: a store that hangs is as much away as one that refuses.
            (None, _) if seen.asking && seen.asked_at.is_some_and(|at| at.until(now) >= PATIENCE) => {
                StoreState::Away {
                    since: seen.asked_at.map_or(Duration::ZERO, |at| at.until(now)),
                    reason: "no answer yet".to_owned(),
                }
            }
            (None, None) => StoreState::NotAsked,
            (None, Some(_)) => StoreState::Answers,
        };
        let mut facts = Facts { store, runners: runners().list(), ..Facts::default() };
        if let Some((found, at)) = &seen.found {
            facts.pulse = Some((found.pulse.clone(), at.until(now)));
            facts.leader = match (found.look.as_ref().is_some_and(wants_leader), seen.vacant_since) {
                (false, _) => LeaderState::NotWanted,
                (true, None) => LeaderState::Leads,
                (true, Some(since)) => LeaderState::Vacant { since: since.until(now) },
            };
            facts.others.clone_from(&found.others);
            facts.subscriptions.clone_from(&found.subscriptions);
        }
        facts
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
            let answer = tokio::spawn(async move { asking.ask().await }).await.unwrap_or_else(|error| {
                let message = format!("a question ended without an answer: {error}");
                Err(StoreError::Failed { store: "health".to_owned(), message, source: None })
            });
            monitor.answered(answer, SteadyClock.now());
        });
        true
    }

    async fn ask(&self) -> Result<Found, StoreError> {
        let OperatorStores { outbox, cluster, runners, checkpoints, events, .. } = &self.shared.stores;
        let pulse = outbox.pulse(PULSE_MAX).await?;
        let look = answer("the cluster", cluster.look().await);
        let listed = answer("runners", runners.runners(OTHERS_WITHIN, OTHERS_MAX).await);
        let readers = answer("subscriptions", checkpoints.subscriptions(None, SUBSCRIPTIONS_MAX).await);
        let readers = readers.unwrap_or_default();
        let head = match readers.is_empty() {
            true => None,
            false => answer("events", events.read_all(Position::START, 1).await).map(|page| page.head),
        };
        let facts = head.into_iter().flat_map(|head| {
            let now = pulse.now;
            readers.iter().map(move |reader| SubscriptionFacts {
                name: reader.name.to_string(),
                behind: head.0.saturating_sub(reader.position.0).try_into().unwrap_or(0),
                moved_ago: reader.moved_at.until(now),
            })
        });
        let subscriptions = facts.collect();
        let others = listed.map(|listed| Others { rows: listed.rows, now: listed.now });
        Ok(Found { pulse, look, others, subscriptions })
    }

    fn answered(&self, answer: Result<Found, StoreError>, now: Monotonic) {
        let mut seen = self.seen();
        seen.asking = false;
        match answer {
            Ok(mut found) => {
                // Those of this process are judged by what they say now.
                let (pid, machine) = (std::process::id(), machine_name());
                if let Some(others) = &mut found.others {
                    others.rows.retain(|row| row.node.pid != pid || row.node.machine != machine);
                }
                let vacant =
                    found.look.as_ref().is_some_and(|look| wants_leader(look) && look.leads().is_none());
                seen.vacant_since = vacant.then(|| seen.vacant_since.unwrap_or(now));
                seen.away = None;
                tell(Some(&found.pulse));
                seen.found = Some((found, now));
            }
            Err(error) => {
                METER.store_error(&error);
                let since = seen.away.as_ref().map_or(now, |(since, _)| *since);
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

/// An answer, if there was one.
fn answer<T>(what: &str, answer: Result<T, StoreError>) -> Option<T> {
    answer.inspect_err(|error| tracing::debug!(%error, "{what} could not be had for the judgement")).ok()
}

/// Whether there is anyone who could lead.
fn wants_leader(look: &ClusterLook) -> bool {
    look.nodes.iter().any(|node| node.is_alive(look.now) && node.member.leads)
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
