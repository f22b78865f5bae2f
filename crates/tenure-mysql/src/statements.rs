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
        sql: include_str!("../sql/migrations/0001_leases.sql"),
    },
    Migration {
        version: 2,
        description: "outbox, inbox",
        tables: &["outbox", "inbox"],
        sql: include_str!("../sql/migrations/0002_outbox.sql"),
    },
    Migration {
        version: 3,
        description: "events, snapshots, checkpoints",
        tables: &["streams", "events", "append_slots", "snapshots", "checkpoints", "parked"],
        sql: include_str!("../sql/migrations/0003_events.sql"),
    },
];

/// What a server is asked first.
pub(crate) const GREETING: &str = "SELECT VERSION() AS version, @@global.read_only AS read_only";

/// Whether there are several servers that are written to at once.
pub(crate) const PRIMARIES: &str =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'group_replication_single_primary_mode')";

/// The statements of all migrations for tables of these names, as a script for the `mysql` client. Connects to nothing.
pub fn migrations(naming: &Naming) -> String {
    tenure_sql::script(MIGRATIONS, &TEXTS, naming, QUOTES)
}

/// How long the server may take over a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) lock: Duration,
    pub(crate) statement: Duration,
}

impl Limits {
    /// What is said on a new connection. Isolation and mode are named, because a server may have other defaults. A session
    /// that stops in the middle of a transaction must not hold its locks for long.
    pub(crate) fn session(&self, flavour: Flavour) -> String {
        let lock = seconds(self.lock);
        let idle = seconds(self.statement * 2);
        let own = match flavour {
            Flavour::MySql => {
                format!("SET SESSION max_execution_time = {}", self.statement.as_millis().max(1))
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
             SESSION innodb_lock_wait_timeout = {lock}, SESSION wait_timeout = {idle}; {own}"
        )
    }
}

/// Whole seconds, rounded up: the server counts its limits in them.
fn seconds(span: Duration) -> u64 {
    span.as_millis().div_ceil(1000).clamp(1, 31_536_000) as u64
}
