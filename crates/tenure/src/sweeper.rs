//! Retention: deleting what is old enough, in bounded steps, by one at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{LeaseAdmin, OutboxStore};
use tenure_core::lease::{FORGET_MAX, HistoryId, SettingsError};
use tenure_core::observe::{METER, RunnerKind};
use tenure_core::outbox::{InboxSettings, RelaySettings, Retention};

use tokio::time::Instant;
use tracing::Instrument;

use crate::mandate::{InAir, Left, Mandate};
use crate::runners::{Beat, runners};
use crate::stop::Stop;

/// The pause between two steps of a sweep.
const BETWEEN_STEPS: Duration = Duration::from_millis(10);
/// How often it is looked for old history: that grows slowly.
const HISTORY_EVERY: Duration = Duration::from_secs(60 * 60);
/// How many steps of it one round takes; what is left comes with the next sweep.
const HISTORY_STEPS: u32 = 100;

/// Deletes what is old enough, from an outbox and its inbox. Clones are the same sweeper.
///
/// A relay that drains all of an outbox [does it](crate::Relay::with_retention) besides; where several drain its parts, it
/// is work of its own.
#[derive(Debug, Clone)]
pub struct Sweeper {
    store: Arc<dyn OutboxStore>,
    retention: Retention,
    history: Option<(Arc<dyn LeaseAdmin>, Duration)>,
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
        Ok(Self { store, retention, history: None, swept: Arc::default() })
    }

    /// Forgets lines of leases' histories that are older than `keep`, too; never those of a lease's last term. Needs the right
    /// to delete from that table; without it, everything stays, which is said once.
    #[must_use]
    pub fn keeping_history(mut self, leases: Arc<dyn LeaseAdmin>, keep: Duration) -> Self {
        self.history = Some((leases, keep));
        self
    }

    /// One round of forgetting old history, if it is due: a bounded one, for the outbox is swept behind it.
    async fn forget_history(&self, at: &mut History, beat: &Beat, mandate: Option<&Mandate>, stop: &Stop) {
        let (Some((leases, keep)), Some(due)) = (&self.history, at.due) else { return };
        if Instant::now() < due {
            return;
        }
        at.due = Some(Instant::now() + HISTORY_EVERY);
        for _ in 0..HISTORY_STEPS {
            if stop.is_stopped() || mandate.is_some_and(|mandate| !mandate.is_alive()) {
                return;
            }
            match beat.during(leases.forget_history(*keep, at.after, FORGET_MAX)).await {
                Ok(step) => {
                    self.swept.fetch_add(step.lines, Ordering::Relaxed);
                    at.after = step.resume;
                    beat.count("swept", step.lines);
                    beat.advanced();
                }
                Err(error @ (StoreError::Refused { .. } | StoreError::ReadOnly { .. })) => {
                    tracing::warn!(%error, "the history of leases is kept whole: it may not be deleted from");
                    at.due = None;
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "the history of leases is looked at again later");
                    return;
                }
            }
            if let Some(mandate) = mandate {
                mandate.progress();
            }
            if at.after.is_none() {
                return;
            }
            tokio::time::sleep(BETWEEN_STEPS).await;
        }
        // There is more: it goes on from there behind the next sweep.
        at.due = Some(Instant::now());
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
        let _watch = beat.watch();
        beat.state("at work");
        // The first round comes with the first sweep: a process may not live for as long as the pause lasts.
        let mut history = History { after: None, due: Some(Instant::now()) };
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
            self.forget_history(&mut history, &beat, mandate, stop).await;
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

/// How far forgetting old history has come.
struct History {
    /// After which line it goes on; `None` from the first one.
    after: Option<HistoryId>,
    /// When it is looked at again; `None` when it may not be deleted from.
    due: Option<Instant>,
}

/// Why a sweeper ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swept {
    /// It was told to, or its mandate is over.
    Over,
    /// The store refused its fence.
    Refused,
}
