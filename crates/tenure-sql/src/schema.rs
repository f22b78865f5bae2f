//! Migrations: under a lock that all nodes queue for, and such that one that was broken off is taken up again.
//!
//! Not every database can undo the making of a table. So the table that tells the version is made first, each statement
//! makes only what is not there, and a version is noted when all of its tables are.

use std::fmt;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Migrated, Missing, Schema};
use tenure_core::naming::{Identifier, Naming};

use crate::driver::{Answer, Call, Lent, Session, Turn};
use crate::fault::{Fault, FaultKind};
use crate::reader::Columns as _;
use crate::statements::{Texts, fill};
use crate::store::{Shared, SqlStore};
use crate::value::Value;
use crate::work::TRIES;

/// One migration.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its number.
    pub version: u32,
    /// What it is about.
    pub description: &'static str,
    /// The tables that it makes; of the first one, first the one that tells the version.
    pub tables: &'static [&'static str],
    /// Whether programs of that version cannot do without it. What they can do without is passed over where it is refused.
    pub needed: bool,
    /// Its statements, each ended by a semicolon at the end of a line, or by what a line `DELIMITER …` says.
    pub sql: &'static str,
}

/// What stands before the statements that are missing: a script cannot pass over what it has made before.
const BROKEN_OFF: &str = "\
-- This database cannot undo a part of it. Should it break off, what was made stays, and the same statements fail:
-- run `tenure migrate` then, as a user who may create and alter tables. It passes over what is there.
";

/// What ends a statement, unless a line says otherwise.
const SEMICOLON: &str = ";";

/// What such a line begins with. It is a word of the client's; no server knows it.
const DELIMITER: &str = "DELIMITER ";

/// A statement of a migration, and what ends it in a script: where semicolons are within it, it is not one of them.
struct Statement {
    text: String,
    end: String,
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, end } = self;
        match end == SEMICOLON {
            true => writeln!(f, "{text}{end}"),
            false => writeln!(f, "{DELIMITER}{end}\n{text}{end}\n{DELIMITER}{SEMICOLON}"),
        }
    }
}

/// What stands before the statements of a migration that programs can do without.
const SPARED: &str =
    "-- Nothing depends on the next statement: leave it out where it is refused, or where it fails.\n";

/// Whether a statement that failed so will fail again.
fn is_lasting(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Refused | FaultKind::Unprepared | FaultKind::Other)
}

/// The statements of a migration, for tables of these names.
fn statements(migration: &Migration, naming: &Naming, quotes: (char, char)) -> Vec<Statement> {
    let filled = fill(migration.sql, &[], naming, quotes);
    let mut found = Vec::new();
    let mut end = SEMICOLON;
    let mut one = String::new();
    for line in filled.lines() {
        if let Some(other) = line.strip_prefix(DELIMITER) {
            end = other.trim();
            continue;
        }
        one.push_str(line.trim_end());
        if let Some(text) = one.strip_suffix(end) {
            found.push(Statement { text: text.trim().to_owned(), end: end.to_owned() });
            one.clear();
        } else {
            one.push('\n');
        }
    }
    debug_assert!(one.trim().is_empty(), "a statement without an end: {one}");
    found
}

/// All migrations as a script for a DBA. Connects to nothing.
pub fn script(migrations: &[Migration], texts: &Texts, naming: &Naming, quotes: (char, char)) -> String {
    let mut script = String::new();
    for migration in migrations {
        let Migration { version, description, .. } = migration;
        script.push_str(&format!("-- {version:04} {description}\n"));
        if !migration.needed {
            script.push_str(SPARED);
        }
        for statement in statements(migration, naming, quotes) {
            script.push_str(&statement.to_string());
        }
        // Numbers and descriptions are ours: no quote is among them. Parameters are called `$1`, or as the database does it.
        let (version, description) = (version.to_string(), format!("'{description}'"));
        let note = fill(texts.schema_write, &[], naming, quotes);
        let note = ["$", "@P"].iter().fold(note, |note, mark| {
            note.replace(&format!("{mark}1"), &version).replace(&format!("{mark}2"), &description)
        });
        // In a transaction that says so: clients, and servers, may commit nothing by themselves.
        let [begin, commit] = [texts.begin, texts.commit].map(|text| fill(text, &[], naming, quotes));
        script.push_str(&format!("{begin};\n{note};\n{commit};\n"));
    }
    script
}

#[async_trait]
impl Schema for SqlStore {
    async fn migrate(&self) -> Result<Migrated, StoreError> {
        let shared = &self.shared;
        let newest = shared.newest();
        // Looking first spares the usual start a lock, and lets a user without the right to create anything start.
        let found = shared.schema_version().await?;
        if found >= newest {
            shared.refuse_newer(found)?;
            return Ok(Migrated { from: found, to: found });
        }
        let mut tried = 1;
        loop {
            let lent = shared.lend(Turn::Work).await?;
            match shared.migrate_on(lent).await {
                // Where no lock could be had, two nodes that fill the same table may get in each other's way.
                Err(fault) if fault.kind == FaultKind::Deadlock && tried < TRIES => tried += 1,
                migrated => return migrated.map_err(|fault| fault.into_error(shared.label()))?,
            }
        }
    }

    async fn verify_schema(&self) -> Result<(), StoreError> {
        let (store, known) = (self.shared.label().to_owned(), self.shared.newest());
        match self.shared.schema_version().await? {
            0 => Err(StoreError::SchemaMissing { store }),
            found if found < known => Err(StoreError::SchemaOlder { store, found, known }),
            found => self.shared.refuse_newer(found),
        }
    }

    fn migrations(&self) -> String {
        let shared = &self.shared;
        script(shared.migrations, shared.texts, &shared.naming, shared.quotes)
    }

    async fn missing(&self) -> Result<Missing, StoreError> {
        let shared = &self.shared;
        let (from, to) = (shared.schema_version().await?, shared.newest());
        shared.refuse_newer(from)?;
        let applied = shared.migrations.iter().take_while(|migration| migration.version <= from).count();
        let mut statements = String::new();
        if applied < shared.migrations.len() {
            statements.push_str(BROKEN_OFF);
            let left = &shared.migrations[applied..];
            statements.push_str(&script(left, shared.texts, &shared.naming, shared.quotes));
        }
        Ok(Missing { from, to, statements })
    }
}

impl Shared {
    fn newest(&self) -> u32 {
        self.migrations.last().map_or(0, |migration| migration.version)
    }

    /// The version of a schema that is whole; 0 when there is none.
    async fn schema_version(&self) -> Result<u32, StoreError> {
        let mut lent = self.lend(Turn::Work).await?;
        let found = self.version_on(&mut *lent).await;
        self.settle(lent, found).await.map_err(|fault| fault.into_error(self.label()))?
    }

    async fn version_on(&self, session: &mut dyn Session) -> Result<Result<u32, StoreError>, Fault> {
        let there = self.tables_on(session).await?;
        if !self.tables(1).first().is_some_and(|first| there.contains(first)) {
            return Ok(self.whole(&there, 0));
        }
        let answer = session.run(&Call::new(&self.statements.schema_read, [])).await?;
        let version = match self.noted(&answer) {
            Ok(noted) => noted,
            Err(error) => return Ok(Err(error)),
        };
        let whole = self.whole(&there, version);
        if whole.is_ok() {
            return Ok(whole);
        }
        // Another node may have made them between the two looks. It makes tables first and notes their version then, so
        // whatever is missing after the version was read is missing.
        let there = self.tables_on(session).await?;
        Ok(self.whole(&there, version))
    }

    /// Which tables of ours are there.
    async fn tables_on(&self, session: &mut dyn Session) -> Result<Vec<String>, Fault> {
        let tables = self.tables(self.newest());
        let params = vec![
            Value::list(tables.iter().map(String::as_str)),
            self.naming.schema.as_ref().map(Identifier::as_str).into(),
        ];
        let there = session.run(&Call::new(&self.statements.tables_there, params)).await?;
        Ok(there.rows.iter().filter_map(|row| row.text("name").ok().flatten()).collect())
    }

    fn noted(&self, answer: &Answer) -> Result<u32, StoreError> {
        answer.rows.first().map_or(Ok(0), |row| self.reader().version(row))
    }

    /// The noted version, if the tables that are there can be of that version.
    fn whole(&self, there: &[String], version: u32) -> Result<u32, StoreError> {
        // Which tables a newer schema has is not known; one that is not there at all is no fault.
        if version > self.newest() || there.is_empty() {
            return Ok(version);
        }
        // The table that tells the version is made first: without it, something was dropped.
        let mut tables = self.tables(version);
        if version == 0 {
            tables = self.tables(1).into_iter().take(1).collect();
        }
        let Some(missing) = tables.iter().find(|table| !there.contains(table)) else { return Ok(version) };
        // Neither creating what is missing nor starting anew is ours to choose: the terms that were granted stand there.
        let message = format!(
            "table {missing} is missing, although other tables of Tenure's are there. A table on which this user has no \
             right looks the same: if it is there after all, grant SELECT, INSERT, UPDATE and DELETE on it. Else restore \
             it from a backup, or drop the remaining tables with that prefix and run `tenure migrate` again, after which \
             terms start anew"
        );
        Err(StoreError::Corrupt { store: self.label().to_owned(), message })
    }

    /// The bare names of all tables that a schema of that version has, first the one that tells the version.
    fn tables(&self, version: u32) -> Vec<String> {
        let made = self.migrations.iter().filter(|migration| migration.version <= version);
        made.flat_map(|migration| migration.tables)
            .map(|table| format!("{}{table}", self.naming.prefix))
            .collect()
    }

    fn refuse_newer(&self, found: u32) -> Result<(), StoreError> {
        let known = self.newest();
        if found <= known {
            return Ok(());
        }
        Err(StoreError::SchemaNewer { store: self.label().to_owned(), found, known })
    }

    /// Applies what is missing. Looks again under the lock: another node may just have done it.
    async fn migrate_on(&self, mut lent: Box<dyn Lent>) -> Result<Result<Migrated, StoreError>, Fault> {
        // A session of which it is not known whether it has the lock is closed: in the pool it would keep others waiting.
        self.driver.lock_migration(&mut *lent).await?;
        let migrated = self.migrate_under_lock(&mut *lent).await;
        if let Err(fault) = self.driver.unlock_migration(&mut *lent).await {
            drop(lent);
            // What was done is done, and the lock goes with the session.
            tracing::debug!(message = %fault.message, "the lock of migrations was not given back; its session is closed");
            return migrated;
        }
        self.settle(lent, migrated).await
    }

    fn say_passed_over(&self, migration: &Migration, fault: &Fault) {
        tracing::warn!(
            store = %self.label(), version = migration.version, description = migration.description, error = %fault.message,
            "something that only makes calls faster could not be made, and is passed over; a user who may can run later what \
             `tenure migrate --print` shows of this version"
        );
    }

    async fn migrate_under_lock(
        &self,
        session: &mut dyn Session,
    ) -> Result<Result<Migrated, StoreError>, Fault> {
        let from = match self.version_on(session).await? {
            Ok(from) => from,
            Err(error) => return Ok(Err(error)),
        };
        let to = self.newest();
        if from >= to {
            return Ok(self.refuse_newer(from).map(|()| Migrated { from, to: from }));
        }
        for migration in self.migrations.iter().filter(|migration| migration.version > from) {
            for statement in statements(migration, &self.naming, self.quotes) {
                match session.run(&Call::new(&statement.text, [])).await {
                    // Broken off before it was noted, or done by another node where no lock could be had.
                    Err(fault) if fault.kind == FaultKind::Duplicate => {}
                    Err(fault) if !migration.needed && is_lasting(fault.kind) => {
                        self.say_passed_over(migration, &fault);
                    }
                    made => drop(made?),
                }
            }
            let note = vec![migration.version.into(), migration.description.into()];
            match session.run(&Call::new(&self.statements.schema_write, note)).await {
                // Where no lock could be had, another node was there first, and has made the same.
                Err(fault) if fault.kind == FaultKind::Duplicate => {}
                noted => drop(noted?),
            }
        }
        tracing::info!(store = %self.label(), from, to, "migrated the schema");
        Ok(Ok(Migrated { from, to }))
    }
}
