//! The SQL of this crate: the folder `sql/`, and what has no place in it.

use std::time::Duration;

use tenure_core::naming::Naming;
use tenure_sql::{Migration, Statements, Texts, include_statements};

/// How names are quoted, whatever the session's settings.
pub(crate) const QUOTES: (char, char) = ('[', ']');

/// The folder.
pub(crate) const TEXTS: Texts = include_statements!("../sql/");

/// The texts of `begin`, `commit` and `rollback`: they go to the server on ways of their own.
pub(crate) const BEGIN: &str = "BEGIN TRANSACTION";
pub(crate) const COMMIT: &str = "COMMIT TRANSACTION";
pub(crate) const ROLLBACK: &str = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION";

/// A sign of life.
pub(crate) const PING: &str = "SELECT 1 AS alive";

/// What the driver itself says: no table stands in these.
pub(crate) const GREETING: &str = include_str!("../sql/driver/greeting.sql");
pub(crate) const LOCK_TAKE: &str = include_str!("../sql/driver/lock_take.sql");
pub(crate) const LOCK_GIVE: &str = include_str!("../sql/driver/lock_give.sql");
pub(crate) const LOCK_FREE: &str = include_str!("../sql/driver/lock_free.sql");
const WALK: &str = include_str!("../sql/driver/walk.sql");
pub(crate) const OPEN_TRANSACTIONS: &str = include_str!("../sql/driver/open_transactions.sql");

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
];

/// The statements of all migrations for tables of these names, as a script for `sqlcmd`. Connects to nothing.
pub fn migrations(naming: &Naming) -> String {
    tenure_sql::script(MIGRATIONS, &TEXTS, naming, QUOTES)
}

/// The text of a walk from source to source, of the statements that are its steps.
pub(crate) fn walk(statements: &Statements) -> String {
    [
        ("{outbox_walk}", &statements.outbox_walk),
        ("{outbox_walk_find}", &statements.outbox_walk_find),
        ("{outbox_walk_move}", &statements.outbox_walk_move),
        ("{outbox_walk_head}", &statements.outbox_walk_head),
        ("{outbox_walk_end}", &statements.outbox_walk_end),
    ]
    .iter()
    .fold(WALK.to_owned(), |text, (name, step)| text.replace(name, step))
}

/// What is said on a new connection. Everything is named, because a server, a database or a login may have other defaults: the
/// settings of the first line are those without which the server refuses to write to tables with some kinds of indexes. An
/// error ends the whole transaction (XACT_ABORT): none is left half-way, also if we never get to say so.
pub(crate) fn session(lock: Duration) -> String {
    let lock = i32::try_from(lock.as_millis()).unwrap_or(i32::MAX);
    format!(
        "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON; \
         SET NUMERIC_ROUNDABORT OFF; SET IMPLICIT_TRANSACTIONS OFF; SET NOCOUNT ON; SET XACT_ABORT ON; \
         SET LANGUAGE us_english; SET TEXTSIZE 2147483647; SET ROWCOUNT 0; \
         SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCK_TIMEOUT {lock}"
    )
}

/// A statement for each row of a list, put together of the columns of that list and of the statement for one of them.
pub(crate) fn branches(place: usize, columns: &str, one: &str) -> String {
    format!(
        "SELECT one.* FROM OPENJSON(@P{place}) WITH ({columns}) AS branch\nCROSS APPLY (\n{one}\n) AS one"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_knows_the_texts_of_transactions() {
        let filled = Statements::new(&TEXTS, &Naming::default(), QUOTES);
        assert_eq!((filled.begin.as_str(), filled.commit.as_str()), (BEGIN, COMMIT));
        assert_eq!(filled.rollback, ROLLBACK);
    }
}
