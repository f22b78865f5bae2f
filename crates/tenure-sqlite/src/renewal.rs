//! A renewal in one statement, while nobody but its holder touches the row.
//!
//! The row is remembered as this process last wrote it. The core decides about that, and the statement takes effect only
//! where the row is still the same to the last column: a takeover, a release, an operator's wish and anything else that
//! a decision could depend on leaves a trace there. In every case of doubt nothing is written, and the decision is made
//! by the full way: lock, read, decide, write.
//!
//! ```text
//!   read the clocks ──▶ decide about the remembered row ──▶ one UPDATE … WHERE it is that row
//!          └── at most [`READING_LASTS`], judged under the lock ──┘    │ none changed, or the lock is not to be had at once
//!                                                                      ▼
//!                                                                the full way
//! ```

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use tenure_core::lease::decide::{self, RenewAnswer};
use tenure_core::lease::{Grant, LeaseName, Renew, Renewal};

use crate::database::Database;
use crate::error::Fault;
use crate::rows::LeaseRow;
use crate::statements::Statements;
use crate::writing::stamped;

/// For how long the clocks' reading may be used before the lock is had. A process can be frozen in between, and a lease
/// that expired meanwhile must not be renewed.
const READING_LASTS: Duration = Duration::from_millis(20);
/// SQLite's clock has milliseconds, and may have been rounded down.
const ROUNDED_MS: f64 = 2.0;
/// How many rows are remembered at most; a process that holds more leases renews some by the full way.
const ROWS_MAX: usize = 4096;

/// The rows of leases that this process holds, as it last wrote them.
#[derive(Debug, Default)]
pub(crate) struct Remembered(HashMap<LeaseName, LeaseRow>);

impl Remembered {
    /// From now on this is the row.
    pub(crate) fn set(&mut self, row: LeaseRow) {
        if self.0.len() >= ROWS_MAX && !self.0.contains_key(&row.record.name) {
            // Those of holders that went away without a word are among them.
            self.0.clear();
        }
        self.0.insert(row.record.name.clone(), row);
    }

    /// The row, which is not remembered any more.
    pub(crate) fn take(&mut self, name: &LeaseName) -> Option<LeaseRow> {
        self.0.remove(name)
    }
}

impl Database {
    /// Renews by one statement. Answers false where nothing was changed and the full way must decide.
    pub(crate) fn renew_remembered(&mut self, grant: &Grant, renewal: &Renewal) -> Result<bool, Fault> {
        // Taken out: whatever happens from here on, only a row that was certainly written is remembered again.
        let Some(stored) = self.remembered.take(&grant.name) else { return Ok(false) };
        // Before the clocks, so that whatever time their reading takes counts too.
        let fresh = Fresh::from_now();
        let now = self.clocks.read();
        let seen = stored.seen_at(&now);
        if now.wall.after(READING_LASTS) >= seen.expires_at {
            return Ok(false);
        }
        let decision = decide::renew(Some(&seen), grant, renewal, now.wall);
        let extended = decision.outcome == RenewAnswer::Is(Renew::Extended) && decision.history.is_empty();
        let Some(record) = decision.write.filter(|_| extended) else { return Ok(false) };
        let row = stamped(record, Some((&stored, &seen)), &now);
        let renewed =
            self.write_at_once(|connection, statements| swap(connection, statements, &stored, &row, &fresh))?;
        if renewed {
            self.remembered.set(row);
        }
        Ok(renewed)
    }
}

/// The span of time, by the wall clock that SQLite reads, in which the lock must be had.
struct Fresh {
    from_ms: f64,
    to_ms: f64,
}

impl Fresh {
    fn from_now() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now_ms = now.as_secs_f64() * 1000.0;
        Self { from_ms: now_ms - ROUNDED_MS, to_ms: now_ms + READING_LASTS.as_secs_f64() * 1000.0 }
    }
}

/// Replaces one row by another, if it is still the same. Answers with the database's version if so.
fn swap(
    connection: &Connection,
    statements: &Statements,
    from: &LeaseRow,
    to: &LeaseRow,
    fresh: &Fresh,
) -> Result<Option<i64>, Fault> {
    let span = [Value::Real(fresh.from_ms), Value::Real(fresh.to_ms)];
    let values = from.values()?.into_iter().chain(to.values()?).chain(span);
    let mut statement = connection.prepare_cached(&statements.lease_renew)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut version = None;
    // To its end: only there does it commit, and say so if it could not.
    while let Some(row) = rows.next()? {
        version = Some(row.get(0)?);
    }
    Ok(version)
}
