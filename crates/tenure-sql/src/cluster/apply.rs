//! An order from its first lock to its end.
//!
//! Nobody who holds a fence is waited for, but for the office's own: neither the transaction that has checked a daemon's
//! fence, nor one that has checked a node's. The office's fence is shared as any is, so whoever takes the office over waits
//! until the order is done.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::StoreError;
use tenure_core::cluster::{
    Answer as Outcome, Daemon, DaemonName, Decided, Member, NODE_LEASE_PREFIX, Order, Rows, decide,
    node_lease,
};
use tenure_core::id::NodeName;
use tenure_core::lease::{LeaseName, LeaseRecord};
use tenure_core::time::StoreTime;

use crate::batch::by_names;
use crate::driver::{Answer, Call, Session, Turn};
use crate::fault::{Fault, FaultKind};
use crate::reader::Columns as _;
use crate::row::Row;
use crate::store::Shared;
use crate::work::TRIES;

/// What stops an order that is being read.
enum Trouble {
    /// The session failed.
    Fault(Fault),
    /// A row holds what no version of Tenure wrote.
    Row(StoreError),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Row(error)
    }
}

impl Shared {
    pub(super) async fn carry_out(&self, order: &Order) -> Result<Outcome, StoreError> {
        let mut tried = 1;
        loop {
            let mut lent = self.lend(Turn::Work).await?;
            let decided = match self.read_order(&mut *lent, order).await {
                Ok(rows) => Ok(decide(order, rows)),
                Err(Trouble::Row(error)) => Err(error),
                Err(Trouble::Fault(fault)) => {
                    // While many nodes answer at once, the queue for the cluster's row is longer than a lock is usually
                    // waited for; nothing is held yet by who stands in it.
                    let passes = matches!(fault.kind, FaultKind::Deadlock | FaultKind::Busy);
                    let again = passes && tried < TRIES;
                    let _ = self.settle(lent, Err::<(), _>(fault.clone())).await;
                    if again {
                        tried += 1;
                        continue;
                    }
                    return Err(fault.into_error(self.label()));
                }
            };
            let calls = match &decided {
                Ok(Decided { writes, .. }) if !writes.is_empty() => self.cluster_writes(writes),
                _ => vec![Call::new(&self.statements.rollback, [])],
            };
            let ended = lent.run_all(&calls).await;
            match self.settle(lent, ended).await {
                Ok(_) => return decided.map(|decided| decided.answer),
                Err(fault) if fault.kind == FaultKind::Deadlock && tried < TRIES => tried += 1,
                Err(fault) => return Err(fault.into_error(self.label())),
            }
        }
    }

    /// What a decision needs, under the locks.
    async fn read_order(&self, session: &mut dyn Session, order: &Order) -> Result<Rows, Trouble> {
        let (texts, reader) = (&self.statements, self.reader());
        let named: BTreeSet<&DaemonName> = order.daemons().into_iter().collect();
        // A name that is too long for a lease has none.
        let leases: Vec<LeaseName> = named.iter().filter_map(|daemon| daemon.lease().ok()).collect();
        let leases = || leases.iter().map(LeaseName::as_str);
        let mut ask = Asking::default();
        ask.add(vec![Call::new(&texts.begin, []), Call::new(&texts.cluster_bump, [])]);
        let revision = ask.add(vec![Call::new(&texts.cluster_revision, [])]);
        let office = ask.add(order.fence().map(|fence| self.hold_fence(fence).to_vec()).unwrap_or_default());
        // The clock comes with the nodes: after the row and the office were had, however long that took.
        let nodes = ask.add(vec![Call::new(&texts.cluster_nodes, [NODE_LEASE_PREFIX.into()])]);
        let mut rows = by_names(&texts.daemons_named, named.iter().map(|daemon| daemon.as_str()));
        rows.extend(by_names(&texts.daemons_of_groups, order.groups()));
        let daemons = ask.add(rows);
        // First the fences, then what is behind them.
        let had = ask.add(by_names(&texts.fences_try, leases()));
        let there = ask.add(by_names(&texts.fences_there, leases()));
        let behind = ask.add(by_names(&texts.leases_named, leases()));
        let answers = session.run_all(&ask.calls).await?;
        let rows_of = |part: &Part| answers_of(&answers, part).iter().flat_map(|answer| &answer.rows);

        let bumped = rows_of(&revision).next().ok_or_else(|| reader.no_cluster())?;
        let revision = reader.revision(bumped, "revision")?;
        let office = match order.fence() {
            Some(_) => self.held_lease(answers_of(&answers, &office))?.0,
            None => None,
        };
        let first = rows_of(&nodes).next().ok_or_else(|| self.no_row())?;
        let now = StoreTime::from_micros(reader.need(first.number("now_us"), "now_us")?);
        let (mut members, mut node_leases) = (Vec::new(), BTreeMap::new());
        for row in rows_of(&nodes) {
            let (lease, _) = reader.lease_and_now(row)?;
            if let Some(member) = reader.member(row)? {
                node_leases.extend(lease.map(|lease| (member.node.name.clone(), lease)));
                members.push(member);
            }
        }
        let daemons = rows_of(&daemons).map(|row| reader.daemon(row).map(|it| (it.name().clone(), it)));
        let daemons = daemons.collect::<Result<BTreeMap<DaemonName, Daemon>, StoreError>>()?;
        let had = rows_of(&had).map(|row| reader.lease_name(row)).collect::<Result<BTreeSet<_>, _>>()?;
        let there = rows_of(&there).map(|row| reader.lease_name(row)).collect::<Result<BTreeSet<_>, _>>()?;
        let in_use = there.difference(&had).filter_map(DaemonName::of_lease).collect();
        let mut leases = BTreeMap::new();
        for row in rows_of(&behind) {
            let lease = reader.lease(row)?;
            leases.extend(DaemonName::of_lease(&lease.name).map(|daemon| (daemon, lease)));
        }

        let doubtful = doubtful(order, &members, &daemons, &node_leases, now);
        self.hold_nodes(session, &doubtful, &mut node_leases).await?;
        Ok(Rows { now, revision, office, nodes: members, daemons, leases, in_use, node_leases })
    }

    /// Holds the leases of nodes that seem to be over, and reads them again: a renewal that is under way was perhaps in time.
    async fn hold_nodes(
        &self,
        session: &mut dyn Session,
        doubtful: &BTreeSet<LeaseName>,
        node_leases: &mut BTreeMap<NodeName, LeaseRecord>,
    ) -> Result<(), Trouble> {
        let names = || doubtful.iter().map(LeaseName::as_str);
        let mut ask = Asking::default();
        ask.add(by_names(&self.statements.leases_hold, names()));
        let read = ask.add(by_names(&self.statements.leases_named, names()));
        if ask.calls.is_empty() {
            return Ok(());
        }
        let answers = session.run_all(&ask.calls).await?;
        let rows: Vec<&Row> = answers_of(&answers, &read).iter().flat_map(|answer| &answer.rows).collect();
        for row in rows {
            let lease = self.reader().lease(row)?;
            node_leases.extend(node_of(&lease.name).map(|node| (node, lease)));
        }
        Ok(())
    }
}

/// Which answers belong to a part of what is asked.
type Part = std::ops::Range<usize>;

/// Several things that are asked in one round trip.
#[derive(Default)]
struct Asking<'a> {
    calls: Vec<Call<'a>>,
}

impl<'a> Asking<'a> {
    fn add(&mut self, calls: Vec<Call<'a>>) -> Part {
        let first = self.calls.len();
        self.calls.extend(calls);
        first..self.calls.len()
    }
}

fn answers_of<'a>(answers: &'a [Answer], part: &Part) -> &'a [Answer] {
    answers.get(part.clone()).unwrap_or_default()
}

/// The leases of nodes that seem to be over, and of those that a daemon is placed on or an order is about although they have
/// no row.
fn doubtful(
    order: &Order,
    members: &[Member],
    daemons: &BTreeMap<DaemonName, Daemon>,
    node_leases: &BTreeMap<NodeName, LeaseRecord>,
    now: StoreTime,
) -> BTreeSet<LeaseName> {
    let registered = members.iter().map(|member| &member.node.name);
    let places = daemons.values().filter_map(Daemon::node);
    let seem = |node: &&NodeName| !node_leases.get(*node).is_some_and(|lease| settled(lease, now));
    // A name that is too long for a lease has none.
    let all = registered.chain(places).chain(order.node()).filter(seem);
    all.filter_map(|node| node_lease(node).ok()).collect()
}

/// Whether no renewal can make a difference: it was given back, or its ttl has not ended.
fn settled(lease: &LeaseRecord, now: StoreTime) -> bool {
    lease.released_at.is_some() || lease.expires_at > now
}

fn node_of(lease: &LeaseName) -> Option<NodeName> {
    NodeName::new(lease.as_str().strip_prefix(NODE_LEASE_PREFIX)?).ok()
}
