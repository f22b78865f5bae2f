//! The command line of `tenure audit`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List what operators did, the newest first
    #[command(after_help = "Examples:\n  \
        tenure audit list --db sqlite:app.db\n  \
        tenure audit list --db sqlite:app.db --actor ada --limit 20 --json")]
    List {
        /// Only what this operator did
        #[arg(long, value_name = "WHO")]
        actor: Option<String>,
        /// Only this kind of act
        #[arg(long, value_name = "WHAT")]
        action: Option<String>,
        /// Only what was done to this
        #[arg(long, value_name = "NAME")]
        subject: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
    },
}
