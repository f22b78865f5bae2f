//! `tenure audit`: what operators did.

use std::process::ExitCode;

use tenure::core::observe::AuditSelection;
use tenure::core::show::AuditShape;

use crate::args::{AuditCommand, Global};
use crate::output::{self, Failure, Table};
use crate::store;

/// How much of a text is shown in a column.
const CELL_CHARS: usize = 60;

pub(crate) async fn audit(global: &Global, command: &AuditCommand) -> Result<ExitCode, Failure> {
    let AuditCommand::List { actor, action, subject, limit } = command;
    let url = store::database_url(global)?;
    store::refuse_memory(url)?;
    let database = store::open_to_look(global, url).await?;
    let mut selection = AuditSelection {
        actor: actor.clone(),
        action: action.clone(),
        subject: subject.clone(),
        limit: *limit,
        ..AuditSelection::default()
    };
    let mut lines = Vec::new();
    loop {
        let page = database.audit().audit(&selection).await?;
        lines.extend(page.lines);
        selection.limit = limit.saturating_sub(u32::try_from(lines.len()).unwrap_or(u32::MAX));
        match page.more_before {
            Some(before) if selection.limit > 0 => selection.before = Some(before),
            _ => break,
        }
    }
    if global.json {
        output::json(&lines.iter().map(AuditShape::from).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["AT", "WHO", "DID", "TO", "MORE"]);
    for line in &lines {
        let cells = [&line.actor, &line.action, &line.subject, &line.detail].map(|text| plain(text));
        table.row(std::iter::once(line.at.to_string()).chain(cells).collect());
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

/// What others wrote, fit for a terminal.
fn plain(text: &str) -> String {
    let mut cell = output::seen(&text.chars().take(CELL_CHARS).collect::<String>());
    if text.chars().count() > CELL_CHARS {
        cell.push('…');
    }
    cell
}
