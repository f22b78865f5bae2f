//! A cluster: its nodes, and where its daemons are.
//!
//! ```text
//!   1  begin, the cluster's row (+1), the office's fence, all nodes with their leases, and the clock;
//!      daemons of the order, their fences as far as they can be had at once, their leases
//!   2  leases of nodes that seem to be over, held; what they are then             left out where no node seems to be
//!      ── decide ──
//!   3  nodes, daemons, fences, leases, history, audit, commit                     or rollback: no number is used up
//! ```
//!
//! Two or three round trips, however many daemons an order is about (a very large one is cut where a text would be too long
//! for the server). Whoever changes the cluster holds its row first, and waits for nothing that is held by someone who waits
//! for that row: orders, claims, renewals and releases do not block each other in a circle. Whoever reads waits for nobody.
//!
//! | file | what it holds |
//! |---|---|
//! | `apply` | an order from its first lock to its end |
//! | `write` | what is written, as rows |
//! | `watch` | what wakes a node that sleeps |

mod apply;
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

use self::watch::Ear;
use crate::driver::Turn;
use crate::row::Row;
use crate::store::{Shared, SqlStore};

#[async_trait]
impl ClusterStore for SqlStore {
    async fn look(&self) -> Result<ClusterLook, StoreError> {
        let shared = &self.shared;
        let params = [LEADER_LEASE.into(), NODE_LEASE_PREFIX.into()];
        // By a turn of its own: a node that is alive but does not see what it is to run must stop it.
        let rows = shared.rows(Turn::Glance, &shared.statements.cluster_look, params).await?;
        let reader = shared.reader();
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
        let shared = &self.shared;
        let revision = i64::try_from(after.revision.0).unwrap_or(i64::MAX);
        // No name is empty, so that every one of that revision comes after this.
        let last = after.daemon.as_ref().map_or("", DaemonName::as_str);
        let params = [revision.into(), last.into(), limit.into()];
        let rows = shared.rows(Turn::Work, &shared.statements.daemons_after, params).await?;
        shared.daemons_of(&rows)
    }

    async fn daemons(&self, filter: &DaemonFilter) -> Result<Vec<Daemon>, StoreError> {
        let shared = &self.shared;
        let params = [
            filter.node.as_ref().map(NodeName::as_str).into(),
            filter.prefix.as_deref().into(),
            filter.after.as_ref().map(DaemonName::as_str).into(),
            filter.limit.into(),
        ];
        let rows = shared.rows(Turn::Work, &shared.statements.daemons_list, params).await?;
        shared.daemons_of(&rows)
    }

    async fn apply(&self, order: &Order) -> Result<Answer, StoreError> {
        self.shared.carry_out(order).await
    }

    async fn wake(&self) -> Result<(), StoreError> {
        // A number for no change: whoever waits for another one looks, and finds out what it is about.
        self.shared.run(Turn::Work, &self.shared.statements.cluster_bump, []).await.map(drop)
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(Some(Arc::new(Ear::open(&self.shared).await?)))
    }
}

impl Shared {
    fn daemons_of(&self, rows: &[Row]) -> Result<Vec<Daemon>, StoreError> {
        rows.iter().map(|row| self.reader().daemon(row)).collect()
    }
}
