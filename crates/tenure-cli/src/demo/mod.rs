//! `tenure demo`: real nodes, real kills, and a ledger at the end.
//!
//! ```text
//!   this process ── requests loans ──▶ one SQLite file ◀── node-1, node-2, node-3 (processes)
//!        │                                                    one is in office: relay and routes
//!        └── kills the one in office, starts it anew
//!        └── at the end: what was committed, against what took effect
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | the course of the demo |
//! | `node` | one node: a relay that tells books, desks and loans, and the routes |
//! | `nodes` | starting, killing and ending them |
//! | `load` | readers who want books |
//! | `ledger` | what was committed, against what took effect |
//! | `view` | what is shown meanwhile |

mod ledger;
mod load;
mod node;
mod nodes;
mod view;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure::{Database, HealthThresholds, OpenOptions, Stop, local_node};

pub(crate) use self::node::node;
use self::nodes::Nodes;
use self::view::View;
use crate::args::{DemoArgs, Global};
use crate::dashboard::Front;
use crate::output::{self, Failure};
use crate::signals::Signals;

/// The lease of the relay, and that of the routes.
const RELAY: &str = "demo/relay";
const ROUTES: &str = "demo/routes";
/// How long what is under way at the end may take.
const SETTLE: Duration = Duration::from_secs(30);

pub(crate) async fn demo(global: &Global, args: &DemoArgs) -> Result<ExitCode, Failure> {
    if global.db.is_some() || global.schema.is_some() || global.table_prefix != "tenure_" {
        let own = "the demo has a SQLite file of its own: it takes no --db (nor TENURE_DB), --schema or --table-prefix; \
                   --keep DIRECTORY says where the file is left";
        return Err(Failure::Usage(own.into()));
    }
    let scratch = tempfile::Builder::new().prefix("tenure-demo-").tempdir()?;
    let directory = args.keep.as_deref().unwrap_or(scratch.path());
    let file = fresh_file(directory)?;
    let url = format!("sqlite:{}", file.display());
    let database = tenure::open(&url, OpenOptions::default()).await?;
    database.schema().migrate().await?;
    let journal = directory.join("duplicates.log");
    let mut nodes = Nodes::start(args.nodes, &url, &journal, args.telemetry.otlp.as_deref())?;
    let watching = Stop::new();
    let watched = match front(&args.listen).await? {
        None => None,
        Some(front) => {
            front.announce(global.json);
            let (global, url, end) = (global.clone(), url.clone(), watching.clone());
            let node = local_node(Some("demo"))?;
            Some(tokio::spawn(front.serve(global, url, node, HealthThresholds::default(), true, end)))
        }
    };
    let mut view = View::new(global.json, args);
    view.begin(&file);
    let mut signals = Signals::catch()?;
    let asked = tokio::select! {
        run = course(args, &database, &mut nodes, &mut view) => run?,
        signal = signals.ending() => {
            nodes.end().await;
            return Err(Failure::Failed(format!("{signal}: the demo was ended early, so there is no ledger")));
        }
    };
    nodes.end().await;
    watching.stop();
    if let Some(watched) = watched {
        // It is no part of the ledger, whatever became of it.
        let _ = watched.await;
    }
    let ledger = ledger::draw_up(&database, &journal, &asked, nodes.failovers()).await?;
    view.end(&ledger);
    if let Some(kept) = &args.keep {
        output::note(format_args!(
            "kept in {}; look at it with `tenure status --db sqlite:{}`",
            kept.display(),
            file.display()
        ));
    }
    Ok(ExitCode::from(u8::from(!ledger.is_clean())))
}

/// What the demo can be watched on. A port that is taken is no reason not to run: another one is taken then.
async fn front(listen: &str) -> Result<Option<Front>, Failure> {
    if listen == "off" || !cfg!(feature = "dashboard") {
        return Ok(None);
    }
    match Front::of_samples(listen).await {
        Err(Failure::Failed(taken)) => {
            output::note(format_args!("{taken}; another port is taken"));
            Ok(Some(Front::of_samples("127.0.0.1:0").await?))
        }
        front => front.map(Some),
    }
}

/// A file that is not there yet: a ledger about another demo's loans would be wrong.
fn fresh_file(directory: &Path) -> Result<PathBuf, Failure> {
    if directory.to_string_lossy().contains(['?', '#', '%']) {
        return Err(Failure::Usage(format!("{}: name a directory without ?, # and %", directory.display())));
    }
    let wrong = |error: std::io::Error| Failure::Usage(format!("--keep {}: {error}", directory.display()));
    std::fs::create_dir_all(directory).map_err(wrong)?;
    let file = directory.join("demo.db");
    if file.exists() {
        return Err(Failure::Usage(format!("{} is there already; name another directory", file.display())));
    }
    Ok(file)
}

/// Requests loans and kills nodes; then lets everything come to its end. Answers the loans that were acknowledged.
async fn course(
    args: &DemoArgs,
    database: &Database,
    nodes: &mut Nodes,
    view: &mut View,
) -> Result<Vec<String>, Failure> {
    let stop = Stop::new();
    let load = tokio::spawn(load::request(database.clone(), args.rate, stop.clone()));
    let began = Instant::now();
    let mut next_kill = began + args.kill_every;
    while began.elapsed() < Duration::from_secs(args.seconds.into()) {
        nodes.watch(database).await?;
        if !args.kill_every.is_zero() && Instant::now() >= next_kill && nodes.kill_leader(database).await? {
            next_kill = Instant::now() + args.kill_every;
        }
        view.show(began.elapsed(), database, nodes).await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.stop();
    let asked = load.await.map_err(|error| Failure::Failed(format!("the readers ended: {error}")))??;
    let until = Instant::now() + SETTLE;
    while Instant::now() < until && !ledger::is_settled(database, asked.len()).await? {
        nodes.watch(database).await?;
        view.show(began.elapsed(), database, nodes).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(asked)
}
