//! Noticing a death at once: each node waits for the lease of the one after it in the ring, takes it with the evidence that
//! its presence ended, and gives it back.

use tenure_core::cluster::{ClusterLook, node_lease};
use tenure_core::id::{Node, NodeName};
use tenure_core::lease::{LeaseSettings, Term};
use tenure_core::time::Monotonic;

use super::chair::{Chair, Live};
use super::message::{Which, Why};
use super::process::Work;
use super::valid;
use crate::actor::{FAR, Patience};

/// A wait for the lease of the next node.
#[derive(Debug)]
pub(super) struct Grave {
    number: u64,
    pub(super) next: (NodeName, Term),
    chair: Chair,
    /// The one before, which may still have something to give back.
    former: Option<(u64, Chair)>,
}

impl Grave {
    pub(super) fn new(
        number: u64,
        next: (NodeName, Term),
        former: Option<Self>,
        settings: LeaseSettings,
        work: &mut Work<'_>,
    ) -> Self {
        let mut chair = Chair::new(valid(node_lease(&next.0)), settings);
        work.turn(|purpose| Why::Lease(Which::Grave(number), purpose), |turn| chair.contend(turn));
        let former = former.map(|former| {
            let mut chair = former.chair;
            chair.release(None, work.now);
            (former.number, chair)
        });
        Self { number, next, chair, former }
    }

    pub(super) fn chair(&mut self, number: u64) -> Option<&mut Chair> {
        if number == self.number {
            return Some(&mut self.chair);
        }
        self.former.as_mut().filter(|(former, _)| *former == number).map(|(_, chair)| chair)
    }

    /// The node is gone: its lease is given back, so that the store says so.
    pub(super) fn bury(&mut self, now: Monotonic) {
        self.chair.release(None, now);
    }

    pub(super) fn drive(
        &mut self,
        node: &Node,
        live: Live,
        patience: Patience,
        work: &mut Work<'_>,
    ) -> Monotonic {
        let current = (self.number, &mut self.chair);
        let former = self.former.as_mut().map(|(number, chair)| (*number, chair));
        let mut wake = FAR;
        for (number, chair) in [Some(current), former].into_iter().flatten() {
            let (at, _) = work.turn(
                |purpose| Why::Lease(Which::Grave(number), purpose),
                |turn| chair.drive(node, live, patience, turn),
            );
            wake = wake.min(at);
        }
        wake
    }
}

/// The living node that comes next by name, going round.
pub(super) fn after(look: &ClusterLook, me: &NodeName) -> Option<(NodeName, Term)> {
    let others = look.nodes.iter().filter(|standing| standing.is_alive(look.now));
    let others = others.map(|standing| (&standing.member.node.name, standing.member.term));
    let mut others: Vec<_> = others.filter(|(name, _)| *name != me).collect();
    others.sort();
    let next = others.iter().find(|(name, _)| *name > me).or_else(|| others.first());
    next.map(|(name, term)| ((*name).clone(), *term))
}
