//! The command line of `tenure demo`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{OtlpArgs, duration};

/// See it work: nodes that are killed, and a ledger in which nothing is lost
///
/// Starts real processes over one SQLite file: two libraries lend each other's books, by commands through the outbox. Every
/// few seconds the node in office is killed with SIGKILL. At the end every committed command is compared with what took
/// effect.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    tenure demo\n  \
    tenure demo --nodes 5 --seconds 60 --kill-every 2s --json\n\n\
    Exit codes: 0 when nothing was lost, doubled or out of order; 1 otherwise.")]
pub(crate) struct DemoArgs {
    /// How many nodes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) nodes: u32,
    /// For how long loans are requested; what is under way then comes to its end
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    /// How many commands are sent each second, about
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(5..=2000))]
    pub(crate) rate: u32,
    /// How often the node in office is killed; 0s never
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration)]
    pub(crate) kill_every: Duration,
    /// Where its dashboard listens, on this machine only: every failover can be seen there as it happens; off has none
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    pub(crate) listen: String,
    /// Keep the SQLite file afterwards, in this directory; by default it is removed
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) keep: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) telemetry: OtlpArgs,
}

/// One node of the demo.
#[derive(Debug, Args)]
pub(crate) struct DemoNodeArgs {
    /// What it is called
    #[arg(long)]
    pub(crate) name: String,
    /// Where it notes what it has seen twice
    #[arg(long)]
    pub(crate) journal: PathBuf,
    #[command(flatten)]
    pub(crate) telemetry: OtlpArgs,
}
