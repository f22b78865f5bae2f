//! Moving checkpoints on connections of sqlx.

use sqlx::SqliteConnection;
use tenure_core::StoreError;
use tenure_core::event::StreamName;
use tenure_core::lease::Fence;
use tenure_core::outbox::shorten;
use tenure_core::subscription::{Advance, Step};

use super::append_sqlx::lock;
use super::checkpoints::{ADVANCE_FIRST, Checkpoints, Inner, holds};
use crate::error::Fault;
use crate::fence::from_sqlx;
use crate::rows::{OfSqlx, READER};
use crate::statements::for_sqlx;

impl Checkpoints {
    /// Like [`advance_in`](Self::advance_in), on a connection of sqlx, whose transaction has to be begun through sqlx.
    pub async fn advance(
        &self,
        transaction: &mut SqliteConnection,
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, StoreError> {
        let Inner { label, statements, .. } = &*self.inner;
        step.check().map_err(|back| Fault::from(back).at(label))?;
        let locked = lock(transaction, &statements.events, ADVANCE_FIRST).await;
        locked.map_err(|fault| fault.at(label))?;
        if let Some(fence) = office
            && !holds(label, self.fencing.check_sqlx(transaction, fence).await)?
        {
            return Ok(Advance::Fenced);
        }
        self.advance_locked(transaction, step).await.map_err(|fault| fault.at(label))
    }

    async fn advance_locked(
        &self,
        transaction: &mut SqliteConnection,
        step: &Step,
    ) -> Result<Advance, Fault> {
        let statements = &self.inner.statements.events;
        let name = step.name.as_str();
        let read = sqlx::query(for_sqlx(&statements.checkpoint_read)).bind(name.to_owned());
        let row = read.fetch_optional(&mut *transaction).await.map_err(from_sqlx)?;
        let there = READER.checkpoint(row.as_ref().map(OfSqlx).as_ref())?;
        if let Some(elsewhere) = step.elsewhere(there) {
            return Ok(elsewhere);
        }
        let now = self.inner.clocks.read().wall.as_micros();
        let put = sqlx::query(for_sqlx(&statements.checkpoint_write)).bind(name.to_owned());
        put.bind(step.to.0).bind(now).execute(&mut *transaction).await.map_err(from_sqlx)?;
        for aside in &step.parked {
            let add = sqlx::query(for_sqlx(&statements.parked_add))
                .bind(name.to_owned())
                .bind(aside.position.0)
                .bind(aside.stream.as_ref().map_or("", StreamName::as_str).to_owned())
                .bind(aside.version.0)
                .bind(aside.kind.clone())
                .bind(aside.attempts)
                .bind(now)
                .bind(shorten(&aside.reason));
            add.execute(&mut *transaction).await.map_err(from_sqlx)?;
        }
        Ok(Advance::Advanced)
    }
}
