//! A node whose own calls are answered keeps its lease, however busy its office or its lead is.

use std::time::Duration;

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment};

/// For clocks that differ, and for an announcement that is still under way.
const SLACK: Duration = Duration::from_secs(3);

/// No lease is lost for nothing.
#[derive(Debug, Default)]
pub struct HeartbeatNeverStarved {
    ttl: Duration,
}

impl Invariant for HeartbeatNeverStarved {
    fn name(&self) -> &'static str {
        "heartbeat_never_starved"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Cluster(ClusterFact::Kept { node_ttl, .. }) => self.ttl = *node_ttl,
                Fact::Cluster(ClusterFact::SeatLost { node, fair_for, loss })
                    if *fair_for > self.ttl + SLACK =>
                {
                    return Err(format!(
                        "n{node} lost its lease ({loss}); nothing befell it for {fair_for:?}"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
