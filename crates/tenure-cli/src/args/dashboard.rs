//! The command line of `tenure dashboard`, and what `relay --listen` shares with it.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::{OtlpArgs, duration};

/// Serve pages that show what flows, what is stuck and why, and let operators mend it
///
/// Without tokens it listens on this machine only and lets nobody act or see payloads. With tokens each operator sees and
/// does what his token allows, and what he does is written to the audit table with his name. Beside the pages, at /_tenure,
/// it answers /health/live, /health/ready and /metrics. It starts also while the database is away.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    tenure dashboard --db sqlite:app.db\n  \
    tenure dashboard token --name ada --allow operate --for 90days\n  \
    tenure dashboard --db postgres://app@db.internal/app --listen 0.0.0.0:7070 --tokens tokens --host ops.example.com\n\n\
    Tokens may also be given by TENURE_DASHBOARD_TOKENS (the lines of such a file, ended by `;`), or one in clear, for an \
    operator who may do everything, by TENURE_DASHBOARD_TOKEN. TENURE_DASHBOARD_KEY signs sessions, instead of a key that \
    the process makes for itself.\n\n\
    Exit codes: 0 when it was told to stop, 1 when it cannot listen, 2 for wrong usage."
)]
pub(crate) struct DashboardArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DashboardCommand>,
    /// Where it listens; port 0 takes a free one
    #[arg(long, env = "TENURE_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) health: HealthArgs,
    /// Do not write down, for others to see, that this process runs
    #[arg(long, env = "TENURE_NO_REPORT", value_parser = BoolishValueParser::new())]
    pub(crate) no_report: bool,
    #[command(flatten)]
    pub(crate) telemetry: OtlpArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DashboardCommand {
    Token(TokenArgs),
}

/// Make a token for an operator
///
/// The token is shown once, and kept nowhere: it goes to the operator. The line goes into the file of --tokens, which only
/// its owner may read. A line that is taken out, or changed, ends its sessions within seconds.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    tenure dashboard token --name ada --allow operate --for 90days\n  \
    tenure dashboard token --name grafana --allow view --json")]
pub(crate) struct TokenArgs {
    /// What the operator is called; it stands in every line of audit
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// view, operate, payloads, or several of them with commas between
    #[arg(long, value_name = "RIGHTS")]
    pub(crate) allow: String,
    /// For how long it is good; for ever by default
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) lasts: Option<Duration>,
}

/// Who may see what.
#[derive(Debug, Clone, Args)]
pub(crate) struct AccessArgs {
    /// A file of tokens, made by `tenure dashboard token`; only its owner may be able to read it
    #[arg(long, env = "TENURE_DASHBOARD_TOKENS_FILE", value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// A name by which browsers know the dashboard, besides this machine's own; may be given several times
    #[arg(long = "host", env = "TENURE_DASHBOARD_HOSTS", value_name = "NAME", value_delimiter = ',')]
    pub(crate) hosts: Vec<String>,
    /// A file with at least 32 random bytes that sign sessions; by default the process makes one, and sessions end with it
    #[arg(long, env = "TENURE_DASHBOARD_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Let nobody act, whatever the tokens say
    #[arg(long, env = "TENURE_DASHBOARD_NO_ACTIONS", value_parser = BoolishValueParser::new())]
    pub(crate) no_actions: bool,
    /// Who may read /metrics without a token
    #[arg(long, env = "TENURE_METRICS", value_name = "WHO", default_value = "loopback")]
    pub(crate) metrics: MetricsArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricsArg {
    /// Nobody
    Closed,
    /// This machine
    Loopback,
    /// Everyone who can reach it
    Open,
}

/// From when on it is bad.
#[derive(Debug, Clone, Args)]
pub(crate) struct HealthArgs {
    /// The oldest message has waited for this long: degraded
    #[arg(long, env = "TENURE_LAG_DEGRADED", value_name = "DURATION", default_value = "1m", value_parser = duration)]
    pub(crate) lag_degraded: Duration,
    /// The oldest message has waited for this long: unhealthy
    #[arg(long, env = "TENURE_LAG_UNHEALTHY", value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub(crate) lag_unhealthy: Duration,
    /// So many dead messages: degraded
    #[arg(long, env = "TENURE_DEAD_DEGRADED", value_name = "N", default_value_t = 1)]
    pub(crate) dead_degraded: u64,
    /// So many dead messages: unhealthy
    #[arg(long, env = "TENURE_DEAD_UNHEALTHY", value_name = "N", default_value_t = 100)]
    pub(crate) dead_unhealthy: u64,
}

impl HealthArgs {
    /// As the library takes them.
    pub(crate) fn thresholds(&self) -> tenure::HealthThresholds {
        let Self { lag_degraded, lag_unhealthy, dead_degraded, dead_unhealthy } = *self;
        tenure::HealthThresholds {
            lag_degraded,
            lag_unhealthy,
            dead_degraded,
            dead_unhealthy,
            ..tenure::HealthThresholds::default()
        }
    }
}
