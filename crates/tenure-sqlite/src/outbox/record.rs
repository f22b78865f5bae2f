//! Writing down what came of attempts.

use std::time::Duration;

use rusqlite::{CachedStatement, params};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, FenceCheck, decide};
use tenure_core::outbox::{Next, Outcome, Recorded, RowId};
use tenure_sql::micros;

use crate::error::Fault;
use crate::writing::{Writing, read_lease};

/// Whether the relay or sweeper is in office, by the row of its lease in this very transaction.
pub(crate) fn in_office(writing: &Writing<'_>, office: Option<&Fence>) -> Result<bool, Fault> {
    let Some(fence) = office else { return Ok(true) };
    let row = read_lease(writing.connection, writing.statements, &fence.lease)?;
    let seen = row.as_ref().map(|row| row.seen_at(&writing.now));
    Ok(decide::check(seen.as_ref(), fence, writing.now.wall) == FenceCheck::Holds)
}

/// Records every outcome whose attempt is the next one of a message that is pending.
pub(super) fn record(
    writing: &Writing<'_>,
    office: Option<&Fence>,
    node: &NodeName,
    outcomes: &[Outcome],
) -> Result<Recorded, Fault> {
    if !in_office(writing, office)? {
        return Ok(Recorded::Fenced);
    }
    let term = office.map(|fence| fence.term.as_column());
    let mut recording = Recording::begin(writing, node, term)?;
    let mut applied: Vec<&Outcome> = Vec::with_capacity(outcomes.len());
    // Source by source, as the queue stands.
    for outcome in outcomes {
        if recording.settle(outcome)? {
            applied.push(outcome);
        }
    }
    // By number, as the attempts stand: the same pages are not sought again and again.
    applied.sort_unstable_by_key(|outcome| outcome.id);
    for outcome in &applied {
        recording.add_attempt(outcome)?;
    }
    Ok(Recorded::Applied(applied.into_iter().map(|outcome| outcome.id).collect()))
}

/// The statements of one batch, looked up once, and with what is the same for all bound once.
struct Recording<'a> {
    writing: &'a Writing<'a>,
    now: i64,
    done: CachedStatement<'a>,
    attempt: CachedStatement<'a>,
}

impl<'a> Recording<'a> {
    fn begin(writing: &'a Writing<'_>, node: &NodeName, term: Option<i64>) -> Result<Self, Fault> {
        let statements = &writing.statements.outbox;
        let now = writing.now.wall.as_micros();
        let mut attempt = writing.connection.prepare_cached(&statements.attempt_add)?;
        attempt.raw_bind_parameter(3, now)?;
        attempt.raw_bind_parameter(6, node.as_str())?;
        attempt.raw_bind_parameter(7, term)?;
        let done = writing.connection.prepare_cached(&statements.pending_done)?;
        Ok(Self { writing, now, done, attempt })
    }

    /// Moves the message to where the attempt has brought it, unless the attempt is not its next one.
    fn settle(&mut self, outcome: &Outcome) -> Result<bool, Fault> {
        let Some(before) = outcome.attempt.checked_sub(1) else { return Ok(false) };
        match outcome.next {
            Next::Done => self.leave(outcome.id, before),
            Next::Again { after } => self.again(outcome.id, before, after),
            Next::Dead { halt } => self.dead(outcome, before, halt),
        }
    }

    /// Takes the message out of the queue.
    fn leave(&mut self, id: RowId, before: u32) -> Result<bool, Fault> {
        self.done.raw_bind_parameter(1, id.0)?;
        self.done.raw_bind_parameter(2, before)?;
        Ok(self.done.raw_execute()? == 1)
    }

    fn again(&self, id: RowId, before: u32, after: Duration) -> Result<bool, Fault> {
        let mut statement = self.prepare(&self.writing.statements.outbox.pending_again)?;
        Ok(statement.execute(params![id.0, before, self.now.saturating_add(micros(after))])? == 1)
    }

    fn dead(&mut self, outcome: &Outcome, before: u32, halt: bool) -> Result<bool, Fault> {
        let halts = halt && {
            let mut statement = self.prepare(&self.writing.statements.outbox.pending_halt)?;
            statement.execute(params![outcome.id.0, before])? == 1
        };
        if !halts && !self.leave(outcome.id, before)? {
            return Ok(false);
        }
        let mut statement = self.prepare(&self.writing.statements.outbox.dead_add)?;
        let (id, kind, reason) = (outcome.id.0, outcome.kind.as_str(), outcome.reason.as_deref());
        statement.execute(params![
            id,
            self.now,
            kind,
            reason,
            outcome.attempt,
            halts,
            outcome.cause().as_column()
        ])?;
        Ok(true)
    }

    fn add_attempt(&mut self, outcome: &Outcome) -> Result<(), Fault> {
        self.attempt.raw_bind_parameter(1, outcome.id.0)?;
        self.attempt.raw_bind_parameter(2, outcome.attempt)?;
        self.attempt.raw_bind_parameter(4, outcome.kind.as_str())?;
        self.attempt.raw_bind_parameter(5, micros(outcome.took))?;
        self.attempt.raw_bind_parameter(8, outcome.reason.as_deref())?;
        self.attempt.raw_execute()?;
        Ok(())
    }

    fn prepare(&self, statement: &str) -> Result<CachedStatement<'a>, Fault> {
        Ok(self.writing.connection.prepare_cached(statement)?)
    }
}
