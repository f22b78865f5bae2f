//! The binary `tenure`.

mod args;
mod bench;
mod lease;
mod migrate;
mod outlet;
mod output;
mod run;
mod secrets;
mod store;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tracing_subscriber::EnvFilter;

use self::args::{BenchCommand, Cli, Command, LogFormat};
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
    log(cli.global.log);
    let (json, runs) = (cli.global.json, matches!(cli.command, Command::Run(_)));
    let outcome = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let outcome = runtime.block_on(dispatch(cli));
            // A thread that waits for a file lock must not hold up the exit.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(Failure::Failed(format!("no runtime: {error}"))),
    };
    let code = outcome.unwrap_or_else(|failure| {
        output::note(&failure);
        if json {
            output::event(&told_to_programs(&failure, runs));
        }
        failure.exit_code()
    });
    output::told(code)
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
        Command::Run(args) => run::run(global, &args).await,
        Command::Lease(command) => lease::lease(global, &command).await,
        Command::Migrate(args) => migrate::migrate(global, &args).await,
        Command::Bench(BenchCommand::Failover(args)) => bench::failover::failover(global, &args).await,
        Command::Bench(BenchCommand::Idle(args)) => bench::idle::idle(global, &args).await,
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "tenure", &mut io::stdout());
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Log lines go to standard error, where they do not mix with results. Heartbeats log too, and must not wait for a reader.
fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_env("TENURE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let colour = io::IsTerminal::is_terminal(&io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| outlet::LogLine).with_ansi(colour);
    match format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().init(),
    }
}
