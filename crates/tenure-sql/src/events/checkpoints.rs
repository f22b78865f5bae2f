//! Checkpoints: moved by one reader at a time, in a transaction of their own or in the handler's.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::CheckpointStore;
use tenure_core::event::{PAGE_MAX, Position, StreamName};
use tenure_core::lease::{Fence, FenceError};
use tenure_core::outbox::shorten;
use tenure_core::subscription::{
    Advance, Aside, Checkpoint, PARKED_COUNT_MAX, Parked, Progress, Rewind, Step, SubscriptionName,
};

use super::place::{Place, Unit};
use crate::batch::inserts;
use crate::driver::{Answer, Call, Session, Turn};
use crate::fault::{Fault, FaultKind};
use crate::lease::Audit;
use crate::reader::Columns as _;
use crate::store::{Shared, SqlStore};
use crate::value::Value;
use crate::work::TRIES;

/// Moves checkpoints in transactions. Each database's crate wraps it for its own driver.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    shared: Arc<Shared>,
}

impl SqlStore {
    /// What moves checkpoints in transactions; cheap to clone.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints { shared: Arc::clone(&self.shared) }
    }
}

impl Checkpoints {
    /// Moves a checkpoint in the transaction that is open on this session, if the reader is in office.
    pub async fn advance(
        &self,
        session: &mut dyn Session,
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, StoreError> {
        self.shared.advance(&mut Place::Joined(session), office, step).await
    }
}

#[async_trait]
impl CheckpointStore for SqlStore {
    async fn checkpoint(&self, name: &SubscriptionName) -> Result<Checkpoint, StoreError> {
        let shared = &self.shared;
        let sql = &shared.statements.checkpoint_read;
        let rows = shared.rows(Turn::Traffic, sql, [name.as_str().into()]).await?;
        shared.reader().checkpoint(rows.first())
    }

    async fn advance(&self, office: Option<&Fence>, step: &Step) -> Result<Advance, StoreError> {
        self.shared.advance(&mut Place::Own, office, step).await
    }

    async fn subscriptions(
        &self,
        after: Option<&SubscriptionName>,
        limit: u32,
    ) -> Result<Vec<Progress>, StoreError> {
        let shared = &self.shared;
        let after = after.map_or("", SubscriptionName::as_str);
        let params = vec![after.into(), limit.into(), PARKED_COUNT_MAX.into()];
        let rows = shared.rows(Turn::Traffic, &shared.statements.checkpoint_list, params).await?;
        rows.iter().map(|row| shared.reader().progress(row)).collect()
    }

    async fn parked(
        &self,
        name: &SubscriptionName,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<Parked>, StoreError> {
        let shared = &self.shared;
        let after = after.map_or(i64::MIN, |after| after.0);
        let params = vec![name.as_str().into(), after.into(), limit.min(PAGE_MAX).into()];
        let rows = shared.rows(Turn::Traffic, &shared.statements.parked_list, params).await?;
        rows.iter().map(|row| shared.reader().parked(row)).collect()
    }

    async fn rewind(&self, name: &SubscriptionName, to: Position, by: &str) -> Result<Rewind, StoreError> {
        let shared = &self.shared;
        let mut tried = 1;
        loop {
            let mut place = Place::Own;
            let mut unit = place.open(shared).await?;
            let moved = shared.rewind(&mut unit, name, to, by).await;
            match unit.settle(shared, moved).await {
                Err(fault) if fault.kind == FaultKind::Deadlock && tried < TRIES => tried += 1,
                settled => return settled.map_err(|fault| fault.into_error(shared.label())),
            }
        }
    }
}

impl Shared {
    async fn advance(
        &self,
        place: &mut Place<'_>,
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, StoreError> {
        step.check().map_err(|error| StoreError::Failed {
            store: self.label().to_owned(),
            message: error.to_string(),
            source: None,
        })?;
        let own = matches!(place, Place::Own);
        let mut tried = 1;
        loop {
            let mut unit = place.open(self).await?;
            let outcome = self.step(&mut unit, office, step).await;
            let fault = match outcome {
                Ok(Ok(Advance::Advanced)) => {
                    let settled = unit.settle(self, Ok(Advance::Advanced)).await;
                    return settled.map_err(|fault| fault.into_error(self.label()));
                }
                Ok(other) => {
                    unit.undo(self).await.map_err(|fault| fault.into_error(self.label()))?;
                    return other;
                }
                Err(fault) => fault,
            };
            let Err(fault) = unit.settle(self, Err::<(), _>(fault)).await else { return Err(self.no_row()) };
            match fault.kind {
                // Another reader has made the first step at the same moment.
                FaultKind::Duplicate if tried < TRIES => tried += 1,
                FaultKind::Deadlock if own && tried < TRIES => tried += 1,
                _ => return Err(fault.into_error(self.label())),
            }
        }
    }

    /// Makes a step, up to the end of the unit if it is taken.
    async fn step(
        &self,
        unit: &mut Unit<'_>,
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Result<Advance, StoreError>, Fault> {
        let texts = &self.statements;
        let name = || Value::from(step.name.as_str());
        let mut calls = unit.beginning(self);
        let fence_at = calls.len();
        calls.extend(office.into_iter().flat_map(|fence| self.hold_fence(fence)));
        calls.push(Call::new(&texts.checkpoint_lock, vec![name()]));
        let answers = unit.run_all(&calls).await?;
        if let Some(fence) = office {
            match self.judge_fence(answers.get(fence_at..fence_at + 2).unwrap_or_default(), fence) {
                Ok(()) => {}
                Err(FenceError::Fenced(_)) => return Ok(Ok(Advance::Fenced)),
                Err(FenceError::Store(error)) => return Ok(Err(error)),
                Err(other) => return Err(Fault::new(FaultKind::Other, other.to_string())),
            }
        }
        let row = answers.last().and_then(|answer: &Answer| answer.rows.first());
        let there = match self.reader().checkpoint(row) {
            Ok(there) => there,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(elsewhere) = step.elsewhere(there) {
            return Ok(Ok(elsewhere));
        }
        let moves = if row.is_some() { &texts.checkpoint_move } else { &texts.checkpoint_first };
        let mut calls = vec![Call::new(moves, vec![name(), step.to.0.into()])];
        if !step.parked.is_empty() {
            let positions = Value::list(step.parked.iter().map(|aside| aside.position.0));
            calls.push(Call::new(&texts.parked_clear, vec![name(), positions]));
            let rows = inserts(step.parked.iter().map(|aside| parked_values(step, aside)));
            calls.extend(rows.into_iter().map(|rows| Call::new(&texts.parked_add, vec![rows])));
        }
        calls.push(unit.end(self));
        unit.run_all(&calls).await?;
        Ok(Ok(Advance::Advanced))
    }

    async fn rewind(
        &self,
        unit: &mut Unit<'_>,
        name: &SubscriptionName,
        to: Position,
        by: &str,
    ) -> Result<Rewind, Fault> {
        let texts = &self.statements;
        let named = || Value::from(name.as_str());
        let mut calls = unit.beginning(self);
        calls.push(Call::new(&texts.checkpoint_lock, vec![named()]));
        let answers = unit.run_all(&calls).await?;
        let number = |answers: &[Answer], column| {
            let row = answers.last().and_then(|answer| answer.rows.first());
            row.and_then(|row| row.number(column).ok().flatten()).unwrap_or_default()
        };
        let from = number(&answers, "position");
        // Asked when the row is held: what was appended before the operator's move counts.
        let end = number(&unit.run_all(&[Call::new(&texts.events_top, [])]).await?, "top");
        let judged = Rewind::judge(Position(from), to, Position(end));
        if judged != Rewind::Moved {
            unit.run_all(&[unit.end(self)]).await?;
            return Ok(judged);
        }
        let forgotten = unit
            .run_all(&[
                Call::new(&texts.checkpoint_rewind, vec![named(), to.0.into()]),
                Call::new(&texts.parked_forget, vec![named(), to.0.into()]),
            ])
            .await?;
        let forgotten = forgotten.last().map_or(0, |answer| answer.changed);
        let audit = Audit {
            actor: &shorten(by),
            action: "subscription rewind",
            subject: name.as_str(),
            detail: format!("from {from} to {to}, {forgotten} put aside forgotten"),
        };
        unit.run_all(&[self.add_audit(&audit), unit.end(self)]).await?;
        Ok(Rewind::Moved)
    }
}

fn parked_values(step: &Step, aside: &Aside) -> Vec<Value> {
    vec![
        step.name.as_str().into(),
        aside.position.0.into(),
        aside.stream.as_ref().map_or("", StreamName::as_str).into(),
        aside.version.0.into(),
        aside.kind.as_str().into(),
        i32::try_from(aside.attempts).unwrap_or(i32::MAX).into(),
        shorten(&aside.reason).into(),
    ]
}
