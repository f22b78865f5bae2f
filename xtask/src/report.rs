//! What `cargo xtask test` says at its end: each step, each backend, and one plain line.

use std::time::Duration;

use crate::services::Backend;
use crate::tally::{Count, Ground, Tally};

/// How a step ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) step: &'static str,
    pub(crate) took: Duration,
    pub(crate) failure: Option<String>,
    /// Why nothing was done in it, where that is no failure.
    pub(crate) left_out: Option<String>,
}

/// The summary, ending in the line that CI reads.
pub(crate) fn summary(done: &[Done], backends: &[Backend], tally: &Tally, sqlite: &str) -> String {
    let mut lines = vec![String::new(), "summary".to_owned()];
    for step in done {
        let verdict = match (&step.failure, &step.left_out) {
            (Some(_), _) => "FAILED",
            (None, Some(_)) => "NOT RUN",
            (None, None) => "ok",
        };
        lines.push(format!("  {:<10} {verdict:<7} {:>6.1} s", step.step, step.took.as_secs_f64()));
    }
    if done.iter().any(|step| step.step == "tests") {
        lines.push("backends".to_owned());
        for ground in Ground::ALL {
            let count = tally.grounds.get(&ground).copied().unwrap_or_default();
            lines.push(format!("  {:<10} {}", ground.name(), backend_line(ground, count, backends, sqlite)));
        }
    }
    lines.extend(tally.failures.iter().map(|test| format!("FAILED {test}")));
    for step in done {
        lines.extend(step.left_out.iter().map(|reason| format!("NOT RUN {}: {reason}", step.step)));
        lines.extend(step.failure.iter().map(|reason| format!("FAILED {}: {reason}", step.step)));
    }
    let total: Duration = done.iter().map(|step| step.took).sum();
    lines.push(format!("{} steps in {:.0} s", done.len(), total.as_secs_f64()));
    lines.push(format!("{} passed, {} failed", tally.passed, tally.failed));
    lines.join("\n")
}

/// Backends that could be had but on which no test ran: their tests are missing, or do not name them. SQL Server is
/// among them without a server, too: its statements can always be checked.
pub(crate) fn untested(backends: &[Backend], tally: &Tally) -> Vec<&'static str> {
    let ran =
        |ground| tally.grounds.get(&ground).is_some_and(|count: &Count| count.passed + count.failed > 0);
    let expected = |ground: &Ground| !matches!(ground, Ground::Memory | Ground::Other);
    Ground::ALL
        .into_iter()
        .filter(expected)
        .filter(|ground| !ran(*ground))
        .map(Ground::name)
        .filter(|name| backends.iter().all(|backend| backend.name != *name || backend.against.is_ok()))
        .collect()
}

fn backend_line(ground: Ground, count: Count, backends: &[Backend], sqlite: &str) -> String {
    let against = match ground {
        Ground::Memory => "in the test's own process".to_owned(),
        Ground::Sqlite => sqlite.to_owned(),
        Ground::Other => "decisions, parsing, the simulator's rules".to_owned(),
        Ground::SqlServer if backends.iter().all(|backend| backend.name != ground.name()) => {
            "nothing was run against a server, only the statements were checked by a grammar".to_owned()
        }
        Ground::Postgres
        | Ground::PgBouncer
        | Ground::MariaDb
        | Ground::MySql
        | Ground::Etcd
        | Ground::SqlServer
        | Ground::Nats
        | Ground::Kafka => {
            match backends
                .iter()
                .find(|backend| backend.name == ground.name())
                .map(|backend| &backend.against)
            {
                Some(Ok(against)) => format!("against {against}"),
                Some(Err(reason)) => return format!("NOT TESTED: {reason}"),
                None => return "NOT TESTED: no server was started".to_owned(),
            }
        }
    };
    let Count { passed, failed, took } = count;
    format!("{passed:>4} passed, {failed} failed in {:.1} s, {against}", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(name: &str, against: Result<&str, &str>) -> Backend {
        Backend { name: name.to_owned(), against: against.map(str::to_owned).map_err(str::to_owned) }
    }

    fn sample() -> Tally {
        let mut tally = Tally::default();
        (tally.passed, tally.failed) = (7, 1);
        tally.grounds.insert(Ground::Postgres, Count { passed: 6, failed: 1, took: Duration::from_secs(2) });
        tally
    }

    #[test]
    fn the_last_line_is_the_plain_one() {
        let text = summary(&[], &[], &sample(), "");
        assert_eq!(text.lines().last(), Some("7 passed, 1 failed"));
    }

    #[test]
    fn a_backend_that_could_not_be_had_is_not_hidden() {
        let backends =
            [backend("Postgres", Ok("15.1, private server")), backend("PgBouncer", Err("not installed"))];
        let done = [Done { step: "tests", took: Duration::ZERO, failure: None, left_out: None }];
        let text = summary(&done, &backends, &sample(), "bundled");
        assert!(text.contains("6 passed, 1 failed in 2.0 s, against 15.1, private server"), "{text}");
        assert!(text.contains("NOT TESTED: not installed"), "{text}");
    }

    #[test]
    fn a_step_that_could_not_run_is_not_called_ok() {
        let left_out = Some("no such program".to_owned());
        let done = [Done { step: "deny", took: Duration::ZERO, failure: None, left_out }];
        let text = summary(&done, &[], &sample(), "");
        assert!(text.contains("NOT RUN deny: no such program"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("  deny") && line.contains("NOT RUN")), "{text}");
        assert!(!text.contains(" ok "), "{text}");
        assert_eq!(text.lines().last(), Some("7 passed, 1 failed"));
    }

    #[test]
    fn a_backend_without_a_test_is_noticed() {
        let backends = [backend("Postgres", Ok("15.1")), backend("PgBouncer", Ok("1.18"))];
        assert_eq!(
            untested(&backends, &sample()),
            ["SQLite", "PgBouncer", "MariaDB", "MySQL", "etcd", "SQL Server", "NATS", "Kafka"]
        );
        let without = [backend("PgBouncer", Err("not installed")), backend("MariaDB", Err("not installed"))];
        assert_eq!(untested(&without, &sample()), ["SQLite", "MySQL", "etcd", "SQL Server", "NATS", "Kafka"]);
    }

    #[test]
    fn without_a_sql_server_it_is_said_that_nothing_ran_on_one() {
        let count = Count { passed: 3, ..Count::default() };
        let line = backend_line(Ground::SqlServer, count, &[], "");
        assert!(line.contains("3 passed") && line.contains("nothing was run against a server"), "{line}");
        let given = [backend("SQL Server", Ok("a server given by X"))];
        let line = backend_line(Ground::SqlServer, count, &given, "");
        assert!(line.ends_with("against a server given by X"), "{line}");
    }
}
