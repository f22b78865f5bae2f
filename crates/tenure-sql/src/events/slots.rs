//! The rows that readers go by: whether they are there, and which of them are rubbish.
//!
//! A user's transaction leaves a row behind for each of its appends. It deletes none itself, so that it need not wait for
//! anyone: from time to time, beside it, a connection of ours deletes what has ended.

use std::sync::Arc;

use tenure_core::StoreError;

use crate::driver::{Call, Session, Turn};
use crate::fault::Fault;
use crate::reader::Columns as _;
use crate::store::Shared;
use crate::value::Value;

/// How many rows there are for our own appends; see `slot_own.sql`.
const OWN: i64 = 128;
/// One in so many appends of users' transactions is followed by a tidying up.
const TIDY_ONE_IN: u32 = 64;
/// How many rows one tidying up deletes: many more than come meanwhile.
const TIDY_ROWS: u32 = 500;

impl Shared {
    /// Fails, and says what to do, if rows of our own appends are missing.
    pub(super) async fn slots_are_there(&self) -> Result<(), StoreError> {
        let rows = self.rows(Turn::Traffic, &self.statements.slots_there, []).await?;
        let there = self.reader().need(self.only(&rows)?.number("slots"), "slots")?;
        if there == OWN {
            return Ok(());
        }
        let message = format!(
            "of the {OWN} rows of the table {}append_slots only {there} are there; readers go by them, and without them \
             nothing is appended. Run the INSERT into this table once more that `tenure migrate --print` shows: it puts back \
             what is missing, and changes nothing else",
            self.naming.prefix
        );
        Err(StoreError::Failed { store: self.label().to_owned(), message, source: None })
    }

    /// After an append of a user's transaction, now and then: deletes what such transactions have left. Nobody waits for it.
    pub(super) fn tidy_by_chance(shared: &Arc<Self>) {
        if fastrand::u32(0..TIDY_ONE_IN) > 0 {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let shared = Arc::clone(shared);
            runtime.spawn(async move {
                if let Err(error) = shared.tidy().await {
                    tracing::debug!(%error, "what appends have left is deleted another time");
                }
            });
        }
    }

    async fn tidy(&self) -> Result<(), StoreError> {
        let mut lent = self.lend(Turn::Traffic).await?;
        let done = self.tidy_on(&mut *lent).await;
        self.settle(lent, done).await.map_err(|fault| fault.into_error(self.label()))
    }

    async fn tidy_on(&self, session: &mut dyn Session) -> Result<(), Fault> {
        let texts = &self.statements;
        let find = [Call::new(&texts.begin, []), Call::new(&texts.slots_over, vec![TIDY_ROWS.into()])];
        let found = session.run_all(&find).await?.pop().unwrap_or_default().rows;
        let slots: Vec<i64> = found.iter().filter_map(|row| row.number("slot").ok().flatten()).collect();
        let mut end = Vec::new();
        if !slots.is_empty() {
            end.push(Call::new(&texts.slots_delete, vec![Value::list(slots)]));
        }
        end.push(Call::new(&texts.commit, []));
        session.run_all(&end).await.map(drop)
    }
}
