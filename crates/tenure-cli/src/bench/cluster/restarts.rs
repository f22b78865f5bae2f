//! How often daemons move when nodes come and go as planned.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::nodes::Nodes;
use super::{Size, declare, settings_json};
use crate::bench::outbox::measure::round;
use crate::bench::outbox::rig::Rig;
use crate::output::Failure;

/// Short, so that the end of it is seen; restarts follow each other within it all the same.
const SETTLE: Duration = Duration::from_secs(3);

/// What moved between two counts: how many moves in all, and the most of one daemon.
fn moved(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> (u64, u64) {
    let moves = after.iter().map(|(name, now)| now - before.get(name).unwrap_or(&0).min(now));
    moves.fold((0, 0), |(sum, most), moves| (sum + moves, most.max(moves)))
}

pub(super) async fn replace(rig: &dyn Rig, size: Size) -> Result<Value, Failure> {
    let mut nodes = Nodes::start(rig, size, SETTLE).await?;
    declare(rig.database(), size.daemons).await?;
    let before = nodes.moves_at_rest(size.daemons).await?;
    let old = nodes.names().into_iter().next().unwrap_or_default();
    let led = nodes.leads(&old);
    nodes.join("node-new", "1").await?;
    nodes.leave(&old).await;
    let (moves, most) = moved(&before, &nodes.moves_at_rest(size.daemons).await?);
    let settings = settings_json(nodes.settings());
    nodes.end().await;
    let limit = f64::from(size.daemons) / f64::from(size.nodes) * 1.1;
    Ok(json!({
        "nodes": size.nodes, "daemons": size.daemons, "the_old_one_led": led, "moves": moves,
        "most_moves_of_one": most, "settings": settings,
        "goals": { "moves": format!("at most {limit:.0}"), "most_moves_of_one": "1" },
    }))
}

pub(super) async fn rolling(rig: &dyn Rig, size: Size) -> Result<Value, Failure> {
    let mut nodes = Nodes::start(rig, size, SETTLE).await?;
    declare(rig.database(), size.daemons).await?;
    let mut before = nodes.moves_at_rest(size.daemons).await?;
    let mut figures = json!({
        "nodes": size.nodes, "daemons": size.daemons,
        "goals": { "restart_moves_per_daemon": "at most 2", "deploy_moves_per_daemon": "at most 2" },
    });
    // The same program again, and then another version of it.
    for (kind, version) in [("restart", "1"), ("deploy", "2")] {
        for name in nodes.names() {
            nodes.leave(&name).await;
            nodes.join(&name, version).await?;
        }
        let after = nodes.moves_at_rest(size.daemons).await?;
        let (moves, most) = moved(&before, &after);
        before = after;
        figures[format!("{kind}_moves_per_daemon")] = round(moves as f64 / f64::from(size.daemons)).into();
        figures[format!("{kind}_most_moves_of_one")] = most.into();
    }
    figures["settings"] = settings_json(nodes.settings());
    nodes.end().await;
    Ok(figures)
}
