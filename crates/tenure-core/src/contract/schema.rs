//! Migrations: versioned, embedded, safe when many nodes start at once, printable for a DBA.

use std::fmt;

use async_trait::async_trait;
use serde::Serialize;

use crate::error::StoreError;

/// The schema of a store.
#[async_trait]
pub trait Schema: Send + Sync + fmt::Debug {
    /// Brings the schema up to what this program knows. One of many nodes does it, the others wait. A newer schema is
    /// refused.
    async fn migrate(&self) -> Result<Migrated, StoreError>;

    /// Answers whether the schema is the one this program needs, and what to do when it is not.
    async fn verify_schema(&self) -> Result<(), StoreError>;

    /// The statements of all migrations, for a DBA to read and run on a database that has none of them.
    fn migrations(&self) -> String;

    /// The statements of the migrations that are missing here, for a DBA to read and run. Changes nothing; a newer schema is
    /// refused.
    async fn missing(&self) -> Result<Missing, StoreError>;
}

/// What a schema lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The version found; 0 when there is no schema.
    pub from: u32,
    /// The version that the statements make.
    pub to: u32,
    /// The statements; empty when nothing is missing.
    pub statements: String,
}

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// The version found; 0 when there was no schema.
    pub from: u32,
    /// The version there is now.
    pub to: u32,
}
