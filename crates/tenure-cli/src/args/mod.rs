//! The command line, as clap reads it.

mod audit;
mod bench;
mod cluster;
mod daemon;
mod dashboard;
mod demo;
mod otlp;
mod outbox;
#[cfg(feature = "dashboard")]
mod reference;

use std::ffi::OsString;
use std::time::Duration;

use clap::builder::{BoolishValueParser, NonEmptyStringValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use self::audit::AuditCommand;
pub(crate) use self::bench::{
    AppendArgs, DashboardBenchArgs, DrainArgs, EnqueueArgs, KafkaArgs, LatencyArgs, LatencyTo, LoadArgs,
    ParkedArgs, SubscribeArgs, Telemetry,
};
pub(crate) use self::cluster::{ClusterArgs, ClusterMeasure, ClusterNodeArgs};
pub(crate) use self::daemon::{DaemonCommand, SteerArgs};
pub(crate) use self::dashboard::{
    AccessArgs, DashboardArgs, DashboardCommand, HealthArgs, MetricsArg, TokenArgs,
};
pub(crate) use self::demo::{DemoArgs, DemoNodeArgs};
pub(crate) use self::otlp::OtlpArgs;
pub(crate) use self::outbox::{
    ChangeArgs, Coordination, FilterArgs, OnDeadArg, OutboxCommand, RelayArgs, SendArgs, StatusArgs,
};
#[cfg(feature = "dashboard")]
pub(crate) use self::reference::ReferenceArgs;

/// Send what was committed, and run each background job on one copy at a time.
///
/// A transactional outbox and leases with terms over a database you already have: SQLite, Postgres, MySQL, MariaDB or SQL
/// Server.
#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        tenure demo\n  \
        tenure send --db sqlite:app.db --topic orders '{\"order\":7}'\n  \
        tenure relay --db sqlite:app.db --to http://127.0.0.1:8080/events\n  \
        tenure run --lease sqlite:jobs.db --name nightly -- ./nightly.sh\n  \
        tenure status --db sqlite:app.db\n  \
        tenure dashboard --db sqlite:app.db\n\n\
        Exit codes: 0 done, 1 failed, 2 wrong usage; `tenure run` returns the exit code of its command."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that may stand before or after the subcommand.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// The database: sqlite:PATH, postgres://USER@HOST/DATABASE, mysql://… or sqlserver://… in the same way
    #[arg(long, global = true, env = "TENURE_DB", value_name = "URL", hide_env_values = true)]
    pub(crate) db: Option<String>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// How log lines are written to standard error; their level is set by TENURE_LOG (warn, for relay info)
    #[arg(long, global = true, env = "TENURE_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(crate) log: LogFormat,
    /// The schema (Postgres, SQL Server) or database (MySQL) that holds Tenure's tables; the connection's own by default
    #[arg(long, global = true, env = "TENURE_SCHEMA", value_name = "NAME")]
    pub(crate) schema: Option<String>,
    /// What the names of Tenure's tables begin with
    #[arg(
        long,
        global = true,
        env = "TENURE_TABLE_PREFIX",
        value_name = "PREFIX",
        default_value = "tenure_"
    )]
    pub(crate) table_prefix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(DemoArgs),
    #[command(hide = true)]
    DemoNode(DemoNodeArgs),
    #[command(hide = true)]
    ClusterNode(ClusterNodeArgs),
    Send(SendArgs),
    Relay(Box<RelayArgs>),
    /// See what waits and what failed; retry it or discard it
    #[command(subcommand, after_help = "Example:\n  tenure outbox list --state dead --db sqlite:app.db")]
    Outbox(OutboxCommand),
    Status(StatusArgs),
    Dashboard(Box<DashboardArgs>),
    Run(RunArgs),
    /// See who holds which lease, how it came to that, and have a holder out of office
    #[command(subcommand, after_help = "Example:\n  tenure lease list --db postgres://app@db.internal/app")]
    Lease(LeaseCommand),
    /// See where daemons run and why; pause, resume and move them
    #[command(subcommand, after_help = "Example:\n  tenure daemon list --db postgres://app@db.internal/app")]
    Daemon(DaemonCommand),
    /// See what operators did
    #[command(subcommand, after_help = "Example:\n  tenure audit list --actor ada --db sqlite:app.db")]
    Audit(AuditCommand),
    Migrate(MigrateArgs),
    /// Measure, on your machine and your database
    #[command(subcommand, after_help = "Example:\n  tenure bench failover --db sqlite:bench.db --rounds 10")]
    Bench(BenchCommand),
    #[cfg(feature = "dashboard")]
    #[command(hide = true)]
    Reference(ReferenceArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  tenure completions bash > /etc/bash_completion.d/tenure")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Where telemetry is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtlpWish<'a> {
    /// To this collector.
    To(&'a str),
    /// To one that keeps nothing: only its cost is of interest.
    #[cfg_attr(not(feature = "otlp"), allow(dead_code, reason = "it is refused without a look"))]
    Nowhere,
}

impl Command {
    /// Whether it runs until it is told to end, or for long.
    #[cfg_attr(not(feature = "otlp"), allow(dead_code, reason = "only telemetry asks"))]
    pub(crate) fn runs_long(&self) -> bool {
        match self {
            Self::Relay(_) | Self::Run(_) | Self::Demo(_) | Self::DemoNode(_) => true,
            Self::Dashboard(args) => args.command.is_none(),
            _ => false,
        }
    }

    /// What its own options say of telemetry.
    pub(crate) fn wants_otlp(&self) -> Option<OtlpWish<'_>> {
        let telemetry = match self {
            Self::Relay(args) => &args.telemetry,
            Self::Run(args) => &args.telemetry,
            Self::Dashboard(args) => &args.telemetry,
            Self::Demo(args) => &args.telemetry,
            Self::DemoNode(args) => &args.telemetry,
            Self::Bench(BenchCommand::Drain(args)) => {
                return (args.telemetry == Telemetry::On).then_some(OtlpWish::Nowhere);
            }
            _ => return None,
        };
        telemetry.otlp.as_deref().map(OtlpWish::To)
    }
}

/// Run a command on one machine at a time, under a lease
///
/// Waits until the lease is free, then runs the command with TENURE_LEASE, TENURE_TERM and TENURE_NODE in its
/// environment. Signals are forwarded to the command and all it started; its exit code is returned. When the lease is
/// lost, the command is ended before anyone else may start it. Killed with SIGKILL, tenure takes the command with it;
/// stopped or frozen, a small guard process ends the command in time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    tenure run --lease sqlite:jobs.db --name nightly -- ./nightly.sh\n  \
    tenure run --lease postgres://app@db.internal/app --name reports --on-lost term -- python3 reports.py\n  \
    tenure run --lease etcd://etcd.internal:2379 --db postgres://app@db.internal/app --name reports -- ./reports.sh\n\n\
    Exit codes: that of the command; 128+N when signal N ended it; 127 when it was not found, 126 when it cannot be \
    executed; 1 when the lease was lost or could not be had; 2 for wrong usage.")]
pub(crate) struct RunArgs {
    /// Where the lease is kept: sqlite:PATH, postgres://USER@HOST/DATABASE, mysql://… or sqlserver://… in the same way,
    /// etcd://HOSTS, kubernetes://NAMESPACE, kafka://BROKERS/TOPIC, or memory: (default: --db). With another --db beside it
    /// the term is recorded there, and TENURE_TERM is that database's: what a command carries into writes to it
    #[arg(long, env = "TENURE_LEASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) lease: Option<String>,
    /// The lease's name; who uses the same name takes turns
    #[arg(long, value_name = "NAME", env = "TENURE_LEASE_NAME")]
    pub(crate) name: String,
    /// What this node is called in lists and logs; the machine's name by default
    #[arg(long, env = "TENURE_NODE", value_name = "NODE")]
    pub(crate) node: Option<String>,
    /// How long a grant lasts without renewal
    #[arg(long, env = "TENURE_TTL", value_name = "DURATION", default_value = "6s", value_parser = duration)]
    pub(crate) ttl: Duration,
    /// How often it is renewed; a third of the ttl by default
    #[arg(long, env = "TENURE_RENEW", value_name = "DURATION", value_parser = duration)]
    pub(crate) renew: Option<Duration>,
    /// How long before the ttl the command is ended; a twelfth of the ttl, at most 500ms, by default
    #[arg(long, env = "TENURE_MARGIN", value_name = "DURATION", value_parser = duration)]
    pub(crate) margin: Option<Duration>,
    /// Let the ttl alone decide when a holder is gone
    #[arg(long, env = "TENURE_NO_PRESENCE", value_parser = BoolishValueParser::new())]
    pub(crate) no_presence: bool,
    /// How long after its last ping a holder trusts itself: shorter is a quicker failover, longer rides out longer hiccups
    #[arg(long, env = "TENURE_PRESENCE_TRUST", value_name = "DURATION", default_value = "700ms", value_parser = duration)]
    pub(crate) presence_trust: Duration,
    /// What the command gets when the lease is lost: SIGKILL, or SIGTERM and then SIGKILL before trust ends
    #[arg(long, env = "TENURE_ON_LOST", value_name = "HOW", default_value = "kill")]
    pub(crate) on_lost: OnLost,
    /// Give up when the lease is not had within this time; 0s tries once
    #[arg(long, env = "TENURE_WAIT", value_name = "DURATION", value_parser = duration)]
    pub(crate) wait: Option<Duration>,
    /// After a loss wait for the lease again and run the command anew, instead of leaving with 1
    #[arg(long, env = "TENURE_RESTART", value_parser = BoolishValueParser::new())]
    pub(crate) restart: bool,
    /// Do not create or upgrade Tenure's tables; fail when they are missing
    #[arg(long, env = "TENURE_NO_MIGRATE", value_parser = BoolishValueParser::new())]
    pub(crate) no_migrate: bool,
    #[command(flatten)]
    pub(crate) telemetry: OtlpArgs,
    /// Say nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLost {
    /// SIGKILL to the command and all it started
    Kill,
    /// SIGTERM first, SIGKILL before trust ends
    Term,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LeaseCommand {
    /// List every lease: who holds it, under which term, since when
    #[command(after_help = "Example:\n  tenure lease list --db sqlite:jobs.db")]
    List {
        /// At most this many
        #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show the changes of holder with their causes, newest first
    #[command(after_help = "Example:\n  tenure lease history nightly --db sqlite:jobs.db")]
    History {
        /// Only this lease
        #[arg(value_name = "NAME")]
        lease: Option<String>,
        /// Only this lease
        #[arg(long, value_name = "NAME", conflicts_with = "lease")]
        name: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Ask whoever leads the cluster to let another node lead; the same as `release tenure/leader`
    #[command(after_help = "Example:\n  tenure lease resign --db sqlite:app.db")]
    Resign {
        /// Who asks, for the audit; the user's name by default
        #[arg(long, env = "TENURE_ACTOR", value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
        by: Option<String>,
    },
    /// Have the present holder out of office
    ///
    /// The holder is told at its next renewal, and its fenced writes are refused at once. The lease is free when the
    /// holder has stopped, at the latest when its ttl ends.
    #[command(after_help = "Example:\n  tenure lease release nightly --db sqlite:jobs.db")]
    Release {
        /// The lease
        #[arg(value_name = "NAME", required_unless_present = "name")]
        lease: Option<String>,
        /// The lease
        #[arg(long, value_name = "NAME", conflicts_with = "lease")]
        name: Option<String>,
        /// Free the lease at once; the former holder may act until it notices, so only fenced writes are safe
        #[arg(long)]
        force: bool,
        /// Who asks, for the audit; the user's name by default
        #[arg(long, env = "TENURE_ACTOR", value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
        by: Option<String>,
    },
}

/// Create or upgrade Tenure's tables
///
/// Safe when many nodes do it at once; a schema newer than this program is left alone and reported.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    tenure migrate --db postgres://owner@db.internal/app\n  \
    tenure migrate --db postgres://owner@db.internal/app --print > tenure.sql\n  \
    tenure migrate --db postgres://app@db.internal/app --print --missing > upgrade.sql\n  \
    tenure migrate --db mysql://owner@db.internal/app --print | mysql app\n  \
    tenure migrate --db sqlserver://owner@db.internal/app --print > tenure.sql; sqlcmd -I -d app -i tenure.sql")]
pub(crate) struct MigrateArgs {
    /// Print the statements for a DBA instead of running them, for a database without Tenure's tables; connects to nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// With --print: connect, and print only what is missing there
    #[arg(long, requires = "print")]
    pub(crate) missing: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    Drain(DrainArgs),
    Enqueue(EnqueueArgs),
    Latency(LatencyArgs),
    Parked(ParkedArgs),
    Dashboard(DashboardBenchArgs),
    Kafka(KafkaArgs),
    Append(AppendArgs),
    Subscribe(SubscribeArgs),
    Load(LoadArgs),
    Failover(FailoverArgs),
    Cluster(ClusterArgs),
    Idle(IdleArgs),
}

/// Measure how soon the next holder acts after a kill, a freeze, a cut connection and a graceful stop
///
/// Starts real holders and standbys as processes of their own, and counts how often two acted at once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tenure bench failover --db sqlite:bench.db --rounds 30 --json\n  \
                  tenure bench failover --db sqlite:bench.db --lease etcd://127.0.0.1:2379 --kinds kill,graceful")]
pub(crate) struct FailoverArgs {
    /// Measure leases from this place, as for `tenure run`; a database beside it records their terms
    #[arg(long, env = "TENURE_LEASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) lease: Option<String>,
    /// How often each kind is measured
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// What to measure
    #[arg(long, value_delimiter = ',', value_name = "KIND", default_values = ["kill", "graceful", "stop", "cut"])]
    pub(crate) kinds: Vec<FailoverKind>,
    /// The ttl of the leases
    #[arg(long, value_name = "DURATION", default_value = "6s", value_parser = duration)]
    pub(crate) ttl: Duration,
    /// Measure without presence
    #[arg(long)]
    pub(crate) no_presence: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailoverKind {
    /// SIGKILL of the holder
    Kill,
    /// SIGTERM of the holder
    Graceful,
    /// SIGSTOP of the holder
    Stop,
    /// The holder's connections go silent
    Cut,
}

/// Count the statements that a holder, a waiting node, a relay and nodes of a cluster run while nothing happens
///
/// On a server they are counted on the wire, where it must not be encrypted. On SQLite they are counted in the logs of the processes, which work on files of
/// their own beside the one that is named: one for the holder and the waiting node, one for the relay, since a relay is
/// woken by whatever another process commits to its file, and one for the cluster.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        tenure bench idle --db sqlite:app.db --seconds 20 --json\n  \
        tenure bench idle --db postgres://app@127.0.0.1/app --seconds 20 --json\n  \
        tenure bench idle --db mysql://app@127.0.0.1/app --seconds 20 --json")]
pub(crate) struct IdleArgs {
    /// For how long
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    /// How many daemons each node of the cluster has
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) daemons: u32,
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write for example 6s or 500ms"))
}
