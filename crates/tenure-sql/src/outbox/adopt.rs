//! Putting messages into the queue that other programs have inserted.
//!
//! Such a program inserts one row and knows nothing of the queue: its row is *fresh*. A relay that finds fresh rows holds some of
//! them, adds their places to the queue and takes the mark off, in a short transaction of its own. Rows that are locked are passed
//! over, so neither an open transaction nor another relay that does the same is waited for, and each is put there once.
//!
//! # Order
//!
//! A fresh row stands in its source's order from its commit on, as it would in the queue. So whatever chooses rows of a source
//! sees, by the same snapshot, the queue and the fresh rows: a message is in one of the two, for the transaction above moves it
//! from one to the other at once. A fresh row stops its source at its place. Nothing of this is needed where there is no order.
//!
//! # Who excludes whom
//!
//! | who | holds | in which order |
//! |---|---|---|
//! | a relay that records successes | rows of the queue | by number |
//! | a relay that records anything else, an operator, retention | messages, then their rows of the queue | by number |
//! | this | fresh messages that nobody holds, then new rows of the queue | waits for nobody |
//! | whoever enqueues | rows of its own that nobody sees | |
//!
//! * *Relay and relay*: of two that record the same attempt, one deletes the row of the queue, or counts its attempts up. The
//!   other waits for it, finds the row gone or changed, and records nothing.
//! * *Relay and operator*: what an operator changes is dead. A relay makes it so, and an operator takes it back, behind the lock
//!   of the message. A success that is late, of an attempt before the retry, names an attempt that is no longer the next one.
//! * *Retention*: it deletes what has no row in the queue and is not fresh, and looks at both behind the lock of the message. Who
//!   could put such a message back into the queue, an operator, needs that lock; a relay only takes out.
//! * *This and all others*: a fresh message has no row in the queue and no death, so relays and operators have nothing to do with
//!   it yet; retention passes it by.
//!
//! All of them hold messages before rows of the queue, and both by number: no two wait for each other.

use tenure_core::StoreError;

use super::cells::Cells;
use super::unit::Stop;
use crate::driver::{Answer, Call, Session};
use crate::limits::STATEMENT_ROWS;
use crate::store::Shared;
use crate::value::Value;

/// How many transactions one look makes of it; the next one goes on.
const ROUNDS: usize = 20;
/// Before every mark that a column can hold: the highest come first.
const BEFORE_ALL: (i64, i64) = (256, 0);

impl Shared {
    /// Puts fresh messages into the queue, as far as they can be had. Answers whether there may be more that can. `lists`: whoever
    /// does it reads the list of what has just come; for others a message on it is out of sight.
    pub(super) async fn adopt(&self, session: &mut dyn Session, lists: bool) -> Result<bool, Stop> {
        let statements = &self.statements;
        let many = i64::try_from(STATEMENT_ROWS).unwrap_or(i64::MAX);
        let mut after = BEFORE_ALL;
        for _ in 0..ROUNDS {
            let params = vec![after.0.into(), after.1.into(), many.into()];
            let hold = [Call::new(&statements.begin, []), Call::new(&statements.fresh_hold, params)];
            let held = session.run_all(&hold).await?;
            let held = self.marked(held.into_iter().next_back().unwrap_or_default())?;
            after = held.last().map_or(after, |last| (last.mark, last.number));
            let mut writes = Vec::new();
            if !held.is_empty() {
                let all = Value::list(held.iter().map(|fresh| fresh.number));
                // The messages first, as everyone does.
                writes.push(Call::new(&statements.fresh_clear, vec![all]));
                let (listed, laid): (Vec<_>, Vec<_>) = held.iter().partition(|fresh| lists && fresh.comes);
                if !listed.is_empty() {
                    let rows = listed.iter().map(|fresh| vec![fresh.number.into()]).collect();
                    writes.push(Call::new(&statements.arrivals_put, vec![Value::Rows(rows)]));
                }
                if !laid.is_empty() {
                    self.note_laned(true);
                    let all = Value::list(laid.iter().map(|fresh| fresh.number));
                    writes.push(Call::new(&statements.pending_lay, vec![all]));
                }
            }
            writes.push(Call::new(&statements.commit, []));
            session.run_all(&writes).await?;
            if held.len() < STATEMENT_ROWS {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn marked(&self, answer: Answer) -> Result<Vec<Fresh>, StoreError> {
        let read = |row| {
            let mut cells = Cells::of(row, self.reader());
            let (number, mark) = (cells.whole()?, cells.whole()?);
            Ok(Fresh { mark, number, comes: cells.truth()? })
        };
        answer.rows.into_iter().map(read).collect()
    }
}

/// A message that is to be put into the queue.
struct Fresh {
    mark: i64,
    number: i64,
    /// It goes on the list of what has just come, and not into its lane.
    comes: bool,
}
