//! The SQL of this crate: the folder `sql/`, and what has no place in it.

use std::time::Duration;

use tenure_core::naming::Naming;
use tenure_sql::{Migration, Texts, include_statements};

use crate::connect::Flavour;

/// How names are quoted, whatever the session's mode.
pub(crate) const QUOTES: (char, char) = ('`', '`');

/// The folder.
pub(crate) const TEXTS: Texts = include_statements!("../sql/");

/// Every migration, in order. Version 4 of other databases is part of 3 here.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        description: "leases, their history, audit",
        tables: &["schema", "leases", "fences", "lease_history", "audit"],
        needed: true,
        sql: include_str!("../sql/migrations/0001_leases.sql"),
    },
    Migration {
        version: 2,
        description: "outbox, inbox",
        tables: &["outbox", "outbox_pending", "outbox_attempts", "outbox_dead", "inbox"],
        needed: true,
        sql: include_str!("../sql/migrations/0002_outbox.sql"),
    },
    Migration {
        version: 3,
        description: "events, snapshots, checkpoints",
        tables: &["streams", "events", "append_slots", "snapshots", "checkpoints", "parked"],
        needed: true,
        sql: include_str!("../sql/migrations/0003_events.sql"),
    },
    Migration {
        version: 5,
        description: "nodes and daemons",
        tables: &["cluster", "nodes", "assignments"],
        needed: true,
        sql: include_str!("../sql/migrations/0005_cluster.sql"),
    },
    Migration {
        version: 6,
        description: "what leases of other places were granted as",
        tables: &[],
        needed: true,
        sql: include_str!("../sql/migrations/0006_origins.sql"),
    },
    Migration {
        version: 7,
        description: "what a dashboard needs: runners, causes of death, stories",
        tables: &["runners"],
        needed: true,
        sql: include_str!("../sql/migrations/0007_dashboard.sql"),
    },
    Migration {
        version: 8,
        description: "fresh messages stand first in their index",
        tables: &[],
        needed: true,
        sql: include_str!("../sql/migrations/0008_fresh.sql"),
    },
    Migration {
        version: 9,
        description: "what has just come is a list",
        tables: &["outbox_arrivals"],
        needed: true,
        sql: include_str!("../sql/migrations/0009_arrivals.sql"),
    },
    Migration {
        version: 10,
        description: "a message is enqueued by one statement",
        tables: &[],
        needed: false,
        sql: include_str!("../sql/driver/outbox_enqueue.sql"),
    },
];

/// What a server is asked first.
pub(crate) const GREETING: &str = "SELECT VERSION() AS version, @@global.read_only AS read_only, \
     @@lower_case_table_names AS folds; \
     SHOW GLOBAL VARIABLES WHERE Variable_name IN \
     ('wsrep_on', 'group_replication_single_primary_mode', 'log_bin', 'binlog_format')";

/// The statements of all migrations for tables of these names, as a script for the `mysql` client. Connects to nothing.
pub fn migrations(naming: &Naming) -> String {
    tenure_sql::script(MIGRATIONS, &TEXTS, naming, QUOTES)
}

/// A text for sqlx, which wants to be told that it is safe: it holds names of tables, which are of a closed type, and literals
/// that nothing can leave (see `literal.rs`).
pub(crate) fn for_sqlx<T>(text: T) -> sqlx::AssertSqlSafe<T> {
    sqlx::AssertSqlSafe(text)
}

/// How long the server may take over a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) lock: Duration,
    pub(crate) statement: Duration,
}

impl Limits {
    /// After how much silence the server ends a session.
    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(seconds(self.statement.saturating_mul(2)))
    }

    /// What is said on a new connection. Isolation and mode are named, because a server may have other defaults. A session
    /// that stops in the middle of a transaction must not hold its locks for long.
    pub(crate) fn session(&self, flavour: Flavour) -> String {
        let lock = seconds(self.lock);
        let idle = self.idle().as_secs();
        let own = match flavour {
            Flavour::MySql => {
                format!(
                    "SET SESSION max_execution_time = {}",
                    self.statement.as_millis().clamp(1, u128::from(u32::MAX))
                )
            }
            Flavour::MariaDb => format!(
                "SET SESSION max_statement_time = {:.3}, SESSION idle_transaction_timeout = {}",
                self.statement.as_secs_f64().max(0.001),
                seconds(self.statement)
            ),
        };
        format!(
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
             SET SESSION autocommit = 1, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
             SESSION sql_safe_updates = 0, SESSION sql_select_limit = 18446744073709551615, SESSION sql_big_selects = 1, \
             SESSION innodb_lock_wait_timeout = {lock}, SESSION lock_wait_timeout = {lock}, \
             SESSION wait_timeout = {idle}; {own}"
        )
    }
}

/// What is said on a connection that holds locks or waits for them: the server ends it after a silence, and breaks off no
/// wait by itself. Answers with the session's number. `role` is there for an operator who looks for whose session it is.
pub(crate) fn lock_session(role: &'static str, idle: Duration, flavour: Flavour) -> String {
    let unlimited = match flavour {
        Flavour::MySql => "max_execution_time",
        Flavour::MariaDb => "max_statement_time",
    };
    format!(
        "SET SESSION autocommit = 1, SESSION wait_timeout = {}, SESSION {unlimited} = 0, @tenure = '{role}'; \
         SELECT CONNECTION_ID() AS id, @@global.read_only AS read_only",
        seconds(idle)
    )
}

/// How much the session takes in one piece, in bytes. It is the server's setting of when the session was opened.
pub(crate) const PACKET_MAX: &str = "SELECT CAST(@@session.max_allowed_packet AS SIGNED) AS most";

/// Which session answers. It never changes unless a proxy stands between.
pub(crate) const SESSION_NUMBER: &str = "SELECT CONNECTION_ID() AS id";

/// Takes a named lock, waiting for it at most for a span: 1 if it was had. Names are our own, and hold no quote.
///
/// MariaDB counts the wait in fractions of a second. MySQL rounds it to whole ones, so there the statement itself is limited,
/// and fails when the lock was not had in time.
pub(crate) fn get_lock(name: &str, span: Duration, flavour: Flavour) -> String {
    let (limit, get) = get_lock_within(name, span, flavour);
    format!("SELECT {limit}{get} AS had, CONNECTION_ID() AS id /* tenure */")
}

/// The same, letting go at once: whoever else waits for it has it next. One statement, and one expression: ELT looks at the
/// wait's answer first, and gives back what was had, also when the statement's time is over at that moment. Nobody is left
/// with a lock.
pub(crate) fn touch_lock(name: &str, span: Duration, flavour: Flavour) -> String {
    let (limit, get) = get_lock_within(name, span, flavour);
    format!("SELECT {limit}CAST(ELT({get} + 1, 0, RELEASE_LOCK('{name}')) AS SIGNED) AS had /* tenure */")
}

/// What limits the statement, and the call.
fn get_lock_within(name: &str, span: Duration, flavour: Flavour) -> (String, String) {
    let millis = span.as_micros().div_ceil(1000);
    match flavour {
        _ if millis == 0 => (String::new(), format!("GET_LOCK('{name}', 0)")),
        Flavour::MariaDb => {
            (String::new(), format!("GET_LOCK('{name}', {}.{:03})", millis / 1000, millis % 1000))
        }
        Flavour::MySql => (
            format!("/*+ MAX_EXECUTION_TIME({millis}) */ "),
            format!("GET_LOCK('{name}', {})", seconds(span) + 1),
        ),
    }
}

/// Gives one lock back.
pub(crate) fn release_lock(name: &str) -> String {
    format!("SELECT RELEASE_LOCK('{name}') AS released, CONNECTION_ID() AS id")
}

/// Gives all locks of the session back.
pub(crate) const RELEASE_LOCKS: &str = "DO RELEASE_ALL_LOCKS()";

/// Whether nobody has a lock.
pub(crate) fn lock_is_free(name: &str) -> String {
    format!("SELECT IS_FREE_LOCK('{name}') AS free")
}

/// Which session has a lock.
pub(crate) fn lock_owner(name: &str) -> String {
    format!("SELECT IS_USED_LOCK('{name}') AS owner, CONNECTION_ID() AS id")
}

/// A transaction that is open on a session: behind a proxy it holds on to the connection to the server.
pub(crate) const HOLD_ON: &str = "START TRANSACTION; SELECT CONNECTION_ID() AS id";
/// The end of it.
pub(crate) const LET_GO: &str = "ROLLBACK";

/// Whole seconds, rounded up: the server counts its limits in them.
fn seconds(span: Duration) -> u64 {
    span.as_millis().div_ceil(1000).clamp(1, 31_536_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_never_rounded_down_to_none() {
        let limits = Limits { lock: Duration::from_micros(1), statement: Duration::MAX };
        for flavour in [Flavour::MySql, Flavour::MariaDb] {
            let text = limits.session(flavour);
            assert!(text.contains("lock_wait_timeout = 1,"), "{text}");
            assert!(lock_session("x", Duration::from_millis(1100), flavour).contains("wait_timeout = 2,"));
        }
    }

    #[test]
    fn a_wait_lasts_as_long_as_was_asked_and_not_a_whole_second() {
        let wait = |micros, flavour| get_lock("n", Duration::from_micros(micros), flavour);
        assert!(wait(1_500, Flavour::MariaDb).contains("GET_LOCK('n', 0.002)"), "it is not cut short");
        assert!(wait(2_300_000, Flavour::MariaDb).contains("GET_LOCK('n', 2.300)"));
        assert!(wait(300_000, Flavour::MySql).contains("MAX_EXECUTION_TIME(300) */ GET_LOCK('n', 2)"));
        for flavour in [Flavour::MySql, Flavour::MariaDb] {
            assert!(wait(0, flavour).starts_with("SELECT GET_LOCK('n', 0) AS had"), "zero is no limit there");
            assert!(
                !touch_lock("n", Duration::from_secs(1), flavour).contains(';'),
                "a watch is one statement"
            );
        }
    }
}
