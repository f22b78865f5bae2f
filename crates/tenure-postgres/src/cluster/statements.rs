//! The SQL of a cluster.
//!
//! As in the file of the same name above, names of tables are all that is spliced in.

use tenure_core::naming::Naming;

use crate::statements::{COLUMNS, NOW_US};

/// The columns of a node `n`, beside those of a lease.
const MEMBER: &str = "n.name AS member, n.incarnation AS member_incarnation, n.term AS member_term, \
     n.machine AS member_machine, n.pid AS member_pid, n.labels, n.version, n.capacity, \
     n.leads::integer::bigint AS leads, n.agents, n.leaving::integer::bigint AS leaving, \
     (extract(epoch FROM n.joined_at) * 1000000)::bigint AS joined_us, n.revision AS member_revision";

/// The columns of a daemon `a`.
const DAEMON: &str = "a.daemon, a.state, a.node, a.node_term, a.generation, a.next_node, \
     (extract(epoch FROM a.deadline) * 1000000)::bigint AS deadline_us, a.reason, \
     (extract(epoch FROM a.since) * 1000000)::bigint AS since_us, a.weight, a.labels, a.group_name, a.layout, \
     a.paused_by, a.pinned_to, a.retired::integer::bigint AS retired, a.failures, a.avoids, a.moves, a.revision";

/// The statements over one set of tables.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(super) look: String,
    pub(super) daemons_after: String,
    pub(super) daemons_list: String,
    pub(super) bump: String,
    pub(super) nodes: String,
    pub(super) daemons: String,
    pub(super) over: String,
    pub(super) leases: String,
    pub(super) nodes_write: String,
    pub(super) nodes_delete: String,
    pub(super) daemons_write: String,
    pub(super) daemons_delete: String,
    pub(super) leases_write: String,
    pub(super) history_add: String,
    pub(super) wake: String,
    pub(super) table: String,
    pub(super) channel: String,
}

impl Statements {
    pub(crate) fn new(naming: &Naming) -> Self {
        let fill = |template: &str| {
            let filled = template
                .replace("{columns}", COLUMNS)
                .replace("{now_us}", NOW_US)
                .replace("{member}", MEMBER)
                .replace("{daemon}", DAEMON)
                .replace("{cluster_channel}", &channel(naming));
            naming.fill(&filled)
        };
        Self {
            look: fill(include_str!("../../sql/cluster_look.sql")),
            daemons_after: fill(include_str!("../../sql/daemons_after.sql")),
            daemons_list: fill(include_str!("../../sql/daemons_list.sql")),
            bump: fill(include_str!("../../sql/cluster_bump.sql")),
            nodes: fill(include_str!("../../sql/cluster_nodes.sql")),
            daemons: fill(include_str!("../../sql/cluster_daemons.sql")),
            over: fill(include_str!("../../sql/cluster_over.sql")),
            leases: fill(include_str!("../../sql/cluster_leases.sql")),
            nodes_write: fill(include_str!("../../sql/nodes_write.sql")),
            nodes_delete: fill(include_str!("../../sql/nodes_delete.sql")),
            daemons_write: fill(include_str!("../../sql/daemons_write.sql")),
            daemons_delete: fill(include_str!("../../sql/daemons_delete.sql")),
            leases_write: fill(include_str!("../../sql/leases_write.sql")),
            history_add: fill(include_str!("../../sql/history_add_all.sql")),
            wake: fill(include_str!("../../sql/cluster_wake.sql")),
            table: naming.table("cluster"),
            channel: channel(naming),
        }
    }
}

/// What the name of the channel begins with; the number of the table follows.
fn channel(naming: &Naming) -> String {
    format!("{}cluster_", naming.prefix)
}
