//! An order from its first lock to its commit.
//!
//! Nobody who holds a fence is waited for: neither the lease of a daemon whose fence was checked in an open transaction, nor
//! that of a node. The office's lease is held as any fence is (FOR KEY SHARE), so whoever takes the office over waits until
//! the order is done.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::StoreError;
use tenure_core::cluster::{
    Answer, Daemon, DaemonName, Decided, Member, NODE_LEASE_PREFIX, Order, Rows, Writes, decide, node_lease,
};
use tenure_core::id::NodeName;
use tenure_core::lease::{LeaseName, LeaseRecord};
use tenure_core::time::StoreTime;
use tenure_sql::{Columns as _, Reader};
use tokio::sync::SemaphorePermit;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::write::calls;
use crate::error::unreachable;
use crate::rows::Plain;
use crate::statements::{BEGIN_WRITE, ROLLBACK};
use crate::store::Shared;
use crate::transaction::{Lent, Unanswered};
use crate::writing::{Call, Params, batch, pipeline, query};

impl Shared {
    pub(super) async fn carry_out(&self, order: &Order) -> Result<Answer, StoreError> {
        let turn = self.turn().await?;
        let open = Open { shared: self, lent: self.lend().await?, _turn: turn };
        let rows = match open.read(order).await {
            Ok(rows) => rows,
            // Something may still come: the connection goes with it, and the server rolls back.
            Err(Trouble::Unanswered(Unanswered::Silence)) => return Err(self.explain(Unanswered::Silence)),
            Err(Trouble::Unanswered(no)) => {
                open.rollback().await;
                return Err(self.explain(no));
            }
            Err(Trouble::Row(error)) => {
                open.rollback().await;
                return Err(error);
            }
        };
        let Decided { answer, writes } = decide(order, rows);
        if writes.is_empty() {
            open.rollback().await;
        } else {
            open.write(&writes).await?;
        }
        Ok(answer)
    }
}

/// Why rows could not be read.
enum Trouble {
    Unanswered(Unanswered),
    Row(StoreError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Row(error)
    }
}

/// An open transaction that holds the cluster's row.
struct Open<'s> {
    shared: &'s Shared,
    lent: Lent,
    _turn: SemaphorePermit<'s>,
}

impl Open<'_> {
    async fn ask(&self, calls: Vec<Call<'_>>) -> Result<Vec<Vec<Row>>, Trouble> {
        self.shared.answer(pipeline(calls)).await.map_err(Trouble::Unanswered)
    }

    /// What a decision needs, under the locks: two round trips, because the rows of daemons say whose leases matter.
    async fn read(&self, order: &Order) -> Result<Rows, Trouble> {
        let (shared, client) = (self.shared, self.lent.client()?);
        let (statements, reader) = (&shared.statements.cluster, Reader { store: &shared.label });
        let begin = if shared.pooled { shared.limits.begin() } else { BEGIN_WRITE.to_owned() };
        let named: BTreeSet<&DaemonName> = order.daemons().into_iter().collect();
        let names: Vec<&str> = named.iter().map(|name| name.as_str()).collect();
        let mut groups = order.groups();
        // Nothing is called so, and the server would refuse it as text; the decision says why the name is none.
        groups.retain(|group| !group.contains('\0'));
        let office = order.fence().map(|fence| fence.lease.as_str());
        let office_params: Params<'_> = &[(&office, Type::TEXT)];
        let daemon_params: Params<'_> = &[(&names, Type::TEXT_ARRAY), (&groups, Type::TEXT_ARRAY)];
        let answers = self
            .ask(vec![
                batch(client, &begin),
                query(client, &statements.bump, &[]),
                query(client, &shared.statements.fence_check, office_params),
                query(client, &statements.nodes, &[]),
                query(client, &statements.daemons, daemon_params),
            ])
            .await?;
        let [_, bumped, office, nodes, daemons] = &answers[..] else { return Err(self.short().into()) };
        let bumped = bumped.first().ok_or_else(|| reader.no_cluster())?;
        let revision = reader.revision(&Plain(bumped), "revision")?;
        let office = office.first().map(|row| reader.lease(&Plain(row))).transpose()?;
        let nodes = nodes.iter().filter_map(|row| reader.member(&Plain(row)).transpose());
        let nodes = nodes.collect::<Result<Vec<Member>, StoreError>>()?;
        let daemons = daemons
            .iter()
            .map(|row| reader.daemon(&Plain(row)).map(|daemon| (daemon.name().clone(), daemon)));
        let daemons = daemons.collect::<Result<BTreeMap<DaemonName, Daemon>, StoreError>>()?;

        let leases = self.leases(&node_leases(order, &nodes, &daemons), &daemon_leases(&named)).await?;
        Ok(Rows {
            now: leases.now,
            revision,
            office,
            nodes,
            daemons,
            leases: leases.daemons,
            in_use: leases.in_use,
            node_leases: leases.nodes,
        })
    }

    async fn leases(&self, nodes: &[LeaseName], daemons: &[LeaseName]) -> Result<Leases, Trouble> {
        let (shared, client) = (self.shared, self.lent.client()?);
        let (statements, reader) = (&shared.statements.cluster, Reader { store: &shared.label });
        let nodes: Vec<&str> = nodes.iter().map(LeaseName::as_str).collect();
        let daemons: Vec<&str> = daemons.iter().map(LeaseName::as_str).collect();
        let over: Params<'_> = &[(&nodes, Type::TEXT_ARRAY)];
        let both: Params<'_> = &[(&nodes, Type::TEXT_ARRAY), (&daemons, Type::TEXT_ARRAY)];
        let calls = vec![query(client, &statements.over, over), query(client, &statements.leases, both)];
        let answers = self.ask(calls).await?;
        let [clock, rows] = &answers[..] else { return Err(self.short().into()) };
        let clock = clock.first().ok_or_else(|| self.short())?;
        let now = StoreTime::from_micros(reader.need(Plain(clock).number("now_us"), "now_us")?);
        let mut leases =
            Leases { now, nodes: BTreeMap::new(), daemons: BTreeMap::new(), in_use: BTreeSet::new() };
        for row in rows.iter().map(Plain) {
            let lease = reader.lease(&row)?;
            if let Some(daemon) = DaemonName::of_lease(&lease.name) {
                if reader.need(row.number("in_use"), "in_use")? != 0 {
                    leases.in_use.insert(daemon.clone());
                }
                leases.daemons.insert(daemon, lease);
            } else if let Some(node) = node_of(&lease.name) {
                leases.nodes.insert(node, lease);
            }
        }
        Ok(leases)
    }

    fn short(&self) -> StoreError {
        unreachable(&self.shared.label, "the server answered with no row where there is always one")
    }

    /// Writes what was decided, and commits.
    async fn write(self, writes: &Writes) -> Result<(), StoreError> {
        let Self { shared, lent, _turn } = self;
        let client = lent.client()?;
        // If a write fails, the COMMIT behind it rolls back; either way the transaction is over when all have answered.
        let answer = shared.answer(pipeline(calls(client, &shared.statements, writes))).await;
        shared.settle(lent, answer).map(drop)
    }

    /// Leaves everything as it was.
    async fn rollback(self) {
        let Self { shared, lent, _turn } = self;
        let Ok(client) = lent.client() else { return };
        if shared.answer(client.batch_execute(ROLLBACK)).await.is_ok() {
            lent.give_back();
        }
    }
}

/// Leases that a decision needs, and the clock by which they were read.
struct Leases {
    now: StoreTime,
    nodes: BTreeMap<NodeName, LeaseRecord>,
    daemons: BTreeMap<DaemonName, LeaseRecord>,
    in_use: BTreeSet<DaemonName>,
}

/// The leases of all nodes, and of those that a daemon is placed on although they may have no row.
fn node_leases(order: &Order, nodes: &[Member], daemons: &BTreeMap<DaemonName, Daemon>) -> Vec<LeaseName> {
    let registered = nodes.iter().map(|member| &member.node.name);
    let places = daemons.values().filter_map(Daemon::node);
    let all: BTreeSet<&NodeName> = registered.chain(places).chain(order.node()).collect();
    // A name that is too long for a lease has none.
    all.into_iter().filter_map(|node| node_lease(node).ok()).collect()
}

fn daemon_leases(daemons: &BTreeSet<&DaemonName>) -> Vec<LeaseName> {
    daemons.iter().filter_map(|daemon| daemon.lease().ok()).collect()
}

fn node_of(lease: &LeaseName) -> Option<NodeName> {
    NodeName::new(lease.as_str().strip_prefix(NODE_LEASE_PREFIX)?).ok()
}
