//! The statements of a cluster.

use tenure_core::naming::Naming;

use crate::statements::LEASE;

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
    /// The same for one node, which has few of many: each by its index.
    pub(super) list_of_node: String,
    pub(super) node_write: String,
    pub(super) node_delete: String,
    pub(super) daemon_write: String,
    pub(super) daemon_delete: String,
}

impl ClusterStatements {
    /// The statements for tables of these names.
    pub(crate) fn new(naming: &Naming) -> Self {
        let member = include_str!("../../sql/node_columns.sql").trim_ascii_end();
        let fill =
            |template: &str| naming.fill(&template.replace("{lease}", LEASE).replace("{member}", member));
        let daemons = |rest: &str| fill(&format!("{}{rest}", include_str!("../../sql/daemons_columns.sql")));
        let list =
            |whose: &str| daemons(&include_str!("../../sql/daemons_list.sql").replace("{whose}", whose));
        Self {
            look: fill(include_str!("../../sql/cluster_look.sql")),
            revision: fill(include_str!("../../sql/cluster_revision.sql")),
            bump: fill(include_str!("../../sql/cluster_bump.sql")),
            nodes: fill(include_str!("../../sql/cluster_nodes.sql")),
            daemon: daemons(include_str!("../../sql/daemon_read.sql")),
            group: daemons(include_str!("../../sql/daemons_group.sql")),
            after: daemons(include_str!("../../sql/daemons_after.sql")),
            list: list("?1 is null"),
            list_of_node: list("(node = ?1 or next_node = ?1)"),
            node_write: fill(include_str!("../../sql/nodes_write.sql")),
            node_delete: fill(include_str!("../../sql/nodes_delete.sql")),
            daemon_write: fill(include_str!("../../sql/daemons_write.sql")),
            daemon_delete: fill(include_str!("../../sql/daemons_delete.sql")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::Statements;

    /// What nodes ask again and again must not cost more with each daemon that others run.
    #[test]
    fn what_nodes_ask_goes_by_an_index() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let statements = Statements::new(&Naming::default());
        connection.execute_batch(&statements.script(0)).unwrap();
        let cluster = &statements.cluster;
        for sql in [&cluster.after, &cluster.list_of_node, &cluster.group, &cluster.daemon] {
            let mut explained = connection.prepare(&format!("explain query plan {sql}")).unwrap();
            let count = explained.parameter_count();
            let values = rusqlite::params_from_iter((0..count).map(|_| 1));
            let plan: Vec<String> =
                explained.query_map(values, |row| row.get(3)).unwrap().map(Result::unwrap).collect();
            assert!(!plan.iter().any(|step| step.starts_with("SCAN")), "{plan:?}");
        }
    }
}
