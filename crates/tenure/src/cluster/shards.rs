//! A thing divided among daemons: from an entity to its shard, and from there to the node that has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::cluster::{ClusterLook, DaemonFilter, DaemonName, DaemonState, Revision};
use tenure_core::hash;
use tenure_core::id::NodeName;
use tokio::sync::Mutex;

use super::{ClusterError, Inner};

/// The daemon of one shard: `orders/3-of-8`.
pub(super) fn shard_name(kind: &str, index: u32, count: u32) -> String {
    format!("{kind}/{index}-of-{count}")
}

/// Which shard, and of how many, a daemon is; `None` when it is no shard.
pub fn shard_of(daemon: &DaemonName) -> Option<(u32, u32)> {
    let (index, count) = daemon.member().split_once("-of-")?;
    let (index, count) = (index.parse().ok()?, count.parse().ok()?);
    (index < count).then_some((index, count))
}

/// The shards of one kind, as this node knows them.
#[derive(Debug, Clone)]
pub struct Shards {
    inner: Arc<Inner>,
    kind: String,
    count: u32,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    revision: Option<Revision>,
    nodes: BTreeMap<u32, NodeName>,
}

impl Known {
    /// The node of a shard, unless it is known to be gone.
    fn living(&self, shard: u32, look: Option<&ClusterLook>) -> Option<NodeName> {
        let node = self.nodes.get(&shard)?;
        let gone =
            look.is_some_and(|look| look.node(node).is_some_and(|standing| !standing.is_alive(look.now)));
        (!gone).then(|| node.clone())
    }
}

impl Shards {
    pub(super) fn new(inner: Arc<Inner>, kind: &str, count: u32) -> Self {
        Self { inner, kind: kind.to_owned(), count: count.max(1), known: Arc::default() }
    }

    /// The shard of an entity: the same on every node and in every version.
    pub fn shard(&self, entity: &str) -> u32 {
        let hash = hash::key([entity.as_bytes()]) as u64;
        u32::try_from(hash % u64::from(self.count)).unwrap_or(0)
    }

    /// The node that runs the shard of an entity, as far as is known here; `None` while nobody does. It may have moved a
    /// moment ago: whoever is asked must check that it has the shard, and its writes carry the shard's fence.
    pub async fn node_of(&self, entity: &str) -> Result<Option<NodeName>, ClusterError> {
        self.node_of_shard(self.shard(entity)).await
    }

    /// The same by the shard's number.
    pub async fn node_of_shard(&self, shard: u32) -> Result<Option<NodeName>, ClusterError> {
        let look = self.inner.look.borrow().clone();
        let revision = look.as_ref().map(|look| look.revision);
        // One at a time: whoever waited finds what the one before has read.
        let mut known = self.known.lock().await;
        if known.revision.is_some() && known.revision == revision {
            return Ok(known.living(shard, look.as_deref()));
        }
        let rows = self.inner.store.daemons(&DaemonFilter::beginning(format!("{}/", self.kind))).await?;
        let nodes = rows.iter().filter(|row| row.state == DaemonState::Active).filter_map(|row| {
            let (index, count) = shard_of(row.name())?;
            Some((index, row.node()?.clone())).filter(|_| count == self.count)
        });
        *known = Known { revision, nodes: nodes.collect() };
        Ok(known.living(shard, look.as_deref()))
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shards_name_tells_which_it_is() {
        let name = DaemonName::new(shard_name("orders", 3, 8)).unwrap();
        assert_eq!(shard_of(&name), Some((3, 8)));
        for other in ["orders", "orders/x", "orders/8-of-8", "orders/-1-of-8", "3-of-8/y"] {
            assert_eq!(shard_of(&DaemonName::new(other).unwrap()), None, "{other}");
        }
    }
}
