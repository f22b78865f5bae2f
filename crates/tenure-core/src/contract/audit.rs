//! What operators did.

use std::fmt;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::observe::{AuditPage, AuditSelection};

/// The audit table. Changes of rows write their own lines, in their own transactions; here they are read.
#[async_trait]
pub trait AuditLog: Send + Sync + fmt::Debug {
    /// Lines, the newest first. Looks at no more of them than the selection allows, and says from where to go on.
    async fn audit(&self, selection: &AuditSelection) -> Result<AuditPage, StoreError>;

    /// Writes a line about something that is no change of one row: a job that began, a token that was refused. Texts that
    /// are too long are cut.
    async fn note(&self, actor: &str, action: &str, subject: &str, detail: &str) -> Result<(), StoreError>;
}
