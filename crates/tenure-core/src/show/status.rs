//! Whether all is well, in one look.

use serde::Serialize;
use serde_json::Value;

use super::schema::{Shape, list, list_of, maybe, object, one, text, whole, word};
use super::{DaemonsShape, LeaderShape, LeaseLine, NodeShape, StatsShape, SubscriptionShape};
use crate::outbox::Level;

/// What `tenure status` tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusShape {
    /// The daemons in numbers.
    pub daemons: DaemonsShape,
    /// 1 when it is unhealthy, else 0.
    pub exit_code: u8,
    /// How it is.
    pub health: Level,
    /// Who leads the cluster, if anyone does.
    pub leader: Option<LeaderShape>,
    /// Leases, those of daemons left out.
    pub leases: Vec<LeaseLine>,
    /// The nodes of the cluster.
    pub nodes: Vec<NodeShape>,
    /// The outbox in numbers.
    pub outbox: StatsShape,
    /// Why it is not well.
    pub reasons: Vec<String>,
    /// Subscriptions that ever moved.
    pub subscriptions: Vec<SubscriptionShape>,
}

impl Shape for StatusShape {
    const NAME: &'static str = "Status";
    fn schema() -> Value {
        object(vec![
            ("daemons", one::<DaemonsShape>()),
            ("exit_code", whole()),
            ("health", word(&["healthy", "degraded", "unhealthy"])),
            ("leader", maybe(one::<LeaderShape>())),
            ("leases", list_of::<LeaseLine>()),
            ("nodes", list_of::<NodeShape>()),
            ("outbox", one::<StatsShape>()),
            ("reasons", list(text())),
            ("subscriptions", list_of::<SubscriptionShape>()),
        ])
    }
}
