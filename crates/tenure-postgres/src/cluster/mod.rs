//! A cluster: its nodes, and where its daemons are.
//!
//! ```text
//!   1  BEGIN, the cluster's row (+1), the office's lease, all nodes, the daemons of the order
//!   2  the clock, leases of nodes that seem to be over; leases of nodes, leases of daemons, locked if that can be had at once
//!      ── decide ──
//!   3  nodes, daemons, leases, history, audit, NOTIFY, COMMIT              or ROLLBACK: no number is used up
//! ```
//!
//! Three round trips, however many daemons an order is about. Whoever changes the cluster holds its row; whoever reads does
//! not wait for anyone.
//!
//! | file | what it holds |
//! |---|---|
//! | `statements` | its SQL |
//! | `rows` | from rows to members and daemons |
//! | `apply`, `write` | an order from its first lock to its commit; what is written, as lists |
//! | `watch` | what wakes a node that sleeps |

mod apply;
pub(crate) mod statements;
mod watch;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::cluster::{
    Answer, ClusterLook, Cursor, Daemon, DaemonFilter, DaemonName, LEADER_LEASE, NODE_LEASE_PREFIX, Order,
    Standing,
};
use tenure_core::contract::{ClusterStore, Wakeup};
use tenure_core::id::NodeName;
use tenure_sql::Reader;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use self::watch::PostgresEar;
use crate::rows::Plain;
use crate::store::{PostgresStore, Shared};
use crate::wakeup::Source;
use crate::writing::Params;

#[async_trait]
impl ClusterStore for PostgresStore {
    async fn look(&self) -> Result<ClusterLook, StoreError> {
        let params: Params<'_> = &[(&LEADER_LEASE, Type::TEXT), (&NODE_LEASE_PREFIX, Type::TEXT)];
        // By a turn of its own: a node that is alive but does not see what it is to run must stop it.
        let rows = self.shared.glance(&self.shared.statements.cluster.look, params).await?;
        let reader = Reader { store: &self.shared.label };
        let rows: Vec<Plain<'_>> = rows.iter().map(Plain).collect();
        let first = rows.first().ok_or_else(|| reader.no_cluster())?;
        let revision = reader.revision(first, "cluster_revision")?;
        let (mut leader, now) = reader.lease_and_now(first)?;
        let mut nodes = Vec::with_capacity(rows.len());
        for row in &rows {
            let (lease, _) = reader.lease_and_now(row)?;
            match reader.member(row)? {
                Some(member) => nodes.push(Standing { member, lease }),
                None => leader = lease,
            }
        }
        Ok(ClusterLook { now, revision, leader, nodes })
    }

    async fn daemons_after(&self, after: &Cursor, limit: u32) -> Result<Vec<Daemon>, StoreError> {
        let revision = i64::try_from(after.revision.0).unwrap_or(i64::MAX);
        // No name is empty, so that every one of that revision comes after this.
        let last = after.daemon.as_ref().map_or("", DaemonName::as_str);
        let params: Params<'_> =
            &[(&revision, Type::INT8), (&last, Type::TEXT), (&i64::from(limit), Type::INT8)];
        let rows = self.shared.read(&self.shared.statements.cluster.daemons_after, params).await?;
        self.shared.daemons_of(&rows)
    }

    async fn daemons(&self, filter: &DaemonFilter) -> Result<Vec<Daemon>, StoreError> {
        let prefix = filter.prefix.as_deref();
        // No name has it, and the server would refuse it as text.
        if prefix.is_some_and(|prefix| prefix.contains('\0')) {
            return Ok(Vec::new());
        }
        let params: Params<'_> = &[
            (&filter.node.as_ref().map(NodeName::as_str), Type::TEXT),
            (&prefix, Type::TEXT),
            (&filter.after.as_ref().map(DaemonName::as_str), Type::TEXT),
            (&i64::from(filter.limit), Type::INT8),
        ];
        let rows = self.shared.read(&self.shared.statements.cluster.daemons_list, params).await?;
        self.shared.daemons_of(&rows)
    }

    async fn apply(&self, order: &Order) -> Result<Answer, StoreError> {
        self.shared.carry_out(order).await
    }

    async fn wake(&self) -> Result<(), StoreError> {
        self.shared.read(&self.shared.statements.cluster.wake, &[]).await.map(drop)
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        if self.shared.pooled {
            return Ok(None);
        }
        let statements = &self.shared.statements.cluster;
        let source = Source { table: &statements.table, channel: &statements.channel };
        Ok(Some(Arc::new(PostgresEar::open(&self.shared, source).await?)))
    }
}

impl Shared {
    fn daemons_of(&self, rows: &[Row]) -> Result<Vec<Daemon>, StoreError> {
        rows.iter().map(|row| Reader { store: &self.label }.daemon(&Plain(row))).collect()
    }
}
