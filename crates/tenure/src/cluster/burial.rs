//! Noticing a death at once: each node watches the one after it, in a ring.
//!
//! A node's lease is held with presence. Whoever watches it sees the session end, waits out the trust that the dead node
//! may have had in itself, and takes the lease with that evidence, only to give it back: from then on the store itself
//! says that the node is over, and the leader places its daemons anew. One watch for each node is enough: when two die at
//! once, the one before both finds the second as soon as it has buried the first.

use std::sync::Arc;

use tenure_core::cluster::{ClusterLook, node_lease};
use tenure_core::id::NodeName;
use tenure_core::lease::Term;

use super::Inner;
use crate::lease::Leases;
use crate::stop::Stop;

/// Watches whoever comes next in the ring until `stop` is given.
pub(super) async fn watch(inner: Arc<Inner>, leases: Leases, stop: Stop) {
    if !leases.capabilities().presence {
        // The ttl decides, and the leader sees that by itself.
        return;
    }
    let mut looks = inner.look.subscribe();
    loop {
        let look = looks.borrow_and_update().clone();
        let next = look.as_deref().and_then(|look| after(look, &inner.node.name));
        let given_up = stop.child();
        let waiting = next.clone().map(|(name, term)| {
            tokio::spawn(bury(inner.clone(), leases.clone(), name, term, given_up.clone()))
        });
        // Until someone else is next.
        loop {
            tokio::select! {
                () = stop.stopped() => return,
                changed = looks.changed() => if changed.is_err() { return },
            }
            let look = looks.borrow_and_update().clone();
            if look.as_deref().and_then(|look| after(look, &inner.node.name)) != next {
                break;
            }
        }
        given_up.stop();
        if let Some(waiting) = waiting {
            let _ = waiting.await;
        }
    }
}

/// The living node that comes next by name, going round.
fn after(look: &ClusterLook, me: &NodeName) -> Option<(NodeName, Term)> {
    let others = look.nodes.iter().filter(|standing| standing.is_alive(look.now));
    let others = others.map(|standing| (&standing.member.node.name, standing.member.term));
    let mut others: Vec<_> = others.filter(|(name, _)| *name != me).collect();
    others.sort();
    let next = others.iter().find(|(name, _)| *name > me).or_else(|| others.first());
    next.map(|(name, term)| ((*name).clone(), *term))
}

async fn bury(inner: Arc<Inner>, leases: Leases, node: NodeName, term: Term, given_up: Stop) {
    let settings = inner.settings.membership();
    let Ok(name) = node_lease(&node) else { return };
    let lease = match leases.lease(name.as_str(), settings) {
        Ok(lease) => lease,
        Err(error) => {
            tracing::warn!(%node, %error, "a node cannot be watched; its ttl decides");
            return;
        }
    };
    match lease.acquire_when_free(&given_up).await {
        Ok(Some(fence)) => {
            // One that has left gives its lease back too.
            let there = inner.store.look().await.ok();
            match there.is_some_and(|look| look.node(&node).is_some_and(|known| known.member.term == term)) {
                true => tracing::warn!(%node, %term, "a node is gone"),
                false => tracing::debug!(%node, %term, "a node has left"),
            }
            if let Err(error) = lease.release().await {
                tracing::warn!(%fence, %error, "the lease of a dead node was not given back; its ttl will end it");
            }
            inner.nudge.notify_one();
            // Whoever leads is to see it now, and not at its next look.
            if let Err(error) = inner.store.wake().await {
                tracing::debug!(%error, "the others will see it when they look");
            }
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%node, %error, "a node cannot be watched; its ttl decides"),
    }
}
