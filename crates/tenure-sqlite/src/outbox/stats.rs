//! The outbox in numbers.

use tenure_core::outbox::{PULSE_MAX, Pulse, Stats};
use tenure_core::time::StoreTime;

use crate::error::Fault;
use crate::reader::Snapshot;
use crate::rows::{Plain, READER};

/// Counts everything, by one snapshot. Finished messages are counted by the pages of an index, not one by one.
pub(super) fn stats(snapshot: &Snapshot<'_>) -> Result<Stats, Fault> {
    let statements = snapshot.outbox();
    let total: i64 = snapshot.prepare(&statements.stats_total)?.query_row([], |row| row.get(0))?;
    let now = snapshot.now();
    let (pending, delayed, retrying, halted): (i64, i64, i64, i64) = snapshot
        .prepare(&statements.stats_pending)?
        .query_row([now.as_micros()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let (dead, discarded): (i64, i64) =
        snapshot.prepare(&statements.stats_dead)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let oldest: Option<i64> =
        snapshot.prepare(&statements.stats_oldest)?.query_row([now.as_micros()], |row| row.get(0))?;
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    Ok(Stats {
        pending: number(pending),
        delayed: number(delayed),
        retrying: number(retrying),
        dead: number(dead),
        discarded: number(discarded),
        dispatched: number(total - pending - dead - discarded),
        dispatched_is_estimate: false,
        halted_sources: number(halted),
        lag: oldest.map(|oldest| StoreTime::from_micros(oldest).until(now)),
    })
}

/// Bounded numbers, by one snapshot.
pub(super) fn pulse(snapshot: &Snapshot<'_>, at_most: u32) -> Result<Pulse, Fault> {
    let most = at_most.min(PULSE_MAX);
    let mut statement = snapshot.prepare(&snapshot.outbox().pulse)?;
    let mut rows = statement.query([i64::from(most) + 1, snapshot.now().as_micros()])?;
    let Some(row) = rows.next()? else { return Err(rusqlite::Error::QueryReturnedNoRows.into()) };
    Ok(READER.pulse(&Plain::of(row), most)?)
}
