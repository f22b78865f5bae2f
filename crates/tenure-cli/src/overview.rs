//! The cluster in `tenure status`, for people: nodes, who leads, daemons in numbers.

use tenure::DaemonState;
use tenure::core::show::Overview;

use crate::lease;
use crate::output::{self, Table};

/// Says nothing where there is no cluster.
pub(crate) fn print(cluster: &Overview<'_>) {
    let look = cluster.look();
    if look.nodes.is_empty() && cluster.total() == 0 {
        return;
    }
    let now = look.now;
    match (look.leads(), &look.leader) {
        (Some((node, term)), Some(lease)) => {
            output::line(format_args!(
                "leader    {node}, term {term}, since {}",
                lease::ago(lease.acquired_at, now)
            ));
        }
        _ => output::line("leader    nobody"),
    }
    output::line(format_args!(
        "daemons   {} of {} run, {} on their way, {} paused",
        cluster.in_state(DaemonState::Active),
        cluster.total(),
        cluster.in_state(DaemonState::Assigning) + cluster.in_state(DaemonState::Revoking),
        cluster.paused()
    ));
    for (daemon, by) in cluster.named_paused() {
        output::line(format_args!("          {} is paused by {by}", daemon.name()));
    }
    for daemon in cluster.named_nowhere() {
        output::line(format_args!("          {} runs nowhere: {}", daemon.name(), daemon.reason));
    }
    if look.nodes.is_empty() {
        return;
    }
    output::line("");
    let mut table = Table::new(&["NODE", "STATE", "DAEMONS", "VERSION", "LABELS", "MACHINE/PID", "JOINED"]);
    for standing in &look.nodes {
        let member = &standing.member;
        let labels = member.labels.0.iter().map(|(key, value)| format!("{key}={value}"));
        table.row(vec![
            member.node.name.to_string(),
            cluster.state(standing).to_owned(),
            cluster.load(standing).to_string(),
            if member.version.is_empty() { "-".to_owned() } else { member.version.clone() },
            labels.collect::<Vec<_>>().join(","),
            format!("{}/{}", member.node.machine, member.node.pid),
            lease::ago(member.joined_at, now),
        ]);
    }
    table.print();
}
