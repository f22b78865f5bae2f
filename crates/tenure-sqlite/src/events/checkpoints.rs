//! Moving a checkpoint in the user's own transaction, and how every checkpoint is moved.

use std::sync::Arc;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use tenure_core::StoreError;
use tenure_core::event::StreamName;
use tenure_core::lease::{Fence, FenceError};
use tenure_core::outbox::shorten;
use tenure_core::subscription::{Advance, Checkpoint, Step, SubscriptionName};
use tenure_core::time::StoreTime;

use super::append::lock;
use super::statements::EventStatements;
use crate::clock::Clocks;
use crate::error::Fault;
use crate::fence::Fencing;
use crate::rows::{Plain, READER};
use crate::statements::Statements;

/// Moves checkpoints in transactions of the user's own, together with what came of the events. Cheap to clone; does not
/// use the store's connection.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    pub(super) fencing: Fencing,
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) label: String,
    pub(super) statements: Arc<Statements>,
    pub(super) clocks: Arc<dyn Clocks>,
}

/// What to do in the transaction that is missing.
pub(super) const ADVANCE_FIRST: &str = "move the checkpoint, write what came of the events, commit";

impl Checkpoints {
    pub(crate) fn new(
        fencing: Fencing,
        label: String,
        statements: Arc<Statements>,
        clocks: Arc<dyn Clocks>,
    ) -> Self {
        Self { fencing, inner: Arc::new(Inner { label, statements, clocks }) }
    }

    /// Moves a checkpoint in a transaction of `rusqlite`, so that each event takes effect exactly once. Takes a
    /// [`rusqlite::Transaction`] too, and refuses a connection without an open transaction.
    ///
    /// Only after [`Advance::Advanced`] the transaction may be committed; any other answer means that another reader is at
    /// work, and what this one did must be rolled back.
    ///
    /// ```no_run
    /// # fn project(store: tenure_sqlite::SqliteStore, step: tenure_core::subscription::Step) -> Result<(), Box<dyn std::error::Error>> {
    /// use rusqlite::TransactionBehavior::Immediate;
    /// use tenure_core::subscription::Advance;
    ///
    /// let checkpoints = store.checkpoints();
    /// let mut connection = rusqlite::Connection::open("app.db")?;
    /// let transaction = connection.transaction_with_behavior(Immediate)?;
    /// transaction.execute("update totals set lent = lent + 1", [])?;
    /// match checkpoints.advance_in(&transaction, None, &step)? {
    ///     Advance::Advanced => transaction.commit()?,
    ///     Advance::Fenced | Advance::Moved { .. } => transaction.rollback()?,
    /// }
    /// # Ok(()) }
    /// ```
    pub fn advance_in(
        &self,
        transaction: &Connection,
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, StoreError> {
        let Inner { label, statements, clocks } = &*self.inner;
        let locked = step
            .check()
            .map_err(Fault::from)
            .and_then(|()| lock(transaction, &statements.events, ADVANCE_FIRST));
        locked.map_err(|fault| fault.at(label))?;
        if let Some(fence) = office
            && !holds(label, self.fencing.check(transaction, fence))?
        {
            return Ok(Advance::Fenced);
        }
        let now = clocks.read().wall;
        advance(transaction, &statements.events, step, now).map_err(|fault| fault.at(label))
    }
}

/// Whether the office is held, by what was said of its fence.
pub(super) fn holds(label: &str, checked: Result<(), FenceError>) -> Result<bool, StoreError> {
    match checked {
        Ok(()) => Ok(true),
        Err(FenceError::Fenced(_)) => Ok(false),
        Err(FenceError::Store(error)) => Err(error),
        Err(other) => Err(Fault::Failed(other.to_string()).at(label)),
    }
}

/// Moves a checkpoint for a reader in office, in a transaction that has the write lock.
pub(super) fn advance(
    connection: &Connection,
    statements: &EventStatements,
    step: &Step,
    now: StoreTime,
) -> Result<Advance, Fault> {
    if let Some(elsewhere) = step.elsewhere(place(connection, statements, &step.name)?) {
        return Ok(elsewhere);
    }
    let mut statement = connection.prepare_cached(&statements.checkpoint_write)?;
    statement.execute(params![step.name.as_str(), step.to.0, now.as_micros()])?;
    let mut statement = connection.prepare_cached(&statements.parked_add)?;
    for aside in &step.parked {
        statement.execute(params![
            step.name.as_str(),
            aside.position.0,
            aside.stream.as_ref().map_or("", StreamName::as_str),
            aside.version.0,
            aside.kind,
            aside.attempts,
            now.as_micros(),
            shorten(&aside.reason),
        ])?;
    }
    Ok(Advance::Advanced)
}

/// Where a checkpoint is; at the start when it has never moved.
pub(super) fn place(
    connection: &Connection,
    statements: &EventStatements,
    name: &SubscriptionName,
) -> Result<Checkpoint, Fault> {
    read(connection.prepare_cached(&statements.checkpoint_read)?, name)
}

/// The same, by a statement that is ready.
pub(super) fn read(mut statement: CachedStatement<'_>, name: &SubscriptionName) -> Result<Checkpoint, Fault> {
    let read = |row: &Row<'_>| READER.checkpoint(Some(&Plain::of(row)));
    let found = statement.query_row([name.as_str()], |row| Ok(read(row))).optional()?;
    Ok(found.unwrap_or_else(|| Ok(Checkpoint::default()))?)
}
