//! How things stand, as `tenure status` tells it, in numbers that cost the same however much there is.

use std::sync::Arc;

use serde_json::json;
use tenure_core::cluster::DaemonFilter;
use tenure_core::event::Position;
use tenure_core::health::{Findings, judge};
use tenure_core::show::{LeaseLine, Overview, PulseShape, SubscriptionShape};

use super::cluster::DAEMONS_MAX;
use super::told;
use crate::asked::{Allowed, View};
use crate::routes::Answer;
use crate::sampler::leases;

/// How many leases that are no daemon's are told.
const LEASES: usize = 200;

pub(super) async fn status(allowed: Allowed<View>) -> Answer {
    let stores = allowed.desk.stores.clone();
    let call = async move {
        let found = Findings::ask(&stores).await?;
        let leases = leases(&stores).await?;
        let head = stores.events.read_all(Position::START, 1).await?.head;
        let look = stores.cluster.look().await?;
        let filter = DaemonFilter { limit: DAEMONS_MAX, ..DaemonFilter::beginning("") };
        Ok((found, leases, head, look, stores.cluster.daemons(&filter).await?))
    };
    let (found, (mut leases, now), head, look, daemons) = allowed.desk.ask("status", call).await?;
    leases.truncate(LEASES);
    let cluster = Overview::of(&look, &daemons);
    let health = judge(&allowed.desk.facts(&found), &allowed.desk.thresholds);
    told(&json!({
        "daemons": cluster.daemons(),
        "exit_code": u8::from(!health.is_up()),
        "health": health.level,
        "leader": cluster.leader(),
        "leases": leases.iter().map(|record| LeaseLine::of(record, now)).collect::<Vec<_>>(),
        "nodes": cluster.nodes(),
        "outbox": PulseShape::from(&found.pulse),
        "reasons": health.reasons,
        "subscriptions": found.subscriptions.iter().map(|row| SubscriptionShape::of(row, head)).collect::<Vec<_>>(),
    }))
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
