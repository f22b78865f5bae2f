//! The relay: reads what was committed, delivers it, and records what came of it.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use tenure::core::outbox::Verdict;
//! use tenure::sink::Handlers;
//! use tenure::{LeaseSettings, Leases, Relay, RelaySettings, Stop, local_node};
//!
//! let database = tenure::open("sqlite:app.db", tenure::OpenOptions::default()).await?;
//! database.schema().migrate().await?;
//! let node = local_node(None)?;
//! let leases = Leases::new(database.leases(), node.clone());
//! let sink = Handlers::new().on("OrderPlaced", |message| {
//!     Box::pin(async move {
//!         println!("{}", message.id);
//!         Verdict::Accepted
//!     })
//! })?;
//! let relay = Relay::new(database.outbox(), Arc::new(sink), node.name, RelaySettings::default())?
//!     .exclusive(leases.lease("outbox", LeaseSettings::default())?);
//! relay.run(&Stop::new()).await?;
//! # Ok(()) }
//! ```
//!
//! **What it does not promise.** Delivery is at least once: a relay that dies after a delivery and before it has recorded
//! it leaves the delivery to be made again. The receiver's inbox makes the effect happen once.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | [`Relay`]: taking office, and leaving it |
//! | `office` | one time in office: the loop around the core's [`Drain`](tenure_core::outbox::Drain) |
//! | `flight` | rows on their way to the sink, one after another, each with its deadline |
//! | `depot` | what relays of one process share |
//! | `status` | what the relay tells of itself |

mod depot;
mod flight;
mod office;
mod status;

use std::sync::Arc;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::cluster::{Daemon, DaemonName};
use tenure_core::contract::{ClusterStore, LeaseAdmin, OutboxStore, Sink};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, SettingsError};
use tenure_core::observe::RunnerKind;
use tenure_core::outbox::{Recorded, RelaySettings, Retention};
use tenure_core::show::is_orphaned;
use tokio::sync::Notify;

pub use self::depot::Depot;
use self::office::{Ended, Office};
use self::status::Gauge;
pub use self::status::{RelayStatus, Role};
use crate::cluster::OutboxParts;
use crate::error::LeaseError;
use crate::hub::{Bell, Hub};
use crate::lease::Lease;
use crate::mandate::{InAir, Left, Mandate};
use crate::runners::{Beat, LoopWatch, runners};
use crate::stop::Stop;
use crate::sweeper::Sweeper;

/// How often a relay looks whether parts have stopped.
const PARTS_AGAIN: Duration = Duration::from_secs(2);
/// How often its loop goes round when nothing happens.
const EVERY: Duration = Duration::from_secs(1);
/// How long a relay that was deposed waits before it stands by again.
const AFTER_DEPOSED: Duration = Duration::from_millis(200);

/// A relay could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// The settings do not fit together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The lease could not be had, and waiting would not mend it.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// Nodes of a cluster drain parts of this outbox.
    #[error(
        "{part} is at work or paused: nodes drain parts of this outbox, and each message would be delivered twice. Stop the relays with \
         --coordination partitioned first, or start this one like them"
    )]
    PartsAtWork {
        /// One of the parts.
        part: DaemonName,
    },
    /// The store of the outbox does not know the lease.
    #[error(
        "the store of the outbox refuses {fence}, although the lease is held: it is kept in another store. Take the \
         relay's lease from the database of its outbox, or everything would be delivered again and again"
    )]
    ForeignLease {
        /// What the relay would have to carry.
        fence: Fence,
    },
    /// Nothing can be delivered to the sink any more.
    #[error("nothing more can be delivered: {reason}")]
    SinkGone {
        /// Why.
        reason: String,
    },
}

/// Delivers what was committed. Clones are the same relay.
#[derive(Debug, Clone)]
pub struct Relay {
    shared: Arc<Shared>,
    /// The right to work; without one there is no other relay, or receivers do not mind.
    lease: Option<Lease>,
    sweeper: Option<Sweeper>,
    /// Where parts of the same outbox would be.
    parts: Option<Arc<dyn ClusterStore>>,
}

/// What all parts of a relay share.
#[derive(Debug)]
struct Shared {
    store: Arc<dyn OutboxStore>,
    sink: Arc<dyn Sink>,
    node: NodeName,
    settings: RelaySettings,
    gauge: Gauge,
    /// Something was committed in this process.
    nudge: Notify,
    /// What it shares with other relays of this process.
    depot: Option<Depot>,
}

impl Shared {
    /// What wakes it. One of its own ends with its time in office: who stands by holds no connection for it.
    fn hub(&self) -> Arc<Hub> {
        match &self.depot {
            Some(depot) => depot.hub(),
            None => Arc::new(Hub::new(Bell::Outbox(self.store.clone()))),
        }
    }
}

/// While a relay runs. It ends with the future that runs it, also when that is dropped: a user who changed his mind is no
/// loop that has stopped.
struct Running<'a> {
    gauge: &'a Gauge,
    beat: Beat,
    #[allow(dead_code, reason = "kept for its end")]
    watch: LoopWatch,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.gauge.end();
    }
}

impl Relay {
    /// A relay from `store` to `sink` that works alone ("single"): nothing keeps another one from doing the same. Order
    /// is kept only while there is just one.
    pub fn new(
        store: Arc<dyn OutboxStore>,
        sink: Arc<dyn Sink>,
        node: NodeName,
        settings: RelaySettings,
    ) -> Result<Self, RelayError> {
        Self::of(store, sink, node, settings, None)
    }

    fn of(
        store: Arc<dyn OutboxStore>,
        sink: Arc<dyn Sink>,
        node: NodeName,
        settings: RelaySettings,
        depot: Option<Depot>,
    ) -> Result<Self, RelayError> {
        settings.validate()?;
        let (gauge, nudge) = (Gauge::default(), Notify::new());
        let shared = Arc::new(Shared { store, sink, node, settings, gauge, nudge, depot });
        Ok(Self { shared, lease: None, sweeper: None, parts: None })
    }

    /// Works only while it holds `lease` ("exclusive"); until then it reads no rows at all. The lease must be kept in the
    /// store of the outbox, or recorded there by [`FencedLeases`](crate::FencedLeases): that is what lets the store refuse a
    /// relay that was deposed.
    #[must_use]
    pub fn exclusive(mut self, lease: Lease) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Does not work while `cluster` has nodes drain parts of the same outbox: each message would be delivered by both. An
    /// [exclusive](Relay::exclusive) relay waits for them; one without a lease does not start.
    #[must_use]
    pub fn not_beside_parts(mut self, cluster: Arc<dyn ClusterStore>) -> Self {
        self.parts = Some(cluster);
        self
    }

    /// Deletes what is old enough, while it works.
    ///
    /// Refuses to let inboxes forget a message that this relay may still deliver again.
    pub fn with_retention(mut self, retention: Retention) -> Result<Self, RelayError> {
        let Shared { store, settings, .. } = &*self.shared;
        self.sweeper = Some(Sweeper::new(store.clone(), retention, settings)?);
        Ok(self)
    }

    /// Forgets lines of leases' histories that are older than `keep`, besides: see [`Sweeper::keeping_history`]. Only
    /// [with retention](Relay::with_retention).
    #[must_use]
    pub fn keeping_history(mut self, leases: Arc<dyn LeaseAdmin>, keep: Duration) -> Self {
        self.sweeper = self.sweeper.map(|sweeper| sweeper.keeping_history(leases, keep));
        self
    }

    /// Tells that something was committed in this process: spares the way through the database. A hint; never needed.
    pub fn nudge(&self) {
        self.shared.nudge.notify_one();
    }

    /// What it is doing.
    pub fn status(&self) -> RelayStatus {
        self.shared.gauge.read(self.sweeper.as_ref().map_or(0, Sweeper::swept))
    }

    /// Works until `stop` is given; then lets what is under way end, records it, and leaves office.
    ///
    /// Rides out a store that goes away and comes back. An error is what waiting cannot mend.
    pub async fn run(&self, stop: &Stop) -> Result<(), RelayError> {
        let running = self.begin();
        let beat = &running.beat;
        let ran = match &self.lease {
            None => {
                loop {
                    match beat.during(self.part_at_work()).await {
                        Ok(None) => break,
                        Ok(Some(part)) => return Err(RelayError::PartsAtWork { part }),
                        Err(error) => self.cannot_see_parts(&error),
                    }
                    beat.cycled();
                    tokio::select! {
                        () = stop.stopped() => return Ok(()),
                        () = tokio::time::sleep(PARTS_AGAIN) => {}
                    }
                }
                self.shared.gauge.role(Role::Alone);
                self.office(None, beat).run(stop).await;
                Ok(())
            }
            Some(lease) => self.run_under_lease(lease, beat, stop).await,
        };
        self.shared.sink.flush().await;
        ran?;
        self.shared.sink.gone().map_or(Ok(()), |reason| Err(RelayError::SinkGone { reason }))
    }

    /// Works once, under a right that someone else obtained, instead of a lease of its own: until `stop` is given, the
    /// mandate is over or the store refuses its fence.
    ///
    /// After `stop` what is under way may end, for as long as the settings' `drain` says, and is recorded. When the mandate
    /// is over, nothing more is delivered or recorded. How it ended also tells what goes on all the same.
    pub async fn run_under(&self, mandate: &Mandate, stop: &Stop) -> Result<Left, RelayError> {
        let running = self.begin();
        let left = self.serve(mandate, &running.beat, stop).await;
        self.shared.sink.flush().await;
        self.shared.sink.gone().map_or(Ok(left), |reason| Err(RelayError::SinkGone { reason }))
    }

    async fn serve(&self, mandate: &Mandate, beat: &Beat, stop: &Stop) -> Left {
        let fence = mandate.fence();
        if self.is_refused(fence).await {
            tracing::warn!(%fence, "the relay's right was over before it began");
            return Left::Refused(InAir::nothing());
        }
        self.shared.gauge.role(Role::Leading { term: fence.term.get() });
        tracing::info!(%fence, part = self.shared.settings.part.map(tracing::field::display), "the relay is in office");
        let (ended, in_air) = self.office(Some(mandate.clone()), beat).run(stop).await;
        match ended {
            Ended::Stopped | Ended::Unsettled => in_air.left(),
            Ended::Lost => Left::Lost(in_air),
            Ended::Refused => Left::Refused(in_air),
        }
    }

    /// From here on others see that it runs, until what this gives is dropped.
    fn begin(&self) -> Running<'_> {
        let (kind, name) = match (&self.shared.settings.part, &self.lease) {
            (Some(part), _) => (RunnerKind::Parts, format!("outbox {part}")),
            (None, Some(lease)) => (RunnerKind::Relay, lease.name().to_string()),
            (None, None) => (RunnerKind::Relay, "outbox".to_owned()),
        };
        let beat = runners().register(kind, name, EVERY);
        self.shared.gauge.begin(beat.clone());
        Running { gauge: &self.shared.gauge, watch: beat.watch(), beat }
    }

    async fn run_under_lease(&self, lease: &Lease, beat: &Beat, stop: &Stop) -> Result<(), RelayError> {
        let mut told = false;
        loop {
            self.shared.gauge.role(Role::Standby);
            tracing::info!(lease = %lease.name(), "the relay stands by until its lease is free");
            let Some(fence) = beat.waiting(lease.acquire_when_free(stop)).await? else { return Ok(()) };
            self.check_home(lease, &fence).await?;
            // With the lease in hand: parts that begin now see it and wait, parts that are at work are seen here.
            let seen = beat.during(self.part_at_work()).await;
            if !matches!(seen, Ok(None)) {
                let _ = lease.release().await;
                match seen {
                    Err(error) => self.cannot_see_parts(&error),
                    Ok(part) => {
                        let part = part.map_or_else(String::new, |part| part.to_string());
                        self.shared.gauge.trouble(Some(format!("{part} is at work or paused")));
                        if !std::mem::replace(&mut told, true) {
                            tracing::error!(%part, "parts of this outbox are at work or paused: an exclusive relay waits until there are none");
                        }
                    }
                }
                tokio::select! {
                    () = stop.stopped() => return Ok(()),
                    () = tokio::time::sleep(PARTS_AGAIN) => continue,
                }
            }
            self.shared.gauge.role(Role::Leading { term: fence.term.get() });
            tracing::info!(%fence, "the relay is in office");
            let mandate = Mandate::of_lease(lease.clone(), fence.clone());
            let (ended, in_air) = self.office(Some(mandate), beat).run(stop).await;
            match ended {
                Ended::Stopped => {
                    if let Err(error) = lease.release().await {
                        tracing::warn!(%fence, %error, "the relay's lease was not given back; its ttl will end it");
                    }
                    return Ok(());
                }
                Ended::Unsettled => {
                    // Stop acting first, then release: what is in the air may still act.
                    let lease = lease.clone();
                    tokio::spawn(async move {
                        in_air.landed().await;
                        lease.release().await
                    });
                    return Ok(());
                }
                Ended::Lost | Ended::Refused => {
                    let cause = lease
                        .loss()
                        .map_or_else(|| "its fence was refused".to_owned(), |loss| loss.to_string());
                    tracing::warn!(%fence, %cause, "the relay is out of office");
                    // Should the store go on refusing what this lease grants, it must not be a busy loop.
                    tokio::select! {
                        () = stop.stopped() => return Ok(()),
                        () = tokio::time::sleep(AFTER_DEPOSED) => {}
                    }
                }
            }
        }
    }

    /// A part of this outbox that some node drains, or that is paused, if there is one.
    async fn part_at_work(&self) -> Result<Option<DaemonName>, StoreError> {
        let Some(cluster) = &self.parts else { return Ok(None) };
        let mut rows = cluster.daemons(&OutboxParts::filter()).await?;
        // What an operator holds back is not for another relay to send either.
        rows.retain(|row| row.spec.group.is_some());
        rows.retain(|row| row.place.is_some() || row.paused_by.is_some() && !row.retired);
        if rows.is_empty() {
            return Ok(None);
        }
        // Where all nodes died at once nobody takes their parts from them. A node whose lease is over drains nothing; and what
        // is placed from now on sees the lease of this relay.
        let look = cluster.look().await?;
        let busy = |row: &&Daemon| row.paused_by.is_some() && !row.retired || !is_orphaned(row, &look);
        Ok(rows.iter().find(busy).map(|row| row.name().clone()))
    }

    /// No answer is a maybe: nothing is delivered until it is known.
    fn cannot_see_parts(&self, error: &StoreError) {
        tracing::warn!(%error, "whether parts of this outbox are at work is not known; the relay waits until it is");
        self.shared.gauge.trouble(Some(error.to_string()));
    }

    /// Whether the outbox knows the lease: nothing may be delivered that could never be recorded.
    async fn check_home(&self, lease: &Lease, fence: &Fence) -> Result<(), RelayError> {
        // A lease that was lost meanwhile is noticed in office.
        if self.is_refused(fence).await && lease.check_alive() {
            // Who asks later gets the same answer; until then others may have it.
            let _ = lease.release().await;
            return Err(RelayError::ForeignLease { fence: fence.clone() });
        }
        Ok(())
    }

    /// Whether the store refuses the fence. One that is away is ridden out in office.
    async fn is_refused(&self, fence: &Fence) -> bool {
        let answer = self.shared.store.record(Some(fence), &self.shared.node, &[]).await;
        matches!(answer, Ok(Recorded::Fenced))
    }

    fn office(&self, mandate: Option<Mandate>, beat: &Beat) -> Office {
        Office::new(self.shared.clone(), mandate, self.sweeper.clone(), beat.clone())
    }
}
