//! What a run of the world of a cluster has seen, in numbers.

use std::fmt;
use std::ops::AddAssign;

use tenure_core::cluster::{Answer, DaemonState, LEADER_LEASE, Order, Placement, Verdict};

use crate::oracle::{ClusterFact, Fact, Ordered};

macro_rules! tally {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// Numbers of one run, or of many.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct ClusterTally {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl AddAssign for ClusterTally {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }

        impl fmt::Display for ClusterTally {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("cluster:")?;
                $(write!(f, " {} {},", stringify!($field).replace('_', " "), self.$field)?;)*
                Ok(())
            }
        }
    };
}

tally! {
    /// Leaders elected.
    elected,
    /// Grants of node leases, burials among them.
    seats,
    /// Node leases that their holders lost.
    seats_lost,
    /// Daemons given to a node.
    placed,
    /// Daemons taken from a node that was over.
    orphaned,
    /// Daemons taken from a node that lived and had not answered in time.
    forced,
    /// Daemons moved only to even the load.
    spread,
    /// Daemons acknowledged.
    acknowledged,
    /// Daemons that have stopped as they were told.
    confirmed,
    /// Daemons that failed too often on a node.
    failed,
    /// Acknowledgements, confirmations and failures of another generation.
    stale,
    /// Placements refused.
    refused,
    /// Orders refused because their giver was out of office.
    fenced,
    /// Effects of daemons let in.
    effects,
    /// Effects of daemons refused.
    effects_refused,
    /// What operators did.
    steered,
    /// Processes that left in good order.
    left,
    /// Nodes forgotten by the leader.
    forgotten,
    /// Faults.
    blows,
    /// Steps of the world.
    steps,
}

impl ClusterTally {
    pub(super) fn count(&mut self, facts: &[Fact]) {
        for fact in facts {
            let Fact::Cluster(fact) = fact else { continue };
            match fact {
                ClusterFact::Granted { lease, .. } if lease.as_str() == LEADER_LEASE => self.elected += 1,
                ClusterFact::Granted { lease, .. } if lease.as_str().starts_with("tenure/node/") => {
                    self.seats += 1;
                }
                ClusterFact::Effect { accepted: true, .. } => self.effects += 1,
                ClusterFact::Effect { .. } => self.effects_refused += 1,
                ClusterFact::Ordered(ordered) => self.count_order(ordered),
                _ => {}
            }
        }
    }

    fn count_order(&mut self, ordered: &Ordered) {
        self.placed += ordered.granted().count() as u64;
        let verdicts = match &ordered.answer {
            Answer::Done(verdicts) => verdicts,
            Answer::Fenced(_) => {
                self.fenced += 1;
                return;
            }
            Answer::Refused(_) => return,
        };
        let taken = verdicts.iter().filter(|verdict| verdict.is_taken()).count() as u64;
        let not = verdicts.len() as u64 - taken;
        match &*ordered.order {
            Order::Acknowledge { .. } => {
                (self.acknowledged, self.stale) = (self.acknowledged + taken, self.stale + not)
            }
            Order::Confirm { .. } => {
                (self.confirmed, self.stale) = (self.confirmed + taken, self.stale + not)
            }
            Order::Fail { .. } => (self.failed, self.stale) = (self.failed + taken, self.stale + not),
            Order::Place { placements, .. } => {
                self.refused += not;
                for (placement, verdict) in placements.iter().zip(verdicts) {
                    if *verdict == Verdict::Taken {
                        self.count_placement(placement, ordered);
                    }
                }
            }
            _ => {}
        }
    }

    fn count_placement(&mut self, placement: &Placement, ordered: &Ordered) {
        match placement {
            Placement::Assign { daemon, .. } | Placement::Unassign { daemon, .. } => {
                let Some(before) = ordered.before.get(daemon) else { return };
                if before.state != DaemonState::Unassigned && !ordered.lives(before) {
                    self.orphaned += 1;
                } else if before.state != DaemonState::Unassigned && ordered.is_late(before) {
                    self.forced += 1;
                }
            }
            Placement::Revoke { reason, .. } if reason.contains("to even the load") => self.spread += 1,
            Placement::Forget { .. } => self.forgotten += 1,
            _ => {}
        }
    }
}
