//! One time in office: the loop that carries out what the core's [`Drain`] decides.
//!
//! Every call to the store and every flight runs in a task of its own, to its end, and reports by a channel: nothing that
//! is waited for here is a call that could be cut in half.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::lease::Fence;
use tenure_core::observe::{METER, Share, Tally, outcome_slot};
use tenure_core::outbox::{Drain, Kind, Next, Outcome, Pace, Page, Recorded};
use tenure_core::time::{Clock, Monotonic};
use tokio::sync::mpsc;
use tracing::Instrument;

use super::Shared;
use super::flight::{Airport, Landed};
use crate::clock::SteadyClock;
use crate::hub::Ear;
use crate::mandate::{InAir, Mandate};
use crate::runners::Beat;
use crate::stop::Stop;
use crate::sweeper::Sweeper;

/// How long to wait after a record that had no answer; doubles up to [`RECORD_AGAIN_MAX`].
const RECORD_AGAIN: Duration = Duration::from_millis(50);
const RECORD_AGAIN_MAX: Duration = Duration::from_secs(2);
/// After how long it is told that looks cannot see everything.
const UNSEEN_FOR: Duration = Duration::from_secs(10);
const UNSEEN: &str = "messages that other programs have inserted cannot all be put into the queue: another transaction holds them, or \
    there are very many; what may stand behind them in their sources waits";

/// How a time in office ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It was asked to, or there is no sink any more. Nothing is under way but what was given up.
    Stopped,
    /// It was asked to, and not everything that was under way has ended.
    Unsettled,
    /// The mandate is over.
    Lost,
    /// The store refused the fence.
    Refused,
}

/// What the loop is told.
#[derive(Debug)]
pub(super) enum Event {
    Looked(Result<Page, StoreError>, Duration),
    Landed(Landed),
    Recorded(Vec<Outcome>, Result<Recorded, StoreError>),
}

pub(super) struct Office {
    shared: Arc<Shared>,
    mandate: Option<Mandate>,
    sweeper: Option<Sweeper>,
    airport: Arc<Airport>,
    drain: Drain,
    pace: Pace,
    events: mpsc::UnboundedSender<Event>,
    inbox: mpsc::UnboundedReceiver<Event>,
    /// Not before this moment is a record made again that had no answer.
    record_at: Monotonic,
    record_pause: Duration,
    /// Since when looks cannot see everything, and whether that was told.
    unseen_since: Option<Monotonic>,
    unseen_told: bool,
    deposed: bool,
    beat: Beat,
    /// What of all relays of this process is its.
    held: Share,
    in_flight: Share,
}

impl Office {
    pub(super) fn new(
        shared: Arc<Shared>,
        mandate: Option<Mandate>,
        sweeper: Option<Sweeper>,
        beat: Beat,
    ) -> Self {
        let now = SteadyClock.now();
        let (events, inbox) = mpsc::unbounded_channel();
        let airport = Arc::new(Airport {
            shared: shared.clone(),
            mandate: mandate.clone(),
            closing: Stop::new(),
            overdue: Arc::new(AtomicUsize::new(0)),
            in_air: Arc::new(AtomicUsize::new(0)),
        });
        Self {
            drain: Drain::new(shared.settings.clone()).with_arrivals(shared.store.lists_arrivals()),
            pace: Pace::new(shared.settings.poll_without_wakeup, now),
            shared,
            mandate,
            sweeper,
            airport,
            events,
            inbox,
            record_at: now,
            record_pause: RECORD_AGAIN,
            unseen_since: None,
            unseen_told: false,
            deposed: false,
            beat,
            held: Share::of(&METER.outbox_held),
            in_flight: Share::of(&METER.outbox_in_flight),
        }
    }

    fn fence(&self) -> Option<Fence> {
        self.mandate.as_ref().map(|mandate| mandate.fence().clone())
    }

    /// Works until `stop` is given or the mandate is over. Tells also what goes on.
    pub(super) async fn run(mut self, stop: &Stop) -> (Ended, InAir) {
        let lost = self.mandate.as_ref().map_or_else(Stop::new, |mandate| mandate.lost().clone());
        let sweeping = StopOnDrop(Stop::new());
        if let Some(sweeper) = self.sweeper.take() {
            let (mandate, stop) = (self.mandate.clone(), sweeping.0.clone());
            tokio::spawn(async move { sweeper.sweep(mandate.as_ref(), &stop).await });
        }
        // Should this future be dropped, nothing new is delivered either.
        let _closing = StopOnDrop(self.airport.closing.clone());
        let ear = self.shared.settings.wakeup.then(|| Ear::new(self.shared.hub()));
        let asked = self.work(stop, &lost, ear).await;
        // From here on nothing new is delivered, whatever is still in the air.
        self.airport.closing.stop();
        let settled = asked && self.settle(&lost).await;
        self.busy(0, 0);
        let ended = match settled {
            _ if self.deposed => Ended::Refused,
            _ if !asked || lost.is_stopped() => Ended::Lost,
            true => Ended::Stopped,
            false => Ended::Unsettled,
        };
        (ended, self.airport.in_air())
    }

    /// True when it was asked to end, false when it is out of office.
    async fn work(&mut self, stop: &Stop, lost: &Stop, mut ear: Option<Ear>) -> bool {
        loop {
            let now = SteadyClock.now();
            self.beat.cycled_at(now);
            self.act(now);
            if let Some(ear) = &mut ear {
                let poll = match ear.works() {
                    true => self.shared.settings.poll,
                    false => self.shared.settings.poll_without_wakeup,
                };
                self.pace.set_poll(poll);
                ear.arm(self.pace.armed());
            }
            let sleep = self.sleep(now);
            tokio::select! {
                biased;
                () = lost.stopped() => return false,
                () = stop.stopped() => return true,
                event = self.inbox.recv() => self.take_all(event),
                () = self.shared.nudge.notified() => self.hinted(),
                () = hint(&mut ear) => self.hinted(),
                () = tokio::time::sleep(sleep) => {}
            }
            if self.deposed {
                return false;
            }
            if self.shared.sink.gone().is_some() {
                return true;
            }
            self.busy(self.drain.held(), self.drain.flights());
            if let Some(mandate) = &self.mandate {
                mandate.progress();
                // The signal may be late. What is not delivered in doubt would be offered again and again.
                if !mandate.is_alive() {
                    return false;
                }
            }
        }
    }

    /// Lets what is under way end, and records it; whether all of it did. Burns no attempt of what has not.
    async fn settle(&mut self, lost: &Stop) -> bool {
        self.drain.stop();
        let until = SteadyClock.now().after(self.shared.settings.drain);
        loop {
            let now = SteadyClock.now();
            self.beat.cycled_at(now);
            self.act(now);
            if self.drain.is_settled() || self.deposed {
                return true;
            }
            if now >= until {
                let (flights, held) = (self.drain.flights(), self.drain.held());
                tracing::warn!(flights, held, "stopped with deliveries under way; they will be made again");
                return false;
            }
            let wake = if self.record_at > now { self.record_at.min(until) } else { until };
            let sleep = now.until(wake);
            tokio::select! {
                biased;
                () = lost.stopped() => return true,
                event = self.inbox.recv() => self.take_all(event),
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// How long to sleep if nothing happens. To be asked after [`Office::act`].
    fn sleep(&self, now: Monotonic) -> Duration {
        let mut next = now.after(Duration::from_secs(1));
        // A look that is due and was not begun waits for room, or for the one under way: an event ends that.
        let due =
            [Some(self.pace.next()), self.drain.next_due(), self.drain.record_due(), Some(self.record_at)];
        for at in due.into_iter().flatten() {
            if at > now {
                next = next.min(at);
            }
        }
        now.until(next)
    }

    /// Starts everything that can be started.
    fn act(&mut self, now: Monotonic) {
        let batch = self.shared.sink.batch_size();
        while self.airport.overdue.load(Ordering::Relaxed) < self.shared.settings.concurrency
            && let Some(flight) = self.drain.next_flight(batch)
        {
            let (airport, events) = (self.airport.clone(), self.events.clone());
            tokio::spawn(async move { events.send(Event::Landed(airport.fly(flight).await)) });
        }
        while now >= self.record_at
            && let Some(outcomes) = self.drain.next_record(now)
        {
            let (shared, office, events) = (self.shared.clone(), self.fence(), self.events.clone());
            let span = tracing::trace_span!("tenure.outbox.record", count = outcomes.len());
            let recording = async move {
                let recorded = shared.store.record(office.as_ref(), &shared.node, &outcomes).await;
                METER.outbox_record.observe(0, now.until(SteadyClock.now()));
                events.send(Event::Recorded(outcomes, recorded))
            };
            tokio::spawn(recording.instrument(span));
        }
        if let Some(look) = self.drain.look(self.pace.is_due(now), now) {
            let (shared, events) = (self.shared.clone(), self.events.clone());
            tokio::spawn(async move {
                let began = SteadyClock.now();
                let page = shared.store.look(&look).await;
                events.send(Event::Looked(page, began.until(SteadyClock.now())))
            });
        }
    }

    /// Takes an event, and all that have come with it.
    fn take_all(&mut self, event: Option<Event>) {
        let mut next = event;
        while let Some(event) = next {
            self.take(event);
            next = self.inbox.try_recv().ok();
        }
    }

    fn hinted(&mut self) {
        self.shared.gauge.hinted();
        self.drain.hint();
        self.pace.hint(SteadyClock.now());
    }

    fn take(&mut self, event: Event) {
        let now = SteadyClock.now();
        match event {
            Event::Landed(Landed { lane, landings, untried }) => {
                self.drain.landed(lane, landings, untried, fastrand::f64);
            }
            Event::Looked(Ok(page), took) => {
                let trouble = self.unseen(page.unseen, now);
                let found = self.drain.looked(page, now);
                let idle = self.drain.is_idle();
                self.shared.gauge.looked(found, idle);
                self.shared.gauge.trouble(trouble.map(str::to_owned));
                if idle {
                    self.beat.advanced();
                }
                self.pace.looked(found, took, now);
            }
            Event::Looked(Err(error), _) => {
                self.drain.look_failed();
                self.trouble("look at the outbox", &error);
                self.pace.failed(now);
            }
            Event::Recorded(outcomes, Ok(answer)) => self.recorded(outcomes, answer, now),
            Event::Recorded(outcomes, Err(error)) => {
                self.drain.record_failed(outcomes);
                self.trouble("record outcomes", &error);
                self.record_at = now.after(self.record_pause);
                self.record_pause = (self.record_pause * 2).min(RECORD_AGAIN_MAX);
            }
        }
    }

    /// What is to be told of looks that cannot see everything, if they could not for long.
    fn unseen(&mut self, unseen: bool, now: Monotonic) -> Option<&'static str> {
        if !unseen {
            (self.unseen_since, self.unseen_told) = (None, false);
            return None;
        }
        let since = *self.unseen_since.get_or_insert(now);
        if since.until(now) < UNSEEN_FOR {
            return None;
        }
        if !std::mem::replace(&mut self.unseen_told, true) {
            tracing::warn!("{UNSEEN}");
        }
        Some(UNSEEN)
    }

    fn recorded(&mut self, outcomes: Vec<Outcome>, answer: Recorded, now: Monotonic) {
        self.record_pause = RECORD_AGAIN;
        if let Recorded::Applied(applied) = &answer {
            // Nearly always all were: no set is built for that.
            let all = applied.len() == outcomes.len();
            let mut counts = Counts::default();
            for outcome in &outcomes {
                if all || applied.contains(&outcome.id) {
                    self.shared.gauge.recorded(outcome);
                    counts.add(outcome);
                    tell(outcome);
                }
            }
            counts.tell(&self.beat);
        }
        let in_office = self.drain.recorded(outcomes, answer, now);
        if !self.drain.is_idle() {
            self.shared.gauge.more();
        }
        if !in_office {
            self.deposed = true;
            METER.fence_refusals.add(0, 1);
            if let Some(mandate) = &self.mandate {
                mandate.refused();
            }
        }
    }

    fn busy(&self, held: usize, in_flight: usize) {
        self.shared.gauge.busy(held, in_flight);
        self.held.set(held);
        self.in_flight.set(in_flight);
    }

    fn trouble(&self, what: &str, error: &StoreError) {
        METER.store_error(error);
        tracing::warn!(%error, "the relay could not {what}; it will try again");
        self.shared.gauge.trouble(Some(error.to_string()));
    }
}

/// Waits for a hint of the store, for ever where there are none.
async fn hint(ear: &mut Option<Ear>) {
    match ear {
        Some(ear) => ear.hint().await,
        None => std::future::pending().await,
    }
}

/// Gives a signal when it goes out of scope, in whatever way.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// What a batch of outcomes comes to: the numbers of the process are touched once for all of it.
#[derive(Default)]
struct Counts {
    took: [Tally; 4],
    died: [u64; 4],
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        let slot = outcome_slot(outcome.kind);
        self.took[slot].add(outcome.took);
        self.died[slot] += u64::from(matches!(outcome.next, Next::Dead { .. }));
    }

    fn tell(self, beat: &Beat) {
        let names = ["delivered", "rejected", "transient", "poison"];
        for (slot, kind) in Kind::ALL.into_iter().map(|kind| (outcome_slot(kind), kind)) {
            let count = self.took[slot].count();
            if count > 0 {
                METER.outbox_attempts.add(slot, count);
                METER.outbox_dispatch.take(slot, &self.took[slot]);
                METER.outbox_died.add(slot, self.died[slot]);
                beat.count(names[outcome_slot(kind)], count);
            }
        }
        beat.count("dead", self.died.iter().sum());
        beat.advanced();
    }
}

/// Says what an operator wants to know without asking.
fn tell(outcome: &Outcome) {
    let reason = outcome.reason.as_deref().unwrap_or_default();
    match outcome.next {
        Next::Done => tracing::trace!(row = outcome.id.0, attempt = outcome.attempt, "dispatched"),
        Next::Again { after } => {
            tracing::info!(
                row = outcome.id.0,
                attempt = outcome.attempt,
                ?after,
                reason,
                "will be tried again"
            );
        }
        Next::Dead { halt } => {
            tracing::error!(row = outcome.id.0, attempt = outcome.attempt, halt, reason, "a message is dead");
        }
    }
}
