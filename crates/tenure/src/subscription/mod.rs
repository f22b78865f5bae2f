//! Subscriptions: every event, in order, at least once; taps: every event from now on, for nobody's record.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use tenure::{Events, LeaseSettings, Leases, Stop, Subscription, SubscriptionSettings, handler, local_node};
//!
//! let database = tenure::open("sqlite:app.db", tenure::OpenOptions::default()).await?;
//! let leases = Leases::new(database.leases(), local_node(None)?);
//! let mails = handler(|event| {
//!     Box::pin(async move {
//!         println!("{} {} at {}", event.stream, event.kind, event.position);
//!         Ok(())
//!     })
//! });
//! let subscription = Subscription::new(
//!     "mails", Events::new(database.events()), database.checkpoints(), mails, SubscriptionSettings::default(),
//! )?
//! .exclusive(leases.lease("subscription/mails", LeaseSettings::default())?);
//! subscription.run(&Stop::new()).await?;
//! # Ok(()) }
//! ```
//!
//! **What it does not promise.** A reader that dies after handling an event and before moving its checkpoint handles the
//! event again. A [`Projection`] moves the checkpoint in its own transaction, and takes effect once.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | [`Subscription`]: taking office, and leaving it |
//! | `handler` | what a user implements |
//! | `reader` | one time in office: the loop around the core's [`Cursor`](tenure_core::subscription::Cursor) |
//! | `routes` | events that tell processes something |
//! | `status` | what a subscription tells of itself |
//! | `tap` | events from now on, without a checkpoint |

mod handler;
mod reader;
mod routes;
mod status;
mod tap;

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::CheckpointStore;
use tenure_core::id::NameError;
use tenure_core::lease::{Fence, SettingsError};
use tenure_core::observe::RunnerKind;
use tenure_core::subscription::{Lost, SubscriptionName, SubscriptionSettings};

pub use self::handler::{EventHandler, HandleError, Handling, Projection, handler};
use self::reader::{Ended, Reader};
pub use self::routes::{Route, Routes, routes};
use self::status::Gauge;
pub use self::status::{SubscriptionState, SubscriptionStatus};
pub use self::tap::{Tap, TapSettings};
use crate::error::LeaseError;
use crate::events::Events;
use crate::lease::Lease;
use crate::mandate::{Left, Mandate};
use crate::runners::{Beat, LoopWatch, runners};
use crate::stop::Stop;

/// How long a reader that was deposed, or overtaken, waits before it begins again.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// A subscription could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubscriptionError {
    /// The name cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The settings do not fit together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The lease could not be had, and waiting would not mend it.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The store of the checkpoint does not know the lease.
    #[error(
        "the store of the checkpoint refuses {fence}, although the lease is held: it is kept in another store. Take the \
         subscription's lease from the database of its checkpoint, or events would be handled again and again"
    )]
    ForeignLease {
        /// What the reader would have to carry.
        fence: Fence,
    },
    /// The checkpoint is ahead of the store: an operator has to decide.
    #[error(transparent)]
    Lost(#[from] Lost),
}

/// Reads all events in order, and has each handled. Clones are the same subscription.
#[derive(Debug, Clone)]
pub struct Subscription {
    shared: Arc<Shared>,
    lease: Option<Lease>,
}

#[derive(Debug)]
struct Shared {
    name: SubscriptionName,
    events: Events,
    checkpoints: Arc<dyn CheckpointStore>,
    handling: Handling,
    settings: SubscriptionSettings,
    gauge: Gauge,
}

/// While a subscription runs. It ends with the future that runs it, also when that is dropped.
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

impl Subscription {
    /// A subscription whose checkpoint is kept under `name`. Nothing keeps another reader from doing the same work, unless
    /// it is [exclusive](Subscription::exclusive).
    pub fn new(
        name: impl Into<String>,
        events: Events,
        checkpoints: Arc<dyn CheckpointStore>,
        handling: impl Into<Handling>,
        settings: SubscriptionSettings,
    ) -> Result<Self, SubscriptionError> {
        settings.validate()?;
        let (name, handling) = (SubscriptionName::new(name)?, handling.into());
        let shared = Shared { name, events, checkpoints, handling, settings, gauge: Gauge::default() };
        Ok(Self { shared: Arc::new(shared), lease: None })
    }

    /// Works only while it holds `lease`; until then it reads nothing. The lease must be kept in the store of the
    /// checkpoint: that is what lets the store refuse a reader that was deposed.
    #[must_use]
    pub fn exclusive(mut self, lease: Lease) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Under which name its checkpoint is kept.
    pub fn name(&self) -> &SubscriptionName {
        &self.shared.name
    }

    /// What it is doing.
    pub fn status(&self) -> SubscriptionStatus {
        self.shared.gauge.read()
    }

    /// Works until `stop` is given; then lets the handling that is under way end, and moves the checkpoint.
    ///
    /// Rides out a store that goes away and comes back. An error is what waiting cannot mend.
    pub async fn run(&self, stop: &Stop) -> Result<(), SubscriptionError> {
        let running = self.begin();
        self.run_to_end(&running.beat, stop).await
    }

    /// Works once, under a right that someone else obtained, instead of a lease of its own: until `stop` is given, the
    /// mandate is over or the store refuses its fence. The handling that is under way may end, within its deadline.
    pub async fn run_under(&self, mandate: &Mandate, stop: &Stop) -> Result<Left, SubscriptionError> {
        let running = self.begin();
        self.serve(mandate, &running.beat, stop).await
    }

    /// From here on others see that it runs, until what this gives is dropped.
    fn begin(&self) -> Running<'_> {
        let name = self.shared.name.as_str();
        let beat = runners().register(RunnerKind::Subscription, name, self.shared.settings.poll);
        self.shared.gauge.begin(name, beat.clone());
        Running { gauge: &self.shared.gauge, watch: beat.watch(), beat }
    }

    async fn serve(&self, mandate: &Mandate, beat: &Beat, stop: &Stop) -> Result<Left, SubscriptionError> {
        let mut reader = Reader::new(self.shared.clone(), Some(mandate.clone()), beat.clone());
        loop {
            let ended = reader.run(stop).await?;
            let in_air = reader.in_air();
            match ended {
                Ended::Stopped => return Ok(in_air.left()),
                Ended::Lost => return Ok(Left::Lost(in_air)),
                Ended::Refused | Ended::Foreign(_) => return Ok(Left::Refused(in_air)),
                Ended::Moved(lost) => self.begins_again(&lost),
            }
            tokio::select! {
                () = stop.stopped() => {}
                () = mandate.lost().stopped() => {}
                () = tokio::time::sleep(AGAIN_AFTER) => {}
            }
        }
    }

    async fn run_to_end(&self, beat: &Beat, stop: &Stop) -> Result<(), SubscriptionError> {
        let name = &self.shared.name;
        while !stop.is_stopped() {
            let Some(mandate) = self.take_office(beat, stop).await? else { return Ok(()) };
            let lease = mandate.as_ref().and_then(Mandate::lease).cloned();
            let ended = match Reader::new(self.shared.clone(), mandate, beat.clone()).run(stop).await {
                Ok(ended) => ended,
                Err(lost) => {
                    if let Some(lease) = lease {
                        // Another node may do it once an operator has decided.
                        let _ = lease.release().await;
                    }
                    return Err(lost.into());
                }
            };
            match (ended, lease) {
                (Ended::Stopped, lease) => {
                    if let Some(lease) = lease
                        && let Err(error) = lease.release().await
                    {
                        tracing::warn!(lease = %lease.name(), %error, "a subscription's lease was not given back; its ttl will end it");
                    }
                    return Ok(());
                }
                (Ended::Foreign(fence), lease) => {
                    if let Some(lease) = lease {
                        // Who asks later gets the same answer; until then others may have it.
                        let _ = lease.release().await;
                    }
                    return Err(SubscriptionError::ForeignLease { fence });
                }
                (Ended::Lost | Ended::Refused, _) => {
                    tracing::warn!(subscription = %name, "the reader is out of office");
                }
                (Ended::Moved(lost), lease) => {
                    self.begins_again(&lost);
                    if let Some(lease) = lease {
                        // A failure to give it back shows when it is asked for again.
                        let _ = lease.release().await;
                    }
                }
            }
            tokio::select! {
                () = stop.stopped() => {}
                () = tokio::time::sleep(AGAIN_AFTER) => {}
            }
        }
        Ok(())
    }

    fn begins_again(&self, lost: &Lost) {
        tracing::warn!(subscription = %self.shared.name, %lost, "the reader begins again at the checkpoint");
    }

    /// The right to read, if one is needed; `None` when it was stopped before it had one.
    async fn take_office(
        &self,
        beat: &Beat,
        stop: &Stop,
    ) -> Result<Option<Option<Mandate>>, SubscriptionError> {
        let Some(lease) = &self.lease else { return Ok(Some(None)) };
        self.shared.gauge.state(SubscriptionState::Standby);
        let fence = beat.waiting(lease.acquire_when_free(stop)).await?;
        Ok(fence.map(|fence| Some(Mandate::of_lease(lease.clone(), fence))))
    }
}
