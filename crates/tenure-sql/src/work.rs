//! Units of work: statements on a lent session, which goes back only when nothing is left open on it.

use tenure_core::StoreError;

use crate::driver::{Answer, Call, Lent, Turn};
use crate::fault::{Fault, FaultKind};
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// How often a transaction is begun anew that the server undid for a deadlock.
pub(crate) const TRIES: usize = 4;

impl Shared {
    pub(crate) async fn lend(&self, turn: Turn) -> Result<Box<dyn Lent>, StoreError> {
        self.driver.lend(turn).await
    }

    /// Runs one statement that stands alone: it is its own transaction.
    pub(crate) async fn run(
        &self,
        turn: Turn,
        sql: &str,
        params: impl Into<Vec<Value>>,
    ) -> Result<Answer, StoreError> {
        let call = Call::new(sql, params);
        let mut tried = 1;
        loop {
            let mut lent = self.lend(turn).await?;
            let outcome = lent.run(&call).await;
            match self.settle(lent, outcome).await {
                Err(fault) if fault.kind == FaultKind::Deadlock && tried < TRIES => tried += 1,
                settled => return settled.map_err(|fault| fault.into_error(self.label())),
            }
        }
    }

    /// The rows of one statement that stands alone.
    pub(crate) async fn rows(
        &self,
        turn: Turn,
        sql: &str,
        params: impl Into<Vec<Value>>,
    ) -> Result<Vec<Row>, StoreError> {
        Ok(self.run(turn, sql, params).await?.rows)
    }

    /// Ends a unit of work: the session goes back, after a rollback if anything went wrong on it; one that is broken is
    /// closed.
    pub(crate) async fn settle<T>(
        &self,
        mut lent: Box<dyn Lent>,
        outcome: Result<T, Fault>,
    ) -> Result<T, Fault> {
        match &outcome {
            Ok(_) => lent.give_back(),
            Err(fault) if fault.kind == FaultKind::Gone => drop(lent),
            Err(_) => {
                let rollback = Call::new(&self.statements.rollback, []);
                if lent.run(&rollback).await.is_ok() {
                    lent.give_back();
                }
            }
        }
        outcome
    }
}
