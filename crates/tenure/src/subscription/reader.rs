//! One time in office: the loop that carries out what the core's [`Cursor`] decides.
//!
//! Calls to the store and to the handler run in tasks of their own, to their ends: nothing that is waited for here could be
//! cut in half.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::event::Recorded;
use tenure_core::lease::Fence;
use tenure_core::observe::METER;
use tenure_core::subscription::{Advance, Checkpoint, Cursor, Fate, Front, Lost, Step};
use tenure_core::time::{Clock, Monotonic};
use tokio::sync::oneshot;
use tracing::Instrument;

use super::Shared;
use super::handler::{HandleError, Handling};
use super::status::SubscriptionState;
use crate::clock::SteadyClock;
use crate::hub::Lookout;
use crate::mandate::{InAir, Mandate};
use crate::runners::Beat;
use crate::stop::Stop;
use crate::trace;

/// How long to wait after a call to the store that had no answer; doubles up to [`STORE_AGAIN_MAX`].
const STORE_AGAIN: Duration = Duration::from_millis(50);
const STORE_AGAIN_MAX: Duration = Duration::from_secs(2);
/// So many handlings that are past their deadline are borne; then nothing more is handled before one of them ends.
const OVERDUE_MAX: usize = 8;
/// How often it is looked whether one has.
const OVERDUE_LOOK: Duration = Duration::from_millis(100);
/// How often a reader that stands still, or waits to try an event again, looks whether an operator has moved its checkpoint.
const MOVES_LOOK: Duration = Duration::from_secs(1);

/// How a time in office ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It was asked to.
    Stopped,
    /// The mandate is over.
    Lost,
    /// The store refused the fence.
    Refused,
    /// Someone else moved the checkpoint.
    Moved(Lost),
    /// The store of the checkpoint refused the fence before anything was done.
    Foreign(Fence),
}

pub(super) struct Reader {
    shared: Arc<Shared>,
    mandate: Option<Mandate>,
    lost: Stop,
    pause: Duration,
    lookout: Lookout,
    /// The last page did not show all there is.
    more: bool,
    /// When it was last looked, while waiting, whether the checkpoint was moved.
    looked_at: Monotonic,
    /// Handlings that are past their deadline, and go on by themselves.
    overdue: Arc<AtomicUsize>,
    beat: Beat,
}

impl Reader {
    pub(super) fn new(shared: Arc<Shared>, mandate: Option<Mandate>, beat: Beat) -> Self {
        let lost = mandate.as_ref().map_or_else(Stop::new, |mandate| mandate.lost().clone());
        let settings = &shared.settings;
        let lookout = Lookout::new(shared.events.hub(), settings.poll, settings.poll_without_wakeup);
        Self {
            shared,
            mandate,
            lost,
            pause: STORE_AGAIN,
            lookout,
            more: false,
            looked_at: SteadyClock.now(),
            overdue: Arc::default(),
            beat,
        }
    }

    fn office(&self) -> Option<Fence> {
        self.mandate.as_ref().map(|mandate| mandate.fence().clone())
    }

    /// Handlings that go on whatever becomes of the reader.
    pub(super) fn in_air(&self) -> InAir {
        InAir::of([self.overdue.clone()])
    }

    /// Works until `stop` is given, the mandate is over or the checkpoint was moved by someone else.
    pub(super) async fn run(&mut self, stop: &Stop) -> Result<Ended, Lost> {
        let Some(checkpoint) = self.checkpoint(stop).await else { return Ok(self.ended(stop)) };
        if let Some(fence) = self.is_foreign(checkpoint).await {
            return Ok(Ended::Foreign(fence));
        }
        let (name, settings) = (self.shared.name.clone(), self.shared.settings.clone());
        let mut cursor = Cursor::new(name, settings, checkpoint, SteadyClock.now());
        self.shared.gauge.change(|status| {
            (status.state, status.checkpoint, status.handled) =
                (SubscriptionState::CatchingUp, checkpoint.position, checkpoint.position);
            // What an earlier reader was in trouble with may lie behind the checkpoint by now.
            (status.trouble, status.stall) = (None, None);
        });
        let ended = self.work(&mut cursor, stop).await;
        match ended {
            Err(lost @ Lost::Ahead { .. }) => {
                tracing::error!(%lost, "the subscription cannot go on");
                Err(lost)
            }
            Err(Lost::Fenced { .. }) => {
                METER.fence_refusals.add(1, 1);
                Ok(Ended::Refused)
            }
            Err(lost) => {
                self.shared.gauge.change(|status| {
                    (status.state, status.trouble) = (SubscriptionState::CatchingUp, None);
                });
                Ok(Ended::Moved(lost))
            }
            Ok(Ended::Stopped) => self.last_step(cursor).await,
            Ok(ended) => Ok(ended),
        }
    }

    /// Whether the checkpoint's store refuses a fence that is held: nothing may be handled that could never be saved. A
    /// step that leads nowhere tells.
    async fn is_foreign(&self, at: Checkpoint) -> Option<Fence> {
        let mandate = self.mandate.as_ref()?;
        let Checkpoint { position: at, rewinds } = at;
        let step = Step { name: self.shared.name.clone(), from: at, rewinds, to: at, parked: Vec::new() };
        let refused = matches!(self.advance(&step).await, Ok(Advance::Fenced)) && mandate.is_alive();
        refused.then(|| mandate.fence().clone())
    }

    fn ended(&self, stop: &Stop) -> Ended {
        if stop.is_stopped() && !self.lost.is_stopped() { Ended::Stopped } else { Ended::Lost }
    }

    async fn work(&mut self, cursor: &mut Cursor, stop: &Stop) -> Result<Ended, Lost> {
        while !stop.is_stopped() && !self.lost.is_stopped() {
            if let Some(mandate) = &self.mandate {
                mandate.progress();
                if !mandate.is_alive() {
                    return Ok(Ended::Lost);
                }
            }
            if self.overdue.load(Ordering::Relaxed) >= OVERDUE_MAX {
                self.trouble("as many handlings as are borne go on past their deadline: the handler hangs");
                self.rest(OVERDUE_LOOK, cursor, stop).await;
                continue;
            }
            let now = SteadyClock.now();
            self.beat.cycled_at(now);
            if let Some(step) = cursor.step(now) {
                self.save(cursor, step, stop).await?;
                continue;
            }
            match cursor.front(now) {
                Front::Handle(_) => self.handle(cursor, stop).await?,
                Front::Unreadable(row) => {
                    let error = HandleError::poison(format!("the row cannot be read: {}", row.reason));
                    self.failed(cursor, &error);
                }
                Front::Wait(at) => self.wait(now.until(at), cursor, stop).await?,
                Front::Halted(_) => self.stand_still(cursor, stop).await?,
                Front::Empty => self.read(cursor, stop).await?,
            }
            self.shared.gauge.change(|status| {
                (status.checkpoint, status.handled) = (cursor.saved(), cursor.done());
                status.behind = cursor.behind();
            });
        }
        Ok(self.ended(stop))
    }

    /// Reads a page, when it is time to.
    async fn read(&mut self, cursor: &mut Cursor, stop: &Stop) -> Result<(), Lost> {
        let Some((after, limit)) = cursor.wants() else { return Ok(()) };
        let due_in = self.lookout.due_in();
        if !self.more && !due_in.is_zero() {
            let span = cursor.step_due().map_or(due_in, |due| SteadyClock.now().until(due));
            let beat = self.beat.clone();
            let wait = async {
                tokio::select! {
                    () = self.lookout.until_due() => {}
                    () = rest(span, &self.lost, stop) => {}
                }
            };
            beat.during(wait).await;
            // Who has nothing to do takes no step, and would never hear that an operator has moved the checkpoint.
            return match due_in >= self.lookout.poll() / 2 && !stop.is_stopped() {
                true => self.look_for_moves(cursor, stop).await,
                false => Ok(()),
            };
        }
        let (events, began) = (self.shared.events.clone(), SteadyClock.now());
        // A store that does not answer is no reason to begin anew: the loop goes round while it waits.
        match self.beat.during(whole(async move { events.read_all(after, limit).await })).await {
            Ok(page) => {
                self.pause = STORE_AGAIN;
                let (stalled, ends_early) = (page.stall.clone(), page.read_to < page.head);
                let fresh = cursor.took(page)?;
                self.more = fresh > 0 && ends_early && stalled.is_none();
                self.lookout.looked(fresh, began.until(SteadyClock.now()));
                // What an event is in trouble with is not mended by reading.
                let waits = cursor.oldest().is_some();
                self.shared.gauge.behind(cursor.behind());
                self.shared.gauge.change(|status| {
                    status.stall = stalled;
                    status.trouble = status.trouble.take().filter(|_| waits);
                    status.state = match fresh {
                        0 => SubscriptionState::Live,
                        _ => SubscriptionState::CatchingUp,
                    };
                });
            }
            Err(error) => self.ride_out("events were not read", &error, stop).await,
        }
        Ok(())
    }

    /// Has the next event, or the next few, handled.
    async fn handle(&mut self, cursor: &mut Cursor, stop: &Stop) -> Result<(), Lost> {
        match self.shared.handling.clone() {
            Handling::Each(handler) => {
                let Some(event) = cursor.batch(1).next().cloned() else { return Ok(()) };
                let span = tracing::debug_span!(
                    "tenure.subscription.handle",
                    subscription = %self.shared.name,
                    position = event.position.0,
                    "type" = %event.kind
                );
                if !span.is_disabled() {
                    trace::follow(&span, &event.metadata.headers);
                }
                let handling = async move { handler.handle(&event).await }.instrument(span);
                let answer = self.in_time(handling).await;
                match answer {
                    Ok(()) => {
                        cursor.handled();
                        self.shared
                            .gauge
                            .change(|status| (status.events, status.trouble) = (status.events + 1, None));
                    }
                    Err(error) => self.failed(cursor, &error),
                }
                Ok(())
            }
            Handling::Projected(projection) => {
                let events: Vec<Recorded> = cursor.batch(projection.batch().max(1)).cloned().collect();
                let Some(step) = cursor.step_of(events.len()) else { return Ok(()) };
                let (count, office, taken) = (events.len() as u64, self.office(), step.clone());
                let span = tracing::debug_span!(
                    "tenure.subscription.handle",
                    subscription = %self.shared.name,
                    position = step.to.0,
                    count
                );
                let apply =
                    async move { projection.apply(&events, office.as_ref(), &taken).await }.instrument(span);
                match self.in_time(apply).await {
                    Ok(answer) => {
                        cursor.stepped(&step, answer, SteadyClock.now())?;
                        self.shared
                            .gauge
                            .change(|status| (status.events, status.trouble) = (status.events + count, None));
                    }
                    Err(error) => {
                        // It may have committed before it failed: then the checkpoint has moved.
                        if self.checkpoint(stop).await.is_some_and(|there| step.is_taken(there)) {
                            return cursor.stepped(&step, Advance::Advanced, SteadyClock.now());
                        }
                        match count {
                            1 => self.failed(cursor, &error),
                            _ => cursor.failed_together(usize::try_from(count).unwrap_or(usize::MAX)),
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn failed(&self, cursor: &mut Cursor, error: &HandleError) {
        let poison = matches!(error, HandleError::Poison(_));
        self.trouble(error);
        let (name, position) = (&self.shared.name, cursor.oldest().map(|position| position.0));
        match cursor.failed(&error.to_string(), poison, fastrand::f64(), SteadyClock.now()) {
            Fate::Again(_) => {
                tracing::warn!(subscription = %name, position, %error, "an event was not handled; again later")
            }
            Fate::Parked => {
                self.shared.gauge.parked();
                tracing::error!(subscription = %name, position, %error, "an event is put aside");
            }
            Fate::Halted => {
                tracing::error!(subscription = %name, position, %error, "the subscription stands still at an event that it cannot handle");
                self.shared.gauge.state(SubscriptionState::Halted { reason: error.to_string() });
            }
        }
    }

    /// Waits for the handler until the deadline. A late one goes on by itself, and its event is handled again.
    async fn in_time<T: Send + 'static>(
        &mut self,
        work: impl Future<Output = Result<T, HandleError>> + Send + 'static,
    ) -> Result<T, HandleError> {
        let deadline = self.shared.settings.deadline;
        let (answer, answered) = oneshot::channel();
        let task = tokio::spawn(async move {
            // Nobody may wait for it any more.
            let _ = answer.send(work.await);
        });
        // The loop lives while its handler works; it gets on when that has ended.
        match self.beat.during(tokio::time::timeout(deadline, answered)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(HandleError::transient("the handler panicked")),
            Err(_) => {
                let overdue = self.overdue.clone();
                overdue.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    // However it ends.
                    let _ = task.await;
                    overdue.fetch_sub(1, Ordering::Relaxed);
                });
                Err(HandleError::transient(format!("no answer within the deadline of {deadline:?}")))
            }
        }
    }

    fn trouble(&self, trouble: impl std::fmt::Display) {
        let trouble = Some(trouble.to_string());
        self.shared.gauge.change(|status| status.trouble = trouble);
    }

    async fn save(&mut self, cursor: &mut Cursor, step: Step, stop: &Stop) -> Result<(), Lost> {
        match self.advance(&step).await {
            Ok(answer) => {
                self.pause = STORE_AGAIN;
                cursor.stepped(&step, answer, SteadyClock.now())
            }
            Err(error) => {
                self.ride_out("the checkpoint was not moved", &error, stop).await;
                // Unknown means that it may have moved after all.
                match self.checkpoint(stop).await {
                    Some(there) if step.is_taken(there) => {
                        cursor.stepped(&step, Advance::Advanced, SteadyClock.now())
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    async fn advance(&self, step: &Step) -> Result<Advance, StoreError> {
        let (checkpoints, office, step) = (self.shared.checkpoints.clone(), self.office(), step.clone());
        self.beat.during(whole(async move { checkpoints.advance(office.as_ref(), &step).await })).await
    }

    /// Where the checkpoint is; `None` when it was stopped before it knew.
    async fn checkpoint(&mut self, stop: &Stop) -> Option<Checkpoint> {
        while !stop.is_stopped() && !self.lost.is_stopped() {
            match self.ask_checkpoint().await {
                Ok(checkpoint) => return Some(checkpoint),
                Err(error) => self.ride_out("the checkpoint was not read", &error, stop).await,
            }
        }
        None
    }

    async fn ask_checkpoint(&self) -> Result<Checkpoint, StoreError> {
        let (checkpoints, name) = (self.shared.checkpoints.clone(), self.shared.name.clone());
        self.beat.during(whole(async move { checkpoints.checkpoint(&name).await })).await
    }

    /// Saves what was handled, once.
    async fn last_step(&mut self, mut cursor: Cursor) -> Result<Ended, Lost> {
        if let Some(step) = cursor.last_step() {
            match self.advance(&step).await {
                Ok(answer) => {
                    if let Err(Lost::Fenced { .. }) = cursor.stepped(&step, answer, SteadyClock.now()) {
                        return Ok(Ended::Refused);
                    }
                }
                Err(error) => {
                    let name = &self.shared.name;
                    tracing::warn!(subscription = %name, %error, "stopped without moving the checkpoint; the last events are handled again");
                }
            }
        }
        Ok(Ended::Stopped)
    }

    /// An operator may move the checkpoint past what cannot be handled.
    async fn stand_still(&mut self, cursor: &Cursor, stop: &Stop) -> Result<(), Lost> {
        self.rest(MOVES_LOOK, cursor, stop).await;
        self.look_for_moves(cursor, stop).await
    }

    /// Waits to try an event again, for a while. An operator may move the checkpoint meanwhile, and nobody is to wait for
    /// the end of a long pause then.
    async fn wait(&mut self, span: Duration, cursor: &Cursor, stop: &Stop) -> Result<(), Lost> {
        let now = SteadyClock.now();
        if self.looked_at.until(now) >= MOVES_LOOK {
            self.looked_at = now;
            match self.ask_checkpoint().await {
                Ok(there) => self.is_where_known(cursor, there)?,
                // The event is tried again whether it is known or not.
                Err(error) => {
                    tracing::debug!(subscription = %self.shared.name, %error, "the checkpoint was not read")
                }
            }
        }
        let until_look = MOVES_LOOK.saturating_sub(self.looked_at.until(now));
        self.rest(span.min(until_look), cursor, stop).await;
        Ok(())
    }

    /// Whether someone else has moved the checkpoint.
    async fn look_for_moves(&mut self, cursor: &Cursor, stop: &Stop) -> Result<(), Lost> {
        match self.checkpoint(stop).await {
            Some(there) => self.is_where_known(cursor, there),
            None => Ok(()),
        }
    }

    fn is_where_known(&self, cursor: &Cursor, there: Checkpoint) -> Result<(), Lost> {
        if there == cursor.checkpoint() {
            return Ok(());
        }
        Err(Lost::Moved { name: self.shared.name.clone(), at: there.position, known: cursor.saved() })
    }

    /// Sleeps, at most until a step is due.
    async fn rest(&self, span: Duration, cursor: &Cursor, stop: &Stop) {
        let now = SteadyClock.now();
        let span = cursor.step_due().map_or(span, |due| span.min(now.until(due)));
        rest(span, &self.lost, stop).await;
    }

    async fn ride_out(&mut self, what: &str, error: &StoreError, stop: &Stop) {
        tracing::warn!(subscription = %self.shared.name, %error, "{what}; again later");
        METER.store_error(error);
        self.beat.cycled();
        self.trouble(error);
        rest(self.pause, &self.lost, stop).await;
        self.pause = (self.pause * 2).min(STORE_AGAIN_MAX);
    }
}

/// Sleeps, unless there is no reason to any more.
async fn rest(span: Duration, lost: &Stop, stop: &Stop) {
    tokio::select! {
        () = lost.stopped() => {}
        () = stop.stopped() => {}
        () = tokio::time::sleep(span) => {}
    }
}

/// Runs a call to the store to its end, also if nobody waits for it any more.
async fn whole<T: Send + 'static>(
    call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::spawn(call).await.unwrap_or_else(|failed| {
        let message = format!("the call ended early: {failed}");
        Err(StoreError::Failed { store: "the runtime".into(), message, source: None })
    })
}
