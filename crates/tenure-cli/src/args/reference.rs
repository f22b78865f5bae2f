//! `tenure reference`, for those who work on Tenure itself.

use std::path::PathBuf;

use clap::Args;

/// Write the pages of the reference from the code, or see whether they are what the code says
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure reference --check .")]
pub(crate) struct ReferenceArgs {
    /// Write the pages into this work tree of Tenure
    #[arg(long, value_name = "DIR", conflicts_with = "check", required_unless_present = "check")]
    pub(crate) write: Option<PathBuf>,
    /// Compare the pages of this work tree with the code, and the numbers in its prose
    #[arg(long, value_name = "DIR")]
    pub(crate) check: Option<PathBuf>,
}
