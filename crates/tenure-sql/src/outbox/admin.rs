//! What an operator sees of the outbox and does to it. What is done to a message is decided behind the lock of its row: of
//! two operators one changes it, and the other finds it changed.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::OutboxAdmin;
use tenure_core::outbox::{CauseId, Count, Details, Filter, Graves, Listing, Pulse, Selection, State, Stats};
use tenure_core::time::StoreTime;

use super::cells::Cells;
use super::unit::{Ended, Stop};
use crate::driver::{Call, Session, Turn};
use crate::lease::Audit;
use crate::not_built;
use crate::row::Row;
use crate::store::{Shared, SqlStore};
use crate::value::Value;

/// How many messages one transaction changes.
const ACT_BATCH: u32 = 200;
/// Up to how many messages are counted one by one.
const COUNT_MAX: u32 = 100_000;
/// The longest name of an operator in the audit trail.
const ACTOR_MAX_CHARS: usize = 200;

/// What is done to a dead message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// It is pending again.
    Retry,
    /// It is not sent.
    Discard,
}

#[async_trait]
impl OutboxAdmin for SqlStore {
    async fn stats(&self) -> Result<Stats, StoreError> {
        let shared = &self.shared;
        let mut lent = shared.lend(Turn::Work).await?;
        let outcome = shared.stats_on(&mut *lent).await;
        match shared.end(lent, outcome, usize::MAX).await {
            Ended::With(outcome) => outcome.map_err(|stop| stop.into_error(shared.label())),
            Ended::Undone => Err(shared.no_row()),
        }
    }

    async fn pulse(&self, _: u32) -> Result<Pulse, StoreError> {
        Err(not_built(self.shared.label()))
    }

    async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        self.shared.list(selection).await
    }

    async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        self.shared.show(id, payload_max).await
    }

    async fn graves(&self, _: Option<CauseId>, _: u32, _: u32) -> Result<Graves, StoreError> {
        Err(not_built(self.shared.label()))
    }

    async fn count_dead(&self, filter: &Filter, at_most: u32) -> Result<Count, StoreError> {
        let shared = &self.shared;
        let Some(number) = shared.dead_number(filter).await? else { return Ok(Count::default()) };
        let params = vec![
            number.into(),
            filter.topic.as_deref().into(),
            filter.source.as_deref().into(),
            filter.kind.as_deref().into(),
        ];
        let rows = shared.rows(Turn::Work, &shared.statements.dead_count, params).await?;
        let found = rows.into_iter().next().map(|row| Cells::of(row, shared.reader()).whole());
        let found = u64::try_from(found.transpose()?.unwrap_or_default()).unwrap_or_default();
        Ok(Count::up_to(at_most.into(), found))
    }

    async fn retry(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        self.shared.act(Act::Retry, filter, by, limit).await
    }

    async fn discard(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        self.shared.act(Act::Discard, filter, by, limit).await
    }
}

impl Shared {
    async fn stats_on(&self, session: &mut dyn Session) -> Result<Stats, Stop> {
        let statements = &self.statements;
        let calls = [
            Call::new(&statements.stats_total, vec![(COUNT_MAX + 1).into()]),
            Call::new(&statements.stats_pending, []),
            Call::new(&statements.stats_dead, []),
        ];
        let mut answers = session.run_all(&calls).await?.into_iter();
        let mut next = || -> Result<Cells<'_>, Stop> {
            let row = answers.next().and_then(|answer| answer.rows.into_iter().next());
            Ok(Cells::of(row.ok_or_else(|| self.no_row())?, self.reader()))
        };
        let number = |number: i64| u64::try_from(number).unwrap_or_default();
        let mut cells = next()?;
        let (few, span) = (cells.whole()?, cells.whole()?);
        let estimated = few > i64::from(COUNT_MAX);
        let mut cells = next()?;
        let (pending, delayed, retrying) = (cells.whole()?, cells.whole()?, cells.whole()?);
        let (oldest, now) = (cells.moment()?, cells.moment()?);
        let mut cells = next()?;
        let (dead, discarded, halted) = (cells.whole()?, cells.whole()?, cells.whole()?);
        let total = if estimated { span } else { few };
        Ok(Stats {
            pending: number(pending),
            delayed: number(delayed),
            retrying: number(retrying),
            dead: number(dead),
            discarded: number(discarded),
            dispatched: number(total - pending - dead - discarded),
            dispatched_is_estimate: estimated,
            halted_sources: number(halted),
            lag: oldest.zip(now).map(|(oldest, now): (StoreTime, StoreTime)| oldest.until(now)),
        })
    }

    /// The number of the one message that is meant, or none for all; `None` when none can fit.
    async fn dead_number(&self, filter: &Filter) -> Result<Option<Option<i64>>, StoreError> {
        if filter.state.is_some_and(|state| state != State::Dead) {
            return Ok(None);
        }
        match &filter.id {
            None => Ok(Some(None)),
            Some(id) => Ok(self.number_of(id).await?.map(Some)),
        }
    }

    /// Does the same to all dead messages that fit, in small transactions.
    async fn act(&self, act: Act, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        let by: String = by.chars().take(ACTOR_MAX_CHARS).collect();
        let (mut changed, mut left, mut after) = (Vec::new(), limit, i64::MIN);
        let Some(number) = self.dead_number(filter).await? else { return Ok(changed) };
        while left > 0 {
            let params = vec![
                after.into(),
                number.into(),
                filter.topic.as_deref().into(),
                filter.source.as_deref().into(),
                filter.kind.as_deref().into(),
                left.min(ACT_BATCH).into(),
            ];
            let rows = self.rows(Turn::Work, &self.statements.dead_find, params).await?;
            let found: Result<Vec<_>, _> =
                rows.into_iter().map(|row| Cells::of(row, self.reader()).whole()).collect();
            let found = found?;
            let Some(last) = found.last() else { break };
            after = *last;
            let ids = self.act_on_all(act, &by, &found).await?;
            left = left.saturating_sub(u32::try_from(ids.len()).unwrap_or(u32::MAX));
            changed.extend(ids);
        }
        Ok(changed)
    }

    async fn act_on_all(&self, act: Act, by: &str, numbers: &[i64]) -> Result<Vec<String>, StoreError> {
        let mut tried = 1;
        loop {
            let mut lent = self.lend(Turn::Work).await?;
            let outcome = self.act_on(&mut *lent, act, by, numbers).await;
            match self.end(lent, outcome, tried).await {
                Ended::Undone => tried += 1,
                Ended::With(outcome) => return outcome.map_err(|stop| stop.into_error(self.label())),
            }
        }
    }

    /// Changes those of these messages that are dead still, each with a line in the audit trail. Answers their ids.
    async fn act_on(
        &self,
        session: &mut dyn Session,
        act: Act,
        by: &str,
        numbers: &[i64],
    ) -> Result<Vec<String>, Stop> {
        let statements = &self.statements;
        let all = vec![Value::list(numbers.iter().copied())];
        let answers = session
            .run_all(&[
                Call::new(&statements.begin, []),
                Call::new(&statements.outbox_lock, all.clone()),
                Call::new(&statements.dead_read, all),
            ])
            .await?;
        let (mut ids, mut dead, mut audits) = (Vec::new(), Vec::new(), Vec::new());
        for row in answers.into_iter().next_back().unwrap_or_default().rows {
            let mut cells = Cells::of(row, self.reader());
            let (number, id) = (cells.whole()?, cells.word()?);
            let (topic, kind, reason) = (cells.word()?, cells.word()?, cells.word()?);
            if cells.truth()? {
                continue;
            }
            dead.push(number);
            audits.push(format!("{topic}/{kind}: {reason}"));
            ids.push(id);
        }
        let mut writes = Vec::new();
        if !dead.is_empty() {
            let all = || vec![Value::list(dead.iter().copied())];
            let (first, second) = match act {
                Act::Retry => (&statements.outbox_revive, &statements.dead_delete),
                Act::Discard => (&statements.outbox_release, &statements.dead_discard),
            };
            writes.extend([Call::new(first, all()), Call::new(second, all())]);
        }
        let action = match act {
            Act::Retry => "outbox retry",
            Act::Discard => "outbox discard",
        };
        for (id, detail) in ids.iter().zip(audits) {
            writes.push(self.add_audit(&Audit { actor: by, action, subject: id, detail }));
        }
        writes.push(Call::new(&statements.commit, []));
        session.run_all(&writes).await?;
        Ok(ids)
    }

    /// The number of a row of `dead_read`, and whether it was discarded.
    pub(super) fn dead_state(&self, row: Row) -> Result<(i64, bool), StoreError> {
        let mut cells = Cells::of(row, self.reader());
        let number = cells.whole()?;
        for _ in 0..4 {
            cells.text()?;
        }
        Ok((number, cells.truth()?))
    }
}
