//! One loop that asks the store for what all pages show, so that a hundred who look cost no more than one.
//!
//! ```text
//!   pages, live views, health ──▶ the newest snapshot        (no question to the store)
//!                 └── somebody looks ──▶ loop: every 2 s the numbers, every 10 s the rest; ends a minute after the last look
//! ```
//!
//! Its questions are never dropped half-way: the loop waits for each. A store that hangs makes the snapshot old, and whoever
//! reads it sees how old it is.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use tenure_core::cluster::{
    ClusterLook, DAEMON_LEASE_PREFIX, Daemon, DaemonFilter, NODE_LEASE_PREFIX, Revision,
};
use tenure_core::contract::OperatorStores;
use tenure_core::error::StoreError;
use tenure_core::event::{Position, Stall};
use tenure_core::lease::{Change, LeaseName, LeasePageOf, LeaseRecord};
use tenure_core::observe::Runners;
use tenure_core::outbox::{Grave, PULSE_MAX, Pulse};
use tenure_core::show::is_orphaned;
use tenure_core::subscription::Progress;
use tenure_core::time::StoreTime;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::dashboard::Desk;
use crate::live::Viewers;
use crate::rates::{Rates, Tally};
use crate::series::{Sample, Series};

/// For how long the loop goes on after the last one has looked.
const IDLE_AFTER: Duration = Duration::from_secs(60);
/// How often what changes seldom is asked for.
const SLOW_EVERY: Duration = Duration::from_secs(10);
/// The longest pause while the store is away.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// What is older than this is shown with its age. Longer than the statement timeout and the pause after it.
const OLD: Duration = Duration::from_secs(15);
/// Runners that were not seen for so long are not shown.
const RUNNERS_WITHIN: Duration = Duration::from_secs(90);
const RUNNERS: u32 = 500;
const LEASES: u32 = 200;
const CHANGES: u32 = 100;
/// How many of the changes are kept: those of nodes and daemons are many, and say less.
const CHANGES_KEPT: usize = 8;
const SUBSCRIPTIONS: u32 = 200;
/// How many daemons are looked through for those that run nowhere.
pub(crate) const DAEMONS_LOOKED_AT: u32 = 500;
/// Causes that are looked at for the most frequent ones, and how far each is counted.
const CAUSES: u32 = 50;
const CAUSE_COUNT: u32 = 1_000;

/// What the store said last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// The number of the sample; 0 before the first.
    pub(crate) number: u64,
    /// What was found last; `None` when the store has never answered.
    pub(crate) facts: Option<Arc<Facts>>,
    /// When that was.
    pub(crate) taken: Option<Instant>,
    /// For how long the loop asks for nothing newer: the longer, the longer the store took. To wait before is in vain.
    pub(crate) rests: Duration,
    /// Since when the store gives no answer, and what it says.
    pub(crate) away: Option<(SystemTime, String)>,
    pub(crate) series: Arc<Series>,
}

/// What was found.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) pulse: Pulse,
    pub(crate) rates: Rates,
    pub(crate) look: ClusterLook,
    pub(crate) runners: Runners,
    /// Leases, those of daemons left out.
    pub(crate) leases: Vec<LeaseRecord>,
    pub(crate) leases_at: StoreTime,
    /// The last changes of holder, those of nodes and daemons left out.
    pub(crate) changes: Vec<Change>,
    pub(crate) slow: Arc<Slow>,
    /// Why some of this is not known, or is older than the rest: the store answered, but not to everything.
    pub(crate) gaps: Vec<String>,
}

/// What changes seldom.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slow {
    /// The most frequent causes first.
    pub(crate) graves: Vec<Grave>,
    pub(crate) more_causes: bool,
    pub(crate) subscriptions: Vec<Progress>,
    pub(crate) head: Position,
    pub(crate) stall: Option<Stall>,
    pub(crate) daemons: usize,
    pub(crate) more_daemons: bool,
    /// Daemons that should run and do not.
    pub(crate) nowhere: Vec<Daemon>,
    /// Whether any daemon should run.
    pub(crate) wanted: bool,
}

impl Snapshot {
    /// How old it is.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.taken.map(|taken| taken.elapsed())
    }

    /// Whether it is so old that whoever sees it is to be told.
    pub(crate) fn is_old(&self) -> bool {
        self.age().is_some_and(|age| age > OLD)
    }
}

/// The loop, and what it found last.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    newest: watch::Sender<Arc<Snapshot>>,
    desk: OnceLock<Weak<Desk>>,
    /// When somebody looked last.
    wanted: Mutex<Option<Instant>>,
    runs: AtomicBool,
    /// What the loop remembers; also while nobody looks.
    memory: tokio::sync::Mutex<Memory>,
    /// How many live views there are.
    pub(crate) viewers: Arc<Viewers>,
}

impl Sampler {
    /// Called once, when the dashboard begins. The desk is held weakly: it ends with the last clone of the router.
    pub(crate) fn begin(desk: &Arc<Desk>) {
        let _ = desk.sampler.desk.set(Arc::downgrade(desk));
    }

    /// The newest snapshot, of any age. Asks for nothing.
    pub(crate) fn newest(&self) -> Arc<Snapshot> {
        self.newest.borrow().clone()
    }

    /// A snapshot of these seconds, where the store answers in time; else the newest there is.
    pub(crate) async fn snapshot(&self, refresh: Duration, patience: Duration) -> Arc<Snapshot> {
        let mut watch = self.watch();
        let is_fresh = |snapshot: &Arc<Snapshot>| {
            let until = (refresh * 3).max(snapshot.rests + refresh);
            snapshot.away.is_some() || snapshot.age().is_some_and(|age| age <= until)
        };
        let _ = tokio::time::timeout(patience, watch.wait_for(is_fresh)).await;
        self.newest()
    }

    /// The snapshots to come. Whoever waits for them calls [`Sampler::wanted`] from time to time.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.wanted();
        self.newest.subscribe()
    }

    /// Says that somebody looks: the loop goes on, or begins anew.
    pub(crate) fn wanted(&self) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        if !self.runs.swap(true, SeqCst)
            && let Some(desk) = self.desk.get()
        {
            tokio::spawn(run(desk.clone()));
        }
    }

    fn is_idle(&self) -> bool {
        let wanted = *self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.is_none_or(|wanted| wanted.elapsed() > IDLE_AFTER)
    }
}

/// Says that the loop is gone when it ends by itself, or by a panic: the next who looks begins another.
struct Round(Weak<Desk>, bool);

impl Drop for Round {
    fn drop(&mut self) {
        if let (true, Some(desk)) = (self.1, self.0.upgrade()) {
            desk.sampler.runs.store(false, SeqCst);
        }
    }
}

async fn run(desk: Weak<Desk>) {
    let mut round = Round(desk, true);
    let mut pause = Duration::ZERO;
    loop {
        tokio::time::sleep(pause).await;
        let Some(desk) = round.0.upgrade() else { return };
        if *desk.stopping.borrow() || desk.sampler.is_idle() {
            desk.sampler.runs.store(false, SeqCst);
            // Somebody may have looked in between, and found the loop still there.
            if *desk.stopping.borrow() || desk.sampler.is_idle() || desk.sampler.runs.swap(true, SeqCst) {
                // Another loop may run by now.
                round.1 = false;
                return;
            }
        }
        let refresh = desk.limits.refresh;
        let asked = Instant::now();
        let mut memory = desk.sampler.memory.lock().await;
        let found = memory.ask(&desk.stores).await;
        let took = asked.elapsed();
        let last = desk.sampler.newest();
        let next = match found {
            Ok(facts) => {
                pause = refresh.max((took * 10).min(PAUSE_MAX));
                let at = memory.begun.get_or_insert(asked).elapsed();
                memory.series.add(at, refresh, sample(&facts));
                Snapshot {
                    facts: Some(Arc::new(facts)),
                    taken: Some(Instant::now()),
                    rests: pause,
                    away: None,
                    ..(*last).clone()
                }
            }
            Err(error) => {
                pause = (pause * 2).clamp(Duration::from_secs(1), PAUSE_MAX);
                let since = last.away.as_ref().map_or_else(|| desk.now(), |(since, _)| *since);
                Snapshot { away: Some((since, error.to_string())), ..(*last).clone() }
            }
        };
        let series = Arc::new(memory.series.clone());
        desk.sampler.newest.send_replace(Arc::new(Snapshot { number: last.number + 1, series, ..next }));
    }
}

/// What the loop remembers between two rounds.
#[derive(Debug, Default)]
struct Memory {
    /// When the first sample was taken.
    begun: Option<Instant>,
    tally: Tally,
    series: Series,
    slow: Option<(Instant, Arc<Slow>)>,
    head: Position,
}

impl Memory {
    async fn ask(&mut self, stores: &OperatorStores) -> Result<Facts, StoreError> {
        let pulse = stores.outbox.pulse(PULSE_MAX).await?;
        let mut gaps = Gaps::default();
        let nobody = ClusterLook { now: pulse.now, revision: Revision(0), leader: None, nodes: Vec::new() };
        let look = gaps.or(stores.cluster.look().await, nobody);
        let none = Runners { rows: Vec::new(), more: false, now: pulse.now };
        let runners = gaps.or(stores.runners.runners(RUNNERS_WITHIN, RUNNERS).await, none);
        let (leases, leases_at) = gaps.or(leases(stores).await, (Vec::new(), pulse.now));
        let mut changes = gaps.or(stores.leases.history(None, None, CHANGES).await, Vec::new());
        changes.retain(|change| !is_of_member(&change.name));
        changes.truncate(CHANGES_KEPT);
        let slow = match self.slow.take() {
            Some((at, known)) if at.elapsed() < SLOW_EVERY => (at, known),
            old => {
                let before = old.map(|(_, known)| known).unwrap_or_default();
                let found = self.ask_slow(stores, &look).await.map(Arc::new);
                (Instant::now(), gaps.or(found, before))
            }
        };
        self.slow = Some(slow.clone());
        let rates = self.tally.add(&pulse, &runners);
        let gaps = gaps.0;
        Ok(Facts { pulse, rates, look, runners, leases, leases_at, changes, slow: slow.1, gaps })
    }

    async fn ask_slow(&mut self, stores: &OperatorStores, look: &ClusterLook) -> Result<Slow, StoreError> {
        let found = stores.outbox.graves(None, CAUSES, CAUSE_COUNT).await?;
        let mut graves = found.graves;
        graves.sort_by_key(|grave| std::cmp::Reverse((grave.messages.number, grave.newest.row)));
        let subscriptions = stores.checkpoints.subscriptions(None, SUBSCRIPTIONS).await?;
        // From where the head was: what keeps readers from getting on is told at the place where it stands.
        let from = subscriptions.iter().map(|progress| progress.position).max().unwrap_or(self.head);
        let page = stores.events.read_all(from, 1).await?;
        self.head = page.head;
        let filter = DaemonFilter { node: None, prefix: None, after: None, limit: DAEMONS_LOOKED_AT };
        let mut daemons = stores.cluster.daemons(&filter).await?;
        let (count, more_daemons) = (daemons.len(), daemons.len() >= DAEMONS_LOOKED_AT as usize);
        daemons.retain(|daemon| !daemon.retired);
        let wanted = daemons.iter().any(Daemon::is_wanted);
        daemons.retain(|daemon| daemon.is_wanted() && (daemon.place.is_none() || is_orphaned(daemon, look)));
        Ok(Slow {
            graves,
            more_causes: found.more_after.is_some(),
            subscriptions,
            head: page.head,
            stall: page.stall,
            daemons: count,
            more_daemons,
            nowhere: daemons,
            wanted,
        })
    }
}

/// Why something is not known.
#[derive(Debug, Default)]
struct Gaps(Vec<String>);

impl Gaps {
    /// What was found, or what stands for it.
    fn or<T>(&mut self, found: Result<T, StoreError>, otherwise: T) -> T {
        found.unwrap_or_else(|error| {
            let text = error.to_string();
            if !self.0.contains(&text) {
                self.0.push(text);
            }
            otherwise
        })
    }
}

/// Leases but for those of daemons, which may be very many: they are stepped over as one range.
pub(crate) async fn leases(stores: &OperatorStores) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError> {
    let (mut leases, mut at) = stores.leases.list(&LeasePageOf::first(LEASES)).await?;
    let is_daemon = |lease: &LeaseRecord| lease.name.as_str().starts_with(DAEMON_LEASE_PREFIX);
    if leases.len() >= LEASES as usize
        && leases.last().is_some_and(is_daemon)
        && let Ok(after) = LeaseName::new(format!("{DAEMON_LEASE_PREFIX}\u{10ffff}"))
    {
        let (rest, later) =
            stores.leases.list(&LeasePageOf { after: Some(after), prefix: None, limit: LEASES }).await?;
        leases.extend(rest);
        at = later;
    }
    leases.retain(|lease| !is_daemon(lease));
    Ok((leases, at))
}

fn is_of_member(name: &LeaseName) -> bool {
    name.as_str().starts_with(DAEMON_LEASE_PREFIX) || name.as_str().starts_with(NODE_LEASE_PREFIX)
}

fn sample(facts: &Facts) -> Sample {
    let Facts { pulse, rates, .. } = facts;
    Sample {
        pending: Some(pulse.pending.number as f64),
        lag: Some(pulse.lag.unwrap_or_default().as_secs_f64()),
        dead: Some(pulse.dead.number as f64),
        enqueued: rates.enqueued,
        delivered: rates.delivered,
        failed: rates.failed,
    }
}
