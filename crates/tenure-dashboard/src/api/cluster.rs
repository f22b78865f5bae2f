//! Nodes, daemons and runners.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::cluster::{DaemonFilter, DaemonName, Steering};
use tenure_core::id::NodeName;
use tenure_core::observe::RUNNER_ROWS_MAX;
use tenure_core::show::{DaemonShape, Overview, RunnerShape};

use super::{list, told};
use crate::act;
use crate::asked::{Allowed, Operate, View};
use crate::fields::{self, AFTER, NAME, NODE, PREFIX};
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;

/// Runners that were not seen for so long are not told.
const SEEN_WITHIN: Duration = Duration::from_secs(90);
/// How many daemons are counted for the nodes.
pub(super) const DAEMONS_MAX: u32 = 10_000;

const HOW: Param =
    Param::word("action", &["pause", "resume", "move", "unpin"], "what to do with it").needed();
const TO: Param = Param::text("to", 200, "the node that it moves to");
pub(super) const STEER: &[Param] = &[NAME.needed(), HOW, TO];

pub(super) async fn nodes(allowed: Allowed<View>) -> Answer {
    let cluster = Arc::clone(&allowed.desk.stores.cluster);
    let call = async move {
        let look = cluster.look().await?;
        let filter = DaemonFilter { limit: DAEMONS_MAX, ..DaemonFilter::beginning("") };
        Ok((look, cluster.daemons(&filter).await?))
    };
    let (look, daemons) = allowed.desk.ask("nodes", call).await?;
    list(Overview::of(&look, &daemons).nodes(), None::<String>)
}

pub(super) async fn daemons(allowed: Allowed<View>) -> Answer {
    let limit = fields::limit(&allowed.query, allowed.desk.limits.page)?;
    let filter = DaemonFilter {
        node: fields::name(&NODE, allowed.query.text(&NODE)?, NodeName::new)?,
        prefix: allowed.query.text(&PREFIX)?,
        after: fields::name(&AFTER, allowed.query.text(&AFTER)?, DaemonName::new)?,
        limit: limit + 1,
    };
    let cluster = Arc::clone(&allowed.desk.stores.cluster);
    let call = async move { Ok((cluster.daemons(&filter).await?, cluster.look().await?)) };
    let (mut rows, look) = allowed.desk.ask("daemons", call).await?;
    let next = super::cut(&mut rows, limit).then(|| rows.last().map(|row| row.name().to_string())).flatten();
    list(rows.iter().map(|row| DaemonShape::of(row, &look)).collect(), next)
}

pub(super) async fn steer(allowed: Allowed<Operate>) -> Answer {
    let daemon = fields::name(&NAME, Some(allowed.body.need(&NAME)?), DaemonName::new)?;
    let to = fields::name(&TO, allowed.body.text(&TO)?, NodeName::new)?;
    let steering = match (allowed.body.word(&HOW)?, to) {
        (Some("pause"), None) => Steering::Pause,
        (Some("resume"), None) => Steering::Resume,
        (Some("unpin"), None) => Steering::Unpin,
        (Some("move"), Some(to)) => Steering::Move { to },
        (Some("move"), None) => return Err(Problem::invalid("to", "is missing: where is it to go?")),
        _ => return Err(Problem::invalid("to", "goes together with `move` only")),
    };
    let Some(daemon) = daemon else { return Err(Problem::invalid("name", "is missing")) };
    let row = act::steer(&allowed, daemon, steering).await?;
    let cluster = Arc::clone(&allowed.desk.stores.cluster);
    let look = allowed.desk.ask("the cluster", async move { cluster.look().await }).await?;
    match row {
        Some(row) => told(&DaemonShape::of(&row, &look)),
        None => Err(Problem::NotFound("the daemon is gone".into())),
    }
}

pub(super) async fn runners(allowed: Allowed<View>) -> Answer {
    let runners = Arc::clone(&allowed.desk.stores.runners);
    let call = async move { runners.runners(SEEN_WITHIN, RUNNER_ROWS_MAX).await };
    let found = allowed.desk.ask("runners", call).await?;
    list(found.rows.iter().map(RunnerShape::from).collect(), None::<String>)
}
