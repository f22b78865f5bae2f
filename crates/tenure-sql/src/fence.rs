//! The fence: checked in the transaction that it protects, as the first thing there.

use std::sync::Arc;

use tenure_core::StoreError;
use tenure_core::lease::{Fence, FenceError, LeaseRecord, decide};
use tenure_core::time::StoreTime;

use crate::driver::{Answer, Call, Session};
use crate::fault::Fault;
use crate::reader::Columns as _;
use crate::store::{Shared, SqlStore};
use crate::value::Value;

/// Checks fences in transactions. Each database's crate wraps it for its own driver.
///
/// A confirmed fence goes on holding until that transaction has ended: the lease's row in `fences` is shared, so nobody can
/// take the lease over in between, and the holder's own renewals pass.
#[derive(Debug, Clone)]
pub struct Fencing {
    shared: Arc<Shared>,
}

impl SqlStore {
    /// What checks fences in transactions; cheap to clone.
    pub fn fencing(&self) -> Fencing {
        Fencing { shared: Arc::clone(&self.shared) }
    }
}

impl Fencing {
    /// Checks a fence in the transaction that is open on this session.
    pub async fn check(&self, session: &mut dyn Session, fence: &Fence) -> Result<(), FenceError> {
        let explain = |fault: Fault| FenceError::from(fault.into_error(self.shared.label()));
        let answers = session.run_all(&self.shared.hold_fence(fence)).await.map_err(explain)?;
        self.shared.judge_fence(&answers, fence)
    }
}

impl Shared {
    /// The statements that hold a fence: its own row, shared until the transaction ends; then the lease and the clock.
    pub(crate) fn hold_fence(&self, fence: &Fence) -> [Call<'_>; 2] {
        let named = || vec![Value::from(fence.lease.as_str())];
        [Call::new(&self.statements.fence_hold, named()), Call::new(&self.statements.lease_read, named())]
    }

    /// Judges what they answered.
    pub(crate) fn judge_fence(&self, answers: &[Answer], fence: &Fence) -> Result<(), FenceError> {
        let (record, now) = self.held_lease(answers)?;
        Ok(decide::check(record.as_ref(), fence, now).into_result()?)
    }

    /// The lease behind a fence that is held, as those statements answered, and the clock.
    ///
    /// Term and openness are those of the row that is held, and so the truth: while it is held nobody else gets the lease.
    /// The lease's own row is read without a lock, and at isolation REPEATABLE READ that may be an old one, even one of a
    /// former term. Mostly its expiry is older than the truth, which refuses. Where it is later (a former holder's ttl was
    /// longer), a fence whose ttl has just ended is confirmed: whoever takes the lease over still waits for this
    /// transaction, so that it is never confirmed beside another holder.
    pub(crate) fn held_lease(
        &self,
        answers: &[Answer],
    ) -> Result<(Option<LeaseRecord>, StoreTime), StoreError> {
        let [held, read] = answers else { return Err(self.no_row()) };
        let (mut record, now) = self.reader().lease_and_now(self.only(&read.rows)?)?;
        let reader = self.reader();
        match held.rows.first() {
            None => record = None,
            Some(row) => {
                let term = reader.optional_term(row)?;
                let open = reader.need(row.number("open"), "open")? != 0;
                if let Some(record) = &mut record {
                    record.term = term.unwrap_or(record.term);
                    if !open && record.released_at.is_none() && record.revoked_at.is_none() {
                        record.released_at = Some(now);
                    }
                }
            }
        }
        Ok((record, now))
    }
}
