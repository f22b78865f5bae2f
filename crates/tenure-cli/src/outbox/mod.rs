//! `tenure outbox`: what waits, what failed and why, and what to do about it.

mod change;
mod list;
mod show;

use std::process::ExitCode;

use tenure::core::outbox::{Filter, Stats};
use tenure::core::show::StatsShape;

use self::change::Change;
use crate::args::{FilterArgs, Global, OutboxCommand};
use crate::output::{self, Failure, Table};
use crate::store;

pub(crate) async fn outbox(global: &Global, command: &OutboxCommand) -> Result<ExitCode, Failure> {
    let url = store::database_url(global)?;
    store::refuse_memory(url)?;
    if let OutboxCommand::Retry(args) | OutboxCommand::Discard(args) = command {
        change::check(args)?;
    }
    let database = store::open_existing(global, url).await?;
    let admin = database.outbox_admin();
    match command {
        OutboxCommand::List { filter, state, limit, before } => {
            let mut filter = filter.to_filter();
            filter.state = *state;
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
    fn to_filter(&self) -> Filter {
        Filter {
            state: None,
            topic: self.topic.clone(),
            source: self.source.clone(),
            kind: self.kind.clone(),
            id: self.id.clone(),
            ..Filter::default()
        }
    }
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
