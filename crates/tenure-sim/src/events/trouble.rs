//! What befalls those around the events, how it ends, and what operators do.

use std::time::Duration;

use tenure_core::event::Position;
use tenure_core::subscription::Rewind;

use super::actor::{Actor, Input};
use super::network::Condition;
use super::{Event, EventsWorld};
use crate::clock::EPOCH;
use crate::faults::{Climate, Weather};
use crate::oracle::{EventFact, Fact};

/// The longest time for which the weather of a link stays as it is.
const LONGEST_WEATHER: Duration = Duration::from_secs(5);

impl EventsWorld {
    pub(super) fn change_weather(&mut self, actor: usize) {
        self.seats[actor].weather = self.climate.weather(&mut self.rng);
        if self.stormy {
            let lasts = LONGEST_WEATHER.mul_f64(0.05 + 0.95 * self.rng.f64());
            self.schedule(lasts, Event::Weather(actor));
        }
    }

    /// The next blow falls.
    pub(super) fn fall_into_trouble(&mut self) {
        let Some(longest) = self.plan.trouble.filter(|_| self.stormy) else { return };
        let span = Duration::from_millis(self.rng.u64(20..4000));
        let actor = self.rng.usize(0..self.seats.len());
        match self.rng.u32(0..8) {
            0 | 1 => self.crash(actor, span),
            2 | 3 => self.pause(actor, span),
            4 => {
                self.seats[actor].cut_until = self.now.after(span);
                self.note(actor, format_args!("is cut off for {span:?}"));
            }
            5 => {
                let open: Vec<u64> = self.books.open.keys().copied().collect();
                if let Some(number) = self.rng.choice(open) {
                    let done =
                        self.books.open.get(&number).is_none_or(|t| t.stage >= super::Stage::Committed);
                    if !done {
                        self.roll_back(number);
                    }
                }
            }
            _ => {
                let subscription = self.rng.usize(0..self.offices.len().max(1));
                self.elect(subscription);
            }
        }
        let peace = longest.mul_f64(0.05 + 0.95 * self.rng.f64());
        self.schedule(peace, Event::Trouble);
    }

    /// Kills a process. What it has sent is on its way, and what it has open may end with it.
    pub(crate) fn crash(&mut self, actor: usize, down_for: Duration) {
        let seat = &mut self.seats[actor];
        if matches!(seat.condition, Condition::Down) {
            return;
        }
        seat.condition = Condition::Down;
        seat.life += 1;
        seat.forget();
        self.note(actor, format_args!("-- crashes for {down_for:?}"));
        self.tally.crashes += 1;
        let own = |open: &super::books::Transaction| {
            open.caller.is_some_and(|caller| caller.actor == actor) && open.stage < super::Stage::Committed
        };
        let open: Vec<u64> = self.books.open.iter().filter(|(_, open)| own(open)).map(|(n, _)| *n).collect();
        for transaction in open {
            if self.rng.bool() {
                self.roll_back(transaction);
            }
        }
        self.schedule(down_for, Event::Restart(actor));
    }

    /// Starts a process again.
    pub(super) fn restart(&mut self, actor: usize) {
        let seat = &mut self.seats[actor];
        if !matches!(seat.condition, Condition::Down) {
            return;
        }
        seat.condition = Condition::Up;
        seat.actor.restart(&mut self.rng);
        let (life, office) = (seat.life, seat.actor.reader().map(|reader| reader.subscription));
        self.note(actor, format_args!("starts again"));
        self.reach(actor, life, Input::Wake);
        if let Some(subscription) = office
            && self.offices[subscription].holder == Some(actor)
        {
            self.schedule(Duration::from_millis(300), Event::Elect(subscription));
        }
    }

    /// Stops a process for a while; it knows nothing of it.
    pub(crate) fn pause(&mut self, actor: usize, span: Duration) {
        if matches!(self.seats[actor].condition, Condition::Up) {
            self.note(actor, format_args!("-- is stopped for {span:?}"));
            self.seats[actor].condition = Condition::Paused(Vec::new());
            self.schedule(span, Event::Resume(actor));
        }
    }

    pub(super) fn resume(&mut self, actor: usize) {
        if !matches!(self.seats[actor].condition, Condition::Paused(_)) {
            return;
        }
        let condition = std::mem::replace(&mut self.seats[actor].condition, Condition::Up);
        let Condition::Paused(backlog) = condition else { return };
        self.note(actor, format_args!("goes on, {} things waited", backlog.len()));
        for event in backlog {
            if let Event::Reach { actor, life, call, input } = event {
                self.reached(actor, life, call, *input);
            }
        }
    }

    /// Another reader of a subscription is in office. The former one hears of it late, or not at all.
    pub(crate) fn elect(&mut self, subscription: usize) {
        if !self.plan.subscriptions.get(subscription).is_some_and(|plan| plan.office) {
            return;
        }
        let readers: Vec<usize> = (0..self.seats.len())
            .filter(|seat| self.reads(*seat, subscription) && self.seats[*seat].is_up())
            .collect();
        let Some(holder) = self.rng.choice(readers) else {
            self.schedule(Duration::from_millis(500), Event::Elect(subscription));
            return;
        };
        let office = &mut self.offices[subscription];
        office.term += 1;
        let (term, former) = (office.term, office.holder.replace(holder));
        self.note(holder, format_args!("-- is in office, term {term}"));
        if let Some(former) = former.filter(|former| *former != holder)
            && self.rng.bool()
        {
            let (life, after) =
                (self.seats[former].life, Duration::from_micros(self.rng.u64(100..1_000_000)));
            let input = Box::new(Input::Deposed(term - 1));
            self.schedule(after, Event::Reach { actor: former, life, call: None, input });
        }
        let life = self.seats[holder].life;
        self.reach(holder, life, Input::Elected(term));
    }

    fn reads(&self, seat: usize, subscription: usize) -> bool {
        self.seats[seat].actor.reader().is_some_and(|reader| reader.subscription == subscription)
    }

    /// An operator looks after subscriptions: one that stands still is moved on, another one is sent back at will.
    pub(super) fn visit_operators(&mut self) {
        if let Some(longest) = self.plan.operators.filter(|_| self.stormy) {
            for subscription in 0..self.names.len() {
                if !self.move_on(subscription) && self.rng.u32(0..4) == 0 {
                    let at = self.checkpoint(subscription).0;
                    let to = if self.rng.bool() { 0 } else { self.rng.i64(0..=at) };
                    self.rewind(subscription, Position(to));
                }
            }
            let pause = longest.mul_f64(0.1 + 0.9 * self.rng.f64());
            self.schedule(pause, Event::Operators);
        }
    }

    /// Moves the checkpoint of a subscription that stands still past what it cannot handle.
    pub(crate) fn move_on(&mut self, subscription: usize) -> bool {
        let halted = (0..self.seats.len())
            .filter(|seat| self.reads(*seat, subscription) && self.seats[*seat].is_up())
            .filter_map(|seat| self.seats[seat].actor.reader()?.halted_at())
            .min();
        let Some(at) = halted.filter(|at| *at > self.checkpoint(subscription)) else { return false };
        self.rewind(subscription, at);
        true
    }

    /// Moves a checkpoint to any place up to the end of the log.
    pub(crate) fn rewind(&mut self, subscription: usize, to: Position) {
        let name = self.names[subscription].clone();
        let end = self.books.head();
        if self.books.checkpoints.rewind(&name, to, end, "operator", self.now) != Rewind::Moved {
            return;
        }
        self.tally.rewinds += 1;
        self.note_store(format_args!("-- operator moves checkpoint {subscription} to {to}"));
        self.books.facts.push(Fact::Event(EventFact::Rewound { subscription, to }));
    }

    /// Ends all faults: links heal, stopped processes go on, dead ones start again. What is under way still arrives.
    pub(crate) fn calm_down(&mut self) {
        self.note_store(format_args!("-- calm"));
        self.stormy = false;
        self.climate = Climate::CLEAR;
        for actor in 0..self.seats.len() {
            self.seats[actor].weather = Weather::CLEAR;
            self.seats[actor].cut_until = EPOCH;
            self.resume(actor);
            self.restart(actor);
        }
        for subscription in 0..self.names.len() {
            self.elect(subscription);
        }
    }

    /// The seats of entity hosts.
    pub(super) fn hosts(&self) -> Vec<usize> {
        (0..self.seats.len()).filter(|seat| matches!(self.seats[*seat].actor, Actor::Host(_))).collect()
    }
}
