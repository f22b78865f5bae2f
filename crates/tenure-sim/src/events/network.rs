//! The way of a call: from an actor to the store and back, through the weather of its link.

use std::time::Duration;

use tenure_core::event::{AppendAnswer, Position};
use tenure_core::subscription::Advance;
use tenure_core::time::StoreTime;

use super::actor::{Actor, Input};
use super::books::{Caller, Progress};
use super::message::{Answer, Request, Stride};
use super::{Event, EventsWorld};
use crate::clock::EPOCH;
use crate::faults::Weather;
use crate::oracle::{EventFact, Fact};
use crate::world::message::Kind;

/// An actor, and what it runs on.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) actor: Actor,
    /// Counts the starts of the process.
    pub(super) life: u64,
    pub(super) condition: Condition,
    pub(super) weather: Weather,
    /// Until when the link is cut.
    pub(super) cut_until: StoreTime,
    /// The call that it waits for.
    call: Option<u64>,
    calls: u64,
    /// When it wakes by itself; an earlier wish is void.
    wakes: u64,
}

/// How a process is.
#[derive(Debug)]
pub(super) enum Condition {
    Up,
    /// Stopped; what reaches it waits.
    Paused(Vec<Event>),
    Down,
}

impl Seat {
    pub(super) fn new(actor: Actor) -> Self {
        Self {
            actor,
            life: 0,
            condition: Condition::Up,
            weather: Weather::CLEAR,
            cut_until: EPOCH,
            call: None,
            calls: 0,
            wakes: 0,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        !matches!(self.condition, Condition::Down)
    }

    /// Forgets what it waits for.
    pub(super) fn forget(&mut self) {
        self.call = None;
    }
}

impl EventsWorld {
    /// Something reaches an actor now.
    pub(super) fn reach(&mut self, actor: usize, life: u64, input: Input) {
        self.reached(actor, life, None, input);
    }

    /// Something reaches an actor: it acts on it, or it waits until the actor can.
    pub(super) fn reached(&mut self, actor: usize, life: u64, call: Option<u64>, input: Input) {
        let seat = &mut self.seats[actor];
        if seat.life != life {
            return;
        }
        match &mut seat.condition {
            Condition::Down => return,
            Condition::Paused(backlog) => {
                backlog.push(Event::Reach { actor, life, call, input: Box::new(input) });
                return;
            }
            Condition::Up => {}
        }
        match (&input, call) {
            // A late answer, or a timer that was set anew.
            (Input::Answer(_), call) if seat.call != call => return,
            (Input::Wake, Some(number)) if seat.wakes != number || seat.call.is_some() => return,
            (Input::Answer(_), _) => seat.call = None,
            _ => {}
        }
        self.visit(actor, input);
    }

    fn visit(&mut self, actor: usize, input: Input) {
        let seat = &mut self.seats[actor];
        let mut turn = Self::turn(self.now, &mut self.rng, self.stormy);
        seat.actor.drive(input, &mut turn);
        let (ask, wake) = (turn.ask.take(), turn.wake.take());
        let (facts, notes, verdicts) = (turn.facts, turn.notes, turn.verdicts);
        self.books.facts.extend(facts);
        for note in notes {
            self.note(actor, format_args!("{note}"));
        }
        for (number, verdict) in verdicts {
            self.verdict(actor, number, verdict);
        }
        if let Some(after) = wake {
            let seat = &mut self.seats[actor];
            seat.wakes += 1;
            let (life, call) = (seat.life, Some(seat.wakes));
            // The queue counts in whole microseconds: who wakes a little too early would do so for ever.
            let after = after + Duration::from_micros(1);
            self.schedule(after, Event::Reach { actor, life, call, input: Box::new(Input::Wake) });
        }
        if let Some(request) = ask {
            self.send(actor, request);
        }
    }

    fn send(&mut self, actor: usize, request: Request) {
        let fate = match self.take_snare(actor, request.kind()) {
            Some(fate) => fate,
            None if self.now < self.seats[actor].cut_until => crate::faults::Fate::SILENCE,
            None => self.seats[actor].weather.fate(Kind::Write, &mut self.rng),
        };
        let seat = &mut self.seats[actor];
        seat.calls += 1;
        let (life, call) = (seat.life, seat.calls);
        seat.call = Some(call);
        let caller = Caller { actor, life, call, answer_after: fate.answer };
        self.schedule(self.plan.patience, answer_to(caller, None));
        if let Some(error) = fate.error {
            self.schedule(error, answer_to(caller, Some(Answer::Doubt)));
        }
        let request = Box::new(request);
        for after in [fate.copy, fate.request].into_iter().flatten() {
            self.schedule(after, Event::Arrive { caller, request: request.clone() });
        }
    }

    fn answer(&mut self, caller: Caller, answer: Answer) {
        if let Some(after) = caller.answer_after
            && self.now >= self.seats[caller.actor].cut_until
        {
            self.schedule(after, answer_to(caller, Some(answer)));
        }
    }

    /// A call reaches the store.
    pub(super) fn arrive(&mut self, caller: Caller, request: Request) {
        let answer = match request {
            Request::Append(append) => {
                let transaction = self.books.begin(append, Some(caller));
                let pause = self.pause_in_transaction();
                self.schedule(pause, Event::Append(transaction));
                return;
            }
            Request::ReadAll { after, limit } => {
                let reading = self.books.begin_reading(after, limit, caller);
                self.schedule(Duration::ZERO, Event::Read(reading));
                return;
            }
            Request::ReadStream { stream, from, limit } => {
                Answer::Stream(self.books.read_stream(&stream, from, limit))
            }
            Request::LoadSnapshot(stream) => Answer::Snapshot(self.books.snapshots.get(&stream).cloned()),
            Request::SaveSnapshot(snapshot) => {
                self.books.keep(&snapshot);
                Answer::Kept
            }
            Request::Checkpoint(subscription) => {
                Answer::Checkpoint(self.books.checkpoints.checkpoint(&self.names[subscription]))
            }
            Request::Advance(stride) => self.advance(&stride),
        };
        self.answer(caller, answer);
    }

    /// How far a subscription has come.
    pub(crate) fn checkpoint(&self, subscription: usize) -> Position {
        self.books.checkpoints.checkpoint(&self.names[subscription]).position
    }

    fn advance(&mut self, stride: &Stride) -> Answer {
        let Stride { subscription, term, step, applies } = stride;
        let office = self.offices[*subscription];
        let in_office = term.is_none_or(|term| term == office.term);
        let from = self.checkpoint(*subscription);
        let Ok(answer) = self.books.checkpoints.advance(in_office, step, self.now) else {
            self.books.facts.push(Fact::Event(EventFact::Problem("a step leads back".into())));
            return Answer::Doubt;
        };
        self.tally.step(&answer);
        if answer == Advance::Advanced {
            self.note_store(format_args!("checkpoint {subscription} goes from {from} to {}", step.to));
            for position in applies {
                let (subscription, position) = (*subscription, *position);
                self.books.facts.push(Fact::Event(EventFact::Applied { subscription, position }));
            }
            self.books.facts.push(Fact::Event(EventFact::Stepped {
                subscription: *subscription,
                from,
                to: step.to,
                parked: step.parked.iter().map(|aside| aside.position).collect(),
            }));
        }
        Answer::Advance(answer)
    }

    /// The next question of a look at all streams.
    pub(super) fn read_on(&mut self, reading: u64) {
        match self.books.read_on(reading) {
            Some((caller, page)) => {
                self.tally.stalls += u64::from(page.stall.is_some());
                self.answer(caller, Answer::Page(page));
            }
            None => {
                let pause = self.pause_in_transaction();
                self.schedule(pause, Event::Read(reading));
            }
        }
    }

    /// The next step of an append.
    pub(super) fn append_on(&mut self, transaction: u64) {
        let Some(open) = self.books.open.get(&transaction) else { return };
        let (caller, stage) = (open.caller, open.stage);
        let can_fail = stage < super::Stage::Committed && open.hold_at.is_none();
        if can_fail && self.stormy && self.rng.u32(0..6000) < self.plan.rollback {
            self.roll_back(transaction);
            return;
        }
        match self.books.go_on(transaction, self.now) {
            Progress::Goes => {
                let pause = self.pause_in_transaction();
                self.schedule(pause, Event::Append(transaction));
            }
            Progress::Waits => {}
            Progress::Ends(answer) => {
                self.note_answer(transaction, &answer);
                if let Some(caller) = caller {
                    let answer = answer.map_or_else(Answer::Problem, Answer::Append);
                    self.answer(caller, answer);
                }
                self.wake_waiting();
            }
        }
    }

    fn note_answer(&mut self, transaction: u64, answer: &Result<AppendAnswer, String>) {
        self.tally.answer(answer);
        self.note_store(format_args!("transaction {transaction}: {answer:?}"));
    }

    /// Ends a transaction without a commit. Its caller finds a broken connection, or nothing.
    pub(crate) fn roll_back(&mut self, transaction: u64) {
        let Some(open) = self.books.end(transaction) else { return };
        self.tally.rolled_back += 1;
        self.note_store(format_args!("transaction {transaction} is rolled back at {:?}", open.stage));
        if let Some(caller) = open.caller {
            self.answer(caller, Answer::Doubt);
        }
        self.wake_waiting();
    }

    /// A transaction has ended: those that wait for what it held try again, in any order.
    fn wake_waiting(&mut self) {
        let waiting: Vec<u64> =
            self.books.open.iter().filter(|(_, open)| open.waits).map(|(number, _)| *number).collect();
        for transaction in waiting {
            let soon = Duration::from_micros(self.rng.u64(1..200));
            self.schedule(soon, Event::Append(transaction));
        }
    }

    fn pause_in_transaction(&mut self) -> Duration {
        let slow = self.stormy && self.rng.u32(0..6000) < self.plan.slow_step;
        Duration::from_micros(if slow { self.rng.u64(1000..4_000_000) } else { self.rng.u64(0..300) })
    }
}

fn answer_to(caller: Caller, answer: Option<Answer>) -> Event {
    let Caller { actor, life, call, .. } = caller;
    Event::Reach { actor, life, call: Some(call), input: Box::new(Input::Answer(answer)) }
}
