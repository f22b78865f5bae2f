//! What an operator sees of the outbox and does to it. What is done to a message is decided behind the lock of its row: of
//! two operators one changes it, and the other finds it changed.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::OutboxAdmin;
use tenure_core::outbox::{
    Acted, CauseId, Counted, DeadWalk, Details, Graves, Listing, MessageId, Pulse, RowId, Selection, Stats,
    Summary,
};

use super::cells::Cells;
use super::unit::{Ended, Stop};
use crate::driver::{Call, Session, Turn};
use crate::lease::Audit;
use crate::row::Row;
use crate::store::{Shared, SqlStore};
use crate::value::Value;

/// How many messages one transaction changes.
const ACT_BATCH: usize = 200;
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
        self.shared.stats().await
    }

    async fn pulse(&self, at_most: u32) -> Result<Pulse, StoreError> {
        self.shared.pulse(at_most).await
    }

    async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        self.shared.list(selection).await
    }

    async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        self.shared.show(id, payload_max).await
    }

    async fn named(&self, ids: &[MessageId]) -> Result<Vec<Summary>, StoreError> {
        self.shared.named(ids).await
    }

    async fn count_dead(&self, walk: &DeadWalk) -> Result<Counted, StoreError> {
        Ok(self.shared.find_dead(walk).await?.counted())
    }

    async fn graves(&self, after: Option<CauseId>, limit: u32, count_max: u32) -> Result<Graves, StoreError> {
        self.shared.graves(after, limit, count_max).await
    }

    async fn retry(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        self.shared.act(Act::Retry, walk, by).await
    }

    async fn discard(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        self.shared.act(Act::Discard, walk, by).await
    }
}

impl Shared {
    /// Does the same to all dead messages that fit, in small transactions.
    async fn act(&self, act: Act, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        let by: String = by.chars().take(ACTOR_MAX_CHARS).collect();
        let pass = self.find_dead(&walk.to_change()).await?;
        let mut changed = Vec::new();
        for some in pass.met().chunks(ACT_BATCH) {
            changed.extend(self.act_on_all(act, walk.filter.cause, &by, some).await?);
        }
        Ok(pass.acted(changed))
    }

    async fn act_on_all(
        &self,
        act: Act,
        cause: Option<CauseId>,
        by: &str,
        rows: &[RowId],
    ) -> Result<Vec<String>, StoreError> {
        let mut tried = 1;
        loop {
            let mut lent = self.lend(Turn::Work).await?;
            let outcome = self.act_on(&mut *lent, act, cause, by, rows).await;
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
        cause: Option<CauseId>,
        by: &str,
        rows: &[RowId],
    ) -> Result<Vec<String>, Stop> {
        let statements = &self.statements;
        let all = vec![Value::list(rows.iter().map(|row| row.0))];
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
            let (discarded, died_of) = (cells.truth()?, CauseId::from_column(cells.whole()?));
            // It may have died anew since it was found, of something else.
            if discarded || cause.is_some_and(|cause| cause != died_of) {
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
