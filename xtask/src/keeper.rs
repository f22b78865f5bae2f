//! The process that owns the servers.
//!
//! ```text
//!   cargo xtask test ──stdin (held open)──▶ keeper ──▶ postgres (twice), pgbouncer
//!        │  ◀──────stdout (what runs)──────   │
//!        ▼ ends, panics, ctrl-c, SIGKILL      ▼ sees the end of its stdin: stops the servers, removes their files
//! ```
//!
//! However the owner ends, the kernel closes the pipe, so there is one way to clean up and no signal handler. The keeper
//! is in a process group of its own, so that ctrl-c in the terminal does not reach it first. If it is killed itself,
//! the kernel kills the servers, and the next start removes the files.

use std::io::{self, Read as _, Write as _};

use crate::Result;
use crate::pgbouncer::PgBouncer;
use crate::postgres::{Durability, Postgres};
use crate::scratch::Scratch;
use crate::server::Account;

/// The hidden command by which `xtask` starts itself as keeper.
pub(crate) const COMMAND: &str = "keep-services";
/// The argument that asks for servers that survive a power cut.
pub(crate) const DURABLE: &str = "--durable";

/// What the keeper tells its owner, one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// Files may be put here; they are removed at the end.
    Directory(String),
    /// A backend runs: its name and version.
    Running { name: String, version: String },
    /// A backend runs not, and why.
    Missing { name: String, reason: String },
    /// An environment variable for the tests.
    Variable { name: String, value: String },
    /// Everything was said.
    End,
}

impl Report {
    fn to_line(&self) -> String {
        match self {
            Self::Directory(path) => format!("directory\t{path}\t"),
            Self::Running { name, version } => format!("running\t{name}\t{version}"),
            Self::Missing { name, reason } => {
                format!("missing\t{name}\t{}", reason.replace(['\n', '\t'], " "))
            }
            Self::Variable { name, value } => format!("variable\t{name}\t{value}"),
            Self::End => "end\t\t".to_owned(),
        }
    }

    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let mut fields = line.splitn(3, '\t');
        let (kind, name, rest) = (fields.next()?, fields.next()?.to_owned(), fields.next()?.to_owned());
        Some(match kind {
            "directory" => Self::Directory(name),
            "running" => Self::Running { name, version: rest },
            "missing" => Self::Missing { name, reason: rest },
            "variable" => Self::Variable { name, value: rest },
            "end" => Self::End,
            _ => return None,
        })
    }
}

/// Starts the servers, reports, and holds them until standard input ends.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let durability =
        if args.iter().any(|arg| arg == DURABLE) { Durability::Durable } else { Durability::Fast };
    // Dropped in reverse: the pooler, the server, then their files.
    let scratch = Scratch::create()?;
    say(&Report::Directory(scratch.path().display().to_string()))?;
    let postgres =
        Account::for_servers().and_then(|account| Postgres::start(scratch.path(), account, durability));
    // A second server, for the one test that crashes it: the others must not notice.
    let chaos = Account::for_servers().and_then(|account| {
        let folder = scratch.path().join("chaos");
        account.make_dir(&folder)?;
        Postgres::start(&folder, account, durability)
    });
    let pgbouncer = match &postgres {
        Ok(postgres) => {
            Account::for_servers().and_then(|account| PgBouncer::start(scratch.path(), account, postgres))
        }
        Err(_) => Err("it needs a private Postgres behind it".to_owned()),
    };
    match &postgres {
        Ok(server) => {
            say_running("Postgres", &server.version)?;
            say_variable("TENURE_TEST_POSTGRES_URL", server.url())?;
            say_variable("TENURE_TEST_POSTGRES_AUTH_URL", server.auth_url())?;
        }
        Err(reason) => say_missing("Postgres", reason)?,
    }
    match &chaos {
        Ok(server) => say_variable("TENURE_TEST_CHAOS_POSTGRES_URL", server.url())?,
        Err(reason) => eprintln!("xtask: no second Postgres for the test that crashes it: {reason}"),
    }
    match &pgbouncer {
        Ok(server) => {
            say_running("PgBouncer", &server.version)?;
            say_variable("TENURE_TEST_PGBOUNCER_URL", server.url())?;
        }
        Err(reason) => say_missing("PgBouncer", reason)?,
    }
    say(&Report::End)?;
    // Nobody writes: this returns when the owner is gone.
    io::stdin()
        .read_to_end(&mut Vec::new())
        .map_err(|error| format!("the keeper lost its owner: {error}"))?;
    Ok(())
}

fn say_running(name: &str, version: &str) -> Result<()> {
    say(&Report::Running { name: name.to_owned(), version: version.to_owned() })
}

fn say_missing(name: &str, reason: &str) -> Result<()> {
    say(&Report::Missing { name: name.to_owned(), reason: reason.to_owned() })
}

fn say_variable(name: &str, value: String) -> Result<()> {
    say(&Report::Variable { name: name.to_owned(), value })
}

/// Fails when the owner is gone already; then everything is stopped on the way out.
fn say(report: &Report) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", report.to_line())
        .and_then(|()| out.flush())
        .map_err(|error| format!("the keeper lost its owner: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_pipe() {
        let reports = [
            Report::Directory("tmp/x".to_owned()),
            Report::Running { name: "Postgres".to_owned(), version: "15.1".to_owned() },
            Report::Missing { name: "PgBouncer".to_owned(), reason: "not installed".to_owned() },
            Report::Variable { name: "URL".to_owned(), value: "postgres://a@b/c".to_owned() },
            Report::End,
        ];
        for report in reports {
            assert_eq!(Report::from_line(&report.to_line()), Some(report));
        }
        assert_eq!(Report::from_line("nonsense"), None);
    }

    #[test]
    fn a_reason_stays_on_one_line() {
        let report = Report::Missing { name: "x".to_owned(), reason: "a\nb\tc".to_owned() };
        assert_eq!(report.to_line(), "missing\tx\ta b c");
    }
}
