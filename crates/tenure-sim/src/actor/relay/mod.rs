//! A relay: the driver around the core's [`Drain`] and [`Pace`], for as long as one grant lasts.
//!
//! It asks nobody whether it is in office once a flight has begun, and a relay that has lost its office brings home what is
//! under way: the fence and the inbox have to make that harmless.

mod flight;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tenure_core::lease::{Fence, Term};
use tenure_core::outbox::{Drain, Flight, Outcome, Pace, Page, Recorded, RelaySettings};
use tenure_core::time::Monotonic;

use self::flight::Airborne;
use super::FAR;
use super::turn::{Purpose, Turn};
use crate::plan::RelayPlan;
use crate::world::message::{Answer, Request};

/// How long a relay waits after a record without an answer.
const RECORD_PAUSE: Duration = Duration::from_millis(100);

/// What a relay's call is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Errand {
    Look { started: Monotonic },
    Load(u64),
    Record(u64),
    Sweep,
    Deliver(u64),
}

/// The relay of one grant.
#[derive(Debug)]
pub(crate) struct Relay {
    fence: Fence,
    plan: RelayPlan,
    patience: Duration,
    drain: Drain,
    pace: Pace,
    rng: Rng,
    flights: BTreeMap<u64, Airborne>,
    records: BTreeMap<u64, Arc<[Outcome]>>,
    numbers: u64,
    record_at: Monotonic,
    sweep_at: Monotonic,
    sweeping: bool,
    sweep_from: Option<i64>,
    wake: Monotonic,
    /// Until when what is under way may come home; `None` while in office.
    stop_by: Option<Monotonic>,
    fenced: bool,
}

impl Relay {
    pub(crate) fn new(fence: Fence, plan: &RelayPlan, patience: Duration, now: Monotonic) -> Self {
        let settings: RelaySettings = plan.settings.clone();
        // Chance of its own, so that leases see the same world with and without relays.
        let mut rng = Rng::with_seed(plan.seed ^ fence.term.get().wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let first_sweep = plan.sweep_every.mul_f64(rng.f64());
        Self {
            pace: Pace::new(settings.poll, now),
            drain: Drain::new(settings).with_arrivals(plan.seed.is_multiple_of(2)),
            plan: plan.clone(),
            fence,
            patience,
            rng,
            flights: BTreeMap::new(),
            records: BTreeMap::new(),
            numbers: 0,
            record_at: now,
            sweep_at: now.after(first_sweep),
            sweeping: false,
            sweep_from: None,
            wake: now,
            stop_by: None,
            fenced: false,
        }
    }

    pub(crate) fn term(&self) -> Term {
        self.fence.term
    }

    /// Whether it wants to be woken by commits.
    pub(crate) fn armed(&self) -> bool {
        self.pace.armed()
    }

    /// Something may have been committed.
    pub(crate) fn hint(&mut self, now: Monotonic) {
        self.pace.hint(now);
        self.wake = now;
    }

    /// The office is over: begins nothing more.
    pub(crate) fn stop(&mut self, now: Monotonic) {
        self.drain.stop();
        self.stop_by = Some(now.after(self.drain.settings().drain));
        self.wake = now;
    }

    /// Whether nothing of it is left.
    pub(crate) fn is_over(&self, now: Monotonic) -> bool {
        self.fenced
            || self
                .stop_by
                .is_some_and(|by| now >= by || (self.drain.is_settled() && self.flights.is_empty()))
    }

    /// Does whatever is due; says when there is something to do again. Calls of others do not make it look sooner.
    pub(crate) fn drive(&mut self, turn: &mut Turn<'_>) -> Monotonic {
        if turn.now < self.wake {
            return self.wake;
        }
        self.record(turn);
        self.look(turn);
        while let Some(Flight { lane, rows }) = self.drain.next_flight(self.plan.sink_batch) {
            let number = self.number();
            let rows = rows.into();
            let flight =
                Airborne { lane, rows, under_way: Vec::new(), since: turn.now, landings: Vec::new() };
            self.flights.insert(number, flight);
            self.fly(number, turn);
        }
        self.record(turn);
        self.sweep(turn);
        self.wake = self.next_wake(turn.now);
        self.wake
    }

    fn next_wake(&self, now: Monotonic) -> Monotonic {
        let stop = self.stop_by.unwrap_or(FAR);
        let record = [Some(self.record_at), self.drain.record_due()];
        let record = record.into_iter().flatten().filter(|at| *at > now).min().unwrap_or(FAR);
        if self.stop_by.is_some() {
            return stop.min(record);
        }
        let soon = now.after(Duration::from_millis(1));
        let next_due = self.drain.next_due().unwrap_or(FAR);
        let look = match self.pace.is_due(now) {
            _ if self.drain.is_looking() => FAR,
            // Due but not looking: there is no room, and what makes room wakes it; or a search is put off.
            true if next_due <= now => FAR,
            true => next_due,
            false => self.pace.next().min(next_due).max(soon),
        };
        let sweep = if self.sweeping { FAR } else { self.sweep_at };
        look.min(record).min(sweep)
    }

    fn look(&mut self, turn: &mut Turn<'_>) {
        let Some(mut look) = self.drain.look(self.pace.is_due(turn.now), turn.now) else { return };
        // The drain's tables have no order; the world needs one.
        look.lanes.sort_by(|one, other| one.source.cmp(&other.source));
        if let Some(discover) = &mut look.discover {
            discover.except.sort();
        }
        self.ask(Request::Look(Arc::new(look)), Errand::Look { started: turn.now }, self.patience, turn);
    }

    fn record(&mut self, turn: &mut Turn<'_>) {
        while turn.now >= self.record_at
            && let Some(outcomes) = self.drain.next_record(turn.now)
        {
            let (number, outcomes): (u64, Arc<[Outcome]>) = (self.number(), outcomes.into());
            self.records.insert(number, outcomes.clone());
            let request = Request::Record(self.fence.clone(), outcomes);
            self.ask(request, Errand::Record(number), self.patience, turn);
        }
    }

    fn sweep(&mut self, turn: &mut Turn<'_>) {
        if self.stop_by.is_some() || self.sweeping || turn.now < self.sweep_at {
            return;
        }
        self.sweeping = true;
        let request = Request::Sweep(self.fence.clone(), self.sweep_from);
        self.ask(request, Errand::Sweep, self.patience, turn);
    }

    fn ask(&self, request: Request, errand: Errand, patience: Duration, turn: &mut Turn<'_>) {
        turn.ask(request, Purpose::Relay(self.term(), errand), Some(patience));
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Takes an answer; `None` when there was none.
    pub(crate) fn answered(&mut self, errand: Errand, answer: Option<Answer>, turn: &mut Turn<'_>) {
        self.wake = turn.now;
        match (errand, answer) {
            (Errand::Look { started }, Some(Answer::Page(page))) => self.looked(page, started, turn.now),
            (Errand::Look { .. }, _) => {
                self.drain.look_failed();
                self.pace.failed(turn.now);
            }
            (Errand::Load(flight), answer) => self.loaded(flight, answer, turn),
            (Errand::Deliver(flight), answer) => self.delivered(flight, answer, turn),
            (Errand::Record(number), answer) => self.recorded(number, answer, turn.now),
            (Errand::Sweep, answer) => {
                self.sweeping = false;
                self.sweep_from = match answer {
                    Some(Answer::Swept(swept)) => swept.resume,
                    _ => self.sweep_from,
                };
                self.sweep_at = turn.now.after(self.plan.sweep_every);
            }
        }
    }

    /// Whether its record was refused, which is the end of its office.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced
    }

    fn looked(&mut self, page: Arc<Page>, started: Monotonic, now: Monotonic) {
        let page = Arc::unwrap_or_clone(page);
        let fresh = self.drain.looked(page, now);
        self.pace.looked(fresh, started.until(now), now);
    }

    fn recorded(&mut self, number: u64, answer: Option<Answer>, now: Monotonic) {
        let Some(outcomes) = self.records.remove(&number) else { return };
        match answer {
            Some(Answer::Recorded(recorded)) => {
                self.fenced |= recorded == Recorded::Fenced;
                let in_office = self.drain.recorded(outcomes.to_vec(), recorded, now);
                self.fenced |= !in_office;
            }
            _ => {
                self.drain.record_failed(outcomes.to_vec());
                self.record_at = now.after(RECORD_PAUSE);
            }
        }
    }
}
