//! How things stand, as `tenure status` tells it, in numbers that cost the same however much there is.

use std::sync::Arc;

use serde_json::json;
use tenure_core::cluster::{DaemonFilter, DaemonName};
use tenure_core::event::Position;
use tenure_core::lease::LeasePageOf;
use tenure_core::outbox::{Health, Level, PULSE_MAX, Pulse, Stats};
use tenure_core::show::{LeaseLine, Overview, PulseShape, SubscriptionShape};

use super::cluster::DAEMONS_MAX;
use super::told;
use crate::asked::{Allowed, View};
use crate::routes::Answer;

/// How many leases are read, and of those that are no daemon's, how many are told.
const LEASES_READ: u32 = 1_000;
const LEASES: usize = 200;
const SUBSCRIPTIONS: u32 = 200;

pub(super) async fn status(allowed: Allowed<View>) -> Answer {
    let stores = allowed.desk.stores.clone();
    let call = async move {
        let pulse = stores.outbox.pulse(PULSE_MAX).await?;
        let leases = stores.leases.list(&LeasePageOf::first(LEASES_READ)).await?;
        let subscriptions = stores.checkpoints.subscriptions(None, SUBSCRIPTIONS).await?;
        let head = stores.events.read_all(Position::START, 1).await?.head;
        let look = stores.cluster.look().await?;
        let filter = DaemonFilter { limit: DAEMONS_MAX, ..DaemonFilter::beginning("") };
        Ok((pulse, leases, subscriptions, head, look, stores.cluster.daemons(&filter).await?))
    };
    let (pulse, (mut leases, now), subscriptions, head, look, daemons) =
        allowed.desk.ask("status", call).await?;
    leases.retain(|record| DaemonName::of_lease(&record.name).is_none());
    leases.truncate(LEASES);
    let cluster = Overview::of(&look, &daemons);
    let mut health = Health::of(&as_stats(&pulse), &allowed.desk.thresholds);
    cluster.judge(&mut health);
    told(&json!({
        "daemons": cluster.daemons(),
        "exit_code": u8::from(health.level == Level::Unhealthy),
        "health": health.level,
        "leader": cluster.leader(),
        "leases": leases.iter().map(|record| LeaseLine::of(record, now)).collect::<Vec<_>>(),
        "nodes": cluster.nodes(),
        "outbox": PulseShape::from(&pulse),
        "reasons": health.reasons,
        "subscriptions": subscriptions.iter().map(|row| SubscriptionShape::of(row, head)).collect::<Vec<_>>(),
    }))
}

/// The numbers that are judged.
fn as_stats(pulse: &Pulse) -> Stats {
    Stats {
        pending: pulse.pending.number,
        retrying: pulse.retrying.number,
        dead: pulse.dead.number,
        halted_sources: pulse.halted_sources.number,
        lag: pulse.lag,
        ..Stats::default()
    }
}

pub(super) async fn health(allowed: Allowed<View>) -> Answer {
    let (live, ready) = match &allowed.desk.health {
        Some(source) => {
            let source = Arc::clone(source);
            (source.live(), source.ready().await)
        }
        None => crate::serve::health_of(&allowed.desk).await,
    };
    told(&json!({
        "live": live.up, "ready": ready.up, "liveness": live.report, "readiness": ready.report,
    }))
}
