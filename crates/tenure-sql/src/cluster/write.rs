//! What is written, as rows: a few statements for each table, however many rows.

use tenure_core::cluster::{Daemon, DaemonName, JsonColumn as _, Member, Writes};
use tenure_core::id::NodeName;
use tenure_core::lease::Term;

use crate::batch::{by_names, in_batches};
use crate::driver::Call;
use crate::lease::Audit;
use crate::store::Shared;
use crate::value::Value;

impl Shared {
    /// Everything that is written, up to the commit. Fences come before leases, as everywhere.
    pub(super) fn cluster_writes(&self, writes: &Writes) -> Vec<Call<'_>> {
        let texts = &self.statements;
        let mut calls = in_batches(&texts.nodes_write, writes.nodes.iter().map(member_values));
        calls.extend(by_names(&texts.nodes_delete, writes.departed.iter().map(NodeName::as_str)));
        calls.extend(in_batches(&texts.daemons_write, writes.daemons.iter().map(daemon_values)));
        calls.extend(by_names(&texts.daemons_delete, writes.gone.iter().map(DaemonName::as_str)));
        calls.extend(self.write_leases(&writes.leases));
        calls.extend(self.add_history(&writes.history));
        calls.extend(writes.audit.iter().map(|(by, action, daemon)| {
            self.add_audit(&Audit { actor: by, action, subject: daemon.as_str(), detail: String::new() })
        }));
        calls.push(Call::new(&texts.commit, []));
        calls
    }
}

/// A row of `nodes_write`.
fn member_values(member: &Member) -> Vec<Value> {
    let node = &member.node;
    vec![
        node.name.as_str().into(),
        node.incarnation.to_string().into(),
        member.term.as_column().into(),
        node.machine.as_str().into(),
        node.pid.into(),
        member.labels.to_column().into(),
        member.version.as_str().into(),
        member.capacity.into(),
        member.leads.into(),
        member.agents.to_column().into(),
        member.leaving.into(),
        member.joined_at.into(),
        column(member.revision.0),
    ]
}

/// A row of `daemons_write`.
fn daemon_values(daemon: &Daemon) -> Vec<Value> {
    let (spec, place) = (&daemon.spec, daemon.place.as_ref());
    vec![
        daemon.name().as_str().into(),
        daemon.state.as_str().into(),
        place.map(|(node, _)| node.as_str()).into(),
        place.map(|(_, term)| term.as_column()).into(),
        daemon.generation.map(Term::as_column).into(),
        daemon.next.as_ref().map(NodeName::as_str).into(),
        daemon.deadline.into(),
        daemon.reason.as_str().into(),
        daemon.since.into(),
        spec.weight.into(),
        spec.labels.to_column().into(),
        spec.group.as_ref().map(|group| group.name.as_str()).into(),
        spec.group.as_ref().map(|group| group.layout).into(),
        daemon.paused_by.as_deref().into(),
        daemon.pinned_to.as_ref().map(NodeName::as_str).into(),
        daemon.retired.into(),
        daemon.failures.into(),
        daemon.avoids.to_column().into(),
        column(daemon.moves),
        column(daemon.revision.0),
    ]
}

fn column(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}
