//! `cargo xtask bench`: failover measured with real processes, on durable settings.
//!
//! The servers are always private ones with `fsync` on, whatever the environment gives: figures can be compared only
//! when the settings are known. Standard output has one JSON object per line and nothing else.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::cargo::{cargo, run as run_command};
use crate::scratch::Scratch;
use crate::server::output;
use crate::services::Services;

const ROUNDS: &str = "30";

/// A database to measure.
#[derive(Debug, PartialEq, Eq)]
struct Database {
    /// Its name on the command line.
    word: &'static str,
    /// The backend whose private server it is, and the variable that tells its address. A file needs neither.
    server: Option<(&'static str, &'static str)>,
}

static DATABASES: [Database; 4] = [
    Database { word: "sqlite", server: None },
    Database { word: "postgres", server: Some(("Postgres", "TENURE_TEST_POSTGRES_URL")) },
    Database { word: "mariadb", server: Some(("MariaDB", "TENURE_TEST_MARIADB_URL")) },
    Database { word: "mysql", server: Some(("MySQL", "TENURE_TEST_MYSQL_URL")) },
];

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    rounds: String,
    databases: Vec<&'static Database>,
    /// Handed to `tenure bench failover` as they are.
    rest: Vec<String>,
}

/// Measures what was asked for, one database after the other.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = parse(args)?;
    run_command(cargo(&["build", "--release", "--package", "tenure-cli"]))?;
    for database in &options.databases {
        // One server at a time: those that idle would take memory and time from the one that is measured.
        match database.server {
            None => {
                let scratch = Scratch::create()?;
                warn_of_memory(scratch.path());
                failover(&format!("sqlite:{}", scratch.path().join("bench.db").display()), &options)?;
            }
            Some((name, variable)) => {
                let services = Services::start_durable(name)?;
                services.directory.as_deref().into_iter().for_each(warn_of_memory);
                let url = services.variables.iter().find(|(found, _)| found == variable);
                let (_, url) = url.ok_or_else(|| services.why_not(name))?;
                failover(url, &options)?;
            }
        }
    }
    Ok(())
}

fn failover(url: &str, options: &Options) -> Result<()> {
    let mut command = cargo(&["run", "--quiet", "--release", "--package", "tenure-cli", "--"]);
    command
        .args(["bench", "failover", "--db", url, "--rounds", &options.rounds, "--json"])
        .args(&options.rest);
    run_command(command)
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options { rounds: ROUNDS.to_owned(), databases: Vec::new(), rest: Vec::new() };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => {
                let rounds = value()?;
                rounds.parse::<u32>().map_err(|_| format!("--rounds `{rounds}` is no number"))?;
                options.rounds.clone_from(rounds);
            }
            "--db" => {
                let word = value()?;
                let words = DATABASES.iter().map(|database| database.word).collect::<Vec<_>>().join(", ");
                let named = DATABASES.iter().find(|database| database.word == word);
                options.databases.push(named.ok_or_else(|| format!("--db `{word}`: it is one of {words}"))?);
            }
            _ => options.rest.push(arg.clone()),
        }
    }
    if options.databases.is_empty() {
        options.databases.extend(&DATABASES);
    }
    Ok(options)
}

/// A temporary directory in memory makes every commit look cheap.
fn warn_of_memory(directory: &Path) {
    let mut stat = Command::new("stat");
    stat.args(["-f", "-c", "%T"]).arg(directory);
    if output(stat).is_ok_and(|kind| kind == "tmpfs" || kind == "ramfs") {
        eprintln!(
            "xtask: the temporary directory is in memory, so nothing is durable: set TMPDIR to one on a disk"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Options> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn all_databases_are_measured_unless_some_are_named() {
        let words = |options: &Options| options.databases.iter().map(|found| found.word).collect::<Vec<_>>();
        let all = parsed(&[]).unwrap();
        assert_eq!(words(&all), ["sqlite", "postgres", "mariadb", "mysql"]);
        assert_eq!(all.rounds, ROUNDS);
        assert_eq!(words(&parsed(&["--db", "mysql", "--db", "mariadb"]).unwrap()), ["mysql", "mariadb"]);
        let one = parsed(&["--db", "sqlite", "--rounds", "5", "--ttl", "3s"]).unwrap();
        assert_eq!(words(&one), ["sqlite"]);
        assert_eq!(
            (one.rounds.as_str(), one.rest.as_slice()),
            ("5", &["--ttl".to_owned(), "3s".to_owned()][..])
        );
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(parsed(&["--rounds", "many"]).is_err());
        assert!(parsed(&["--rounds"]).is_err());
        assert!(parsed(&["--db", "oracle"]).is_err());
    }
}
