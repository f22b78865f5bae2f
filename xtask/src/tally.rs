//! Counts tests from what `cargo test` prints, in all and per backend.
//!
//! A test belongs to the backend that its name or its package names: everything in `tenure-sqlite` is SQLite's, a
//! process test `failover::postgres::…` is Postgres', and any test with `pgbouncer` in its name goes through the pooler.
//! `tenure-mysql` is for two servers, so its tests are in modules `mariadb` and `mysql`; the others need neither.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// What tests ran on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ground {
    Memory,
    Sqlite,
    Postgres,
    PgBouncer,
    MariaDb,
    MySql,
    Etcd,
    SqlServer,
    Nats,
    Kafka,
    /// Nothing outside the test itself.
    Other,
}

impl Ground {
    pub(crate) const ALL: [Self; 11] = [
        Self::Memory,
        Self::Sqlite,
        Self::Postgres,
        Self::PgBouncer,
        Self::MariaDb,
        Self::MySql,
        Self::Etcd,
        Self::SqlServer,
        Self::Nats,
        Self::Kafka,
        Self::Other,
    ];

    /// The words in the names of tests. Where a name has more than one, the earlier one here counts.
    const WORDS: [(&'static str, Self); 9] = [
        ("postgres", Self::Postgres),
        ("mariadb", Self::MariaDb),
        ("mysql", Self::MySql),
        ("sqlserver", Self::SqlServer),
        ("etcd", Self::Etcd),
        ("nats", Self::Nats),
        ("kafka", Self::Kafka),
        ("sqlite", Self::Sqlite),
        ("memory", Self::Memory),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "SQLite",
            Self::Postgres => "Postgres",
            Self::PgBouncer => "PgBouncer",
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
            Self::Etcd => "etcd",
            Self::SqlServer => "SQL Server",
            Self::Nats => "NATS",
            Self::Kafka => "Kafka",
            Self::Other => "no backend",
        }
    }

    fn of(package: &str, test: &str) -> Self {
        let test = test.to_lowercase();
        match package {
            // Its tests speak of servers without using any.
            "xtask" => Self::Other,
            _ if test.contains("pgbouncer") => Self::PgBouncer,
            "tenure-postgres" => Self::Postgres,
            "tenure-sqlite" => Self::Sqlite,
            "tenure-sqlserver" => Self::SqlServer,
            "tenure-etcd" => Self::Etcd,
            "tenure-kafka" => Self::Kafka,
            // The name of an example in the docs is the path of its file, which has the name of the package.
            "tenure-mysql" if test.contains("/tenure-mysql/") => Self::Other,
            _ => Self::named(&test).unwrap_or(Self::Other),
        }
    }

    /// A module that is called like a backend says more than a word in a sentence.
    fn named(test: &str) -> Option<Self> {
        let module = |part: &str| Self::WORDS.iter().find(|(word, _)| *word == part);
        let word = || Self::WORDS.iter().find(|(word, _)| test.contains(word));
        test.split("::").find_map(module).or_else(word).map(|(_, ground)| *ground)
    }
}

/// The tests on one ground.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// How long the test programs took that had such tests; tests on other grounds may share a program.
    pub(crate) took: Duration,
}

/// Reads the output of `cargo test`, line by line.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
    pub(crate) grounds: BTreeMap<Ground, Count>,
    /// The tests that failed, each with its package.
    pub(crate) failures: Vec<String>,
    /// Which package a test program was built from, by the program's file name.
    packages: BTreeMap<String, String>,
    program: Option<Program>,
}

/// The test program that runs now.
#[derive(Debug)]
struct Program {
    package: String,
    started: Instant,
    grounds: BTreeSet<Ground>,
    /// Whether it closed with a result; one that does not has crashed.
    closed: bool,
}

impl Tally {
    /// Remembers what was built, from a JSON line of `cargo test --no-run`. Returns the program and its package.
    pub(crate) fn built(&mut self, json: &str) -> Option<(String, String)> {
        let executable = json_string(json, "executable")?;
        let id = json_string(json, "package_id")?;
        let file = executable.rsplit('/').next()?.to_owned();
        self.packages.insert(file, package_name(&id).to_owned());
        Some((executable, package_name(&id).to_owned()))
    }

    /// Takes in one line of `cargo test`.
    pub(crate) fn line(&mut self, line: &str) {
        let line = without_colour(line);
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("Running ") {
            if let Some(path) = rest.rsplit('(').next().and_then(|path| path.strip_suffix(')')) {
                let file = path.rsplit('/').next().unwrap_or(path);
                self.begin(self.packages.get(file).cloned().unwrap_or_default());
            }
        } else if let Some(package) = line.strip_prefix("Doc-tests ") {
            self.begin(package.replace('_', "-"));
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += number_before(counts, " passed");
            self.failed += number_before(counts, " failed");
            self.ignored += number_before(counts, " ignored");
            self.close();
        } else if let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        {
            self.outcome(name, outcome);
        }
    }

    /// Takes in that cargo is done, and whether it was content: a failure that no test told of counts too.
    pub(crate) fn finish(&mut self, succeeded: bool) {
        self.notice_crash();
        if !succeeded {
            self.failed = self.failed.max(1);
        }
    }

    fn begin(&mut self, package: String) {
        self.notice_crash();
        self.program =
            Some(Program { package, started: Instant::now(), grounds: BTreeSet::new(), closed: false });
    }

    fn notice_crash(&mut self) {
        if let Some(program) = self.program.take().filter(|program| !program.closed) {
            self.failed += 1;
            self.failures.push(format!("{}: a test program ended without a result", program.package));
        }
    }

    fn outcome(&mut self, name: &str, outcome: &str) {
        let Some(program) = &mut self.program else { return };
        let ground = Ground::of(&program.package, name);
        program.grounds.insert(ground);
        let count = self.grounds.entry(ground).or_default();
        match outcome {
            "ok" => count.passed += 1,
            "FAILED" => {
                count.failed += 1;
                self.failures.push(format!("{}: {name}", program.package));
            }
            _ => {}
        }
    }

    /// The docs of a package may close more than once: their examples are run in several groups.
    fn close(&mut self) {
        let Some(program) = &mut self.program else { return };
        for ground in std::mem::take(&mut program.grounds) {
            self.grounds.entry(ground).or_default().took += program.started.elapsed();
        }
        program.started = Instant::now();
        program.closed = true;
    }
}

/// The value of a plain string field; enough for what cargo writes, whose paths have nothing to escape.
fn json_string(json: &str, field: &str) -> Option<String> {
    let start = json.find(&format!("\"{field}\":\""))? + field.len() + 4;
    let rest = json.get(start..)?;
    rest.get(..rest.find('"')?).map(str::to_owned)
}

/// `path+file:///…/crates/tenure-core#0.1.0` and `path+file:///…/somewhere#tenure-core@0.1.0` are both `tenure-core`.
fn package_name(id: &str) -> &str {
    let (path, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.find(word).and_then(|at| text.get(..at)).unwrap_or_default();
    before.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn without_colour(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        let json = r#"{"reason":"compiler-artifact","package_id":"path+file:///x/crates/tenure-postgres#0.1.0","executable":"/x/target/debug/deps/it-0a1b"}"#;
        assert_eq!(tally.built(json).unwrap().1, "tenure-postgres");
        lines.iter().for_each(|line| tally.line(line));
        tally
    }

    #[test]
    fn tests_are_counted_per_backend() {
        let tally = tally(&[
            "     Running tests/it/main.rs (target/debug/deps/it-0a1b)",
            "running 3 tests",
            "test direct::a_release_names_the_term ... ok",
            "test through_pgbouncer::a_release_names_the_term ... ok",
            "test direct::broken ... FAILED",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s",
            "   Doc-tests tenure_sqlite",
            "test crates/tenure-sqlite/src/lib.rs - (line 3) ... ok",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s",
        ]);
        assert_eq!((tally.passed, tally.failed), (3, 1));
        assert_eq!(tally.failures, ["tenure-postgres: direct::broken"]);
        let count = |ground| tally.grounds.get(&ground).map(|count| (count.passed, count.failed));
        assert_eq!(count(Ground::Postgres), Some((1, 1)));
        assert_eq!(count(Ground::PgBouncer), Some((1, 0)));
        assert_eq!(count(Ground::Sqlite), Some((1, 0)));
        assert_eq!(count(Ground::Memory), None);
    }

    #[test]
    fn a_test_is_of_the_backend_whose_module_it_is_in() {
        let of = Ground::of;
        assert_eq!(of("tenure-mysql", "mariadb::lease::a_claim_is_exclusive"), Ground::MariaDb);
        assert_eq!(of("tenure-mysql", "mysql::lease::a_claim_is_exclusive"), Ground::MySql);
        assert_eq!(of("tenure-mysql", "mysql::the_address_of_a_mariadb_is_refused"), Ground::MySql);
        assert_eq!(of("tenure-mysql", "statements::tests::names_are_quoted"), Ground::Other);
        assert_eq!(of("tenure-mysql", "crates/tenure-mysql/src/lib.rs - (line 3)"), Ground::Other);
        assert_eq!(of("tenure-sqlserver", "every_statement_is_of_the_grammar"), Ground::SqlServer);
        assert_eq!(of("tenure-cli", "failover::mariadb::a_killed_leader_is_replaced"), Ground::MariaDb);
        assert_eq!(of("tenure-cli", "failover::sqlserver::a_killed_leader_is_replaced"), Ground::SqlServer);
        assert_eq!(of("tenure-cli", "a_mysql_that_is_down_is_told"), Ground::MySql);
        assert_eq!(of("tenure-cli", "failover::postgres::through_pgbouncer"), Ground::PgBouncer);
        assert_eq!(of("tenure", "nats::a_stream_gets_what_a_relay_reads_from_sqlite"), Ground::Nats);
        assert_eq!(of("tenure-kafka", "sink::order"), Ground::Kafka);
        assert_eq!(of("xtask", "mysql::tests::programs_start"), Ground::Other);
    }

    #[test]
    fn a_crashed_test_program_is_a_failure() {
        let crashed = "     Running tests/it/main.rs (target/debug/deps/it-0a1b)";
        let mut last = tally(&[crashed, "running 3 tests"]);
        last.finish(false);
        assert_eq!((last.passed, last.failed), (0, 1));
        let followed = tally(&[crashed, "   Doc-tests tenure_core"]);
        assert_eq!((followed.failed, followed.failures.len()), (1, 1));
    }

    #[test]
    fn a_failure_that_no_test_told_of_counts() {
        let mut tally = tally(&[]);
        tally.finish(false);
        assert_eq!(tally.failed, 1);
    }

    #[test]
    fn examples_that_close_in_groups_are_all_counted() {
        let result =
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s";
        let mut tally =
            tally(&["   Doc-tests tenure_sqlite", "test a ... ok", result, "test b ... ok", result]);
        tally.finish(true);
        assert_eq!((tally.passed, tally.failed), (2, 0));
        assert_eq!(tally.grounds.get(&Ground::Sqlite).map(|count| count.passed), Some(2));
    }

    #[test]
    fn colours_do_not_hide_a_line() {
        assert_eq!(without_colour("\u{1b}[1m\u{1b}[32m   Running\u{1b}[0m x"), "   Running x");
    }

    #[test]
    fn both_forms_of_a_package_id_are_understood() {
        assert_eq!(package_name("path+file:///x/crates/tenure-core#0.1.0"), "tenure-core");
        assert_eq!(package_name("path+file:///x/y#tenure@0.1.0"), "tenure");
    }
}
