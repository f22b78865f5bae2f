//! Plans are tried against the store's own decisions: a small world of tables and leases, in which every plan must be
//! taken as it is.

mod moves;
mod properties;
mod scenarios;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Picture, plan};
use crate::cluster::{
    Agents, Answer, ClusterSettings, Daemon, DaemonFilter, DaemonName, DaemonSpec, DaemonState, Group,
    LEADER_LEASE, Labels, Member, Order, Placement, Refusal, Revision, Steering, Verdict, node_lease,
};
use crate::id::{Node, NodeName, Unique};
use crate::lease::{Fence, LeaseName, LeaseRecord, Term};
use crate::memory::ClusterTables;
use crate::time::StoreTime;

const LEADER_TERM: u64 = 7;

fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

fn name(text: &str) -> DaemonName {
    DaemonName::new(text).unwrap()
}

fn secs(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn term(number: u64) -> Term {
    Term::new(number).unwrap()
}

fn spec(text: &str) -> DaemonSpec {
    DaemonSpec::new(name(text))
}

/// A node that can run every daemon of the family `w`.
fn member(name: &str) -> Member {
    Member {
        node: Node { name: node(name), incarnation: Unique::from_u128(1), machine: "m".into(), pid: 1 },
        term: term(1),
        labels: Labels::default(),
        version: "1".into(),
        capacity: 1,
        leads: true,
        agents: Agents { names: BTreeSet::new(), families: ["w".to_owned()].into() },
        leaving: false,
        joined_at: StoreTime::from_micros(0),
        revision: Revision::default(),
    }
}

fn labelled(name: &str, key: &str, value: &str) -> Member {
    Member { labels: Labels([(key.to_owned(), value.to_owned())].into()), ..member(name) }
}

/// A cluster whose nodes do at once what they are told, whenever they are asked to.
struct World {
    tables: ClusterTables,
    leases: BTreeMap<LeaseName, LeaseRecord>,
    terms: BTreeMap<NodeName, u64>,
    now: StoreTime,
    settings: ClusterSettings,
}

impl World {
    fn new() -> Self {
        let settings = ClusterSettings { moves_at_once: 100_000, ..ClusterSettings::default() };
        let now = StoreTime::from_micros(1_000_000_000_000_000);
        let (tables, leases, terms) = (ClusterTables::default(), BTreeMap::new(), BTreeMap::new());
        let mut world = Self { tables, leases, terms, now, settings };
        world.hold(LeaseName::new(LEADER_LEASE).unwrap(), LEADER_TERM, &member("leader").node);
        world
    }

    /// A world of nodes and daemons, all of which run.
    fn running(nodes: &[&str], daemons: usize) -> Self {
        let mut world = Self::new();
        for node in nodes {
            world.join(member(node));
        }
        world.declare_many(daemons);
        world.settle(false);
        world
    }

    fn hold(&mut self, lease: LeaseName, number: u64, node: &Node) -> Fence {
        let record = LeaseRecord {
            name: lease.clone(),
            term: term(number),
            node: node.clone(),
            claim: node.incarnation,
            renewals: 0,
            kind: None,
            backend: "memory".into(),
            acquired_at: self.now,
            renewed_at: self.now,
            expires_at: StoreTime::from_micros(i64::MAX),
            released_at: None,
            revoked_at: None,
            presence: None,
            origin: None,
        };
        self.leases.insert(lease.clone(), record);
        Fence { lease, term: term(number) }
    }

    fn apply(&mut self, order: &Order) -> Answer {
        self.tables.apply(order, &mut self.leases, &BTreeSet::new(), self.now).0
    }

    fn take(&mut self, order: &Order) {
        let answer = self.apply(order);
        let taken = matches!(&answer, Answer::Done(verdicts) if verdicts.iter().all(Verdict::is_taken));
        assert!(taken, "{order:?}: {answer:?}");
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now.after(span);
    }

    /// A node takes its lease anew and registers.
    fn join(&mut self, member: Member) {
        let name = member.node.name.clone();
        let number = *self.terms.entry(name.clone()).and_modify(|number| *number += 1).or_insert(1);
        self.hold(node_lease(&name).unwrap(), number, &member.node);
        self.register(member);
    }

    /// A living node says what it can do.
    fn register(&mut self, member: Member) {
        let fence = self.fence(&member.node.name);
        let deadlines = self.settings.deadlines();
        self.take(&Order::Register { fence, member: Box::new(member), declares: Vec::new(), deadlines });
    }

    fn fence(&self, name: &NodeName) -> Fence {
        Fence { lease: node_lease(name).unwrap(), term: term(self.terms[name]) }
    }

    fn leave(&mut self, name: &str) {
        let fence = self.fence(&node(name));
        self.take(&Order::Leave { fence, node: node(name) });
    }

    /// Its lease ends, and nothing else.
    fn die(&mut self, name: &str) {
        let lease = self.leases.get_mut(&node_lease(&node(name)).unwrap()).unwrap();
        lease.expires_at = lease.expires_at.min(self.now);
    }

    fn depart(&mut self, name: &str) {
        let fence = self.fence(&node(name));
        self.take(&Order::Depart { fence, node: node(name) });
        self.die(name);
    }

    fn declare(&mut self, specs: Vec<DaemonSpec>) {
        let deadlines = self.settings.deadlines();
        self.take(&Order::Declare { specs, deadlines });
    }

    fn declare_many(&mut self, count: usize) {
        self.declare((0..count).map(|number| spec(&format!("w/{number:05}"))).collect());
    }

    fn retire(&mut self, daemon: &str) {
        let deadlines = self.settings.deadlines();
        self.take(&Order::Retire { daemons: vec![name(daemon)], by: None, deadlines });
    }

    fn steer(&mut self, daemon: &str, steering: Steering) -> Answer {
        let (daemon, deadlines) = (name(daemon), self.settings.deadlines());
        self.apply(&Order::Steer { daemon, steering, by: "ops".into(), deadlines })
    }

    /// A daemon fails on its node.
    fn fail(&mut self, daemon: &str) {
        let row = self.daemon(daemon);
        let node = row.node().unwrap().clone();
        let (fence, generation) = (self.fence(&node), row.generation.unwrap());
        let cool_down = self.settings.cool_down;
        let (daemon, reason) = (name(daemon), "boom".to_owned());
        self.take(&Order::Fail { fence, node, daemon, generation, reason, cool_down });
    }

    fn rows(&self) -> BTreeMap<DaemonName, Daemon> {
        let all = self.tables.daemons(&DaemonFilter::beginning(""));
        all.into_iter().map(|daemon| (daemon.name().clone(), daemon)).collect()
    }

    fn daemon(&self, daemon: &str) -> Daemon {
        self.rows()[&name(daemon)].clone()
    }

    fn plan(&self, quiet: bool) -> Vec<Placement> {
        let (look, daemons) = (self.tables.look(&self.leases, self.now), self.rows());
        let settings = &self.settings;
        plan(&Picture { now: self.now, nodes: &look.nodes, daemons: &daemons, quiet, settings })
    }

    /// Carries out what is planned: all of it is taken, and no daemon occurs twice.
    fn carry_out(&mut self, quiet: bool) -> Vec<Placement> {
        let placements = self.plan(quiet);
        let daemons: Vec<&DaemonName> = placements.iter().filter_map(Placement::daemon).collect();
        let once: BTreeSet<&DaemonName> = daemons.iter().copied().collect();
        assert_eq!(daemons.len(), once.len(), "a daemon occurs twice: {placements:?}");
        if !placements.is_empty() {
            let order = self.place(placements.clone());
            self.take(&order);
        }
        placements
    }

    fn place(&self, placements: Vec<Placement>) -> Order {
        let fence = Fence { lease: LeaseName::new(LEADER_LEASE).unwrap(), term: term(LEADER_TERM) };
        Order::Place { fence, placements, deadlines: self.settings.deadlines() }
    }

    /// Whether a node lives under the term of this place.
    fn lives(&self, (node, under): &(NodeName, Term)) -> bool {
        let lease = &self.leases[&node_lease(node).unwrap()];
        lease.term == *under && lease.is_held(self.now)
    }

    fn waiting(&self, state: DaemonState) -> BTreeMap<NodeName, Vec<(DaemonName, Term)>> {
        let mut waiting: BTreeMap<NodeName, Vec<(DaemonName, Term)>> = BTreeMap::new();
        for daemon in self.rows().into_values().filter(|daemon| daemon.state == state) {
            let place = daemon.place.clone().unwrap();
            if self.lives(&place) {
                waiting.entry(place.0).or_default().push((daemon.name().clone(), daemon.generation.unwrap()));
            }
        }
        waiting
    }

    /// The nodes stop what they are to stop, and say yes to what they are given.
    fn answer(&mut self) {
        let deadlines = self.settings.deadlines();
        for (node, daemons) in self.waiting(DaemonState::Revoking) {
            let fence = self.fence(&node);
            self.take(&Order::Confirm { fence, node, daemons, deadlines });
        }
        for (node, daemons) in self.waiting(DaemonState::Assigning) {
            let fence = self.fence(&node);
            // A node that leaves says no.
            self.apply(&Order::Acknowledge { fence, node, daemons });
        }
    }

    /// Plans and answers until there is nothing more to do; says in how many rounds.
    fn settle(&mut self, quiet: bool) -> usize {
        for round in 0..200 {
            let waits = |state| !self.waiting(state).is_empty();
            let waits = waits(DaemonState::Revoking) || waits(DaemonState::Assigning);
            if self.carry_out(quiet).is_empty() && !waits {
                return round;
            }
            self.answer();
            self.pass(Duration::from_millis(50));
        }
        panic!("no end: {:?}", self.plan(quiet));
    }

    /// How many daemons each node has.
    fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for daemon in self.rows().values() {
            if let Some(node) = daemon.node() {
                *counts.entry(node.to_string()).or_default() += 1;
            }
        }
        counts
    }

    /// How often each daemon was placed after a moment at which it had been placed so often.
    fn moves_since(&self, before: &BTreeMap<DaemonName, Daemon>) -> Vec<u64> {
        self.rows()
            .iter()
            .map(|(name, row)| row.moves - before.get(name).map_or(0, |row| row.moves))
            .collect()
    }
}

/// The reasons for a daemon in a plan.
fn reason(placements: &[Placement], daemon: &str) -> String {
    let of = placements.iter().find(|placement| placement.daemon() == Some(&name(daemon)));
    match of.unwrap_or_else(|| panic!("nothing about {daemon}: {placements:?}")) {
        Placement::Assign { reason, .. }
        | Placement::Revoke { reason, .. }
        | Placement::Unassign { reason, .. }
        | Placement::Explain { reason, .. } => reason.clone(),
        Placement::Remove { .. } | Placement::Forget { .. } => panic!("without a reason"),
    }
}

/// Where a daemon goes by a plan.
fn goes_to(placements: &[Placement], daemon: &str) -> Option<String> {
    placements.iter().find(|placement| placement.daemon() == Some(&name(daemon))).and_then(|placement| {
        match placement {
            Placement::Assign { to, .. } => Some(to.to_string()),
            Placement::Revoke { next, .. } => next.as_ref().map(ToString::to_string),
            _ => None,
        }
    })
}
