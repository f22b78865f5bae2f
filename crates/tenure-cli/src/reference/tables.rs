//! The tables: what each is for, its columns, and the statements that make it on each database.

use std::collections::BTreeMap;

use rusqlite::Connection;
use tenure::core::naming::{Naming, TABLES};

use super::cell;
use crate::output::Failure;

/// What each table is for.
const USES: &[(&str, &str)] = &[
    (
        "leases",
        "one row per name for ever: the lease, its entry in the registry, and the memory of its last term",
    ),
    ("fences", "which terms are in office, for writes to check (MySQL, MariaDB, SQL Server)"),
    ("lease_history", "every change of holder, with its cause"),
    ("append_slots", "what orders appends of overlapping transactions (MySQL, MariaDB, SQL Server)"),
    ("cluster", "one row: the number of the cluster's last change"),
    ("nodes", "the nodes of a cluster and what each can do; whether one lives is said by its lease"),
    ("assignments", "daemons: where each runs, and why"),
    ("audit", "what operators did"),
    ("schema", "which migrations were applied"),
    ("runners", "what the loops of each process say of themselves"),
    ("outbox", "messages; this is the table that your programs insert into"),
    ("outbox_pending", "one narrow row for each message that is not finished"),
    (
        "outbox_arrivals",
        "instead of that, the number alone of a message that has just come and was never tried",
    ),
    ("outbox_attempts", "every attempt to deliver"),
    ("outbox_dead", "messages that were given up, and what an operator decided about them"),
    ("inbox", "what receivers have applied or refused"),
    ("streams", "the version of each stream of events"),
    ("events", "events"),
    ("snapshots", "the state of an entity at one version of its stream"),
    ("checkpoints", "how far each subscription has come"),
    ("parked", "events that a subscription has put aside"),
];

/// The databases, by what their URLs begin with.
const DATABASES: &[(&str, &str)] = &[
    ("SQLite", "sqlite:"),
    ("Postgres", "postgres:"),
    ("MySQL and MariaDB", "mysql:"),
    ("SQL Server", "sqlserver:"),
];

pub(super) fn page() -> Result<String, Failure> {
    let columns = sqlite_columns()?;
    let mut page = String::from(
        "# Tables\n\nMade by `tenure migrate`, which also prints them for a DBA: `tenure migrate --print --db URL`. Their names begin with \
         `tenure_` unless `--table-prefix` says otherwise. Only `tenure_outbox` is for your own programs to insert into \
         ([the outbox](../outbox.md)); `tenure_inbox` is for receivers without the library. The others are Tenure's own: read them as you \
         like, change them with the commands, which leave a line in `tenure_audit`.\n\n| table | what it is for |\n|---|---|\n",
    );
    for table in TABLES {
        page.push_str(&format!("| `tenure_{table}` | {} |\n", cell(purpose(table))));
    }
    page.push_str(
        "\n## Columns\n\nAs they are on SQLite, where times are microseconds since 1970; the other databases have the same names with types of \
         their own, which stand below.\n",
    );
    for table in TABLES {
        let Some(columns) = columns.get(table) else { continue };
        page.push_str(&format!("\n### tenure_{table}\n\n| column | type | |\n|---|---|---|\n"));
        for column in columns {
            page.push_str(&format!(
                "| `{}` | {} | {} |\n",
                column.name,
                column.kind.to_lowercase(),
                cell(&column.more)
            ));
        }
    }
    page.push_str("\n## Statements\n\nAll migrations in their order, as they are run.\n");
    for (name, url) in DATABASES {
        let statements = tenure::migrations(url, &Naming::default())?;
        page.push_str(&format!("\n### {name}\n\n```sql\n{}\n```\n", statements.trim_end()));
    }
    Ok(page)
}

fn purpose(table: &str) -> &'static str {
    USES.iter().find(|(known, _)| *known == table).map_or("", |(_, purpose)| purpose)
}

struct Column {
    name: String,
    kind: String,
    more: String,
}

/// What the migrations come to, by having them run.
fn sqlite_columns() -> Result<BTreeMap<String, Vec<Column>>, Failure> {
    let naming = Naming::default();
    let failed = |error: rusqlite::Error| Failure::Failed(format!("the migrations do not run: {error}"));
    let database = Connection::open_in_memory().map_err(failed)?;
    database.execute_batch(&tenure::migrations("sqlite:", &naming)?).map_err(failed)?;
    let mut all = BTreeMap::new();
    for table in TABLES {
        let mut statement = database.prepare("select * from pragma_table_info(?1)").map_err(failed)?;
        let rows = statement.query_map([format!("tenure_{table}")], |row| {
            let (required, default): (bool, Option<String>) = (row.get("notnull")?, row.get("dflt_value")?);
            let key: i64 = row.get("pk")?;
            let mut more = Vec::new();
            if key > 0 {
                more.push("primary key".to_owned());
            } else if required && default.is_none() {
                more.push("required".to_owned());
            }
            more.extend(default.map(|default| format!("default `{default}`")));
            Ok(Column { name: row.get("name")?, kind: row.get("type")?, more: more.join(", ") })
        });
        let columns = rows.map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        if !columns.is_empty() {
            all.insert(table.to_owned(), columns);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_explained_and_on_some_database() {
        let page = page().unwrap();
        for table in TABLES {
            assert!(!purpose(table).is_empty(), "{table}");
            assert!(page.contains(&format!("tenure_{table}")), "{table}");
        }
        assert!(page.contains("| `topic` | text | required |"), "{page}");
    }
}
