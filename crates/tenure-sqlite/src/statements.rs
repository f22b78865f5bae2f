//! Every statement this crate runs: text from `sql/`, with the names of the tables filled in.
//!
//! This is the only place that builds SQL. What goes into it is a [`Naming`], which is a closed type; every value is
//! bound.

use tenure_core::naming::Naming;

use crate::cluster::statements::ClusterStatements;
use crate::events::statements::EventStatements;
use crate::outbox::statements::OutboxStatements;

/// One step of the schema.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) version: u32,
    pub(crate) description: &'static str,
    pub(crate) sql: String,
}

/// A table, and the version of the schema that brought it.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) since: u32,
    pub(crate) name: String,
}

/// What each version of the schema brought.
const TABLES: [(u32, &[&str]); 4] = [
    (1, &["schema", "leases", "lease_history", "audit"]),
    (2, &["outbox", "outbox_pending", "outbox_attempts", "outbox_dead", "inbox"]),
    (3, &["streams", "events", "snapshots", "checkpoints", "parked"]),
    (5, &["cluster", "nodes", "assignments"]),
];

/// The columns of a lease `l`.
pub(crate) const LEASE: &str = include_str!("../sql/lease_columns.sql").trim_ascii_end();

/// The statements, with names filled in.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) lease_read: String,
    pub(crate) lease_write: String,
    pub(crate) lease_renew: String,
    pub(crate) lease_list: String,
    pub(crate) lease_sweep: String,
    pub(crate) history_add: String,
    pub(crate) history_list: String,
    pub(crate) history_old: String,
    pub(crate) history_forget: String,
    pub(crate) history_last_term: String,
    pub(crate) audit_add: String,
    pub(crate) audit_list: String,
    pub(crate) runners_write: String,
    pub(crate) runners_own: String,
    pub(crate) runners_drop: String,
    pub(crate) runners_list: String,
    pub(crate) runners_forget: String,
    pub(crate) fence_check: String,
    pub(crate) outbox: OutboxStatements,
    pub(crate) events: EventStatements,
    pub(crate) cluster: ClusterStatements,
    pub(crate) data_version: String,
    pub(crate) lock_probe: String,
    /// The names of all tables, as they stand in the catalogue. That of the schema's version is the first.
    pub(crate) tables: Vec<Table>,
    pub(crate) tables_list: String,
    pub(crate) schema_read: String,
    pub(crate) schema_write: String,
    /// In order of their versions.
    pub(crate) migrations: Vec<Migration>,
}

impl Statements {
    /// The statements for tables of these names.
    pub(crate) fn new(naming: &Naming) -> Self {
        let fill = |template: &str| naming.fill(&template.replace("{lease}", LEASE));
        let table = |since, table| Table { since, name: format!("{}{table}", naming.prefix) };
        let tables = TABLES.iter().flat_map(|(since, names)| names.iter().map(move |name| (*since, name)));
        Self {
            tables: tables.map(|(since, name)| table(since, name)).collect(),
            outbox: OutboxStatements::new(naming),
            events: EventStatements::new(naming),
            cluster: ClusterStatements::new(naming),
            data_version: fill(include_str!("../sql/data_version.sql")),
            lock_probe: fill(include_str!("../sql/lock_probe.sql")),
            lease_read: fill(include_str!("../sql/lease_read.sql")),
            lease_write: fill(include_str!("../sql/lease_write.sql")),
            lease_renew: fill(include_str!("../sql/lease_renew.sql")),
            lease_list: fill(include_str!("../sql/lease_list.sql")),
            lease_sweep: fill(include_str!("../sql/lease_sweep.sql")),
            history_add: fill(include_str!("../sql/history_add.sql")),
            history_list: fill(include_str!("../sql/history_list.sql")),
            history_old: fill(include_str!("../sql/history_old.sql")),
            history_forget: fill(include_str!("../sql/history_forget.sql")),
            history_last_term: fill(include_str!("../sql/history_last_term.sql")),
            audit_add: fill(include_str!("../sql/audit_add.sql")),
            audit_list: fill(include_str!("../sql/audit_list.sql")),
            runners_write: fill(include_str!("../sql/runners_write.sql")),
            runners_own: fill(include_str!("../sql/runners_own.sql")),
            runners_drop: fill(include_str!("../sql/runners_drop.sql")),
            runners_list: fill(include_str!("../sql/runners_list.sql")),
            runners_forget: fill(include_str!("../sql/runners_forget.sql")),
            fence_check: fill(include_str!("../sql/fence_check.sql")),
            tables_list: fill(include_str!("../sql/tables_list.sql")),
            schema_read: fill(include_str!("../sql/schema_read.sql")),
            schema_write: fill(include_str!("../sql/schema_write.sql")),
            migrations: vec![
                Migration {
                    version: 1,
                    description: "leases, their history and the audit trail",
                    sql: fill(include_str!("../sql/migrations/0001_leases.sql")),
                },
                Migration {
                    version: 2,
                    description: "the outbox and the inbox",
                    sql: fill(include_str!("../sql/migrations/0002_outbox.sql")),
                },
                Migration {
                    version: 3,
                    description: "events, snapshots and checkpoints",
                    sql: fill(include_str!("../sql/migrations/0003_events.sql")),
                },
                Migration {
                    version: 4,
                    description: "checkpoints count their rewinds",
                    sql: fill(include_str!("../sql/migrations/0004_checkpoint_moves.sql")),
                },
                Migration {
                    version: 5,
                    description: "nodes and daemons",
                    sql: fill(include_str!("../sql/migrations/0005_cluster.sql")),
                },
                Migration {
                    version: 6,
                    description: "what leases of other places were granted as",
                    sql: fill(include_str!("../sql/migrations/0006_origins.sql")),
                },
                Migration {
                    version: 7,
                    description: "what a dashboard needs: runners, causes of death, stories",
                    sql: fill(include_str!("../sql/migrations/0007_dashboard.sql")),
                },
            ],
        }
    }

    /// The newest version of the schema that these statements know.
    pub(crate) fn newest(&self) -> u32 {
        self.migrations.last().map_or(0, |migration| migration.version)
    }

    /// All migrations after a version as a script for the `sqlite3` shell. Each is one transaction that also notes its version.
    pub(crate) fn script(&self, after: u32) -> String {
        let mut script = String::new();
        let missing = self.migrations.iter().filter(|migration| migration.version > after);
        for Migration { version, description, sql } in missing {
            // The values are ours; a description with a quote in it would be doubled as SQL wants it.
            let noted = self
                .schema_write
                .replace("?1", &version.to_string())
                .replace("?2", &format!("'{}'", description.replace('\'', "''")))
                .replace("?3", SCRIPT_NOW);
            let noted = noted.trim_end();
            script.push_str(&format!(
                "-- {version:04}: {description}\nbegin immediate;\n\n{sql}\n{noted};\n\ncommit;\n"
            ));
        }
        script
    }
}

/// Microseconds since 1970 in a spelling that old shells know too.
const SCRIPT_NOW: &str = "cast((julianday('now') - 2440587.5) * 86400000000 as integer)";

/// A statement for sqlx, which wants to be told that a text is safe: all that was filled in are names of tables.
#[cfg(feature = "sqlx")]
pub(crate) fn for_sqlx(statement: &str) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(statement.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_placeholder_is_left_in_any_statement() {
        let statements = Statements::new(&Naming::default());
        let all = format!("{statements:?}{}", statements.script(0));
        for mark in TABLES.iter().flat_map(|(_, names)| names.iter()).chain([&"prefix"]) {
            assert!(!all.contains(&format!("{{{mark}}}")), "{mark}");
        }
        assert!(!statements.script(0).contains('?'));
    }

    #[test]
    fn versions_of_migrations_rise_by_one() {
        let statements = Statements::new(&Naming::default());
        for (at, migration) in statements.migrations.iter().enumerate() {
            assert_eq!(migration.version as usize, at + 1);
        }
    }
}
