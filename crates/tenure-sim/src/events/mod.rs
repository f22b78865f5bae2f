//! The world of events: a store whose positions are taken early and whose commits come late, and everyone around it.
//!
//! ```text
//!   writers ───────────── append ──▶ ┌───────┐ ◀── read, move the checkpoint ── readers, two of each subscription
//!   entity hosts ─ read, append ───▶ │ books │
//!        ▲                           └───┬───┘ ◀── rewind ── operators
//!        └──── courier ◀── dispatches ───┘
//! ```
//!
//! As in the other world there is one thread, one source of chance and no clock but the queue; after every step the oracle
//! looks at what became visible and at what readers made of it.

mod actor;
mod books;
mod courier;
mod desk;
mod direct;
mod entity;
mod hindsight;
mod host;
mod message;
mod network;
mod reader;
mod tally;
mod trouble;
mod writer;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use tenure_core::subscription::SubscriptionName;
use tenure_core::time::{Monotonic, StoreTime};

use actor::{Actor, Input, Turn};
use books::{Books, Caller};
use courier::Posted;
use host::Host;
use message::Request;
use network::Seat;
use reader::Reader;
use writer::Writer;

pub(crate) use books::Stage;
pub(crate) use courier::Mail;
pub(crate) use direct::Snare;
pub(crate) use message::Kind;
pub use tally::EventTally;

use crate::clock::EPOCH;
use crate::faults::Climate;
use crate::oracle::{EventFact, Fact, Moment, Oracle};
use crate::plan::EventsPlan;
use crate::report::Failure;
use crate::trace::Trace;

/// What waits in the queue.
#[derive(Debug, Clone)]
enum Event {
    /// Something reaches an actor.
    Reach {
        actor: usize,
        life: u64,
        call: Option<u64>,
        input: Box<Input>,
    },
    /// A call reaches the store.
    Arrive {
        caller: Caller,
        request: Box<Request>,
    },
    /// The next step of a transaction.
    Append(u64),
    /// The next question of a look at all streams.
    Read(u64),
    /// Someone outside tells an entity something.
    Tell,
    Deliver(usize),
    Mail {
        host: usize,
        number: usize,
    },
    Weather(usize),
    Trouble,
    Operators,
    Elect(usize),
    Resume(usize),
    Restart(usize),
}

/// Who may move the checkpoint of a subscription.
#[derive(Debug, Clone, Copy, Default)]
struct Office {
    term: u64,
    holder: Option<usize>,
}

/// One world of events.
#[derive(Debug)]
pub(crate) struct EventsWorld {
    pub(crate) plan: EventsPlan,
    pub(crate) now: StoreTime,
    queue: BTreeMap<(StoreTime, u64), Event>,
    scheduled: u64,
    rng: Rng,
    pub(crate) books: Books,
    seats: Vec<Seat>,
    offices: Vec<Office>,
    names: Vec<SubscriptionName>,
    pub(crate) mails: Vec<Posted>,
    climate: Climate,
    snares: Vec<Snare>,
    /// Whether faults go on, and people do things by themselves.
    stormy: bool,
    pub(crate) tally: EventTally,
    oracle: Oracle,
    trace: Trace,
}

impl EventsWorld {
    /// A world according to plan.
    pub(crate) fn new(plan: EventsPlan) -> Self {
        let mut world = Self {
            now: EPOCH,
            queue: BTreeMap::new(),
            scheduled: 0,
            rng: Rng::with_seed(plan.seed ^ 0xeeee_5eed_eeee_5eed),
            books: Books::new(plan.subscriptions.iter().any(|one| one.poison > 0)),
            seats: Vec::new(),
            offices: vec![Office::default(); plan.subscriptions.len()],
            names: Vec::new(),
            mails: Vec::new(),
            climate: plan.climate,
            snares: Vec::new(),
            stormy: true,
            tally: EventTally::default(),
            oracle: Oracle::of_events(),
            trace: Trace::new(),
            plan,
        };
        world.populate();
        world
    }

    fn populate(&mut self) {
        let plan = self.plan.clone();
        for index in 0..plan.writers {
            self.sit_down(Actor::Writer(Writer::new(index, plan.writing, plan.mail.entities)));
        }
        for _ in 0..plan.hosts {
            self.sit_down(Actor::Host(Box::new(Host::new(plan.entities))));
        }
        for (index, subscription) in plan.subscriptions.iter().enumerate() {
            let name = named(SubscriptionName::new(format!("subscription-{index}")));
            self.names.push(name.clone());
            for _ in 0..subscription.readers {
                let reader = Reader::new(index, name.clone(), subscription.clone());
                self.sit_down(Actor::Reader(Box::new(reader)));
            }
            if subscription.office {
                self.schedule(Duration::from_millis(10), Event::Elect(index));
            }
        }
        if !plan.mail.pause.is_zero() {
            self.schedule(Duration::from_millis(20), Event::Tell);
        }
        if plan.trouble.is_some() {
            self.schedule(Duration::from_millis(500), Event::Trouble);
        }
        if plan.operators.is_some() {
            self.schedule(Duration::from_secs(2), Event::Operators);
        }
    }

    fn sit_down(&mut self, actor: Actor) {
        self.seats.push(Seat::new(actor));
        let actor = self.seats.len() - 1;
        let start = Duration::from_micros(self.rng.u64(0..200_000));
        self.schedule(start, Event::Reach { actor, life: 0, call: None, input: Box::new(Input::Wake) });
        if self.plan.trouble.is_some() {
            self.schedule(start, Event::Weather(actor));
        }
    }

    /// Takes the next step; `false` when nothing is left to happen before `until`.
    fn step(&mut self, until: StoreTime) -> Result<bool, Failure> {
        let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) else {
            self.now = self.now.max(until);
            return Ok(false);
        };
        let ((at, _), event) = entry.remove_entry();
        self.now = at;
        self.tally.steps += 1;
        self.happen(event);
        self.look()?;
        Ok(true)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Reach { actor, life, call, input } => self.reached(actor, life, call, *input),
            Event::Arrive { caller, request } => self.arrive(caller, *request),
            Event::Append(transaction) => self.append_on(transaction),
            Event::Read(reading) => self.read_on(reading),
            Event::Tell => self.tell_entities(),
            Event::Deliver(number) => self.deliver(number),
            Event::Mail { host, number } => self.mail_arrives(host, number),
            Event::Weather(actor) => self.change_weather(actor),
            Event::Trouble => self.fall_into_trouble(),
            Event::Operators => self.visit_operators(),
            Event::Elect(subscription) => self.elect(subscription),
            Event::Resume(actor) => self.resume(actor),
            Event::Restart(actor) => self.restart(actor),
        }
    }

    /// Shows the step to the oracle, and gives the courier what was sent.
    fn look(&mut self) -> Result<(), Failure> {
        for message in std::mem::take(&mut self.books.post) {
            if let Some(mail) = Mail::of(&message) {
                self.post(mail);
            }
        }
        let facts = std::mem::take(&mut self.books.facts);
        self.tally.count(&facts);
        for fact in &facts {
            if let Fact::Event(EventFact::Marked { id, refused: Some(_), .. }) = fact
                && self.would_be_accepted(*id)
            {
                self.tally.refused_by_old_state += 1;
                self.note_store(format_args!("message {id} was refused by an old state"));
            }
        }
        let moment = Moment { now: self.now, facts: &facts, believers: &[], runners: &[] };
        self.oracle.judge(&moment).map_err(|violation| self.failure(violation.invariant, violation.message))
    }

    /// A failure of this world, here and now.
    pub(crate) fn failure(&self, invariant: &'static str, message: String) -> Failure {
        Failure {
            seed: self.plan.seed,
            rule: None,
            scenario: None,
            invariant,
            message,
            at: EPOCH.until(self.now),
            trace: self.trace.last(),
        }
    }

    fn schedule(&mut self, after: Duration, event: Event) {
        self.scheduled += 1;
        self.queue.insert((self.now.after(after), self.scheduled), event);
    }

    fn turn<'a>(now: StoreTime, rng: &'a mut Rng, stormy: bool) -> Turn<'a> {
        Turn {
            now: Monotonic::from_origin(EPOCH.until(now)),
            rng,
            ask: None,
            wake: None,
            facts: Vec::new(),
            notes: Vec::new(),
            verdicts: Vec::new(),
            stormy,
        }
    }

    fn note(&mut self, actor: usize, what: fmt::Arguments<'_>) {
        let who = match &self.seats[actor].actor {
            Actor::Writer(_) => "w",
            Actor::Host(_) => "h",
            Actor::Reader(_) => "r",
        };
        self.trace.note(self.now, &format!("{who}{actor}"), what);
    }

    fn note_store(&mut self, what: fmt::Arguments<'_>) {
        self.trace.note(self.now, "store", what);
    }
}

/// A name of the simulator's own.
fn named<N, E: fmt::Debug>(name: Result<N, E>) -> N {
    name.unwrap_or_else(|error| unreachable!("the simulator's own names are valid: {error:?}"))
}
