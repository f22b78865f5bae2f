//! What is written elsewhere at this moment; this file goes away at the merge.

use sqlx::mysql::MySqlConnection;
use tenure_core::StoreError;
use tenure_core::contract::EnqueueError;
use tenure_core::outbox::{Enqueued, NewMessage};

use crate::store::MySqlStore;

/// Not yet.
#[derive(Debug, Clone)]
pub struct Outbox;

impl MySqlStore {
    /// Not yet.
    pub fn outbox(&self) -> Outbox {
        Outbox
    }
}

impl Outbox {
    /// Not yet.
    pub async fn enqueue(&self, _: &mut MySqlConnection, _: &NewMessage) -> Result<Enqueued, EnqueueError> {
        Err(StoreError::Failed { store: "sql".into(), message: "not yet".into(), source: None }.into())
    }
}
