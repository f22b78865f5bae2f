//! One message with its history.

use std::process::ExitCode;

use tenure::core::contract::OutboxAdmin;
use tenure::core::outbox::{Details, RowId, Selection};
use tenure::core::show::{MessageDetails, payload_text};

use super::list::plain;
use crate::output::{self, Failure, Table};

/// How much of a payload is shown unless all of it is asked for.
const PAYLOAD_BYTES: usize = 4096;

pub(super) async fn show(
    admin: &dyn OutboxAdmin,
    id: &str,
    full: bool,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let limit = if full { usize::MAX } else { PAYLOAD_BYTES };
    let details = match admin.show(id, limit).await? {
        None => show_row(admin, id, limit).await?,
        found => found,
    };
    let Some(details) = details else { return Err(Failure::Failed(super::no_message(id))) };
    if as_json {
        output::json(&MessageDetails::of(&details, usize::MAX))?;
    } else {
        print(&details);
    }
    Ok(ExitCode::SUCCESS)
}

/// The message with this number, as logs and lists tell it.
async fn show_row(
    admin: &dyn OutboxAdmin,
    text: &str,
    payload_max: usize,
) -> Result<Option<Details>, Failure> {
    let Ok(row) = text.parse::<i64>() else { return Ok(None) };
    let selection =
        Selection { before: Some(RowId(row.saturating_add(1))), limit: 1, ..Selection::default() };
    match admin.list(&selection).await?.messages.first() {
        Some(summary) if summary.row.0 == row => Ok(admin.show(&summary.id, payload_max).await?),
        _ => Ok(None),
    }
}

fn print(details: &Details) {
    let summary = &details.summary;
    let field = |name: &str, value: &str| output::line(format_args!("{name:<12} {}", plain(value, 2_000)));
    field("id", &summary.id);
    let state = if summary.halts { "dead; its source stands still" } else { summary.state.as_str() };
    field("state", state);
    field("topic", &summary.topic);
    field("type", &summary.kind);
    if let Some(source) = &summary.source {
        field("source", source);
        field("sequence", &format!("{}.{}", summary.sequence.version, summary.sequence.index));
    }
    field("created", &summary.created_at.to_string());
    if let Some(at) = summary.due_at {
        field("due", &at.to_string());
    }
    if let Some(at) = summary.finished_at {
        field("finished", &at.to_string());
    }
    field("attempts", &summary.attempts.to_string());
    if let Some(error) = &summary.last_error {
        field("last error", error);
    }
    if let Some(content_type) = &details.content_type {
        field("content type", content_type);
    }
    if let Some(headers) = &details.headers {
        field("headers", headers);
    }
    let (text, cut) = payload_text(details, usize::MAX);
    let what = if details.is_text { "payload" } else { "payload, hex" };
    output::line(format_args!("{what:<12} {}", plain(&text.unwrap_or_else(|| "none".into()), usize::MAX)));
    if cut {
        output::note("the payload was cut; --full shows all of it");
    }
    if details.attempts.is_empty() {
        return;
    }
    output::line("");
    let mut table = Table::new(&["TRY", "AT", "OUTCOME", "TOOK", "NODE", "TERM", "ERROR"]);
    for attempt in &details.attempts {
        table.row(vec![
            attempt.number.to_string(),
            attempt.at.to_string(),
            attempt.outcome.as_str().into(),
            super::span(std::time::Duration::from_micros(attempt.took_us)),
            plain(&attempt.node, 40),
            attempt.term.map_or_else(|| "-".into(), |term| term.to_string()),
            attempt.error.as_deref().map_or_else(String::new, |error| plain(error, 200)),
        ]);
    }
    table.print();
}
