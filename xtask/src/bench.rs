//! `cargo xtask bench`: failover measured with real processes, on durable settings.
//!
//! The servers are always private ones with `fsync` on, whatever the environment gives: figures can be compared only
//! when the settings are known. Standard output has one JSON object per line and nothing else.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::cargo::{cargo, run as run_command};
use crate::server::output;
use crate::services::Services;

const ROUNDS: &str = "30";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    rounds: String,
    sqlite: bool,
    postgres: bool,
    /// Handed to `tenure bench failover` as they are.
    rest: Vec<String>,
}

/// Measures what was asked for, one database after the other.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = parse(args)?;
    run_command(cargo(&["build", "--release", "--package", "tenure-cli"]))?;
    let services = Services::start_durable()?;
    let directory = services.directory.as_deref().ok_or("the keeper named no directory")?;
    warn_of_memory(directory);
    if options.sqlite {
        failover(&format!("sqlite:{}", directory.join("bench.db").display()), &options)?;
    }
    if options.postgres {
        let own = services.variables.iter().find(|(name, _)| name == "TENURE_TEST_POSTGRES_URL");
        let (_, url) =
            own.ok_or_else(|| format!("no Postgres to measure: {}", services.missing().join(", ")))?;
        failover(url, &options)?;
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
    let mut options = Options { rounds: ROUNDS.to_owned(), sqlite: true, postgres: true, rest: Vec::new() };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => {
                let rounds = value()?;
                rounds.parse::<u32>().map_err(|_| format!("--rounds `{rounds}` is no number"))?;
                options.rounds.clone_from(rounds);
            }
            "--db" => match value()?.as_str() {
                "sqlite" => options.postgres = false,
                "postgres" => options.sqlite = false,
                other => return Err(format!("--db `{other}`: it is `sqlite` or `postgres` here")),
            },
            _ => options.rest.push(arg.clone()),
        }
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
    fn both_databases_are_measured_unless_one_is_named() {
        let all = parsed(&[]).unwrap();
        assert!(all.sqlite && all.postgres && all.rounds == ROUNDS);
        let one = parsed(&["--db", "sqlite", "--rounds", "5", "--ttl", "3s"]).unwrap();
        assert!(one.sqlite && !one.postgres);
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
