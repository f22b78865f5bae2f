//! Migrations: all missing ones in one transaction, whose lock also makes many processes wait for the one that is first.

use async_trait::async_trait;
use rusqlite::{Connection, params};
use tenure_core::StoreError;
use tenure_core::contract::{Migrated, Missing, Schema};
use tenure_core::naming::Naming;

use crate::database::Database;
use crate::error::Fault;
use crate::statements::{Statements, Table};
use crate::store::SqliteStore;
use crate::writing::Writing;

/// A schema that someone newer made: nothing is to be done to it.
struct Newer {
    found: u32,
}

#[async_trait]
impl Schema for SqliteStore {
    async fn migrate(&self) -> Result<Migrated, StoreError> {
        let known = self.statements().newest();
        let bring_up = |database: &mut Database| {
            let migrated = database.write(bring_up)?;
            database.empty_log();
            Ok(migrated)
        };
        let migrated = self.run(bring_up).await?;
        migrated.map_err(|Newer { found }| StoreError::SchemaNewer {
            store: self.label().into(),
            found,
            known,
        })
    }

    async fn verify_schema(&self) -> Result<(), StoreError> {
        let (store, known) = (self.label().to_owned(), self.statements().newest());
        match self.schema_version().await? {
            0 => Err(StoreError::SchemaMissing { store }),
            found if found < known => Err(StoreError::SchemaOlder { store, found, known }),
            found if found > known => Err(StoreError::SchemaNewer { store, found, known }),
            _ => Ok(()),
        }
    }

    fn migrations(&self) -> String {
        self.statements().script(0)
    }

    async fn missing(&self) -> Result<Missing, StoreError> {
        let (from, to) = (self.schema_version().await?, self.statements().newest());
        if from > to {
            return Err(StoreError::SchemaNewer { store: self.label().into(), found: from, known: to });
        }
        Ok(Missing { from, to, statements: self.statements().script(from) })
    }
}

impl SqliteStore {
    /// The version of a schema that is whole; 0 when there is none.
    async fn schema_version(&self) -> Result<u32, StoreError> {
        // In one transaction, and so by one snapshot: a migration that is done meanwhile must not look like damage.
        let look = |database: &mut Database| {
            let snapshot = database.connection.transaction()?;
            version(&snapshot, &database.statements)
        };
        self.run(look).await
    }
}

/// The statements of all migrations for tables of these names, as a script for the `sqlite3` shell. Connects to nothing.
pub fn migrations(naming: &Naming) -> String {
    Statements::new(naming).script(0)
}

fn bring_up(writing: &Writing<'_>) -> Result<Result<Migrated, Newer>, Fault> {
    let statements = writing.statements;
    let (from, to) = (version(writing.connection, statements)?, statements.newest());
    if from > to {
        return Ok(Err(Newer { found: from }));
    }
    for migration in statements.migrations.iter().filter(|migration| migration.version > from) {
        writing.connection.execute_batch(&migration.sql)?;
        let applied_at = writing.now.wall.as_micros();
        let noted = params![migration.version, migration.description, applied_at];
        writing.connection.execute(&statements.schema_write, noted)?;
    }
    Ok(Ok(Migrated { from, to }))
}

/// The version of a schema that is whole; 0 when there is none. Of a newer one, only its version is known.
fn version(connection: &Connection, statements: &Statements) -> Result<u32, Fault> {
    // The tables first: a statement that fails for want of its table takes no snapshot.
    let mut statement = connection.prepare(&statements.tables_list)?;
    let found = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    let version = noted_version(connection, statements)?;
    if version > statements.newest() {
        return Ok(version);
    }
    let is_there = |table: &&Table| found.contains(&table.name);
    if version == 0 && !statements.tables.iter().skip(1).any(|table| is_there(&table)) {
        return Ok(0);
    }
    // Where the version is gone, at least the first one was there.
    let mut expected = statements.tables.iter().filter(|table| table.since <= version.max(1));
    match expected.find(|table| !is_there(table)) {
        Some(missing) => Err(Fault::Corrupt(incomplete(&format!("table {} is missing", missing.name)))),
        None if version == 0 => {
            let schema = statements.tables.first().map_or("schema", |table| &table.name);
            Err(Fault::Corrupt(incomplete(&format!("table {schema} is empty"))))
        }
        None => Ok(version),
    }
}

/// Neither creating what is missing nor starting anew is ours to choose: the terms that were granted stand in there.
fn incomplete(what: &str) -> String {
    format!(
        "{what}, although other tables of Tenure's are there; restore it from a backup, or drop the remaining tables \
         with that prefix and run `tenure migrate` again, after which terms start anew"
    )
}

/// The version that was noted by the last migration.
fn noted_version(connection: &Connection, statements: &Statements) -> Result<u32, Fault> {
    let read = || -> Result<Option<i64>, Fault> {
        Ok(connection.query_row(&statements.schema_read, [], |row| row.get(0))?)
    };
    match read() {
        Err(fault) if fault.is_missing_table() => Ok(0),
        Err(fault) => Err(fault),
        Ok(version) => u32::try_from(version.unwrap_or(0))
            .map_err(|_| Fault::Corrupt("the schema's version is no version".into())),
    }
}
