//! Messages in a table.

use std::process::ExitCode;

use tenure::core::contract::OutboxAdmin;
use tenure::core::outbox::{Filter, RowId, Selection, State, Summary};
use tenure::core::show::MessageShape;

use crate::args::FilterArgs;
use crate::output::{self, Failure, Table};

/// How much of a reason fits into a table.
const REASON_CHARS: usize = 60;

/// What is wrong with the command line is told before a database is opened.
pub(super) fn check(filter: &FilterArgs, state: Option<State>) -> Result<(), Failure> {
    let filter = filter.to_filter()?;
    match (filter.cause, state) {
        (Some(_), Some(state)) if state != State::Dead => Err(Failure::Usage(format!(
            "--cause is of dead messages, and --state {} is not: leave out one of them",
            state.as_str()
        ))),
        _ => Ok(()),
    }
}

pub(super) async fn list(
    admin: &dyn OutboxAdmin,
    filter: Filter,
    limit: u32,
    before: Option<i64>,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let messages = found(admin, filter, limit, before.map(RowId)).await?;
    if as_json {
        output::json(&messages.iter().map(MessageShape::from).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if messages.is_empty() {
        output::line("no such messages");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table =
        Table::new(&["ROW", "ID", "STATE", "TOPIC", "TYPE", "SOURCE", "CREATED", "TRIES", "LAST ERROR"]);
    for message in &messages {
        let state = if message.halts { "dead, halts" } else { message.state.as_str() };
        table.row(vec![
            message.row.0.to_string(),
            plain(&message.id, 40),
            state.into(),
            plain(&message.topic, 30),
            plain(&message.kind, 30),
            message.source.as_deref().map_or_else(|| "-".into(), |source| plain(source, 30)),
            message.created_at.to_string(),
            message.attempts.to_string(),
            message.last_error.as_deref().map_or_else(String::new, |error| plain(error, REASON_CHARS)),
        ]);
    }
    table.print();
    if messages.len() == limit as usize
        && let Some(last) = messages.last()
    {
        output::note(format_args!("there may be more: --before {}", last.row.0));
    }
    Ok(ExitCode::SUCCESS)
}

/// As many messages as were asked for, however far the store has to look for them.
async fn found(
    admin: &dyn OutboxAdmin,
    filter: Filter,
    limit: u32,
    mut before: Option<RowId>,
) -> Result<Vec<Summary>, Failure> {
    let mut messages = Vec::new();
    loop {
        let left = limit.saturating_sub(u32::try_from(messages.len()).unwrap_or(u32::MAX));
        let selection = Selection { filter: filter.clone(), before, limit: left, steps: 0 };
        let listing = admin.list(&selection).await?;
        messages.extend(listing.messages);
        before = listing.more_before;
        if before.is_none() || messages.len() >= limit as usize {
            return Ok(messages);
        }
    }
}

/// What came from a row, fit for a terminal: nothing in it acts, and it is not too long.
pub(super) fn plain(text: &str, chars: usize) -> String {
    let mut plain = output::seen(&text.chars().take(chars).collect::<String>());
    if text.chars().nth(chars).is_some() {
        plain.push('…');
    }
    plain
}
