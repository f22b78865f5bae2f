//! The statements of a cluster.

use tenure_core::naming::Naming;

/// The statements, with names filled in.
#[derive(Debug)]
pub(crate) struct ClusterStatements {
    pub(super) look: String,
    pub(super) revision: String,
    pub(super) bump: String,
    pub(super) nodes: String,
    pub(super) daemon: String,
    pub(super) group: String,
    pub(super) after: String,
    pub(super) list: String,
    pub(super) node_write: String,
    pub(super) node_delete: String,
    pub(super) daemon_write: String,
    pub(super) daemon_delete: String,
}

impl ClusterStatements {
    /// The statements for tables of these names.
    pub(crate) fn new(naming: &Naming) -> Self {
        let fill = |template: &str| naming.fill(template);
        let daemons = |rest: &str| fill(&format!("{}{rest}", include_str!("../../sql/daemons_columns.sql")));
        Self {
            look: fill(include_str!("../../sql/cluster_look.sql")),
            revision: fill(include_str!("../../sql/cluster_revision.sql")),
            bump: fill(include_str!("../../sql/cluster_bump.sql")),
            nodes: fill(include_str!("../../sql/cluster_nodes.sql")),
            daemon: daemons(include_str!("../../sql/daemon_read.sql")),
            group: daemons(include_str!("../../sql/daemons_group.sql")),
            after: daemons(include_str!("../../sql/daemons_after.sql")),
            list: daemons(include_str!("../../sql/daemons_list.sql")),
            node_write: fill(include_str!("../../sql/node_write.sql")),
            node_delete: fill(include_str!("../../sql/node_delete.sql")),
            daemon_write: fill(include_str!("../../sql/daemon_write.sql")),
            daemon_delete: fill(include_str!("../../sql/daemon_delete.sql")),
        }
    }
}
