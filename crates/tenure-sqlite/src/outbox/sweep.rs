//! Retention: finding what is old enough is reading, and does not hold up the writer; deleting it is one small
//! transaction under the fence.

use std::time::Duration;

use rusqlite::params;
use tenure_core::lease::Fence;
use tenure_core::outbox::{Retention, State, Swept};
use tenure_core::time::StoreTime;
use tenure_sql::micros;

use super::record::in_office;
use crate::error::Fault;
use crate::reader::Snapshot;
use crate::writing::Writing;

/// The most messages that one step deletes, whatever the settings say: renewals wait for it.
const DELETE_MAX: u32 = 500;
/// The most messages that one step looks at.
const LOOK_MAX: u32 = 4_096;
/// Where a step resumes when only the inbox is left.
const ONLY_INBOX: i64 = i64::MAX;

/// What one look has found.
#[derive(Debug, Default)]
pub(super) struct Old {
    messages: Vec<(i64, State)>,
    resume: Option<i64>,
}

/// Finds messages that are finished and old enough, from `resume` on.
///
/// Numbers rise with time. So where all of a step's messages are too young to be old enough in any state, those after
/// them are too, and need no look.
pub(super) fn find(
    snapshot: &Snapshot<'_>,
    retention: &Retention,
    resume: Option<i64>,
) -> Result<Old, Fault> {
    let Retention { dispatched, dead, discarded, .. } = retention;
    let Some(shortest) = [dispatched, dead, discarded].into_iter().flatten().min() else {
        return Ok(Old::default());
    };
    let limit = limit(retention);
    let now = snapshot.now();
    let mut statement = snapshot.prepare(&snapshot.outbox().sweep_look)?;
    let mut rows = statement.query(params![resume.unwrap_or(i64::MIN), LOOK_MAX])?;
    let (mut old, mut looked_at, mut young) = (Old::default(), 0, true);
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        (looked_at, old.resume) = (looked_at + 1, Some(id));
        young &= !is_over(row.get(1)?, *shortest, now);
        let Some(finished_at) = row.get::<_, Option<i64>>(2)? else { continue };
        let (state, keep) = match (row.get(3)?, row.get(4)?) {
            (_, true) => (State::Discarded, discarded),
            (true, false) => (State::Dead, dead),
            (false, false) => (State::Dispatched, dispatched),
        };
        if keep.is_some_and(|keep| is_over(finished_at, keep, now)) {
            old.messages.push((id, state));
            if old.messages.len() >= limit as usize {
                return Ok(old);
            }
        }
    }
    if looked_at < LOOK_MAX || young {
        old.resume = None;
    }
    Ok(old)
}

/// Deletes what was found, and what the inbox no longer needs, if the sweeper is in office.
pub(super) fn delete(
    writing: &Writing<'_>,
    office: Option<&Fence>,
    retention: &Retention,
    old: &Old,
) -> Result<Swept, Fault> {
    if !in_office(writing, office)? {
        return Ok(Swept { fenced: true, ..Swept::default() });
    }
    let mut swept = Swept { resume: old.resume, ..Swept::default() };
    for (id, state) in &old.messages {
        if !delete_message(writing, *id)? {
            continue;
        }
        match state {
            State::Dead => swept.dead += 1,
            State::Discarded => swept.discarded += 1,
            State::Dispatched | State::Pending => swept.dispatched += 1,
        }
    }
    if let Some(keep) = retention.inbox {
        let limit = limit(retention);
        let until = writing.now.wall.as_micros().saturating_sub(micros(keep));
        let mut statement = writing.connection.prepare_cached(&writing.statements.outbox.sweep_inbox)?;
        let forgotten = statement.execute(params![until, limit])?;
        swept.inbox = forgotten as u64;
        if forgotten >= limit as usize {
            swept.resume.get_or_insert(ONLY_INBOX);
        }
    }
    Ok(swept)
}

fn delete_message(writing: &Writing<'_>, id: i64) -> Result<bool, Fault> {
    let statements = &writing.statements.outbox;
    if writing.connection.prepare_cached(&statements.sweep_message)?.execute([id])? == 0 {
        return Ok(false);
    }
    writing.connection.prepare_cached(&statements.sweep_attempts)?.execute([id])?;
    writing.connection.prepare_cached(&statements.dead_drop)?.execute([id])?;
    Ok(true)
}

fn limit(retention: &Retention) -> u32 {
    retention.batch.clamp(1, DELETE_MAX)
}

fn is_over(since: i64, keep: Duration, now: StoreTime) -> bool {
    since.saturating_add(micros(keep)) <= now.as_micros()
}
