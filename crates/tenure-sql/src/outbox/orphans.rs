//! Rows of the queue whose messages were deleted by another hand.
//!
//! A message and its row of the queue are inserted together, and retention deletes only what has no such row. So a row without a
//! message is what somebody left who deleted messages, or truncated their table. It holds up nobody: whoever looks passes it over
//! and deletes it.

use super::unit::Stop;
use crate::driver::{Call, Session};
use crate::limits::STATEMENT_ROWS;
use crate::store::Shared;
use crate::value::Value;

impl Shared {
    /// Deletes those of these rows that have no message. Their numbers may be given out anew: so each is held first, and looked at
    /// once more.
    pub(super) async fn delete_orphans(
        &self,
        session: &mut dyn Session,
        orphans: &[i64],
    ) -> Result<(), Stop> {
        let statements = &self.statements;
        self.delete_left(session, orphans, (&statements.orphans_hold, &statements.orphans_delete)).await
    }

    /// The same of what is on the list of what has just come.
    pub(super) async fn delete_listed_orphans(
        &self,
        session: &mut dyn Session,
        orphans: &[i64],
    ) -> Result<(), Stop> {
        let statements = &self.statements;
        self.delete_left(session, orphans, (&statements.arrivals_orphans, &statements.arrivals_remove)).await
    }

    async fn delete_left(
        &self,
        session: &mut dyn Session,
        orphans: &[i64],
        (hold, delete): (&str, &str),
    ) -> Result<(), Stop> {
        let statements = &self.statements;
        for some in orphans.chunks(STATEMENT_ROWS) {
            let all = vec![Value::list(some.iter().copied())];
            let hold = [Call::new(&statements.begin, []), Call::new(hold, all)];
            let held = session.run_all(&hold).await?.pop().unwrap_or_default();
            let held = self.numbers(held)?;
            let mut writes = Vec::new();
            if !held.is_empty() {
                tracing::warn!(
                    rows = held.len(),
                    "messages were deleted by hand before they were delivered; what was left of them in the queue is deleted"
                );
                writes.push(Call::new(delete, vec![Value::list(held)]));
            }
            writes.push(Call::new(&statements.commit, []));
            session.run_all(&writes).await?;
        }
        Ok(())
    }
}
