//! The measurements of the outbox, as clap reads them.

use clap::{Args, ValueEnum};

/// Measure how fast one relay drains a backlog to a sink that does nothing
///
/// Beside it, in turns, the plainest loop is measured that reads the same rows in order, deletes them and notes one
/// attempt for each, without delivering: the ceiling. Everything happens in a schema, a database or a file of its own.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure bench drain --db postgres://app@127.0.0.1/app --json")]
pub(crate) struct DrainArgs {
    /// How many messages wait
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) messages: u64,
    /// Over how many sources they are spread; 0 for messages without a source
    #[arg(long, default_value_t = 64)]
    pub(crate) sources: u32,
    /// How many messages that were delivered before are kept
    #[arg(long, default_value_t = 0)]
    pub(crate) kept: u64,
    /// How often it is measured; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// Whether spans and metrics are sent meanwhile, to a collector that keeps nothing, in the same process
    #[arg(long, value_name = "WHETHER", default_value = "off")]
    pub(crate) telemetry: Telemetry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Telemetry {
    /// Nobody wants spans; numbers are counted in any case
    Off,
    /// By OTLP, as with --otlp
    On,
}

/// Measure what enqueueing costs a transaction, and what wake-ups cost while the relay is busy
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure bench enqueue --db postgres://app@127.0.0.1/app --json")]
pub(crate) struct EnqueueArgs {
    /// How many connections enqueue at once beside a busy relay
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) connections: u32,
    /// How often it is measured; the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
}

/// Measure how long it takes from a commit until the receiver has the message
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tenure bench latency --to http --apart --rate 500 --db postgres://app@127.0.0.1/app --json"
)]
pub(crate) struct LatencyArgs {
    /// Where messages go
    #[arg(long, value_name = "SINK", default_value = "handler")]
    pub(crate) to: LatencyTo,
    /// Let the relay be a process of its own, as it mostly is; only with --to http
    #[arg(long)]
    pub(crate) apart: bool,
    /// How many messages are committed per second
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rate: u32,
    /// For how long
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LatencyTo {
    /// A handler in the relay's process
    Handler,
    /// An HTTP receiver on this machine
    Http,
}

/// Measure what rows behind one failing source cost the others
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure bench parked --db postgres://app@127.0.0.1/app --json")]
pub(crate) struct ParkedArgs {
    /// How many rows wait behind the failing source
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) parked: u64,
    /// How many messages of other sources wait
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) messages: u64,
    /// Over how many sources those are spread
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) sources: u32,
    /// How often it is measured; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
}

/// Measure how long one waits for each page of the dashboard where there are millions of rows
///
/// Fills a schema, a database or a file of its own with messages, events, leases and what else pages show, serves the
/// dashboard on this machine, and asks for every page and every answer of its API in many ways: to the first byte, the first
/// time and some rounds more. The slowest come first. Filling takes minutes, and about 1 GB for a million messages.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tenure bench dashboard --rows 5000000 --db postgres://app@127.0.0.1/app --json\n\n\
                  Exit codes: 0 also where pages are slow, 1 when an answer is not what was to be expected."
)]
pub(crate) struct DashboardBenchArgs {
    /// How many messages there are; events, lines of audit and the history of leases are in proportion
    #[arg(long, default_value_t = 5_000_000, value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    pub(crate) rows: u64,
    /// Over how many sources they are spread
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) sources: u64,
    /// How often everything is asked for after the first time
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) rounds: u32,
    /// Keep what was filled in, and say where it is
    #[arg(long)]
    pub(crate) keep: bool,
    /// Measure the tables that --db and --schema name as they are: kept by --keep, with the same --rows
    #[arg(long, conflicts_with = "keep")]
    pub(crate) filled: bool,
}

/// Measure how fast messages go to Kafka, against the plain producer with the same settings
///
/// Both write the same records into the topic of the URL, in turns; they stay there. Without a database: what is measured is
/// the sink alone.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure bench kafka --to kafka://127.0.0.1:9092/bench --json")]
pub(crate) struct KafkaArgs {
    /// The brokers and the topic, as for `tenure relay`
    #[arg(long, env = "TENURE_TO", value_name = "SINK", hide_env_values = true)]
    pub(crate) to: String,
    /// How many messages are written each time
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) messages: u32,
    /// Over how many sources they are spread; 0 for messages without a source
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) sources: u32,
    /// How large a payload is, in bytes
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) payload: u32,
    /// How many batches are under way at once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) concurrency: u32,
    /// How often it is measured; the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
}

/// Measure how fast events are appended, each with a dispatch, against the same rows inserted by hand
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure bench append --db postgres://app@127.0.0.1/app --json")]
pub(crate) struct AppendArgs {
    /// How many writers append at once, each to streams of its own
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) writers: u32,
    /// How many events are there before
    #[arg(long, default_value_t = 0)]
    pub(crate) kept: u64,
    /// Append events without dispatches, as event stores without an outbox do
    #[arg(long)]
    pub(crate) events_only: bool,
    /// For how long each is measured
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    /// How often it is measured; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
}

/// Measure how long it takes from a commit until a subscription's handler starts
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tenure bench subscribe --rate 500 --db postgres://app@127.0.0.1/app --json"
)]
pub(crate) struct SubscribeArgs {
    /// How many events are appended per second
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rate: u32,
    /// For how long
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
}

/// Measure how long an aggregate of many events takes to load, with a snapshot
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tenure bench load --events 10000 --db postgres://app@127.0.0.1/app --json"
)]
pub(crate) struct LoadArgs {
    /// How many events it has
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) events: u32,
    /// How often it is measured; the median counts
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rounds: u32,
}
