//! The SQL of this crate: the only place that builds any.
//!
//! What is spliced into it are names of tables, which are of a closed type ([`Naming`]), and numbers. All else is bound.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::hash;
use tenure_core::lease::Flag;
use tenure_core::naming::Naming;

use crate::outbox::statements::WAKEUP_CLASS;
use crate::wait::WAIT_SLICE;
use crate::{cluster, events, outbox};

/// One migration.
pub(crate) struct Migration {
    pub(crate) version: u32,
    pub(crate) description: &'static str,
    /// The tables that it makes; of the first one, first the one that tells the version.
    tables: &'static [&'static str],
    sql: &'static str,
}

/// Every migration, in order.
pub(crate) const MIGRATIONS: [Migration; 7] = [
    Migration {
        version: 1,
        description: "leases, their history, audit",
        tables: &["schema", "leases", "lease_history", "audit"],
        sql: include_str!("../sql/migrations/0001_leases.sql"),
    },
    Migration {
        version: 2,
        description: "outbox, inbox",
        tables: &["outbox", "outbox_pending", "outbox_attempts", "outbox_dead", "inbox"],
        sql: include_str!("../sql/migrations/0002_outbox.sql"),
    },
    Migration {
        version: 3,
        description: "events, snapshots, checkpoints",
        tables: &["streams", "events", "snapshots", "checkpoints", "parked"],
        sql: include_str!("../sql/migrations/0003_events.sql"),
    },
    Migration {
        version: 4,
        description: "checkpoints count their rewinds",
        tables: &[],
        sql: include_str!("../sql/migrations/0004_checkpoint_moves.sql"),
    },
    Migration {
        version: 5,
        description: "nodes and daemons",
        tables: &["cluster", "nodes", "assignments"],
        sql: include_str!("../sql/migrations/0005_cluster.sql"),
    },
    Migration {
        version: 6,
        description: "what leases of other places were granted as",
        tables: &[],
        sql: include_str!("../sql/migrations/0006_origins.sql"),
    },
    Migration {
        version: 7,
        description: "what a dashboard needs: runners, causes of death, stories",
        tables: &["runners"],
        sql: include_str!("../sql/migrations/0007_dashboard.sql"),
    },
];

/// The schema's version that this program needs.
pub(crate) const SCHEMA_VERSION: u32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Which server process answers.
pub(crate) const SERVER_PROCESS: &str = "SELECT pg_backend_pid()";
/// The server's clock.
pub(crate) const SERVER_CLOCK: &str = "SELECT clock_timestamp()";
/// When the server process that answers was started.
pub(crate) const SERVER_START: &str =
    "SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()";
/// Whether the server is a standby.
pub(crate) const IN_RECOVERY: &str = "SELECT pg_is_in_recovery()";
/// What kind of server answers.
pub(crate) const GREETING: &str = "SELECT current_setting('server_version_num')::integer, \
     pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";
/// Whether a schema is there.
pub(crate) const SCHEMA_EXISTS: &str = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
/// Which of the named tables are there. Asks the catalogue itself: `to_regclass` answers from a cache that a wait for an
/// advisory lock does not refresh, and so would overlook a table that was made meanwhile.
pub(crate) const TABLES_THERE: &str = "SELECT c.relname::text FROM pg_catalog.pg_class AS c \
     JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
     WHERE c.relname = ANY ($1::name[]) \
     AND n.nspname = ANY (CASE WHEN $2 IS NULL THEN current_schemas(false) ELSE ARRAY[$2::name] END)";
/// The schema in which a table without one would be created.
pub(crate) const CURRENT_SCHEMA: &str = "SELECT coalesce(current_schema()::text, '')";
pub(crate) const BEGIN: &str = "BEGIN";
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// All columns of a lease's row `l`, as plain texts and numbers, so that any driver can read them.
pub(crate) const COLUMNS: &str = "l.name, l.term, l.node, l.incarnation, l.claim, l.renewals, l.machine, l.pid, l.kind, \
     l.backend, l.presence, l.presence_trust_ms::bigint AS presence_trust_ms, l.origin_epoch, \
     l.origin_term, \
     (extract(epoch FROM l.acquired_at) * 1000000)::bigint AS acquired_us, \
     (extract(epoch FROM l.renewed_at) * 1000000)::bigint AS renewed_us, \
     (extract(epoch FROM l.expires_at) * 1000000)::bigint AS expires_us, \
     (extract(epoch FROM l.released_at) * 1000000)::bigint AS released_us, \
     (extract(epoch FROM l.revoked_at) * 1000000)::bigint AS revoked_us";

/// The server's clock, never the time at which the transaction began.
pub(crate) const NOW_US: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_us";

/// Where all of Tenure's programs queue for migrations, in any schema of a database.
const MIGRATION_KEY: i64 = 0x7465_6e75_7265; // "tenure"

/// The statements over one set of tables.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) lease_read: String,
    pub(crate) lease_lock: String,
    pub(crate) lease_write: String,
    pub(crate) lease_renew: String,
    pub(crate) lease_release: String,
    pub(crate) lease_list: String,
    pub(crate) lease_touch: String,
    pub(crate) lease_stamp: String,
    pub(crate) lease_sweep: String,
    pub(crate) history_add: String,
    pub(crate) history_list: String,
    pub(crate) history_forget: String,
    pub(crate) history_last_term: String,
    pub(crate) audit_add: String,
    pub(crate) audit_list: String,
    pub(crate) runners_write: String,
    pub(crate) runners_list: String,
    pub(crate) runners_forget: String,
    pub(crate) fence_check: String,
    pub(crate) schema_read: String,
    pub(crate) schema_write: String,
    pub(crate) outbox: outbox::statements::Statements,
    pub(crate) events: Arc<events::statements::Statements>,
    pub(crate) cluster: cluster::statements::Statements,
    naming: Naming,
}

impl Statements {
    pub(crate) fn new(naming: &Naming) -> Self {
        let fill =
            |template: &str| naming.fill(&template.replace("{columns}", COLUMNS).replace("{now_us}", NOW_US));
        Self {
            lease_read: fill(include_str!("../sql/lease_read.sql")),
            lease_lock: fill(include_str!("../sql/lease_lock.sql")),
            lease_write: fill(include_str!("../sql/lease_write.sql")),
            lease_renew: fill(include_str!("../sql/lease_renew.sql")),
            lease_release: fill(include_str!("../sql/lease_release.sql")),
            lease_list: fill(include_str!("../sql/lease_list.sql")),
            lease_touch: fill(include_str!("../sql/lease_touch.sql")),
            lease_stamp: fill(include_str!("../sql/lease_stamp.sql")),
            lease_sweep: fill(include_str!("../sql/lease_sweep.sql")),
            history_add: fill(include_str!("../sql/history_add.sql")),
            history_list: fill(include_str!("../sql/history_list.sql")),
            history_forget: fill(include_str!("../sql/history_forget.sql")),
            history_last_term: fill(include_str!("../sql/history_last_term.sql")),
            audit_add: fill(include_str!("../sql/audit_add.sql")),
            audit_list: fill(include_str!("../sql/audit_list.sql")),
            runners_write: fill(include_str!("../sql/runners_write.sql")),
            runners_list: fill(include_str!("../sql/runners_list.sql")),
            runners_forget: fill(include_str!("../sql/runners_forget.sql")),
            fence_check: fill(include_str!("../sql/fence_check.sql")),
            schema_read: fill(include_str!("../sql/schema_read.sql")),
            schema_write: fill(include_str!("../sql/schema_write.sql")),
            outbox: outbox::statements::Statements::new(naming),
            events: Arc::new(events::statements::Statements::new(naming)),
            cluster: cluster::statements::Statements::new(naming),
            naming: naming.clone(),
        }
    }

    /// Begins a transaction in which one name is changed. The name's lock makes writers queue up even while there is no
    /// row; it belongs to the table itself, whatever path led there.
    pub(crate) fn begin_for(&self, name: &str, limits: &Limits, pooled: bool) -> String {
        let limits = if pooled { limits.local() } else { String::new() };
        let table = self.leases_number();
        let name = name_key(name);
        format!("{BEGIN_WRITE}; {limits}SELECT pg_advisory_xact_lock({table}::integer, {name})")
    }

    /// Begins a migration: one of many nodes does it, the others wait.
    pub(crate) fn begin_migration(patience: Duration) -> String {
        let limits = Limits { lock: patience, statement: patience, read_only: false }.local();
        format!("{BEGIN_WRITE}; {limits}SELECT pg_advisory_xact_lock({MIGRATION_KEY})")
    }

    pub(crate) fn raise_flag(&self, flag: &Flag) -> String {
        format!("SELECT pg_try_advisory_lock({}), pg_backend_pid()", self.flag_key(flag))
    }

    pub(crate) fn lower_flag(&self, flag: &Flag) -> String {
        format!("SELECT pg_advisory_unlock({})", self.flag_key(flag))
    }

    /// Waits for a flag to fall; whatever was had is let go at the statement's end.
    pub(crate) fn watch_flag(&self, flag: &Flag, patience: Duration) -> String {
        waiting(&format!("pg_advisory_xact_lock_shared({})", self.flag_key(flag)), patience)
    }

    /// Answers with a row if a flag is down on this server. Nobody can raise it then before the transaction's end.
    pub(crate) fn flag_is_down(&self, flag: &Flag) -> String {
        format!("SELECT 1 WHERE pg_try_advisory_xact_lock_shared({})", self.flag_key(flag))
    }

    /// The number of a flag's lock. The table is part of it, by its own number: nodes that reach one table under
    /// different names (with and without its schema) must agree, for a flag that seems to be down is evidence.
    fn flag_key(&self, flag: &Flag) -> String {
        format!("({} # ({}::bigint << 32))", flag.key(""), self.leases_number())
    }

    /// The number of the leases table in its database. A missing table is an error here, as it should be.
    fn leases_number(&self) -> String {
        format!("'{}'::regclass::oid", self.naming.table("leases"))
    }

    pub(crate) fn create_schema(&self) -> Option<String> {
        self.naming.schema.as_ref().map(|schema| format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\""))
    }

    /// The bare names of all tables that a schema of that version has, first the one that tells the version.
    pub(crate) fn tables(&self, version: u32) -> Vec<String> {
        let made = MIGRATIONS.iter().filter(|migration| migration.version <= version);
        made.flat_map(|migration| migration.tables)
            .map(|table| format!("{}{table}", self.naming.prefix))
            .collect()
    }

    pub(crate) fn migration(&self, migration: &Migration) -> String {
        events::statements::fill(&self.naming, migration.sql)
    }

    /// One migration as a DBA would run it.
    pub(crate) fn migration_script(&self, migration: &Migration) -> String {
        let Migration { version, description, .. } = migration;
        let schema = self.create_schema().map(|create| format!("{create};\n")).unwrap_or_default();
        let body = self.migration(migration);
        let table = self.naming.table("schema");
        format!(
            "-- {version:04} {description}\nBEGIN;\n{schema}{body}\
             INSERT INTO {table} (version, description, applied_at) \
             VALUES ({version}, '{description}', clock_timestamp());\nCOMMIT;\n"
        )
    }
}

/// The isolation is named, because a database may have another default.
pub(crate) const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// The same where nothing can be written.
pub(crate) const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY";

/// How long the server may take over a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) lock: Duration,
    pub(crate) statement: Duration,
    /// Whether nothing can be written there: a standby refuses to begin a transaction that could.
    pub(crate) read_only: bool,
}

impl Limits {
    /// The limits of one transaction; what a pooler leaves us.
    pub(crate) fn local(&self) -> String {
        self.set("SET LOCAL")
    }

    /// Begins a transaction around one statement, to bound it behind a pooler.
    pub(crate) fn begin(&self) -> String {
        format!("{}; {}", self.opening(), self.local())
    }

    /// How transactions begin here that may only read.
    pub(crate) fn opening(&self) -> &'static str {
        if self.read_only { BEGIN_READ } else { BEGIN_WRITE }
    }

    /// The limits of a session of our own, and what else it needs. `checks` tells whether the server can look after a
    /// client that is gone while a statement waits.
    pub(crate) fn session(&self, checks: bool) -> String {
        let checks = if checks { "SET client_connection_check_interval = 1000; " } else { "" };
        format!("{checks}SET default_transaction_isolation = 'read committed'; {}", self.set("SET"))
    }

    fn set(&self, set: &str) -> String {
        let (lock, statement) = (millis(self.lock), millis(self.statement));
        format!(
            "{set} lock_timeout = {lock}; {set} statement_timeout = {statement}; \
             {set} idle_in_transaction_session_timeout = {statement}; "
        )
    }
}

/// Makes the server notice a client machine that has vanished, and, where it can, end the session after `silence`.
pub(crate) fn watched_session(silence: Option<Duration>) -> String {
    let idle =
        silence.map(|span| format!("; SET idle_session_timeout = {}", millis(span))).unwrap_or_default();
    format!(
        "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3{idle}"
    )
}

/// A session that waits for locks. Where the server can, it looks whether the client is still there.
pub(crate) fn waiting_session(checks: bool) -> String {
    let checks = if checks { "; SET client_connection_check_interval = 1000" } else { "" };
    format!("SET statement_timeout = 0{checks}")
}

pub(crate) fn try_lock(key: i64) -> String {
    format!("SELECT pg_try_advisory_lock({key}), pg_backend_pid()")
}

pub(crate) fn wait_lock(key: i64, patience: Duration) -> String {
    waiting(&format!("pg_advisory_lock({key})"), patience)
}

/// Has a lock within the time given, in one statement: the condition is computed before what is selected, and the limit
/// that it sets ends with the statement.
pub(crate) fn waiting(lock: &str, patience: Duration) -> String {
    let limit = millis(patience);
    format!("SELECT {lock} WHERE set_config('lock_timeout', '{limit}', true) IS NOT NULL")
}

/// The number of a table, by which locks and channels of wake-ups are told apart.
pub(crate) fn number_of(table: &str) -> String {
    format!("SELECT '{table}'::regclass::oid")
}

pub(crate) fn listen(channel: &str, number: u32) -> String {
    format!("LISTEN \"{channel}{number}\"")
}

/// Asks for the lock of one who sleeps, for as long as one statement may wait.
pub(crate) fn arm(number: u32) -> String {
    waiting(&format!("pg_advisory_lock({WAKEUP_CLASS}, {number}::oid::integer)"), WAIT_SLICE)
}

pub(crate) fn disarm(number: u32) -> String {
    format!("SELECT pg_advisory_unlock({WAKEUP_CLASS}, {number}::oid::integer)")
}

pub(crate) fn unlock(key: i64) -> String {
    format!("SELECT pg_advisory_unlock({key})")
}

/// Whole milliseconds, rounded up so that a wait is never short of what was asked for; zero would mean "without limit".
fn millis(span: Duration) -> u128 {
    span.as_nanos().div_ceil(1_000_000).clamp(1, 0x7fff_ffff)
}

/// Half of a key, for locks whose collisions only cost a wait.
fn name_key(name: &str) -> i32 {
    let key = hash::key([name.as_bytes()]);
    (key ^ (key >> 32)) as i32
}

/// The fence check for sqlx, which wants to be told that a text is safe: it holds names of tables only.
#[cfg(feature = "sqlx")]
pub(crate) fn for_sqlx(sql: &str) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(sql.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled() {
        let statements = Statements::new(&Naming::default());
        let scripts: String = MIGRATIONS.iter().map(|one| statements.migration_script(one)).collect();
        // What is shown as text has no escapes that would hide a brace.
        let all = format!("{statements:?}") + &scripts;
        let braces = all.match_indices('{').filter(|(at, _)| {
            let word: String =
                all[at + 1..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            !word.is_empty() && all[at + 1 + word.len()..].starts_with('}')
        });
        assert_eq!(braces.count(), 0);
    }

    #[test]
    fn a_limit_is_never_rounded_down_to_none() {
        let limits = Limits { lock: Duration::from_micros(1), statement: Duration::MAX, read_only: false };
        assert!(limits.begin().contains("lock_timeout = 1;"), "{}", limits.begin());
        // A standby refuses to begin what could write.
        assert!(limits.begin().starts_with(BEGIN_WRITE));
        let begin = Limits { read_only: true, ..limits }.begin();
        assert!(begin.starts_with(BEGIN_READ) && !begin.contains("WRITE"), "{begin}");
        assert!(wait_lock(7, Duration::from_micros(1500)).contains("'2'"), "a wait is not cut short");
        assert!(limits.begin().contains("statement_timeout = 2147483647;"), "{}", limits.begin());
    }
}
