//! The process that owns the servers.
//!
//! ```text
//!   cargo xtask test ──stdin (held open)──▶ keeper ──▶ postgres (twice), pgbouncer, mariadb, mysql, etcd, nats,
//!        │  ◀──────stdout (what runs)──────   │        kafka: each started, held and stopped by a thread of its own
//!        ▼ ends, panics, ctrl-c, SIGKILL      ▼ sees the end of its stdin: stops the servers, removes their files
//! ```
//!
//! However the owner ends, the kernel closes the pipe, so there is one way to clean up and no signal handler. The keeper
//! is in a process group of its own, so that ctrl-c in the terminal does not reach it first. If it is killed itself,
//! the kernel kills the servers, and the next start removes the files.

use std::any::Any;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::{RwLock, mpsc};
use std::thread;

use crate::etcd::Etcd;
use crate::innodb::Innodb;
use crate::kafka::Kafka;
use crate::nats::Nats;
use crate::pgbouncer::PgBouncer;
use crate::postgres::Postgres;
use crate::scratch::Scratch;
use crate::server::{Account, Durability};
use crate::{Result, mariadb, mysql};

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

/// Starts some servers that belong together. What is returned holds them, and is dropped on the same thread.
type Start = fn(&Path, Durability) -> (Box<dyn Any>, Vec<Report>);

/// The names of backends, and how to have them. All are started at the same time.
const STARTS: [(&[&str], Start); 7] = [
    (&["Postgres", "PgBouncer"], postgres_and_pgbouncer),
    (&["Postgres", "PgBouncer"], chaos_postgres),
    (&["MariaDB"], mariadb),
    (&["MySQL"], mysql),
    (&["etcd"], etcd),
    (&["NATS"], nats),
    (&["Kafka"], kafka),
];

/// Starts the servers that are named, reports, and holds them until standard input ends.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let durability =
        if args.iter().any(|arg| arg == DURABLE) { Durability::Durable } else { Durability::Fast };
    // Dropped last, when every server is gone.
    let scratch = Scratch::create()?;
    say(&Report::Directory(scratch.path().display().to_string()))?;
    let gate = RwLock::new(());
    thread::scope(|scope| {
        let closed = gate.write();
        let (said, reports) = mpsc::channel();
        for start in wanted(args) {
            let (said, gate, dir) = (said.clone(), &gate, scratch.path());
            // The kernel kills a server when the thread that started it ends. So each thread stays, until it stops its
            // servers itself.
            scope.spawn(move || {
                let (servers, reports) = start(dir, durability);
                let _ = said.send(reports);
                drop(said);
                drop(gate.read());
                drop(servers);
            });
        }
        drop(said);
        for report in reports.into_iter().flatten() {
            say(&report)?;
        }
        say(&Report::End)?;
        // Nobody writes: this returns when the owner is gone.
        let ended = io::stdin().read_to_end(&mut Vec::new());
        drop(closed);
        ended.map(drop).map_err(|error| format!("the keeper lost its owner: {error}"))
    })
}

fn wanted(args: &[String]) -> impl Iterator<Item = Start> {
    let named = |names: &[&str]| names.iter().any(|name| args.iter().any(|arg| arg == name));
    STARTS.into_iter().filter(move |(names, _)| named(names)).map(|(_, start)| start)
}

fn postgres_and_pgbouncer(dir: &Path, durability: Durability) -> (Box<dyn Any>, Vec<Report>) {
    let account = Account::of("postgres");
    let postgres = account.clone().and_then(|account| Postgres::start(dir, account, durability));
    let pgbouncer = match (&postgres, account) {
        (Ok(postgres), Ok(account)) => PgBouncer::start(dir, account, postgres),
        _ => Err("it needs a private Postgres behind it".to_owned()),
    };
    let mut reports = match &postgres {
        Ok(server) => vec![
            running("Postgres", &server.version),
            variable("TENURE_TEST_POSTGRES_URL", server.url()),
            variable("TENURE_TEST_POSTGRES_AUTH_URL", server.auth_url()),
        ],
        Err(reason) => vec![missing("Postgres", reason)],
    };
    match &pgbouncer {
        Ok(server) => reports.extend([
            running("PgBouncer", &server.version),
            variable("TENURE_TEST_PGBOUNCER_URL", server.url()),
        ]),
        Err(reason) => reports.push(missing("PgBouncer", reason)),
    }
    // The pooler is dropped before what it leads to.
    (Box::new((pgbouncer, postgres)), reports)
}

/// A second server, for the one test that crashes it: the others must not notice. What is measured needs none.
fn chaos_postgres(dir: &Path, durability: Durability) -> (Box<dyn Any>, Vec<Report>) {
    if durability == Durability::Durable {
        return (Box::new(()), Vec::new());
    }
    let chaos = Account::of("postgres").and_then(|account| {
        let folder = dir.join("chaos");
        account.make_dir(&folder)?;
        Postgres::start(&folder, account, durability)
    });
    let reports = match &chaos {
        Ok(server) => vec![variable("TENURE_TEST_CHAOS_POSTGRES_URL", server.url())],
        Err(reason) => {
            eprintln!("xtask: no second Postgres for the test that crashes it: {reason}");
            Vec::new()
        }
    };
    (Box::new(chaos), reports)
}

fn mariadb(dir: &Path, durability: Durability) -> (Box<dyn Any>, Vec<Report>) {
    let server = Account::of("mysql").and_then(|account| mariadb::start(dir, account, durability));
    let mut reports = innodb_reports("MariaDB", &server);
    if server.is_ok() {
        reports.extend([
            variable("TENURE_TEST_MARIADB_CA", mariadb::authority(dir).display().to_string()),
            variable("TENURE_TEST_MARIADB_TLS_LOCALHOST", "1".to_owned()),
        ]);
    }
    (Box::new(server), reports)
}

fn mysql(dir: &Path, durability: Durability) -> (Box<dyn Any>, Vec<Report>) {
    let server = Account::of("mysql").and_then(|account| mysql::start(dir, account, durability));
    let mut reports = innodb_reports("MySQL", &server);
    if server.is_ok() {
        reports.push(variable("TENURE_TEST_MYSQL_CA", mysql::authority(dir).display().to_string()));
    }
    (Box::new(server), reports)
}

fn etcd(dir: &Path, durability: Durability) -> (Box<dyn Any>, Vec<Report>) {
    let server = Account::of("etcd").and_then(|account| Etcd::start(dir, account, durability));
    let reports = match &server {
        Ok(server) => {
            vec![running("etcd", &server.version), variable("TENURE_TEST_ETCD_URL", server.url())]
        }
        Err(reason) => vec![missing("etcd", reason)],
    };
    (Box::new(server), reports)
}

fn nats(dir: &Path, _: Durability) -> (Box<dyn Any>, Vec<Report>) {
    let server = Account::of("nats").and_then(|account| Nats::start(dir, account));
    let reports = match &server {
        Ok(server) => vec![
            running("NATS", &server.version),
            variable("TENURE_TEST_NATS_URL", server.url()),
            variable("TENURE_TEST_NATS_SERVER", server.program.display().to_string()),
        ],
        Err(reason) => vec![missing("NATS", reason)],
    };
    (Box::new(server), reports)
}

fn kafka(dir: &Path, _: Durability) -> (Box<dyn Any>, Vec<Report>) {
    let server = Account::of("kafka").and_then(|account| Kafka::start(dir, account));
    let reports = match &server {
        Ok(server) => {
            vec![running("Kafka", &server.version), variable("TENURE_TEST_KAFKA_URL", server.url())]
        }
        Err(reason) => {
            vec![missing("Kafka", &format!("{reason}; the mock of librdkafka stands in for it"))]
        }
    };
    (Box::new(server), reports)
}

fn innodb_reports(name: &str, server: &Result<Innodb>) -> Vec<Report> {
    let variables = format!("TENURE_TEST_{}", name.to_uppercase());
    match server {
        Ok(server) => vec![
            running(name, &server.version),
            variable(&format!("{variables}_URL"), server.url()),
            variable(&format!("{variables}_AUTH_URL"), server.auth_url()),
        ],
        Err(reason) => vec![missing(name, reason)],
    }
}

fn running(name: &str, version: &str) -> Report {
    Report::Running { name: name.to_owned(), version: version.to_owned() }
}

fn missing(name: &str, reason: &str) -> Report {
    Report::Missing { name: name.to_owned(), reason: reason.to_owned() }
}

fn variable(name: &str, value: String) -> Report {
    Report::Variable { name: name.to_owned(), value }
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
    fn only_what_is_named_is_started() {
        let count =
            |args: &[&str]| wanted(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>()).count();
        assert_eq!(count(&[DURABLE]), 0);
        assert_eq!(count(&[DURABLE, "MySQL"]), 1);
        assert_eq!(count(&["PgBouncer"]), 2, "the pooler needs a Postgres of ours behind it");
        let all = ["Postgres", "PgBouncer", "MariaDB", "MySQL", "etcd", "NATS", "Kafka"];
        assert_eq!(count(&all), STARTS.len());
    }

    #[test]
    fn a_reason_stays_on_one_line() {
        let report = Report::Missing { name: "x".to_owned(), reason: "a\nb\tc".to_owned() };
        assert_eq!(report.to_line(), "missing\tx\ta b c");
    }
}
