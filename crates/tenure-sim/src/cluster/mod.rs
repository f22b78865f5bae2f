//! The world of a cluster: nodes that live and die by their leases, one that leads, and daemons that run where they are told.
//!
//! The decisions are those of the core: leases, [`Host`](tenure_core::cluster::Host) on every node,
//! [`Coordinator`](tenure_core::cluster::Coordinator) on whoever leads, and the tables of the memory store. What is here
//! is what drivers, networks, machines and people add to them.
//!
//! | file | what it holds |
//! |---|---|
//! | `process` | a node's process: its session, its leases, and who of the following gets a turn |
//! | `chair` | one lease that a process wants or holds |
//! | `office`, `leading`, `burial` | what the drivers of a real node do |
//! | `copy` | a running daemon, and how it behaves |
//! | `store`, `message`, `network` | the store, what is asked of it, and the way there and back |
//! | `machine` | where a process runs, and how that is taken from it |
//! | `trouble` | blows, operators, and the calm after it |
//! | `direct`, `verdict` | what stories do with a world, and what they expect of it |

mod burial;
mod chair;
mod copy;
mod direct;
mod leading;
mod machine;
mod message;
mod network;
mod office;
mod process;
mod store;
mod tally;
mod trouble;
mod verdict;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tenure_core::cluster::{ClusterSettings, Order};
use tenure_core::id::Unique;
use tenure_core::time::StoreTime;

pub(crate) use direct::Trap;
use machine::Machine;
pub(crate) use message::Call;
use message::{Envelope, Reply};
use store::Store;
pub use tally::ClusterTally;
pub(crate) use trouble::ClusterBlow;

use crate::clock::EPOCH;
use crate::faults::Climate;
use crate::oracle::{ClusterFact, Fact, Moment, Oracle, Runner};
use crate::plan::{ClusterPlan, Manners};
use crate::report::Failure;
use crate::trace::Trace;

/// How often it is looked at what runs although nothing was started.
const LOOK: Duration = Duration::from_millis(500);

/// What waits in the queue.
#[derive(Debug, Clone)]
enum Event {
    Wake {
        node: usize,
        life: u64,
    },
    Arrive(Box<Envelope>),
    Answer {
        node: usize,
        life: u64,
        number: u64,
        reply: Option<Box<Reply>>,
    },
    SessionEnded {
        node: usize,
        life: u64,
        session: Unique,
    },
    Idle {
        session: Unique,
        owner: usize,
    },
    EndSessions {
        node: usize,
        life: u64,
    },
    Resume(usize),
    Restart(usize),
    /// A process that was to leave and has not is killed.
    Kill {
        node: usize,
        life: u64,
    },
    Stop {
        node: usize,
    },
    Weather(usize),
    Trouble,
    Operators,
}

/// One world with a cluster.
#[derive(Debug)]
pub(crate) struct ClusterWorld {
    pub(crate) plan: ClusterPlan,
    settings: Arc<ClusterSettings>,
    pub(crate) now: StoreTime,
    queue: BTreeMap<(StoreTime, u64), Event>,
    scheduled: u64,
    rng: Rng,
    pub(crate) store: Store,
    machines: Vec<Machine>,
    manners: Manners,
    climate: Climate,
    stormy: bool,
    traps: Vec<Trap>,
    runners: Vec<Runner>,
    /// The starts there were, and when, at the last look at what runs.
    looked: (u64, StoreTime),
    pub(crate) tally: ClusterTally,
    oracle: Oracle,
    trace: Trace,
}

impl ClusterWorld {
    /// A world according to plan.
    pub(crate) fn new(plan: ClusterPlan) -> Self {
        let settings = Arc::new(plan.settings.clone());
        let mut world = Self {
            now: EPOCH,
            queue: BTreeMap::new(),
            scheduled: 0,
            rng: Rng::with_seed(plan.seed ^ 0xda3e_0000_5eed),
            store: Store::default(),
            machines: Vec::new(),
            manners: plan.manners,
            climate: plan.climate,
            stormy: plan.trouble.is_some(),
            traps: Vec::new(),
            runners: Vec::new(),
            looked: (0, EPOCH),
            tally: ClusterTally::default(),
            oracle: Oracle::of_cluster(),
            trace: Trace::new(),
            settings,
            plan,
        };
        world.populate();
        world
    }

    fn populate(&mut self) {
        self.store.fact(ClusterFact::Kept {
            moves_at_once: self.settings.moves_at_once as usize,
            drain: self.settings.drain,
            node_ttl: self.settings.node_ttl,
        });
        let declare =
            Order::Declare { specs: self.plan.daemons.clone(), deadlines: self.settings.deadlines() };
        self.store.apply(&Arc::new(declare), self.now);
        for (index, plan) in self.plan.nodes.clone().into_iter().enumerate() {
            let machine = Machine::start(index, Arc::new(plan), self.settings.clone(), &mut self.rng);
            self.machines.push(machine);
            let start = Duration::from_micros(self.rng.u64(0..500_000));
            self.schedule(start, Event::Wake { node: index, life: 0 });
            self.schedule(start, Event::Weather(index));
        }
        if self.plan.trouble.is_some() {
            self.schedule(Duration::from_secs(3), Event::Trouble);
        }
        if self.plan.operators.is_some() {
            self.schedule(Duration::from_secs(3), Event::Operators);
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
            Event::Wake { .. } | Event::Answer { .. } | Event::SessionEnded { .. } => self.reach(event),
            Event::Arrive(envelope) => self.arrive(*envelope),
            Event::Idle { session, owner } => self.check_idle(session, owner),
            Event::EndSessions { node, life } => self.end_sessions(node, life),
            Event::Resume(node) => self.resume(node),
            Event::Restart(node) => self.restart(node),
            Event::Kill { node, life } => self.kill(node, life),
            Event::Stop { node } => {
                if self.stormy {
                    self.stop(node);
                }
            }
            Event::Weather(node) => self.change_weather(node),
            Event::Trouble => self.fall_into_trouble(),
            Event::Operators => self.visit_operators(),
        }
    }

    /// Shows the step to the oracle.
    fn look(&mut self) -> Result<(), Failure> {
        self.runners.clear();
        // Belief ends by itself and begins with a start: between two starts it is enough to look now and then.
        let moves = self.machines.iter().map(|machine| machine.process.moves()).sum();
        if self.looked.0 != moves || self.looked.1.until(self.now) >= LOOK {
            self.looked = (moves, self.now);
            for (node, machine) in self.machines.iter().enumerate() {
                machine.runners(node, self.now, &mut self.runners);
            }
        }
        if self.store.facts.is_empty() && self.runners.len() < 2 {
            return Ok(());
        }
        self.tally.count(&self.store.facts);
        let moment =
            Moment { now: self.now, facts: &self.store.facts, believers: &[], runners: &self.runners };
        let judged = self.oracle.judge(&moment);
        self.store.facts.clear();
        judged.map_err(|violation| self.failure(violation.invariant, violation.message))
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

    /// One number for every line of the trace.
    pub(crate) fn trace_hash(&self) -> u64 {
        self.trace.hash()
    }

    fn schedule(&mut self, after: Duration, event: Event) -> (StoreTime, u64) {
        self.scheduled += 1;
        let key = (self.now.after(after), self.scheduled);
        self.queue.insert(key, event);
        key
    }

    fn fact(&mut self, fact: ClusterFact) {
        self.store.facts.push(Fact::Cluster(fact));
    }

    fn note(&mut self, node: usize, what: fmt::Arguments<'_>) {
        self.trace.note(self.now, &format!("n{node}"), what);
    }

    fn note_store(&mut self, what: fmt::Arguments<'_>) {
        self.trace.note(self.now, "store", what);
    }
}

/// A name of the simulator's own.
fn valid<N, E: fmt::Debug>(name: Result<N, E>) -> N {
    name.unwrap_or_else(|error| unreachable!("the simulator's own names are valid: {error:?}"))
}
