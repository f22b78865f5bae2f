//! A cluster in maps: all rows under the store's lock, decided as every store decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;

use super::store::MemoryStore;
use crate::cluster::{
    Answer, ClusterLook, Cursor, Daemon, DaemonFilter, DaemonName, LEADER_LEASE, Member, Order, Revision,
    Rows, Standing, Writes, decide, node_lease,
};
use crate::contract::{ClusterStore, Wakeup};
use crate::error::StoreError;
use crate::id::NodeName;
use crate::lease::{Change, LeaseName, LeaseRecord};
use crate::time::StoreTime;

/// The leases of a memory store.
pub(super) type Leases = BTreeMap<LeaseName, LeaseRecord>;

/// The tables of a cluster.
#[derive(Debug, Clone, Default)]
pub struct ClusterTables {
    revision: Revision,
    nodes: BTreeMap<NodeName, Member>,
    daemons: BTreeMap<DaemonName, Daemon>,
    audit: Vec<(String, String, DaemonName)>,
}

impl ClusterTables {
    /// Carries out an order on these tables and on the leases beside them; answers with lines for the leases' history.
    pub fn apply(
        &mut self,
        order: &Order,
        leases: &mut BTreeMap<LeaseName, LeaseRecord>,
        in_use: &BTreeSet<DaemonName>,
        now: StoreTime,
    ) -> (Answer, Vec<Change>) {
        let decided = decide(order, self.rows(order, leases, in_use, now));
        let history = decided.writes.history.clone();
        self.write(decided.writes, leases);
        (decided.answer, history)
    }

    fn rows(&self, order: &Order, leases: &Leases, in_use: &BTreeSet<DaemonName>, now: StoreTime) -> Rows {
        let (named, groups) = (order.daemons(), order.groups());
        let named: BTreeSet<&DaemonName> = named.into_iter().collect();
        let in_groups = |daemon: &Daemon| {
            daemon.spec.group.as_ref().is_some_and(|group| groups.contains(&group.name.as_str()))
        };
        let wanted = |(name, daemon): &(&DaemonName, &Daemon)| named.contains(name) || in_groups(daemon);
        let cloned = |(name, daemon): (&DaemonName, &Daemon)| (name.clone(), daemon.clone());
        let daemons: BTreeMap<DaemonName, Daemon> = self.daemons.iter().filter(wanted).map(cloned).collect();
        let places = daemons.values().filter_map(|daemon| daemon.node().cloned());
        let nodes: BTreeSet<NodeName> =
            self.nodes.keys().cloned().chain(places).chain(order.node().cloned()).collect();
        let lease_of = |node: &NodeName| leases.get(&node_lease(node).ok()?).cloned();
        Rows {
            now,
            revision: Revision(self.revision.0 + 1),
            office: order.fence().and_then(|fence| leases.get(&fence.lease)).cloned(),
            nodes: self.nodes.values().cloned().collect(),
            leases: named
                .iter()
                .filter_map(|name| Some(((*name).clone(), leases.get(&name.lease().ok()?)?.clone())))
                .collect(),
            in_use: in_use.clone(),
            node_leases: nodes
                .into_iter()
                .filter_map(|node| Some((node.clone(), lease_of(&node)?)))
                .collect(),
            daemons,
        }
    }

    fn write(&mut self, writes: Writes, leases: &mut Leases) {
        if writes.is_empty() {
            return;
        }
        self.revision.0 += 1;
        self.nodes.extend(writes.nodes.into_iter().map(|member| (member.node.name.clone(), member)));
        for node in &writes.departed {
            self.nodes.remove(node);
        }
        self.daemons.extend(writes.daemons.into_iter().map(|daemon| (daemon.name().clone(), daemon)));
        for daemon in &writes.gone {
            self.daemons.remove(daemon);
        }
        leases.extend(writes.leases.into_iter().map(|lease| (lease.name.clone(), lease)));
        self.audit.extend(writes.audit);
    }

    /// The cluster without its daemons.
    pub fn look(&self, leases: &BTreeMap<LeaseName, LeaseRecord>, now: StoreTime) -> ClusterLook {
        let standing = |member: &Member| Standing {
            member: member.clone(),
            lease: node_lease(&member.node.name).ok().and_then(|lease| leases.get(&lease)).cloned(),
        };
        ClusterLook {
            now,
            revision: self.revision,
            leader: LeaseName::new(LEADER_LEASE).ok().and_then(|lease| leases.get(&lease)).cloned(),
            nodes: self.nodes.values().map(standing).collect(),
        }
    }

    /// The daemons that changed after a place.
    pub fn daemons_after(&self, after: &Cursor, limit: u32) -> Vec<Daemon> {
        let place = |daemon: &Daemon| (daemon.revision, Some(daemon.name().clone()));
        let after = (after.revision, after.daemon.clone());
        let mut rows: Vec<&Daemon> = self.daemons.values().filter(|daemon| place(daemon) > after).collect();
        rows.sort_by_key(|daemon| place(daemon));
        rows.into_iter().take(limit as usize).cloned().collect()
    }

    /// The daemons that a filter lets through.
    pub fn daemons(&self, filter: &DaemonFilter) -> Vec<Daemon> {
        let rows = self.daemons.values().filter(|daemon| filter.lets(daemon));
        rows.take(filter.limit as usize).cloned().collect()
    }

    /// Deletes a node's row, as a careless person with a database shell would.
    pub fn delete_node(&mut self, node: &NodeName) {
        self.nodes.remove(node);
    }

    /// Deletes a daemon's row in the same way; its lease stays.
    pub fn delete_daemon(&mut self, daemon: &DaemonName) {
        self.daemons.remove(daemon);
    }

    /// What operators did to daemons, the first one first: who, what, which.
    pub fn audit(&self) -> &[(String, String, DaemonName)] {
        &self.audit
    }
}

impl MemoryStore {
    /// Deletes a node's row, as a careless person with a database shell would.
    pub fn delete_node(&self, node: &NodeName) {
        self.state().cluster.delete_node(node);
    }

    /// Deletes a daemon's row in the same way; its lease stays.
    pub fn delete_daemon(&self, daemon: &DaemonName) {
        self.state().cluster.delete_daemon(daemon);
    }

    /// What operators did to daemons, the first one first: who, what, which.
    pub fn daemon_audit(&self) -> Vec<(String, String, DaemonName)> {
        self.state().cluster.audit().to_vec()
    }
}

#[async_trait]
impl ClusterStore for MemoryStore {
    async fn look(&self) -> Result<ClusterLook, StoreError> {
        let state = self.state();
        Ok(state.cluster.look(&state.leases, self.now()))
    }

    async fn daemons_after(&self, after: &Cursor, limit: u32) -> Result<Vec<Daemon>, StoreError> {
        Ok(self.state().cluster.daemons_after(after, limit))
    }

    async fn daemons(&self, filter: &DaemonFilter) -> Result<Vec<Daemon>, StoreError> {
        Ok(self.state().cluster.daemons(filter))
    }

    async fn apply(&self, order: &Order) -> Result<Answer, StoreError> {
        let (answer, changed) = {
            let (mut guard, now) = (self.state(), self.now());
            let state = &mut *guard;
            let before = state.cluster.revision;
            // Nothing in memory holds a fence over several calls.
            let (answer, history) = state.cluster.apply(order, &mut state.leases, &BTreeSet::new(), now);
            state.add_history(history);
            state.gather_audit(now);
            (answer, state.cluster.revision != before)
        };
        if changed {
            self.cluster_bells().ring();
        }
        Ok(answer)
    }

    async fn wake(&self) -> Result<(), StoreError> {
        self.cluster_bells().ring();
        Ok(())
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(Some(self.cluster_bells().listen()))
    }
}
