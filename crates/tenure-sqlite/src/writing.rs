//! One writing transaction: read the row, have the core decide, write what it says.
//!
//! Decisions are made at wall time, about a row that was shifted into wall time by its own clock (see
//! [`clock`](crate::clock)). A stamp that the decision left alone is written back exactly as it was.

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use tenure_core::lease::decide::Decision;
use tenure_core::lease::{Change, LeaseName, LeaseRecord, Term};
use tenure_core::time::StoreTime;

use crate::clock::Reading;
use crate::error::Fault;
use crate::rows::{self, LeaseRow, NameValue, Plain};
use crate::statements::Statements;

/// The writing transaction, with the clocks as they stood when it had its lock.
pub(crate) struct Writing<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) statements: &'a Statements,
    pub(crate) now: Reading,
}

impl Writing<'_> {
    /// Decides about one lease, writes the decision, and returns its answer.
    pub(crate) fn decide<O>(
        &self,
        name: &LeaseName,
        decide: impl FnOnce(Option<&LeaseRecord>, StoreTime) -> Result<Decision<O>, Fault>,
    ) -> Result<O, Fault> {
        self.decide_row(name, decide).map(|(answer, _)| answer)
    }

    /// The same, with the row as it was written.
    pub(crate) fn decide_row<O>(
        &self,
        name: &LeaseName,
        decide: impl FnOnce(Option<&LeaseRecord>, StoreTime) -> Result<Decision<O>, Fault>,
    ) -> Result<(O, Option<LeaseRow>), Fault> {
        let row = read_lease(self.connection, self.statements, name)?;
        let seen = row.as_ref().map(|row| row.seen_at(&self.now));
        let decision = decide(seen.as_ref(), self.now.wall)?;
        self.apply(decision, row.as_ref().zip(seen.as_ref()))
    }

    /// Writes a decision about a row that was stored as the one and seen as the other; answers with what was written too.
    pub(crate) fn apply<O>(
        &self,
        decision: Decision<O>,
        before: Option<(&LeaseRow, &LeaseRecord)>,
    ) -> Result<(O, Option<LeaseRow>), Fault> {
        let mut written = None;
        if let Some(record) = decision.write {
            let row = stamped(record, before, &self.now);
            self.write_lease(&row)?;
            written = Some(row);
        }
        for change in &decision.history {
            self.add_history(change)?;
        }
        Ok((decision.outcome, written))
    }

    /// The highest term that the lease's history knows.
    pub(crate) fn last_term(&self, name: &LeaseName) -> Result<Option<Term>, Fault> {
        let mut statement = self.connection.prepare_cached(&self.statements.history_last_term)?;
        let last: Option<i64> = statement.query_row([NameValue(name)], |row| row.get(0))?;
        last.map(|last| {
            Term::from_column(last).ok_or_else(|| Fault::Corrupt("a line of history has term 0".into()))
        })
        .transpose()
    }

    /// Notes what an operator did.
    pub(crate) fn add_audit(
        &self,
        actor: &str,
        action: &str,
        subject: &str,
        detail: &str,
    ) -> Result<(), Fault> {
        let mut statement = self.connection.prepare_cached(&self.statements.audit_add)?;
        statement.execute(params![self.now.wall.as_micros(), actor, action, subject, detail])?;
        Ok(())
    }

    pub(crate) fn write_lease(&self, row: &LeaseRow) -> Result<(), Fault> {
        let mut statement = self.connection.prepare_cached(&self.statements.lease_write)?;
        statement.execute(params_from_iter(row.values()?))?;
        Ok(())
    }

    pub(crate) fn add_history(&self, change: &Change) -> Result<(), Fault> {
        let mut statement = self.connection.prepare_cached(&self.statements.history_add)?;
        statement.execute(params_from_iter(rows::change_values(change)))?;
        Ok(())
    }
}

/// The row to store: with both clocks of this moment if the decision renewed it, else with its stamps as they were.
pub(crate) fn stamped(
    record: LeaseRecord,
    before: Option<(&LeaseRow, &LeaseRecord)>,
    now: &Reading,
) -> LeaseRow {
    match before {
        Some((stored, seen))
            if (seen.renewed_at, seen.expires_at) == (record.renewed_at, record.expires_at) =>
        {
            let (renewed_at, expires_at) = (stored.record.renewed_at, stored.record.expires_at);
            let record = LeaseRecord { renewed_at, expires_at, ..record };
            LeaseRow { record, steady: stored.steady.clone() }
        }
        _ => LeaseRow { record, steady: now.steady.clone() },
    }
}

/// The row of a lease, if there ever was a holder.
pub(crate) fn read_lease(
    connection: &Connection,
    statements: &Statements,
    name: &LeaseName,
) -> Result<Option<LeaseRow>, Fault> {
    let mut statement = connection.prepare_cached(&statements.lease_read)?;
    statement.query_row([NameValue(name)], |row| Ok(LeaseRow::read(&Plain::of(row)))).optional()?.transpose()
}
