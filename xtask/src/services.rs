//! The servers as the other commands see them: what runs, where, and for how long it is held.
//!
//! A server given by an environment variable is used instead of a private one.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::keeper::{self, Report};
use crate::server::Durability;
use crate::{Result, apt};

/// The backends that have a private server, and the variable by which tests find it.
const BACKENDS: [(&str, &str); 7] = [
    ("Postgres", "TENURE_TEST_POSTGRES_URL"),
    ("PgBouncer", "TENURE_TEST_PGBOUNCER_URL"),
    ("MariaDB", "TENURE_TEST_MARIADB_URL"),
    ("MySQL", "TENURE_TEST_MYSQL_URL"),
    ("etcd", "TENURE_TEST_ETCD_URL"),
    ("NATS", "TENURE_TEST_NATS_URL"),
    ("Kafka", "TENURE_TEST_KAFKA_URL"),
];
/// The backend that is tested on a server only when one is given: it is not to be had as a private one. Without it, it is
/// not among the backends of a run, and nothing is missing; the summary says what was not run.
const GIVEN_ONLY: (&str, &str) = ("SQL Server", "TENURE_TEST_SQLSERVER_URL");

/// A backend, and what it is tested against — or why it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backend {
    pub(crate) name: String,
    pub(crate) against: std::result::Result<String, String>,
}

/// Servers that run until this value is dropped, or its process ends in whatever way.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) backends: Vec<Backend>,
    /// What to add to the environment of tests.
    pub(crate) variables: Vec<(String, String)>,
    /// A directory for other files of the run, removed with the servers.
    pub(crate) directory: Option<PathBuf>,
    keeper: Option<Keeper>,
}

/// The process that owns the servers, and the pipe whose end tells it to clean up.
#[derive(Debug)]
struct Keeper {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Services {
    /// Starts what the environment does not give. A server that cannot be had is in `backends` with the reason.
    pub(crate) fn start() -> Result<Self> {
        Self::start_all_but(Durability::Fast, |variable| {
            std::env::var_os(variable).is_some_and(|url| !url.is_empty())
        })
    }

    /// Starts a durable server of one backend, whatever the environment gives: figures are comparable only with known
    /// settings.
    pub(crate) fn start_durable(name: &str) -> Result<Self> {
        Self::start_wanted(Durability::Durable, &[name], |_| false)
    }

    fn start_all_but(durability: Durability, given: impl Fn(&str) -> bool) -> Result<Self> {
        let missing = BACKENDS.iter().filter(|(_, variable)| !given(variable));
        Self::start_wanted(durability, &missing.map(|(name, _)| *name).collect::<Vec<_>>(), given)
    }

    fn start_wanted(durability: Durability, wanted: &[&str], given: impl Fn(&str) -> bool) -> Result<Self> {
        let mut reports = Vec::new();
        let mut keeper = None;
        if !wanted.is_empty() {
            apt::ensure(wanted).unwrap_or_else(|reason| eprintln!("xtask: {reason}"));
            let mut started = Keeper::start(durability, wanted)?;
            reports = read_reports(&mut started.child)?;
            keeper = Some(started);
        }
        let (backends, variables) = resolve(&reports, given);
        let directory = reports.iter().find_map(|report| match report {
            Report::Directory(path) => Some(PathBuf::from(path)),
            _ => None,
        });
        Ok(Self { backends, variables, directory, keeper })
    }

    /// Why a backend cannot be had.
    pub(crate) fn why_not(&self, name: &str) -> String {
        let reason =
            self.backends.iter().find(|backend| backend.name == name).map(|backend| &backend.against);
        match reason {
            Some(Err(reason)) => format!("no {name}: {reason}"),
            _ => format!("no {name}"),
        }
    }

    /// Says loudly what cannot be tested, and returns the names.
    pub(crate) fn missing(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for backend in &self.backends {
            if let Err(reason) = &backend.against {
                eprintln!("xtask: NO {}: {reason}", backend.name.to_uppercase());
                names.push(backend.name.as_str());
            }
        }
        names
    }
}

impl Keeper {
    fn start(durability: Durability, wanted: &[&str]) -> Result<Self> {
        let own = std::env::current_exe().map_err(|error| format!("xtask does not find itself: {error}"))?;
        let mut command = Command::new(own);
        command
            .arg(keeper::COMMAND)
            .args(wanted)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if durability == Durability::Durable {
            command.arg(keeper::DURABLE);
        }
        let mut child =
            command.spawn().map_err(|error| format!("the keeper of the servers does not start: {error}"))?;
        let pipe = child.stdin.take();
        Ok(Self { child, pipe })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.child.wait();
    }
}

/// `cargo xtask services`: for developers who run single tests by hand.
pub(crate) fn hold() -> Result<()> {
    let mut services = Services::start()?;
    services.missing();
    for (name, value) in &services.variables {
        println!("export {name}='{value}'");
    }
    let Some(keeper) = &mut services.keeper else {
        return Err("every server is given by the environment; there is nothing to start".to_owned());
    };
    eprintln!("xtask: the servers run until ctrl-c");
    // Ctrl-c ends this process, and the keeper then cleans up. Should the keeper end first, there is nothing to hold.
    let ended = keeper.child.wait().map_err(|error| format!("the keeper cannot be waited for: {error}"))?;
    Err(format!("the servers ended ({ended})"))
}

fn read_reports(keeper: &mut Child) -> Result<Vec<Report>> {
    let out = keeper.stdout.take().ok_or("the keeper has no standard output")?;
    let mut reports = Vec::new();
    for line in BufReader::new(out).lines() {
        let line = line.map_err(|error| format!("the keeper cannot be read: {error}"))?;
        match Report::from_line(&line) {
            Some(Report::End) => return Ok(reports),
            Some(report) => reports.push(report),
            None => return Err(format!("the keeper said something odd: {line}")),
        }
    }
    Err("the keeper of the servers ended early".to_owned())
}

/// Puts what was given before what was started.
fn resolve(reports: &[Report], given: impl Fn(&str) -> bool) -> (Vec<Backend>, Vec<(String, String)>) {
    let backends = BACKENDS.iter().map(|(name, variable)| {
        let private = reports.iter().find_map(|report| match report {
            Report::Running { name: found, version } if found == name => {
                Some(Ok(format!("{name} {version}, private server")))
            }
            Report::Missing { name: found, reason } if found == name => Some(Err(reason.clone())),
            _ => None,
        });
        let against = match (given(variable), private) {
            (true, _) => Ok(format!("a server given by {variable}")),
            (false, Some(private)) => private,
            (false, None) => Err("it was not started".to_owned()),
        };
        Backend { name: (*name).to_owned(), against }
    });
    let (name, variable) = GIVEN_ONLY;
    let only = given(variable)
        .then(|| Backend { name: name.to_owned(), against: Ok(format!("a server given by {variable}")) });
    let variables = reports.iter().filter_map(|report| match report {
        Report::Variable { name, value } if !given(name) => Some((name.clone(), value.clone())),
        _ => None,
    });
    (backends.chain(only).collect(), variables.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Report> {
        vec![
            Report::Running { name: "Postgres".to_owned(), version: "15.1".to_owned() },
            Report::Variable { name: "TENURE_TEST_POSTGRES_URL".to_owned(), value: "private".to_owned() },
            Report::Missing { name: "PgBouncer".to_owned(), reason: "not installed".to_owned() },
        ]
    }

    #[test]
    fn a_private_server_is_used_when_none_is_given() {
        let (backends, variables) = resolve(&sample(), |_| false);
        assert_eq!(backends[0].against, Ok("Postgres 15.1, private server".to_owned()));
        assert_eq!(backends[1].against, Err("not installed".to_owned()));
        assert_eq!(variables, [("TENURE_TEST_POSTGRES_URL".to_owned(), "private".to_owned())]);
    }

    #[test]
    fn a_given_server_wins_over_a_private_one() {
        let (backends, variables) = resolve(&sample(), |name| name == "TENURE_TEST_POSTGRES_URL");
        assert_eq!(backends[0].against, Ok("a server given by TENURE_TEST_POSTGRES_URL".to_owned()));
        assert!(variables.is_empty());
    }

    #[test]
    fn a_sql_server_is_there_when_it_is_given_and_not_missing_when_it_is_not() {
        let named = |given: fn(&str) -> bool| {
            let (backends, _) = resolve(&sample(), given);
            backends.into_iter().find(|backend| backend.name == "SQL Server")
        };
        assert_eq!(named(|_| false), None);
        let against = named(|name| name == "TENURE_TEST_SQLSERVER_URL").map(|backend| backend.against);
        assert_eq!(against, Some(Ok("a server given by TENURE_TEST_SQLSERVER_URL".to_owned())));
    }
}
