//! Retention: finding what is old enough is reading, and holds up nobody; deleting it is one small transaction under the
//! fence, behind the locks of the rows.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::lease::Fence;
use tenure_core::outbox::{Retention, State, Swept};
use tenure_core::time::StoreTime;

use super::cells::Cells;
use super::unit::Stop;
use crate::driver::{Call, Session, Turn};
use crate::store::Shared;
use crate::value::{Value, micros};

/// The most messages that one step deletes, whatever the settings say.
const DELETE_MAX: u32 = 500;
/// The most messages that one step looks at.
const LOOK_MAX: u32 = 4_096;
/// Where a step resumes when only the inbox is left.
const ONLY_INBOX: i64 = i64::MAX;

/// What one look has found.
#[derive(Debug, Default)]
pub(super) struct Old {
    messages: Vec<(i64, State)>,
    /// What the inbox no longer needs, by consumer.
    notes: BTreeMap<String, Vec<String>>,
    resume: Option<i64>,
}

impl Shared {
    /// Finds messages that are finished and old enough, from `resume` on, and old notes of the inbox.
    pub(super) async fn find_old(
        &self,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Old, StoreError> {
        let mut old = self.find_old_messages(retention, resume).await?;
        let Some(keep) = retention.inbox else { return Ok(old) };
        let params = vec![micros(keep).into(), limit(retention).into()];
        let rows = self.rows(Turn::Traffic, &self.statements.inbox_old, params).await?;
        if rows.len() >= limit(retention) as usize {
            old.resume.get_or_insert(ONLY_INBOX);
        }
        for row in rows {
            let mut cells = Cells::of(row, self.reader());
            let consumer = cells.word()?;
            old.notes.entry(consumer).or_default().push(cells.word()?);
        }
        Ok(old)
    }

    /// The messages of these.
    ///
    /// Numbers rise with time. So where all of a step's messages are too young to be old enough in any state, those after
    /// them are too, and need no look.
    async fn find_old_messages(&self, retention: &Retention, resume: Option<i64>) -> Result<Old, StoreError> {
        let Retention { dispatched, dead, discarded, .. } = retention;
        let Some(shortest) = [dispatched, dead, discarded].into_iter().flatten().min() else {
            return Ok(Old::default());
        };
        let now = self.rows(Turn::Traffic, &self.statements.outbox_clock, []).await?;
        let now = self.clock(&now)?;
        let params = vec![resume.unwrap_or(i64::MIN).into(), LOOK_MAX.into()];
        let rows = self.rows(Turn::Traffic, &self.statements.sweep_look, params).await?;
        let (mut old, looked_at, mut young) = (Old::default(), rows.len(), true);
        for row in rows {
            let mut cells = Cells::of(row, self.reader());
            let id = cells.whole()?;
            old.resume = Some(id);
            young &= !is_over(cells.whole()?, *shortest, now);
            let finished_at = cells.number()?;
            let (is_dead, is_discarded) = (cells.truth()?, cells.truth()?);
            let Some(finished_at) = finished_at else { continue };
            let (state, keep) = match (is_dead, is_discarded) {
                (_, true) => (State::Discarded, discarded),
                (true, false) => (State::Dead, dead),
                (false, false) => (State::Dispatched, dispatched),
            };
            if keep.is_some_and(|keep| is_over(finished_at, keep, now)) {
                old.messages.push((id, state));
                if old.messages.len() >= limit(retention) as usize {
                    return Ok(old);
                }
            }
        }
        if looked_at < LOOK_MAX as usize || young {
            old.resume = None;
        }
        Ok(old)
    }

    /// Deletes what was found, and what the inbox no longer needs, if the sweeper is in office.
    pub(super) async fn sweep_on(
        &self,
        session: &mut dyn Session,
        office: Option<&Fence>,
        retention: &Retention,
        old: &Old,
    ) -> Result<Swept, Stop> {
        let statements = &self.statements;
        let all = || Value::list(old.messages.iter().map(|(id, _)| *id));
        let mut calls = vec![Call::new(&statements.begin, [])];
        calls.extend(office.into_iter().flat_map(|fence| self.hold_fence(fence)));
        calls.push(Call::new(&statements.outbox_lock, vec![all()]));
        // Behind the locks: an operator may have decided otherwise since the look.
        calls.push(Call::new(&statements.dead_read, vec![all()]));
        let mut answers = session.run_all(&calls).await?;
        let (dead, held) = (answers.pop().unwrap_or_default(), answers.pop().unwrap_or_default());
        if !self.in_office(&answers[1.min(answers.len())..], office)? {
            session.run(&Call::new(&statements.rollback, [])).await?;
            return Ok(Swept { fenced: true, ..Swept::default() });
        }
        let mut states = HashMap::new();
        for row in held.rows {
            let mut cells = Cells::of(row, self.reader());
            let (id, queued) = (cells.whole()?, cells.whole()?);
            if queued == 0 {
                states.insert(id, State::Dispatched);
            }
        }
        for row in dead.rows {
            let (id, discarded) = self.dead_state(row)?;
            if let Some(state) = states.get_mut(&id) {
                *state = if discarded { State::Discarded } else { State::Dead };
            }
        }
        let mut swept = Swept { resume: old.resume, ..Swept::default() };
        let mut doomed = Vec::new();
        for (id, state) in &old.messages {
            if states.get(id) != Some(state) {
                continue;
            }
            doomed.push(*id);
            match state {
                State::Dead => swept.dead += 1,
                State::Discarded => swept.discarded += 1,
                State::Dispatched | State::Pending => swept.dispatched += 1,
            }
        }
        swept.inbox = self.delete(session, retention, &doomed, old).await?;
        Ok(swept)
    }

    /// Deletes messages, and notes of the inbox. Answers how many notes.
    async fn delete(
        &self,
        session: &mut dyn Session,
        retention: &Retention,
        doomed: &[i64],
        old: &Old,
    ) -> Result<u64, Stop> {
        let statements = &self.statements;
        let mut writes = Vec::new();
        for (consumer, messages) in &old.notes {
            let keep = micros(retention.inbox.unwrap_or_default());
            let messages = Value::list(messages.iter().map(String::as_str));
            let params = vec![consumer.as_str().into(), messages, keep.into()];
            writes.push(Call::new(&statements.inbox_delete, params));
        }
        let notes = writes.len();
        if !doomed.is_empty() {
            let all = || vec![Value::list(doomed.iter().copied())];
            writes.push(Call::new(&statements.outbox_delete, all()));
            writes.push(Call::new(&statements.attempts_delete, all()));
            writes.push(Call::new(&statements.dead_delete, all()));
        }
        writes.push(Call::new(&statements.commit, []));
        let answers = session.run_all(&writes).await?;
        Ok(answers.iter().take(notes).map(|answer| answer.changed).sum())
    }
}

fn limit(retention: &Retention) -> u32 {
    retention.batch.clamp(1, DELETE_MAX)
}

fn is_over(since: i64, keep: Duration, now: StoreTime) -> bool {
    since.saturating_add(micros(keep)) <= now.as_micros()
}
