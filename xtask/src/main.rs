//! The workshop of the repository: `cargo xtask …`.
//!
//! Everything that a developer or CI does to the workspace as a whole is a command here, so that there is one way to do
//! it and it works on a fresh machine. It uses nothing but the standard library, because it is compiled before
//! everything else.

// Printing is what this program is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod apt;
mod bench;
mod book;
mod cache;
mod cargo;
mod certificate;
mod commands;
mod etcd;
mod innodb;
mod kafka;
mod keeper;
mod mariadb;
mod mysql;
mod nats;
mod pgbouncer;
mod postgres;
mod report;
mod scratch;
mod scriptdom;
mod server;
mod services;
mod sid;
mod sim;
mod tally;
mod test;
mod tidy;

use std::process::ExitCode;

/// What went wrong, in a sentence for the person at the terminal.
type Result<T> = std::result::Result<T, String>;

const HELP: &str = "\
cargo xtask COMMAND — builds, tests and measures the workspace as a whole

COMMANDS
  test [--only STEP,…]     the one test command: installs and starts what is missing, then runs every step in order
  ci                       the same as CI runs it: a backend that cannot be had is a failure
  tidy                     only the house rules: who may depend on whom, where SQL may stand, …
  book [--write]           whether the reference and the marked numbers of docs/ are what the code says; or write the reference
  services                 start the private servers, print `export …` lines, hold until ctrl-c
  sim ARGS…                build the simulator for release and run it
  bench [--rounds N] [--db sqlite|postgres|mariadb|mysql]… [ARGS…]
                           measure failover on SQLite and on private, durable servers; one JSON object per line

STEPS OF `test`
  fmt, tidy, servers, clippy, docs, build, tests, sim, features, commands, book

ENVIRONMENT
  CI=true                        a backend that cannot be had, or that no test ran on, is a failure
  TENURE_TEST_POSTGRES_URL       use this Postgres instead of a private one
  TENURE_TEST_PGBOUNCER_URL      use this PgBouncer (in transaction mode) instead of a private one
  TENURE_TEST_POSTGRES_AUTH_URL  a role that needs its password, for the test of a wrong one
  TENURE_TEST_MARIADB_URL        use this MariaDB instead of a private one
  TENURE_TEST_MARIADB_AUTH_URL   a user of it that needs its password
  TENURE_TEST_MARIADB_CA         the file of the authority that vouches for it; with TENURE_TEST_MARIADB_TLS_LOCALHOST
                                 set, its certificate names localhost
  TENURE_TEST_MYSQL_URL          use this MySQL instead of a private one
  TENURE_TEST_MYSQL_AUTH_URL     a user of it that needs its password
  TENURE_TEST_MYSQL_CA           as TENURE_TEST_MARIADB_CA, and TENURE_TEST_MYSQL_TLS_LOCALHOST too
  TENURE_TEST_ETCD_URL           use this etcd instead of a private one; tests that restart a server need the program too
  TENURE_TEST_SQLSERVER_URL      use this SQL Server; without it nothing runs on one, also in CI: it cannot be had here
  TENURE_TEST_NATS_URL           use this NATS with JetStream instead of a private one
  TENURE_TEST_NATS_SERVER        the program `nats-server`, for tests that stop and start one of their own
  TENURE_TEST_KAFKA_URL          use this Kafka instead of a private one; where there is none, a mock of librdkafka stands in
  RUST_TEST_THREADS              tests at a time (4 when not set: they are sensitive to time)

EXAMPLES
  cargo xtask test                          # everything, as the README says
  cargo xtask test --only fmt,tidy,clippy   # before a commit
  cargo xtask services                      # then, in another terminal: paste the lines, and run
                                            #   cargo test -p tenure-postgres --all-features
  cargo xtask sim --seeds 100000 --from 1   # a long night for the simulator
  cargo xtask bench --rounds 30             # the figures of the README
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("--help", &[][..]),
    };
    let done = match command {
        "--help" | "-h" | "help" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ if matches!(rest, [flag] if flag == "--help" || flag == "-h") && command != "sim" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        "test" => test::run(rest, test::ci_from_environment()),
        "ci" => test::run(rest, true),
        "tidy" => no_arguments(rest).and_then(|()| tidy::run()),
        "services" => no_arguments(rest).and_then(|()| services::hold()),
        "sim" => sim::run(rest),
        "bench" => bench::run(rest),
        "book" => book::run(rest),
        keeper::COMMAND => keeper::run(rest),
        other => Err(format!("no command `{other}`; `cargo xtask --help` lists them")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn no_arguments(rest: &[String]) -> Result<()> {
    match rest.first() {
        None => Ok(()),
        Some(argument) => {
            Err(format!("`{argument}` is one argument too many; `cargo xtask --help` shows the use"))
        }
    }
}
