//! The store of a cluster: leases, sessions and the tables of the cluster, decided as every store decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::cluster::{Answer, Daemon, DaemonFilter, DaemonName, Member, Order, PAGE, node_lease};
use tenure_core::id::NodeName;
use tenure_core::lease::decide::{self, Decision, RenewAnswer};
use tenure_core::lease::{Acquire, Cause, Change, FenceCheck, LeaseName, LeaseRecord, Term};
use tenure_core::memory::ClusterTables;
use tenure_core::time::StoreTime;

use super::message::{Call, Reply};
use crate::oracle::{ClusterFact, Fact, Ordered};
use crate::world::message::{Answer as LeaseAnswer, Request};
use crate::world::sessions::{Caller, Sessions};

/// What this store calls itself in rows.
const BACKEND: &str = "sim";

/// Everything that is kept.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(super) leases: BTreeMap<LeaseName, LeaseRecord>,
    remembered: BTreeMap<LeaseName, Term>,
    pub(super) sessions: Sessions,
    pub(super) tables: ClusterTables,
    /// What happened since the oracle last looked.
    pub(super) facts: Vec<Fact>,
}

impl Store {
    /// Answers a call; `None`: there is no answer yet, the caller waits for a flag.
    pub(super) fn handle(&mut self, who: Caller, call: &Call, now: StoreTime) -> Option<Reply> {
        Some(match call {
            Call::Lease(request) => Reply::Lease(self.lease(who, request, now)?),
            Call::Look => Reply::Look(Arc::new(self.tables.look(&self.leases, now))),
            Call::Rows(node) => Reply::Rows(self.tables.daemons(&DaemonFilter::of_node(node.clone()))),
            Call::Read(cursor) => Reply::Rows(self.tables.daemons_after(cursor, PAGE)),
            Call::Apply(order) => Reply::Applied(self.apply(order, now)),
            Call::Effect(daemon, fence) => {
                let accepted = decide::check(self.leases.get(&fence.lease), fence, now) == FenceCheck::Holds;
                let (daemon, generation) = (daemon.clone(), fence.term);
                self.fact(ClusterFact::Effect { daemon, generation, accepted });
                Reply::Noted
            }
        })
    }

    pub(super) fn fact(&mut self, fact: ClusterFact) {
        self.facts.push(Fact::Cluster(fact));
    }

    fn lease(&mut self, who: Caller, request: &Request, now: StoreTime) -> Option<LeaseAnswer> {
        Some(match request {
            Request::Acquire(claim) => {
                let row = self.leases.get(&claim.name);
                let remembered = self.remembered.get(&claim.name).copied();
                match decide::acquire(row, remembered, claim, BACKEND, now) {
                    Ok(decision) => LeaseAnswer::Acquire(self.decided(decision)),
                    Err(error) => LeaseAnswer::Regress(error),
                }
            }
            Request::Renew(grant, renewal) => {
                let decision = decide::renew(self.leases.get(&grant.name), grant, renewal, now);
                match self.decided(decision) {
                    RenewAnswer::Is(answer) => LeaseAnswer::Renew(answer),
                    RenewAnswer::OutOfOrder => LeaseAnswer::Doubt,
                }
            }
            Request::Release(grant) => {
                let decision = decide::release(self.leases.get(&grant.name), grant, now);
                LeaseAnswer::Release(self.decided(decision))
            }
            Request::Open(id, idle_timeout) => self.sessions.open(who, *id, *idle_timeout, now),
            Request::Ping(id) => self.sessions.ping(*id, now),
            Request::Close(id) => self.sessions.close(*id),
            Request::Raise(flag) => self.sessions.raise(flag, now),
            Request::Lower(flag) => self.sessions.lower(flag, now),
            Request::Watch(flag) => return self.sessions.watch(who, flag),
            _ => return None,
        })
    }

    fn decided<O>(&mut self, decision: Decision<O>) -> O {
        if let Some(row) = decision.write {
            self.leases.insert(row.name.clone(), row);
        }
        self.remember(decision.history);
        decision.outcome
    }

    fn remember(&mut self, history: Vec<Change>) {
        for line in history {
            let last = self.remembered.entry(line.name.clone()).or_insert(line.term);
            *last = line.term.max(*last);
            if line.cause == Cause::Acquired {
                self.fact(ClusterFact::Granted { lease: line.name, term: line.term });
            }
        }
    }

    /// Carries out an order, and tells the oracle what it did.
    pub(super) fn apply(&mut self, order: &Arc<Order>, now: StoreTime) -> Answer {
        let look = self.tables.look(&self.leases, now);
        let before = self.daemons();
        let nodes = self.nodes(now);
        let places = before.values().filter_map(|daemon| daemon.place.clone());
        let living =
            places.chain(nodes.iter().cloned()).filter(|(node, term)| self.holds(node, *term, now)).collect();
        let leaving = look.nodes.iter().map(|standing| &standing.member).filter(|member| member.leaving);
        let leaving = leaving.map(|member| member.node.name.clone()).collect();
        let (answer, history) = self.tables.apply(order, &mut self.leases, &BTreeSet::new(), now);
        self.remember(history);
        let ordered = Ordered {
            now,
            order: order.clone(),
            answer: answer.clone(),
            before,
            after: self.daemons(),
            living,
            leaving,
            nodes_before: nodes,
            nodes_after: self.nodes(now),
        };
        self.fact(ClusterFact::Ordered(Box::new(ordered)));
        answer
    }

    /// All daemons.
    pub(super) fn daemons(&self) -> BTreeMap<DaemonName, Daemon> {
        let all = self.tables.daemons(&DaemonFilter::beginning(""));
        all.into_iter().map(|daemon| (daemon.name().clone(), daemon)).collect()
    }

    fn nodes(&self, now: StoreTime) -> BTreeSet<(NodeName, Term)> {
        let look = self.tables.look(&self.leases, now);
        look.nodes.into_iter().map(|standing| (standing.member.node.name, standing.member.term)).collect()
    }

    /// Whether a grant of a node's lease holds.
    pub(super) fn holds(&self, node: &NodeName, term: Term, now: StoreTime) -> bool {
        let lease = node_lease(node).ok().and_then(|lease| self.leases.get(&lease));
        lease.is_some_and(|lease| lease.term == term && lease.is_held(now))
    }

    /// The nodes that live, by their rows.
    pub(super) fn living(&self, now: StoreTime) -> Vec<Member> {
        let look = self.tables.look(&self.leases, now);
        let living = look.nodes.into_iter().filter(|standing| standing.is_alive(now));
        living.map(|standing| standing.member).collect()
    }
}

/// Whether an answer says that something was granted; for lines of the trace.
pub(super) fn is_granted(reply: &Reply) -> bool {
    matches!(reply, Reply::Lease(LeaseAnswer::Acquire(Acquire::Granted(_))))
}
