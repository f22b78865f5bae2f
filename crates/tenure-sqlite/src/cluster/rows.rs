//! Nodes and daemons as values for rows.

use rusqlite::types::Value;
use tenure_core::cluster::{Daemon, JsonColumn, Member};
use tenure_core::id::NodeName;
use tenure_core::lease::Term;
use tenure_core::time::StoreTime;

use crate::error::Fault;

/// The values of `nodes_write.sql`.
pub(super) fn member_values(member: &Member) -> Result<[Value; 13], Fault> {
    let node = &member.node;
    Ok([
        node.name.as_str().to_owned().into(),
        node.incarnation.to_string().into(),
        member.term.as_column().into(),
        node.machine.clone().into(),
        node.pid.into(),
        member.labels.to_column().into(),
        member.version.clone().into(),
        member.capacity.into(),
        member.leads.into(),
        member.agents.to_column().into(),
        member.leaving.into(),
        member.joined_at.as_micros().into(),
        whole(member.revision.0)?,
    ])
}

/// The values of `daemons_write.sql`.
pub(super) fn daemon_values(daemon: &Daemon) -> Result<[Value; 20], Fault> {
    let node = |name: Option<&NodeName>| -> Value { name.map(|name| name.as_str().to_owned()).into() };
    let group = daemon.spec.group.as_ref();
    Ok([
        daemon.name().as_str().to_owned().into(),
        daemon.state.as_str().to_owned().into(),
        node(daemon.node()),
        daemon.place.as_ref().map(|(_, term)| term.as_column()).into(),
        daemon.generation.map(Term::as_column).into(),
        node(daemon.next.as_ref()),
        daemon.deadline.map(StoreTime::as_micros).into(),
        daemon.reason.clone().into(),
        daemon.since.as_micros().into(),
        daemon.spec.weight.into(),
        daemon.spec.labels.to_column().into(),
        group.map(|group| group.name.clone()).into(),
        group.map(|group| group.layout).into(),
        daemon.paused_by.clone().into(),
        node(daemon.pinned_to.as_ref()),
        daemon.retired.into(),
        daemon.failures.into(),
        daemon.avoids.to_column().into(),
        whole(daemon.moves)?,
        whole(daemon.revision.0)?,
    ])
}

/// A number as SQLite holds it.
pub(super) fn whole(number: u64) -> Result<Value, Fault> {
    i64::try_from(number).map(Value::from).map_err(|_| Fault::Failed("numbers have run out".into()))
}
