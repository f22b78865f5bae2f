//! Retention: deleting what is old enough, in bounded steps, by one at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::contract::OutboxStore;
use tenure_core::lease::SettingsError;
use tenure_core::observe::{METER, RunnerKind};
use tenure_core::outbox::{InboxSettings, RelaySettings, Retention};

use tracing::Instrument;

use crate::mandate::{InAir, Left, Mandate};
use crate::runners::runners;
use crate::stop::Stop;

/// The pause between two steps of a sweep.
const BETWEEN_STEPS: Duration = Duration::from_millis(10);

/// Deletes what is old enough, from an outbox and its inbox. Clones are the same sweeper.
///
/// A relay that drains all of an outbox [does it](crate::Relay::with_retention) besides; where several drain its parts, it
/// is work of its own.
#[derive(Debug, Clone)]
pub struct Sweeper {
    store: Arc<dyn OutboxStore>,
    retention: Retention,
    swept: Arc<AtomicU64>,
}

impl Sweeper {
    /// A sweeper of `store`. Refuses to let inboxes forget a message that relays with such settings may still deliver
    /// again.
    pub fn new(
        store: Arc<dyn OutboxStore>,
        retention: Retention,
        relays: &RelaySettings,
    ) -> Result<Self, SettingsError> {
        retention.validate()?;
        let RelaySettings { retry, deadline, .. } = *relays;
        retention.inbox.map_or(Ok(()), |keep| InboxSettings { keep, retry, deadline }.validate())?;
        Ok(Self { store, retention, swept: Arc::default() })
    }

    /// How many rows it has deleted.
    pub fn swept(&self) -> u64 {
        self.swept.load(Ordering::Relaxed)
    }

    /// Sweeps again and again until `stop` is given. Nothing keeps another one from doing the same, which is only waste.
    pub async fn run(&self, stop: &Stop) {
        self.sweep(None, stop).await;
    }

    /// The same while `mandate` lasts. Returns when no step is under way any more.
    pub async fn run_under(&self, mandate: &Mandate, stop: &Stop) -> Left {
        match self.sweep(Some(mandate), stop).await {
            Swept::Refused => Left::Refused(InAir::nothing()),
            Swept::Over if stop.is_stopped() && mandate.is_alive() => Left::Stopped,
            Swept::Over => Left::Lost(InAir::nothing()),
        }
    }

    pub(crate) async fn sweep(&self, mandate: Option<&Mandate>, stop: &Stop) -> Swept {
        let office = mandate.map(Mandate::fence);
        let never = Stop::new();
        let lost = mandate.map_or(&never, Mandate::lost);
        let beat = runners().register(RunnerKind::Sweeper, "retention", self.retention.every);
        beat.state("at work");
        loop {
            let mut resume = None;
            loop {
                if stop.is_stopped() || mandate.is_some_and(|mandate| !mandate.is_alive()) {
                    return Swept::Over;
                }
                let span = tracing::debug_span!("tenure.outbox.sweep");
                let step = self.store.sweep(office, &self.retention, resume).instrument(span);
                match beat.during(step).await {
                    Ok(swept) if swept.fenced => {
                        METER.fence_refusals.add(0, 1);
                        return Swept::Refused;
                    }
                    Ok(swept) => {
                        let rows = swept.dispatched + swept.dead + swept.discarded + swept.inbox;
                        self.swept.fetch_add(rows, Ordering::Relaxed);
                        resume = swept.resume;
                        for (slot, rows) in [swept.dispatched, swept.dead, swept.discarded, swept.inbox]
                            .into_iter()
                            .enumerate()
                        {
                            METER.outbox_deleted.add(slot, rows);
                        }
                        beat.count("swept", rows);
                        beat.trouble(None);
                        beat.advanced();
                    }
                    Err(error) => {
                        tracing::warn!(%error, "retention will try again");
                        METER.store_error(&error);
                        beat.trouble(Some(error.to_string()));
                        resume = None;
                    }
                }
                if let Some(mandate) = mandate {
                    mandate.progress();
                }
                if resume.is_none() {
                    break;
                }
                // Others want to write too.
                tokio::time::sleep(BETWEEN_STEPS).await;
            }
            let rest = async {
                tokio::select! {
                    () = stop.stopped() => true,
                    () = lost.stopped() => true,
                    () = tokio::time::sleep(self.retention.every) => false,
                }
            };
            if beat.during(rest).await {
                return Swept::Over;
            }
        }
    }
}

/// Why a sweeper ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swept {
    /// It was told to, or its mandate is over.
    Over,
    /// The store refused its fence.
    Refused,
}
