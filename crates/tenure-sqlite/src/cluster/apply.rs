//! An order under the lock of the one writer: read, decide, write.
//!
//! A user's transaction under a daemon's fence holds that lock itself, so no daemon is ever in use here: the order waits for
//! it, as every write does.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::OptionalExtension;
use tenure_core::cluster::{
    Answer, Daemon, DaemonName, Decided, Member, Order, Revision, Rows, decide, node_lease,
};
use tenure_core::id::NodeName;
use tenure_core::lease::{LeaseName, LeaseRecord};

use super::daemons;
use super::write::write;
use crate::error::Fault;
use crate::rows::{LeaseRow, Plain, READER};
use crate::writing::{Writing, read_lease};

/// Leases as they are stored, and as they are seen by the clocks.
pub(super) type Before = BTreeMap<LeaseName, (LeaseRow, LeaseRecord)>;

/// Carries out an order; answers also whether anything was changed.
pub(super) fn carry_out(writing: &Writing<'_>, order: &Order) -> Result<(Answer, bool), Fault> {
    let (rows, before) = read(writing, order)?;
    let revision = rows.revision;
    let Decided { answer, writes } = decide(order, rows);
    let changed = !writes.is_empty();
    if changed {
        write(writing, revision, &writes, &before)?;
    }
    Ok((answer, changed))
}

fn read(writing: &Writing<'_>, order: &Order) -> Result<(Rows, Before), Fault> {
    let named: BTreeSet<&DaemonName> = order.daemons().into_iter().collect();
    let revision = next_revision(writing)?;
    let nodes = nodes(writing)?;
    let daemons = daemons_of(writing, order, &named)?;
    let registered = nodes.iter().map(|member| &member.node.name);
    let places = daemons.values().filter_map(Daemon::node);
    let all: BTreeSet<&NodeName> = registered.chain(places).chain(order.node()).collect();
    let mut node_leases = BTreeMap::new();
    for node in all {
        // A name that is too long for a lease has none.
        let Ok(lease) = node_lease(node) else { continue };
        if let Some(row) = read_lease(writing.connection, writing.statements, &lease)? {
            node_leases.insert(node.clone(), row.seen_at(&writing.now));
        }
    }
    let office = match order.fence() {
        Some(fence) => read_lease(writing.connection, writing.statements, &fence.lease)?,
        None => None,
    };
    let (mut leases, mut before) = (BTreeMap::new(), Before::new());
    for name in named {
        let Ok(lease) = name.lease() else { continue };
        if let Some(row) = read_lease(writing.connection, writing.statements, &lease)? {
            let seen = row.seen_at(&writing.now);
            leases.insert(name.clone(), seen.clone());
            before.insert(lease, (row, seen));
        }
    }
    let rows = Rows {
        now: writing.now.wall,
        revision,
        office: office.map(|row| row.seen_at(&writing.now)),
        nodes,
        daemons,
        leases,
        in_use: BTreeSet::new(),
        node_leases,
    };
    Ok((rows, before))
}

/// The number of this change, should it become one.
fn next_revision(writing: &Writing<'_>) -> Result<Revision, Fault> {
    let mut statement = writing.connection.prepare_cached(&writing.statements.cluster.revision)?;
    let last = statement.query_row([], |row| Ok(READER.revision(&Plain::of(row), "revision"))).optional()?;
    let Revision(last) = last.unwrap_or_else(|| Err(READER.no_cluster()))?;
    Ok(Revision(last.saturating_add(1)))
}

fn nodes(writing: &Writing<'_>) -> Result<Vec<Member>, Fault> {
    let mut statement = writing.connection.prepare_cached(&writing.statements.cluster.nodes)?;
    let (mut found, mut nodes) = (statement.query([])?, Vec::new());
    while let Some(row) = found.next()? {
        nodes.extend(READER.member(&Plain::of(row))?);
    }
    Ok(nodes)
}

/// The daemons that an order is about.
fn daemons_of(
    writing: &Writing<'_>,
    order: &Order,
    named: &BTreeSet<&DaemonName>,
) -> Result<BTreeMap<DaemonName, Daemon>, Fault> {
    let statements = &writing.statements.cluster;
    let mut found = BTreeMap::new();
    let mut by_name = writing.connection.prepare_cached(&statements.daemon)?;
    for name in named {
        let rows = daemons(by_name.query([name.as_str()])?)?;
        found.extend(rows.into_iter().map(|daemon| (daemon.name().clone(), daemon)));
    }
    let mut by_group = writing.connection.prepare_cached(&statements.group)?;
    for group in order.groups() {
        let rows = daemons(by_group.query([group])?)?;
        found.extend(rows.into_iter().map(|daemon| (daemon.name().clone(), daemon)));
    }
    Ok(found)
}
