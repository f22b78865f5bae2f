//! The binary `tenure`.

mod args;
mod audit;
mod bench;
mod daemon;
#[cfg(feature = "dashboard")]
mod dashboard;
#[cfg(not(feature = "dashboard"))]
#[path = "no_dashboard.rs"]
mod dashboard;
mod demo;
mod lease;
mod migrate;
mod mysql;
mod node;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(not(feature = "otlp"))]
#[path = "no_otlp.rs"]
mod otlp;
mod outbox;
mod outlet;
mod output;
mod overview;
// It tells of the dashboard too.
#[cfg(feature = "dashboard")]
mod reference;
mod relay;
mod run;
mod secrets;
mod send;
mod signals;
mod status;
mod store;
mod user;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tokio::runtime::Builder;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use self::args::{BenchCommand, Cli, Command, LogFormat};
use self::otlp::Telemetry;
use self::output::Failure;

fn main() -> ExitCode {
    let code = work();
    output::finish();
    code
}

fn work() -> ExitCode {
    // The small processes that belong to `run` and `bench` come first: they need no runtime and little memory.
    if let Some(code) = run::inner_process().or_else(bench::inner_process) {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    let (json, runs) =
        (cli.global.json, matches!(cli.command, Command::Run(_) | Command::Relay(_) | Command::Dashboard(_)));
    let outcome = Telemetry::start(&cli.command).and_then(|telemetry| {
        log(&cli, &telemetry);
        let outcome = run_to_end(cli);
        telemetry.end();
        outcome
    });
    let code = outcome.unwrap_or_else(|failure| {
        output::note(&failure);
        if json {
            output::event(&told_to_programs(&failure, runs));
        }
        failure.exit_code()
    });
    output::told(code)
}

fn run_to_end(cli: Cli) -> Result<ExitCode, Failure> {
    let runtime = runtime(&cli.command).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Failed(format!("no runtime: {error}")))?;
    let outcome = runtime.block_on(dispatch(cli));
    // A thread that waits for a file lock must not hold up the exit.
    runtime.shutdown_background();
    outcome
}

/// What carries messages in bulk uses what cores there are; all else is content with one thread.
fn runtime(command: &Command) -> Builder {
    match command {
        Command::Relay(_)
        | Command::Dashboard(_)
        | Command::Bench(_)
        | Command::Demo(_)
        | Command::DemoNode(_)
        | Command::ClusterNode(_) => Builder::new_multi_thread(),
        _ => Builder::new_current_thread(),
    }
}

/// A failure as programs see it: the last line of `run`, or the one object of any other command.
fn told_to_programs(failure: &Failure, runs: bool) -> serde_json::Value {
    let code = if matches!(failure, Failure::Usage(_)) { 2 } else { 1 };
    let error = secrets::without_passwords(&failure.to_string()).into_owned();
    let mut told = serde_json::json!({ "error": error, "exit_code": code });
    if runs {
        told["event"] = "result".into();
    }
    told
}

async fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let global = &cli.global;
    match cli.command {
        Command::Demo(args) => demo::demo(global, &args).await,
        Command::DemoNode(args) => demo::node(global, &args).await,
        Command::ClusterNode(args) => node::node(global, &args).await,
        Command::Send(args) => send::send(global, &args).await,
        Command::Relay(args) => relay::relay(global, &args).await,
        Command::Outbox(command) => outbox::outbox(global, &command).await,
        Command::Status(args) => status::status(global, &args).await,
        Command::Dashboard(args) => dashboard::dashboard(global, &args).await,
        Command::Audit(command) => audit::audit(global, &command).await,
        Command::Run(args) => run::run(global, &args).await,
        Command::Lease(command) => lease::lease(global, &command).await,
        Command::Daemon(command) => daemon::daemon(global, &command).await,
        Command::Migrate(args) => migrate::migrate(global, &args).await,
        Command::Bench(BenchCommand::Drain(args)) => bench::outbox::drain::drain(global, &args).await,
        Command::Bench(BenchCommand::Enqueue(args)) => bench::outbox::enqueue::enqueue(global, &args).await,
        Command::Bench(BenchCommand::Latency(args)) => bench::outbox::latency::latency(global, &args).await,
        Command::Bench(BenchCommand::Parked(args)) => bench::outbox::parked::parked(global, &args).await,
        Command::Bench(BenchCommand::Dashboard(args)) => bench::dashboard::dashboard(global, &args).await,
        Command::Bench(BenchCommand::Kafka(args)) => bench::kafka::kafka(global, &args).await,
        Command::Bench(BenchCommand::Append(args)) => bench::events::append::append(global, &args).await,
        Command::Bench(BenchCommand::Subscribe(args)) => {
            bench::events::subscribe::subscribe(global, &args).await
        }
        Command::Bench(BenchCommand::Load(args)) => bench::events::load::load(global, &args).await,
        Command::Bench(BenchCommand::Failover(args)) => bench::failover::failover(global, &args).await,
        Command::Bench(BenchCommand::Cluster(args)) => bench::cluster::cluster(global, &args).await,
        Command::Bench(BenchCommand::Idle(args)) => bench::idle::idle(global, &args).await,
        #[cfg(feature = "dashboard")]
        Command::Reference(args) => reference::reference(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "tenure", &mut script);
            output::line(String::from_utf8_lossy(&script).trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Log lines go to standard error, where they do not mix with results. Heartbeats log too, and must not wait for a reader.
fn log(cli: &Cli, telemetry: &Telemetry) {
    // A relay that nobody watches tells by its log what it does; on a terminal it shows that in one line.
    let usual = match &cli.command {
        Command::Relay(args) if !args.quiet && !relay::shows_live(&cli.global, args) => "info",
        _ => "warn",
    };
    // What the client of Kubernetes calls an error is told by us, with the place and what comes of it.
    let usual = format!("{usual},kube_client=off");
    let mut filter = EnvFilter::try_from_env("TENURE_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
    // The driver of SQL Server repeats what the server says, and that may quote a value. We tell errors without.
    if let Ok(silent) = "tiberius=off".parse() {
        filter = filter.add_directive(silent);
    }
    let colour = io::IsTerminal::is_terminal(&io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer().with_writer(|| outlet::LogLine).with_ansi(colour);
    // Each has its own filter: that spans are sent to a collector puts no more lines into the log.
    let all = tracing_subscriber::registry().with(telemetry.layer());
    match cli.global.log {
        LogFormat::Text => all.with(lines.with_target(false).with_filter(filter)).init(),
        LogFormat::Json => all.with(lines.json().with_filter(filter)).init(),
    }
}
