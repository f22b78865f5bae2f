//! The two places where a unit of work happens: a transaction of its own, or the user's.
//!
//! In the user's transaction nothing may be left behind by an append that comes to nothing, and the transaction must go on: a
//! savepoint stands before it.

use tenure_core::StoreError;

use crate::driver::{Answer, Call, Lent, Session, Turn};
use crate::fault::{Fault, FaultKind};
use crate::outbox::Queues;
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// Where something is done.
pub(super) enum Place<'s> {
    /// In a transaction of its own.
    Own,
    /// In the user's.
    Joined(&'s mut dyn Session),
}

/// An open unit of work in a place.
pub(super) enum Unit<'u> {
    Own(Box<dyn Lent>),
    Joined(&'u mut dyn Session),
}

impl Place<'_> {
    pub(super) async fn open(&mut self, shared: &Shared) -> Result<Unit<'_>, StoreError> {
        Ok(match self {
            Self::Own => Unit::Own(shared.lend(Turn::Traffic).await?),
            Self::Joined(session) => Unit::Joined(&mut **session),
        })
    }

    /// The rows of a statement that changes nothing.
    pub(super) async fn rows(
        &mut self,
        shared: &Shared,
        sql: &str,
        params: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Own => shared.rows(Turn::Traffic, sql, params).await,
            Self::Joined(session) => {
                let answer = session.run(&Call::new(sql, params)).await;
                Ok(answer.map_err(|fault| fault.into_error(shared.label()))?.rows)
            }
        }
    }
}

impl Unit<'_> {
    /// What a unit begins with. In the user's transaction the second of the two fails where there is none.
    pub(super) fn beginning<'c>(&self, shared: &'c Shared) -> Vec<Call<'c>> {
        let texts = &shared.statements;
        match self {
            Self::Own(_) => vec![Call::new(&texts.begin, [])],
            Self::Joined(_) => vec![Call::new(&texts.savepoint, []), Call::new(&texts.savepoint_back, [])],
        }
    }

    /// The statements that show readers that this transaction is about to take positions. The user's may last, append more
    /// than once, and have an old snapshot; ours does none of that. Ours stands right behind the statement that moves the
    /// stream, and fails if that has found nothing to move; and if its row is not there, for readers would see nothing.
    pub(super) fn shows<'c>(&self, shared: &'c Shared) -> Vec<Call<'c>> {
        let texts = &shared.statements;
        match self {
            Self::Own(_) => vec![Call::new(&texts.slot_own, []), Call::new(&texts.slot_had, [])],
            Self::Joined(_) => vec![Call::new(&texts.slot_floor, []), Call::new(&texts.slot_add, [])],
        }
    }

    /// How dispatches come into the queue.
    pub(super) fn queues(&self) -> Queues {
        match self {
            Self::Own(lent) => Queues::of(&**lent),
            Self::Joined(session) => Queues::of(&**session),
        }
    }

    /// What a unit ends with that is to take effect.
    pub(super) fn end<'c>(&self, shared: &'c Shared) -> Call<'c> {
        let texts = &shared.statements;
        match self {
            Self::Own(_) => Call::new(&texts.commit, []),
            Self::Joined(_) => Call::new(&texts.savepoint_release, []),
        }
    }

    pub(super) async fn run_all(&mut self, calls: &[Call<'_>]) -> Result<Vec<Answer>, Fault> {
        match self {
            Self::Own(lent) => lent.run_all(calls).await,
            Self::Joined(session) => session.run_all(calls).await,
        }
    }

    /// Leaves nothing of the unit.
    pub(super) async fn undo(self, shared: &Shared) -> Result<(), Fault> {
        match self {
            Self::Own(mut lent) => {
                let undone = lent.run(&Call::new(&shared.statements.rollback, [])).await;
                shared.settle(lent, undone.map(|_| ())).await
            }
            Self::Joined(session) => {
                session.run(&Call::new(&shared.statements.savepoint_back, [])).await.map(|_| ())
            }
        }
    }

    /// Ends it by what its last call answered: after a fault, nothing is left of it.
    pub(super) async fn settle<T>(self, shared: &Shared, outcome: Result<T, Fault>) -> Result<T, Fault> {
        match (self, outcome) {
            (Self::Own(lent), outcome) => shared.settle(lent, outcome).await,
            (Self::Joined(_), Ok(done)) => Ok(done),
            (Self::Joined(session), Err(fault)) => {
                // After a deadlock or without a connection there is no transaction to go on with, nor where there was none.
                if !matches!(fault.kind, FaultKind::Gone | FaultKind::Deadlock | FaultKind::NoTransaction) {
                    let back = session.run(&Call::new(&shared.statements.savepoint_back, [])).await;
                    let goes_on = matches!(fault.kind, FaultKind::Duplicate | FaultKind::Unmet);
                    match back {
                        // A server may undo the whole transaction for any error: that error is the news.
                        Err(gone) if gone.kind == FaultKind::NoTransaction && !goes_on => {}
                        back => drop(back?),
                    }
                }
                Err(fault)
            }
        }
    }
}
