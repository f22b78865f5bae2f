//! The command line of the cluster's measurements, and of the node that they and the tests start.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration;

/// One node of a cluster, for measurements and tests: it tells each event as a line of JSON.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub(crate) struct ClusterNodeArgs {
    /// What it is called
    #[arg(long)]
    pub(crate) name: String,
    /// The family whose daemons it runs
    #[arg(long, default_value = "bench")]
    pub(crate) family: String,
    /// A label, KEY=VALUE
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub(crate) labels: Vec<(String, String)>,
    /// The version that it says it is
    #[arg(long, default_value = "")]
    pub(crate) version: String,
    /// How long nobody must have come or gone before daemons are spread
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) settle: Option<Duration>,
    /// It does not stand for election
    #[arg(long)]
    pub(crate) never_leads: bool,
    /// Each daemon writes a row under its fence so often
    #[arg(long, value_name = "EVERY", num_args = 0..=1, default_missing_value = "20ms", value_parser = duration)]
    pub(crate) ledger: Option<Duration>,
}

/// Measure a cluster: daemons after a kill and a graceful stop, placing many, replacing a node, a rolling restart, parts
///
/// `kill` and `stop` start real processes. The others run their nodes in this one, over one connection pool. Everything
/// happens in a schema or file of its own, which is removed afterwards.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        tenure bench cluster --db postgres://app@127.0.0.1/app --json\n  \
        tenure bench cluster --db sqlite:app.db --measure kill --rounds 3\n  \
        tenure bench cluster --db postgres://app@127.0.0.1/app --measure place --nodes 20 --daemons 50000")]
pub(crate) struct ClusterArgs {
    /// What to measure
    #[arg(long, value_delimiter = ',', value_name = "WHAT", default_values = ["kill", "stop", "place", "replace", "rolling", "parts"])]
    pub(crate) measure: Vec<ClusterMeasure>,
    /// How often kill and stop are measured
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// How many nodes: 4 for kill and parts, 3 for stop, 20 for place, 6 for the others by default
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub(crate) nodes: Option<u32>,
    /// How many daemons: 40 for kill, 300 for stop, 50000 for place, 8 for parts, 600 for the others by default
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) daemons: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClusterMeasure {
    /// SIGKILL of a node, until each of its daemons runs elsewhere
    Kill,
    /// SIGTERM of a node, until the last of its daemons runs elsewhere
    Stop,
    /// Many daemons that are declared, until the last of them runs
    Place,
    /// One node comes and another goes: how many daemons move
    Replace,
    /// Every node restarts, one after another: how often daemons move
    Rolling,
    /// The parts of an outbox over several relays, against one relay: a receiver that takes 5 ms
    Parts,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, for example zone=a")?;
    Ok((key.to_owned(), value.to_owned()))
}
