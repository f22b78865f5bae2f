//! Migrations: in one transaction, under a lock that all nodes queue for, through a pooler as well.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Migrated, Missing, Schema};
use tenure_core::naming::{Identifier, Naming};
use tenure_sql::Reader;
use tokio::time::timeout;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use crate::error::{store_error, unreachable};
use crate::rows::Plain;
use crate::statements::{
    COMMIT, MIGRATIONS, ROLLBACK, SCHEMA_EXISTS, SCHEMA_VERSION, Statements, TABLES_THERE,
};
use crate::store::{PostgresStore, Shared};
use crate::writing::Params;

/// How long a node waits for another one that migrates, and how long a migration may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much longer than the server we wait for its answer.
const GRACE: Duration = Duration::from_secs(5);

#[async_trait]
impl Schema for PostgresStore {
    async fn migrate(&self) -> Result<Migrated, StoreError> {
        // Looking first spares the usual start a lock, and lets a role without the right to create anything start.
        match self.shared.schema_version().await {
            Ok(found) if found >= SCHEMA_VERSION => {
                self.shared.refuse_newer(found)?;
                return Ok(Migrated { from: found, to: found });
            }
            Ok(_) | Err(StoreError::SchemaMissing { .. }) => {}
            Err(error) => return Err(error),
        }
        let _turn = self.shared.turn().await?;
        let lent = self.shared.lend().await?;
        let migrated = timeout(PATIENCE + GRACE, self.shared.migrate_on(lent.client()?)).await;
        let Ok(migrated) = migrated else {
            return Err(unreachable(&self.shared.label, "the migration was not answered in time"));
        };
        // After an error a transaction is open, or the connection is broken: it is not given back.
        if migrated.is_ok() {
            lent.give_back();
        }
        migrated
    }

    async fn verify_schema(&self) -> Result<(), StoreError> {
        let store = self.shared.label.clone();
        match self.shared.schema_version().await? {
            0 => Err(StoreError::SchemaMissing { store }),
            found if found < SCHEMA_VERSION => {
                Err(StoreError::SchemaOlder { store, found, known: SCHEMA_VERSION })
            }
            found => self.shared.refuse_newer(found),
        }
    }

    fn migrations(&self) -> String {
        script(&self.shared.statements, 0)
    }

    async fn missing(&self) -> Result<Missing, StoreError> {
        let from = self.shared.schema_version().await?;
        self.shared.refuse_newer(from)?;
        Ok(Missing { from, to: SCHEMA_VERSION, statements: script(&self.shared.statements, from) })
    }
}

/// The statements of all migrations for tables of these names, as a script for `psql`. Connects to nothing.
pub fn migrations(naming: &Naming) -> String {
    script(&Statements::new(naming), 0)
}

fn script(statements: &Statements, after: u32) -> String {
    let missing = MIGRATIONS.iter().filter(|migration| migration.version > after);
    missing.map(|migration| statements.migration_script(migration)).collect()
}

impl Shared {
    /// The version of a schema that is whole; 0 when there is none.
    ///
    /// All tables are looked for in one statement, and the version is read only then: so a migration that is made
    /// meanwhile is seen either whole or not at all.
    async fn schema_version(&self) -> Result<u32, StoreError> {
        let (tables, schema) = (self.statements.tables(SCHEMA_VERSION), self.schema_name());
        let params: Params<'_> = &[(&&tables[..], Type::TEXT_ARRAY), (&schema, Type::TEXT)];
        let there = self.names(&self.read(TABLES_THERE, params).await?)?;
        if !there.contains(&tables[0]) {
            return self.whole(&there, 0);
        }
        let rows = self.read(&self.statements.schema_read, &[]).await?;
        let version = rows.first().map_or(Ok(0), |row| Reader { store: &self.label }.version(&Plain(row)))?;
        self.whole(&there, version)
    }

    /// The noted version, if the tables that are there can be of that version.
    fn whole(&self, there: &[String], version: u32) -> Result<u32, StoreError> {
        // Which tables a newer schema has is not known; one that is not there at all is no fault.
        if version > SCHEMA_VERSION || there.is_empty() {
            return Ok(version);
        }
        // A schema of an earlier version has fewer tables. One that notes no version has at least those of the first.
        let tables = self.statements.tables(version.max(1));
        let what = match tables.iter().find(|table| !there.contains(table)) {
            Some(missing) => format!("table {missing} is missing"),
            None if version == 0 => format!("table {} is empty", tables[0]),
            None => return Ok(version),
        };
        // Neither creating what is missing nor starting anew is ours to choose: the terms that were granted stand there.
        let message = format!(
            "{what}, although other tables of Tenure's are there; restore it from a backup, or drop the remaining \
             tables with that prefix and run `tenure migrate` again, after which terms start anew"
        );
        Err(StoreError::Corrupt { store: self.label.clone(), message })
    }

    fn names(&self, rows: &[Row]) -> Result<Vec<String>, StoreError> {
        let names = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, Error>>();
        names.map_err(|error| store_error(&self.label, error))
    }

    fn schema_name(&self) -> Option<&str> {
        self.naming.schema.as_ref().map(Identifier::as_str)
    }

    fn refuse_newer(&self, found: u32) -> Result<(), StoreError> {
        if found <= SCHEMA_VERSION {
            return Ok(());
        }
        Err(StoreError::SchemaNewer { store: self.label.clone(), found, known: SCHEMA_VERSION })
    }

    /// Applies what is missing. Looks again under the lock: another node may just have done it.
    async fn migrate_on(&self, client: &Client) -> Result<Migrated, StoreError> {
        let explain = |error| store_error(&self.label, error);
        client.batch_execute(&Statements::begin_migration(PATIENCE)).await.map_err(explain)?;
        let from = self.version_on(client).await?;
        if from >= SCHEMA_VERSION {
            client.batch_execute(ROLLBACK).await.map_err(explain)?;
            self.refuse_newer(from)?;
            return Ok(Migrated { from, to: from });
        }
        self.apply_missing(client, from).await.map_err(explain)?;
        tracing::info!(store = %self.label, from, to = SCHEMA_VERSION, "migrated the schema");
        Ok(Migrated { from, to: SCHEMA_VERSION })
    }

    async fn version_on(&self, client: &Client) -> Result<u32, StoreError> {
        let explain = |error| store_error(&self.label, error);
        let (tables, schema) = (self.statements.tables(SCHEMA_VERSION), self.schema_name());
        let params: Params<'_> = &[(&&tables[..], Type::TEXT_ARRAY), (&schema, Type::TEXT)];
        let there = self.names(&client.query_typed(TABLES_THERE, params).await.map_err(explain)?)?;
        if !there.contains(&tables[0]) {
            return self.whole(&there, 0);
        }
        let row = client.query_typed_one(&self.statements.schema_read, &[]).await.map_err(explain)?;
        self.whole(&there, Reader { store: &self.label }.version(&Plain(&row))?)
    }

    async fn apply_missing(&self, client: &Client, from: u32) -> Result<(), Error> {
        if let (Some(schema), Some(create)) = (&self.naming.schema, self.statements.create_schema()) {
            // IF NOT EXISTS alone asks for the right to create schemas even when there is nothing to create.
            let there = client.query_typed(SCHEMA_EXISTS, &[(&schema.as_str(), Type::TEXT)]).await?;
            if there.is_empty() {
                client.batch_execute(&create).await?;
            }
        }
        for migration in MIGRATIONS.iter().filter(|migration| migration.version > from) {
            client.batch_execute(&self.statements.migration(migration)).await?;
            let version = i32::try_from(migration.version).unwrap_or(i32::MAX);
            client
                .execute_typed(
                    &self.statements.schema_write,
                    &[(&version, Type::INT4), (&migration.description, Type::TEXT)],
                )
                .await?;
        }
        client.batch_execute(COMMIT).await
    }
}
