//! What is written of a decision.

use rusqlite::{params, params_from_iter};
use tenure_core::cluster::{Revision, Writes};

use super::apply::Before;
use super::rows::{daemon_values, member_values, whole};
use crate::error::Fault;
use crate::writing::{Writing, stamped};

/// Writes every row, under the number of the change.
pub(super) fn write(
    writing: &Writing<'_>,
    revision: Revision,
    writes: &Writes,
    before: &Before,
) -> Result<(), Fault> {
    let (connection, statements) = (writing.connection, &writing.statements.cluster);
    connection.prepare_cached(&statements.bump)?.execute([whole(revision.0)?])?;
    let mut node = connection.prepare_cached(&statements.node_write)?;
    for member in &writes.nodes {
        node.execute(params_from_iter(member_values(member)?))?;
    }
    let mut departed = connection.prepare_cached(&statements.node_delete)?;
    for name in &writes.departed {
        departed.execute(params![name.as_str()])?;
    }
    let mut placed = connection.prepare_cached(&statements.daemon_write)?;
    for daemon in &writes.daemons {
        placed.execute(params_from_iter(daemon_values(daemon)?))?;
    }
    let mut gone = connection.prepare_cached(&statements.daemon_delete)?;
    for name in &writes.gone {
        gone.execute(params![name.as_str()])?;
    }
    for lease in &writes.leases {
        let before = before.get(&lease.name).map(|(stored, seen)| (stored, seen));
        writing.write_lease(&stamped(lease.clone(), before, &writing.now))?;
    }
    for change in &writes.history {
        writing.add_history(change)?;
    }
    for (by, action, daemon) in &writes.audit {
        writing.add_audit(by, action, daemon.as_str(), "")?;
    }
    Ok(())
}
