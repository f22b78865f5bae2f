//! What operators did, as it is read back.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::AuditLog;
use tenure_core::observe::{AuditPage, AuditSelection};

use crate::not_built;
use crate::store::SqlStore;

#[async_trait]
impl AuditLog for SqlStore {
    async fn audit(&self, _: &AuditSelection) -> Result<AuditPage, StoreError> {
        Err(not_built(self.shared.label()))
    }

    async fn note(&self, _: &str, _: &str, _: &str, _: &str) -> Result<(), StoreError> {
        Err(not_built(self.shared.label()))
    }
}
