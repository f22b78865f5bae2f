//! `tenure status`: whether all is well, in one look.

use std::process::ExitCode;

use tenure::HealthMonitor;
use tenure::core::lease::LeasePageOf;
use tenure::core::outbox::Level;
use tenure::core::show::{LeaseLine, Overview, StatsShape, StatusShape, SubscriptionShape};
use tenure::core::subscription::Progress;
use tenure::event::Position;
use tenure::{DaemonFilter, DaemonName};

use crate::args::{Global, StatusArgs};
use crate::outbox::span;
use crate::output::{self, Failure, Table};
use crate::{lease, overview, store};

/// How many leases are read: those of daemons, which are told as daemons, are among them.
const LEASES_READ: u32 = 100_000;
/// How many subscriptions are listed.
const SUBSCRIPTIONS: u32 = 1_000;
/// How many of the others are listed.
const LEASES: usize = 200;

pub(crate) async fn status(global: &Global, args: &StatusArgs) -> Result<ExitCode, Failure> {
    let thresholds = args.health.thresholds();
    let url = store::database_url(global)?;
    store::refuse_memory(url)?;
    let database = store::open_to_look(global, url).await?;
    let (mut leases, now) = database.admin().list(&LeasePageOf::first(LEASES_READ)).await?;
    leases.retain(|record| DaemonName::of_lease(&record.name).is_none());
    leases.truncate(LEASES);
    let stats = database.outbox_admin().stats().await?;
    let subscriptions = database.checkpoints().subscriptions(None, SUBSCRIPTIONS).await?;
    let head = database.events().read_all(Position::START, 1).await?.head;
    let behind = |progress: &Progress| head.0.saturating_sub(progress.position.0);
    let look = database.cluster().look().await?;
    let daemons = database.cluster().daemons(&DaemonFilter::beginning("")).await?;
    let cluster = Overview::of(&look, &daemons);
    // The same judgement as that of probes, pages and the API.
    let health = HealthMonitor::new(database.for_operators(), thresholds)?.judge_once().await?;
    let code = if health.level == Level::Unhealthy { 1 } else { 0 };
    if global.json {
        output::json(&StatusShape {
            daemons: cluster.daemons(),
            exit_code: code,
            health: health.level,
            leader: cluster.leader(),
            leases: leases.iter().map(|record| LeaseLine::of(record, now)).collect(),
            nodes: cluster.nodes(),
            outbox: StatsShape::from(&stats),
            reasons: health.reasons,
            subscriptions: subscriptions
                .iter()
                .map(|progress| SubscriptionShape::of(progress, head))
                .collect(),
        })?;
        return Ok(ExitCode::from(code));
    }
    let level = match health.level {
        Level::Healthy => "healthy",
        Level::Degraded => "degraded",
        Level::Unhealthy => "unhealthy",
    };
    output::line(format_args!("health    {level}"));
    for reason in &health.reasons {
        output::line(format_args!("          {reason}"));
    }
    let lag = stats.lag.map_or_else(|| "none".to_owned(), span);
    output::line(format_args!(
        "outbox    {} pending ({} delayed, {} retrying), lag {lag}, {} dead, {} halted sources",
        stats.pending, stats.delayed, stats.retrying, stats.dead, stats.halted_sources
    ));
    for progress in &subscriptions {
        output::line(format_args!(
            "reader    {} at {}, at most {} behind, {} put aside, moved {}",
            progress.name,
            progress.position,
            behind(progress),
            progress.parked,
            lease::ago(progress.moved_at, now)
        ));
    }
    overview::print(&cluster);
    let held: Vec<_> = leases.iter().filter(|record| record.is_held(now)).collect();
    if held.is_empty() {
        if look.nodes.is_empty() && daemons.is_empty() {
            output::line("leases    none held: no relay with --coordination exclusive is at work");
        }
        return Ok(ExitCode::from(code));
    }
    output::line("");
    let mut table = Table::new(&["LEASE", "TERM", "NODE", "KIND", "ACQUIRED"]);
    for record in held {
        table.row(vec![
            record.name.to_string(),
            record.term.to_string(),
            record.node.name.to_string(),
            record.kind.clone().unwrap_or_else(|| "-".into()),
            lease::ago(record.acquired_at, now),
        ]);
    }
    table.print();
    Ok(ExitCode::from(code))
}
