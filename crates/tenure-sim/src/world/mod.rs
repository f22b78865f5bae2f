//! The world: one true time, one store, some nodes, and a queue of what will happen.
//!
//! ```text
//!   node ── request ──▶ (weather: lost, late, doubled) ──▶ store decides ── answer ──▶ (weather) ──▶ node
//!     ▲                                                      │
//!     └── wakes by its own steady clock                      └── flags fall: news to those who watch
//! ```
//!
//! There is one thread, one source of chance and no clock but the queue: a seed and a plan decide everything. After
//! every step the oracle looks at what the store did and at what each node believes.

mod direct;
mod host;
pub(crate) mod message;
mod misfortune;
mod network;
pub(crate) mod outbox;
pub(crate) mod sessions;
mod store;
mod tally;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use tenure_core::id::Unique;
use tenure_core::time::StoreTime;

pub(crate) use direct::Snare;
use host::Host;
use message::{Answer, Envelope};
use outbox::Outbox;
pub(crate) use store::Store;
pub use tally::Tally;

use crate::clock::EPOCH;
use crate::faults::{Climate, Trouble};
use crate::oracle::{Believer, Moment, Oracle};
use crate::plan::Plan;
use crate::report::Failure;
use crate::trace::Trace;

/// What waits in the queue.
#[derive(Debug, Clone)]
enum Event {
    /// A node's own timer.
    Wake {
        node: usize,
        life: u64,
    },
    /// A call reaches the store.
    Arrive(Box<Envelope>),
    /// An answer reaches a node, or its patience ends.
    Answer {
        node: usize,
        life: u64,
        call: u64,
        answer: Option<Box<Answer>>,
    },
    /// A node learns that its session is over.
    SessionEnded {
        node: usize,
        life: u64,
        session: Unique,
    },
    /// The store looks whether a session has been silent for too long.
    Idle {
        session: Unique,
        owner: usize,
    },
    /// The kernel of a dead process ends its connections.
    EndSessions {
        node: usize,
        life: u64,
    },
    Resume(usize),
    Restart(usize),
    /// The weather of a link changes.
    Weather(usize),
    /// A link that got slow is cut.
    FadeOut(usize, Duration),
    /// The next blow falls.
    Trouble,
    /// The receiver's mood changes.
    Mood,
    /// A producer begins a transaction.
    Produce,
    /// A transaction ends.
    End(u64),
    /// A producer does again what came to nobody knows what.
    Again(u64),
    Operators,
    /// Wake-ups for nothing.
    Gale,
    /// A wake-up reaches a node.
    Nudge {
        node: usize,
        life: u64,
    },
}

/// One world.
#[derive(Debug)]
pub(crate) struct World {
    seed: u64,
    pub(crate) now: StoreTime,
    queue: BTreeMap<(StoreTime, u64), Event>,
    scheduled: u64,
    rng: Rng,
    pub(crate) store: Store,
    hosts: Vec<Host>,
    climate: Climate,
    trouble: Option<Trouble>,
    snares: Vec<Snare>,
    pub(crate) outbox: Option<Outbox>,
    believers: Vec<Believer>,
    oracle: Oracle,
    trace: Trace,
}

impl World {
    /// A world according to plan, judged by `oracle`.
    pub(crate) fn new(plan: &Plan, oracle: Oracle) -> Self {
        let mut world = Self {
            seed: plan.seed,
            now: EPOCH,
            queue: BTreeMap::new(),
            scheduled: 0,
            // Another stream of chance than the one that made the plan.
            rng: Rng::with_seed(plan.seed ^ 0x5eed_5eed_5eed_5eed),
            store: Store::default(),
            hosts: Vec::new(),
            climate: plan.climate,
            trouble: plan.trouble.clone(),
            snares: Vec::new(),
            outbox: plan.outbox.clone().map(Outbox::new),
            believers: Vec::new(),
            oracle,
            trace: Trace::new(),
        };
        for (index, node) in plan.nodes.iter().enumerate() {
            let relaying = plan.outbox.as_ref().map(|outbox| outbox.relay.clone());
            let host = Host::start(index, node.clone(), relaying, &mut world.rng);
            world.hosts.push(host);
            let start = Duration::from_micros(world.rng.u64(0..500_000));
            world.schedule(start, Event::Wake { node: index, life: 0 });
            world.schedule(start, Event::Weather(index));
        }
        if world.trouble.is_some() {
            world.schedule(Duration::from_secs(1), Event::Trouble);
        }
        world.open_outbox();
        world
    }

    /// Takes the next step; `false` when nothing is left to happen before `until`.
    fn step(&mut self, until: StoreTime) -> Result<bool, Failure> {
        let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) else {
            self.now = self.now.max(until);
            return Ok(false);
        };
        let ((at, _), event) = entry.remove_entry();
        self.now = at;
        self.store.tally.steps += 1;
        self.happen(event);
        self.look()?;
        Ok(true)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Wake { .. } | Event::Answer { .. } | Event::SessionEnded { .. } | Event::Nudge { .. } => {
                self.reach(event);
            }
            Event::Arrive(envelope) => self.arrive(*envelope),
            Event::Idle { session, owner } => self.check_idle(session, owner),
            Event::EndSessions { node, life } => self.end_sessions(node, life),
            Event::Resume(node) => self.resume(node),
            Event::Restart(node) => self.restart(node),
            Event::Weather(node) => self.change_weather(node),
            Event::FadeOut(node, span) => self.fade_out(node, span),
            Event::Trouble => self.fall_into_trouble(),
            Event::Mood => self.change_mood(),
            Event::Produce => self.produce(),
            Event::End(transaction) => self.end(transaction),
            Event::Again(transaction) => self.produce_again(transaction),
            Event::Operators => self.visit_operators(),
            Event::Gale => self.gale(),
        }
    }

    /// Shows the step to the oracle.
    fn look(&mut self) -> Result<(), Failure> {
        self.believers.clear();
        for (node, host) in self.hosts.iter().enumerate() {
            self.believers.extend(host.belief(self.now).map(|term| Believer { node, term }));
        }
        let moment =
            Moment { now: self.now, facts: &self.store.facts, believers: &self.believers, runners: &[] };
        let judged = self.oracle.judge(&moment);
        self.store.facts.clear();
        judged.map_err(|violation| self.failure(violation.invariant, violation.message))
    }

    /// A failure of this world, here and now.
    pub(crate) fn failure(&self, invariant: &'static str, message: String) -> Failure {
        Failure {
            seed: self.seed,
            rule: None,
            scenario: None,
            invariant,
            message,
            at: EPOCH.until(self.now),
            trace: self.trace.last(),
        }
    }

    fn schedule(&mut self, after: Duration, event: Event) -> (StoreTime, u64) {
        self.scheduled += 1;
        let key = (self.now.after(after), self.scheduled);
        self.queue.insert(key, event);
        key
    }

    fn note(&mut self, node: usize, what: fmt::Arguments<'_>) {
        self.trace.note(self.now, &format!("n{node}"), what);
    }

    fn note_store(&mut self, what: fmt::Arguments<'_>) {
        self.trace.note(self.now, "store", what);
    }
}
