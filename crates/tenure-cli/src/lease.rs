//! `tenure lease`: who holds what, how it came to that, and how to change it.

use std::process::ExitCode;
use std::time::Duration;

use tenure::LeaseName;
use tenure::core::cluster::{DaemonName, LEADER_LEASE};
use tenure::core::contract::LeaseAdmin;
use tenure::core::lease::{LeasePageOf, Revoke};
use tenure::core::show::{ChangeShape, LeaseShape};
use tenure::core::time::StoreTime;

use crate::args::{Global, LeaseCommand};
use crate::output::{self, Failure, Table};
use crate::{store, user};

pub(crate) async fn lease(global: &Global, command: &LeaseCommand) -> Result<ExitCode, Failure> {
    let url = store::database_url(global)?;
    let name = match command {
        LeaseCommand::List { .. } => None,
        LeaseCommand::Resign { .. } => Some(LeaseName::new(LEADER_LEASE)?),
        LeaseCommand::History { lease, name, .. } | LeaseCommand::Release { lease, name, .. } => {
            lease.as_ref().or(name.as_ref()).map(LeaseName::new).transpose()?
        }
    };
    let database = match command {
        LeaseCommand::List { .. } | LeaseCommand::History { .. } => store::open_to_look(global, url).await?,
        LeaseCommand::Resign { .. } | LeaseCommand::Release { .. } => {
            store::open_existing(global, url).await?
        }
    };
    let admin = database.admin();
    match command {
        LeaseCommand::List { limit } => list(admin.as_ref(), *limit, global.json).await,
        LeaseCommand::History { limit, .. } => {
            history(admin.as_ref(), name.as_ref(), *limit, global.json).await
        }
        LeaseCommand::Resign { by } => {
            let Some(name) = name else { return Err(Failure::Usage("no lease named".into())) };
            let by = by.clone().unwrap_or_else(user::name);
            release(admin.as_ref(), &name, &by, false, global.json).await
        }
        LeaseCommand::Release { force, by, .. } => {
            let Some(name) = name else { return Err(Failure::Usage("no lease named".into())) };
            if let Some(daemon) = DaemonName::of_lease(&name) {
                return Err(Failure::Usage(format!(
                    "this is the lease of daemon {daemon}, which the cluster grants; use `tenure daemon pause` or `move`"
                )));
            }
            let by = by.clone().unwrap_or_else(user::name);
            release(admin.as_ref(), &name, &by, *force, global.json).await
        }
    }
}

async fn list(admin: &dyn LeaseAdmin, limit: u32, json: bool) -> Result<ExitCode, Failure> {
    let (records, now) = admin.list(&LeasePageOf::first(limit)).await?;
    let rows: Vec<LeaseShape> = records.iter().map(|record| LeaseShape::of(record, now)).collect();
    if json {
        output::json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        output::line("no leases yet");
        return Ok(ExitCode::SUCCESS);
    }
    // Most databases grant all their leases themselves, and need no column to say so.
    let foreign = records.iter().any(|record| record.origin.is_some());
    let mut columns = vec!["NAME", "TERM", "STATE", "NODE", "MACHINE/PID", "KIND", "ACQUIRED", "RENEWED"];
    columns.extend(foreign.then_some("GRANTED BY"));
    let mut table = Table::new(&columns);
    for (row, record) in rows.iter().zip(&records) {
        let mut cells = vec![
            row.name.clone(),
            row.term.to_string(),
            row.state.to_owned(),
            row.node.clone(),
            format!("{}/{}", row.machine, row.pid),
            row.kind.clone().unwrap_or_else(|| "-".into()),
            ago(record.acquired_at, now),
            // A daemon's lease is not renewed: it lasts as long as its node's.
            if record.backend == "cluster" { "-".to_owned() } else { ago(record.renewed_at, now) },
        ];
        if foreign {
            let granted = record.origin.as_ref().map(|origin| format!("{} as {origin}", record.backend));
            cells.push(granted.unwrap_or_else(|| "this database".to_owned()));
        }
        table.row(cells);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

async fn history(
    admin: &dyn LeaseAdmin,
    name: Option<&LeaseName>,
    limit: u32,
    json: bool,
) -> Result<ExitCode, Failure> {
    let changes = admin.history(name, None, limit).await?;
    if json {
        let rows: Vec<ChangeShape> = changes.iter().map(ChangeShape::from).collect();
        output::json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    if changes.is_empty() {
        output::line("no history yet");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["AT", "NAME", "TERM", "CAUSE", "NODE", "MACHINE/PID"]);
    for change in changes {
        table.row(vec![
            change.at.to_string(),
            change.name.to_string(),
            change.term.to_string(),
            change.cause.to_string(),
            change.node.name.to_string(),
            format!("{}/{}", change.node.machine, change.node.pid),
        ]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

async fn release(
    admin: &dyn LeaseAdmin,
    name: &LeaseName,
    by: &str,
    force: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    let outcome = admin.revoke(name, by, force).await?;
    if json {
        output::json(&outcome)?;
    } else {
        output::line(match &outcome {
            Revoke::Asked { term, node } => format!(
                "{node} (term {term}) is told at its next renewal; its fenced writes are refused from now on, and the \
                 lease is free when it has stopped"
            ),
            Revoke::Forced { term, node } => format!(
                "free now; {node} (term {term}) may still act until it notices, so only fenced writes are safe. A lease that \
                 another place grants (--lease) stays taken there until {node} has stopped"
            ),
            Revoke::NotHeld => format!("nobody holds {name}"),
        });
    }
    Ok(if outcome == Revoke::NotHeld { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

pub(crate) fn ago(at: StoreTime, now: StoreTime) -> String {
    let span = Duration::from_secs(at.until(now).as_secs());
    format!("{} ago", humantime::format_duration(span))
}
