//! `tenure daemon`: where daemons are and why, and how to have it otherwise.

use std::process::ExitCode;

use serde_json::json;
use tenure::core::cluster::{Answer, Daemon, Deadlines, Order, Verdict, node_lease};
use tenure::core::contract::ClusterStore;
use tenure::core::show::{DaemonShape, reason};
use tenure::{ClusterSettings, DaemonFilter, DaemonName, NodeName, Steering};

use crate::args::{DaemonCommand, Global, SteerArgs};
use crate::output::{self, Failure, Table};
use crate::{lease, store, user};

pub(crate) async fn daemon(global: &Global, command: &DaemonCommand) -> Result<ExitCode, Failure> {
    let url = store::database_url(global)?;
    store::refuse_memory(url)?;
    let wish = Wish::of(command)?;
    let database = match wish {
        Wish::List(_) => store::open_to_look(global, url).await?,
        Wish::Steer(..) => store::open_existing(global, url).await?,
    };
    let cluster = database.cluster();
    match wish {
        Wish::List(filter) => list(cluster.as_ref(), &filter, global.json).await,
        Wish::Steer(which, steering, deadlines, by) => {
            let order_for = |daemon: DaemonName| match &steering {
                Some(steering) => {
                    Order::Steer { daemon, steering: steering.clone(), by: by.clone(), deadlines }
                }
                None => Order::Retire { daemons: vec![daemon], by: Some(by.clone()), deadlines },
            };
            steer(cluster.as_ref(), &which, order_for, global.json).await
        }
    }
}

/// What was asked for, with every text checked before a database is opened.
enum Wish {
    List(DaemonFilter),
    Steer(Which, Option<Steering>, Deadlines, String),
}

/// One daemon, or all whose names begin alike.
enum Which {
    One(DaemonName),
    Beginning(String),
}

impl Wish {
    fn of(command: &DaemonCommand) -> Result<Self, Failure> {
        let (which, steering) = match command {
            DaemonCommand::List { node, prefix, limit, after } => {
                return Ok(Self::List(DaemonFilter {
                    node: node.as_ref().map(NodeName::new).transpose()?,
                    prefix: prefix.clone(),
                    after: after.as_ref().map(DaemonName::new).transpose()?,
                    limit: *limit,
                }));
            }
            DaemonCommand::Pause(which) => (which, Some(Steering::Pause)),
            DaemonCommand::Resume(which) => (which, Some(Steering::Resume)),
            DaemonCommand::Move { which, to: Some(to), .. } => {
                let to = NodeName::new(to)?;
                node_lease(&to)?;
                (which, Some(Steering::Move { to }))
            }
            DaemonCommand::Move { which, .. } => (which, Some(Steering::Unpin)),
            DaemonCommand::Retire(which) => (which, None),
        };
        let deadlines = Deadlines { drain: which.drain, ..ClusterSettings::default().deadlines() };
        let by = which.by.clone().unwrap_or_else(user::name);
        Ok(Self::Steer(named(which)?, steering, deadlines, by))
    }
}

fn named(which: &SteerArgs) -> Result<Which, Failure> {
    if let Some(prefix) = &which.prefix {
        return Ok(Which::Beginning(prefix.clone()));
    }
    let name = which.daemon.as_ref().or(which.flag_name.as_ref());
    Ok(Which::One(DaemonName::new(name.ok_or_else(|| Failure::Usage("no daemon named".into()))?)?))
}

async fn list(cluster: &dyn ClusterStore, filter: &DaemonFilter, json: bool) -> Result<ExitCode, Failure> {
    let rows = cluster.daemons(filter).await?;
    let look = cluster.look().await?;
    if json {
        output::json(&rows.iter().map(|row| DaemonShape::of(row, &look)).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        output::line("no daemons");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["DAEMON", "STATE", "NODE", "GENERATION", "SINCE", "WHY"]);
    for row in &rows {
        table.row(vec![
            row.name().to_string(),
            state(row).to_owned(),
            place(row),
            row.generation.map_or_else(|| "-".to_owned(), |generation| generation.to_string()),
            lease::ago(row.since, look.now),
            reason(row, &look),
        ]);
    }
    table.print();
    Ok(ExitCode::SUCCESS)
}

/// The state, or what is more important than it.
fn state(row: &Daemon) -> &'static str {
    match (&row.paused_by, row.node()) {
        (Some(_), None) => "paused",
        _ => row.state.as_str(),
    }
}

fn place(row: &Daemon) -> String {
    match (row.node(), &row.next) {
        (Some(node), Some(next)) => format!("{node} → {next}"),
        (Some(node), None) => node.to_string(),
        (None, _) => "-".to_owned(),
    }
}

/// Steers one daemon or several; the first that cannot be steered ends it.
async fn steer(
    cluster: &dyn ClusterStore,
    which: &Which,
    order_for: impl Fn(DaemonName) -> Order,
    json: bool,
) -> Result<ExitCode, Failure> {
    let (daemons, many) = match which {
        Which::One(daemon) => (vec![daemon.clone()], false),
        Which::Beginning(prefix) => {
            let rows = cluster.daemons(&DaemonFilter::beginning(prefix.as_str())).await?;
            let names: Vec<DaemonName> = rows.iter().map(|row| row.name().clone()).collect();
            if names.is_empty() {
                return Err(Failure::Failed(format!("there is no daemon whose name begins with {prefix}")));
            }
            (names, true)
        }
    };
    let mut told = Vec::new();
    for daemon in &daemons {
        let refusal = match cluster.apply(&order_for(daemon.clone())).await? {
            Answer::Done(verdicts) => verdicts.into_iter().find_map(|verdict| match verdict {
                Verdict::Taken => None,
                Verdict::Refused(refusal) => Some(refusal.to_string()),
            }),
            Answer::Refused(refusal) => Some(refusal.to_string()),
            Answer::Fenced(fenced) => Some(fenced.to_string()),
        };
        if let Some(refusal) = refusal {
            return Err(Failure::Failed(refusal));
        }
        let look = cluster.look().await?;
        let filter = DaemonFilter::beginning(daemon.as_str());
        let row = cluster.daemons(&filter).await?.into_iter().find(|row| row.name() == daemon);
        match (json, row) {
            (true, Some(row)) => told.push(json!(DaemonShape::of(&row, &look))),
            (true, None) => told.push(json!({ "name": daemon, "state": "gone" })),
            (false, Some(row)) => {
                let place = row.node().map_or_else(String::new, |_| format!(" on {}", place(&row)));
                output::line(format_args!("{daemon}: {}{place}; {}", state(&row), reason(&row, &look)));
            }
            (false, None) => output::line(format_args!("{daemon} is gone")),
        }
    }
    match (json, many, told.pop()) {
        (true, false, Some(one)) => output::json(&one)?,
        (true, _, last) => {
            told.extend(last);
            output::json(&told)?;
        }
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}
