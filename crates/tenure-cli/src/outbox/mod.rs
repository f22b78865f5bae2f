//! `tenure outbox`: what waits, what failed and why, and what to do about it.

mod change;
mod list;
mod show;

use std::process::ExitCode;
use std::time::SystemTime;

use tenure::core::outbox::{Filter, Stats};
use tenure::core::show::StatsShape;
use tenure::core::time::StoreTime;

use self::change::Change;
use crate::args::{FilterArgs, Global, OutboxCommand};
use crate::output::{self, Failure, Table};
use crate::store;

pub(crate) async fn outbox(global: &Global, command: &OutboxCommand) -> Result<ExitCode, Failure> {
    let url = store::database_url(global)?;
    store::refuse_memory(url)?;
    match command {
        OutboxCommand::Retry(args) | OutboxCommand::Discard(args) => change::check(args)?,
        OutboxCommand::List { filter, state, .. } => list::check(filter, *state)?,
        OutboxCommand::Show { .. } | OutboxCommand::Stats => {}
    }
    let database = match command {
        OutboxCommand::Retry(_) | OutboxCommand::Discard(_) => store::open_existing(global, url).await?,
        _ => store::open_to_look(global, url).await?,
    };
    let admin = database.outbox_admin();
    match command {
        OutboxCommand::List { filter, state, limit, before } => {
            let filter = Filter { state: *state, ..filter.to_filter()? };
            list::list(&*admin, filter, *limit, *before, global.json).await
        }
        OutboxCommand::Show { message, flag_id, full } => {
            let Some(id) = message.as_deref().or(flag_id.as_deref()) else {
                return Err(Failure::Usage("no message named".into()));
            };
            show::show(&*admin, id, *full, global.json).await
        }
        OutboxCommand::Retry(args) => change::change(&*admin, Change::Retry, args, global.json).await,
        OutboxCommand::Discard(args) => change::change(&*admin, Change::Discard, args, global.json).await,
        OutboxCommand::Stats => stats(&admin.stats().await?, global.json),
    }
}

impl FilterArgs {
    /// The filter. Spans back from now are counted by this machine's clock, once.
    fn to_filter(&self) -> Result<Filter, Failure> {
        let now = now();
        let filter = Filter {
            state: None,
            topic: self.topic.clone(),
            source: self.source.clone(),
            kind: self.kind.clone(),
            id: self.id.clone(),
            from: self.from.map(|at| at.on(now)),
            until: self.until.map(|at| at.on(now)),
            cause: self.cause,
        };
        match (filter.from, filter.until) {
            (Some(from), Some(until)) if from >= until => Err(Failure::Usage(format!(
                "--from {from} is not before --until {until}: no message fits; --from is the earlier one"
            ))),
            _ => Ok(filter),
        }
    }
}

fn now() -> StoreTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    StoreTime::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// How much of an id is said again in an error.
const ID_CHARS: usize = 100;

fn no_message(id: &str) -> String {
    format!("there is no message {}", list::plain(id, ID_CHARS))
}

fn stats(stats: &Stats, json: bool) -> Result<ExitCode, Failure> {
    if json {
        output::json(&StatsShape::from(stats))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["STATE", "MESSAGES", ""]);
    let waits = match stats.lag {
        Some(lag) => format!("the oldest has waited for {}", span(lag)),
        None => String::new(),
    };
    table.row(vec!["pending".into(), stats.pending.to_string(), waits]);
    table.row(vec!["  delayed".into(), stats.delayed.to_string(), String::new()]);
    table.row(vec!["  retrying".into(), stats.retrying.to_string(), String::new()]);
    let about = if stats.dispatched_is_estimate { "about " } else { "" };
    table.row(vec!["dispatched".into(), format!("{about}{}", stats.dispatched), String::new()]);
    let halted = match stats.halted_sources {
        0 => String::new(),
        1 => "1 source stands still".into(),
        n => format!("{n} sources stand still"),
    };
    table.row(vec!["dead".into(), stats.dead.to_string(), halted]);
    table.row(vec!["discarded".into(), stats.discarded.to_string(), String::new()]);
    table.print();
    Ok(ExitCode::SUCCESS)
}

/// A span for people: to the millisecond below a minute, to the second above.
pub(crate) fn span(span: std::time::Duration) -> String {
    use std::time::Duration;
    let rounded = match span.as_secs() {
        0..60 => Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)),
        seconds => Duration::from_secs(seconds),
    };
    humantime::format_duration(rounded).to_string()
}
