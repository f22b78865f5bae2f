//! `tenure daemon` on the command line.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::duration;

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// List daemons: where each is and why, or why it is nowhere
    #[command(after_help = "Examples:\n  \
        tenure daemon list --db postgres://app@db.internal/app\n  \
        tenure daemon list --prefix outbox/ --node web-1 --db sqlite:app.db")]
    List {
        /// Only those that are on this node, or go there next
        #[arg(long, value_name = "NODE")]
        node: Option<String>,
        /// Only those whose name begins with this
        #[arg(long, value_name = "TEXT")]
        prefix: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        limit: u32,
        /// Only those whose name comes after this one: the last of the page before
        #[arg(long, value_name = "NAME")]
        after: Option<String>,
    },
    /// Stop a daemon until it is resumed, whoever leads
    #[command(after_help = "Examples:\n  \
        tenure daemon pause nightly-report --by ada --db sqlite:app.db\n  \
        tenure daemon pause --prefix outbox/ --by ada --db sqlite:app.db")]
    Pause(SteerArgs),
    /// Let a paused daemon run again
    #[command(after_help = "Example:\n  tenure daemon resume nightly-report --db sqlite:app.db")]
    Resume(SteerArgs),
    /// Move a daemon to a node, where it stays as long as that node can run it; or let it be anywhere again
    #[command(after_help = "Examples:\n  \
        tenure daemon move nightly-report --to web-2 --db sqlite:app.db\n  \
        tenure daemon move nightly-report --anywhere --db sqlite:app.db")]
    #[command(group = clap::ArgGroup::new("where").required(true).args(["to", "anywhere"]))]
    Move {
        #[command(flatten)]
        which: SteerArgs,
        /// The node
        #[arg(long, value_name = "NODE")]
        to: Option<String>,
        /// It may be anywhere again
        #[arg(long)]
        anywhere: bool,
    },
    /// Have daemons gone for good; a node that brings one along declares it again when it joins
    #[command(after_help = "Example:\n  tenure daemon retire nightly-report --db sqlite:app.db")]
    Retire(SteerArgs),
}

/// Which daemon, and who asks.
#[derive(Debug, Args)]
pub(crate) struct SteerArgs {
    /// The daemon
    #[arg(value_name = "NAME", required_unless_present_any = ["flag_name", "prefix"])]
    pub(crate) daemon: Option<String>,
    /// All daemons whose name begins with this: `outbox/` for all parts of the outbox
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["daemon", "flag_name"], value_parser = NonEmptyStringValueParser::new())]
    pub(crate) prefix: Option<String>,
    /// The daemon
    #[arg(long = "name", id = "flag_name", value_name = "NAME", conflicts_with = "daemon")]
    pub(crate) flag_name: Option<String>,
    /// How long its node has to stop it before it is taken by force
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub(crate) drain: Duration,
    /// Who asks, for the audit; the user's name by default
    #[arg(long, env = "TENURE_ACTOR", value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) by: Option<String>,
}
