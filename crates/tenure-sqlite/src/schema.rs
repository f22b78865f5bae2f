//! Migrations: all missing ones in one transaction, whose lock also makes many processes wait for the one that is first.

use async_trait::async_trait;
use rusqlite::{Connection, params};
use tenure_core::StoreError;
use tenure_core::contract::{Migrated, Schema};
use tenure_core::naming::Naming;

use crate::error::Fault;
use crate::statements::Statements;
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
        let migrated = self.run(|database| database.write(bring_up)).await?;
        migrated.map_err(|Newer { found }| StoreError::SchemaNewer {
            store: self.label().into(),
            found,
            known,
        })
    }

    async fn verify_schema(&self) -> Result<(), StoreError> {
        let (store, known) = (self.label().to_owned(), self.statements().newest());
        match self.run(|database| version(&database.connection, &database.statements)).await? {
            0 => Err(StoreError::SchemaMissing { store }),
            found if found < known => Err(StoreError::SchemaOlder { store, found, known }),
            found if found > known => Err(StoreError::SchemaNewer { store, found, known }),
            _ => Ok(()),
        }
    }

    fn migrations(&self) -> String {
        self.statements().script()
    }
}

/// The statements of all migrations for tables of these names, as a script for the `sqlite3` shell. Connects to nothing.
pub fn migrations(naming: &Naming) -> String {
    Statements::new(naming).script()
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

/// The version of the schema; 0 when there is none.
fn version(connection: &Connection, statements: &Statements) -> Result<u32, Fault> {
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
