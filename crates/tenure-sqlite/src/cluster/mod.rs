//! A cluster: its nodes, and where its daemons are.
//!
//! SQLite has one writer at a time, so an order is read, decided and written, and nobody comes between: the lock of the
//! writing transaction is what the cluster's row is elsewhere. What is read goes through a connection of its own.
//!
//! | file | what it holds |
//! |---|---|
//! | `statements` | its SQL |
//! | `rows` | members and daemons as values for rows |
//! | `apply`, `write` | an order under the lock; what is written |
//! | `watch` | what wakes a node that sleeps |

mod apply;
mod rows;
pub(crate) mod statements;
pub(crate) mod watch;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Rows, params};
use tenure_core::StoreError;
use tenure_core::cluster::{
    Answer, ClusterLook, Cursor, Daemon, DaemonFilter, DaemonName, LEADER_LEASE, NODE_LEASE_PREFIX, Order,
    Standing,
};
use tenure_core::contract::{ClusterStore, Wakeup};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fenced, Loss};
use tenure_sql::Columns as _;

use crate::error::Fault;
use crate::reader::Snapshot;
use crate::rows::{LeaseRow, Plain, READER};
use crate::store::SqliteStore;

#[async_trait]
impl ClusterStore for SqliteStore {
    async fn look(&self) -> Result<ClusterLook, StoreError> {
        self.glance_at_cluster(look).await
    }

    async fn daemons_after(&self, after: &Cursor, limit: u32) -> Result<Vec<Daemon>, StoreError> {
        let after = after.clone();
        self.read_cluster(move |snapshot| {
            let revision = i64::try_from(after.revision.0).unwrap_or(i64::MAX);
            // No name is empty, so that every one of that revision comes after this.
            let last = after.daemon.as_ref().map_or("", DaemonName::as_str);
            let mut statement = snapshot.prepare(&snapshot.cluster().after)?;
            daemons(statement.query(params![revision, last, limit])?)
        })
        .await
    }

    async fn daemons(&self, filter: &DaemonFilter) -> Result<Vec<Daemon>, StoreError> {
        let filter = filter.clone();
        self.read_cluster(move |snapshot| {
            let node = filter.node.as_ref().map(NodeName::as_str);
            let after = filter.after.as_ref().map(DaemonName::as_str);
            let statements = snapshot.cluster();
            let sql = if node.is_some() { &statements.list_of_node } else { &statements.list };
            let mut statement = snapshot.prepare(sql)?;
            daemons(statement.query(params![node, filter.prefix, after, filter.limit])?)
        })
        .await
    }

    async fn apply(&self, order: &Order) -> Result<Answer, StoreError> {
        // In other files, the same term may be another's.
        let fenced = order
            .fence()
            .map(|fence| Answer::Fenced(Fenced { fence: fence.clone(), loss: Loss::Unknown }))
            .map(|answer| (answer, false));
        let order = order.clone();
        let (answer, changed) = self
            .run_in_office(fenced, move |database| {
                database.write(|writing| apply::carry_out(writing, &order))
            })
            .await?;
        if changed {
            self.ring_cluster();
        }
        Ok(answer)
    }

    async fn wake(&self) -> Result<(), StoreError> {
        self.ring_cluster();
        Ok(())
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(Some(Arc::new(self.watch_cluster()?)))
    }
}

fn look(snapshot: &Snapshot<'_>) -> Result<ClusterLook, Fault> {
    let mut statement = snapshot.prepare(&snapshot.cluster().look)?;
    let mut found = statement.query(params![LEADER_LEASE, NODE_LEASE_PREFIX])?;
    let mut read = Vec::new();
    let mut revision = None;
    while let Some(row) = found.next()? {
        let row = Plain::of(row);
        let lease = READER.maybe(row.text("name"), "name")?.map(|_| LeaseRow::read(&row)).transpose()?;
        read.push((READER.member(&row)?, lease));
        revision = Some(READER.revision(&row, "cluster_revision")?);
    }
    let revision = revision.ok_or_else(|| READER.no_cluster())?;
    // As whoever observes a lease sees it: rows first, then the clocks. What is decided is decided anew under the lock.
    let now = snapshot.reading();
    let mut look =
        ClusterLook { now: now.wall, revision, leader: None, nodes: Vec::with_capacity(read.len()) };
    for (member, lease) in read {
        let lease = lease.map(|row| row.shown_at(&now));
        match member {
            Some(member) => look.nodes.push(Standing { member, lease }),
            None => look.leader = lease,
        }
    }
    Ok(look)
}

fn daemons(mut found: Rows<'_>) -> Result<Vec<Daemon>, Fault> {
    let mut daemons = Vec::new();
    while let Some(row) = found.next()? {
        daemons.push(READER.daemon(&Plain::of(row))?);
    }
    Ok(daemons)
}
