//! Checking a fence in the user's own transaction.
//!
//! A fence is worth something only in the transaction that makes the protected write, on the database that holds both the
//! lease and what is written. There, either the write comes first and whoever takes the lease over sees it, or the
//! take-over comes first and the fence is refused; outside a transaction the take-over could come between.
//!
//! Begin that transaction with `BEGIN IMMEDIATE`. A deferred one is as safe, but when someone else wrote between the check
//! and the write, the write fails with `SQLITE_BUSY_SNAPSHOT` and the whole transaction has to be made again.

use std::sync::Arc;

use rusqlite::Connection;
use tenure_core::lease::{Fence, FenceError, Fenced, Loss, decide};

use crate::clock::{Clocks, Reading};
use crate::error::Fault;
use crate::files::Files;
use crate::rows::LeaseRow;
use crate::statements::Statements;
use crate::writing::read_lease;

/// Checks fences on connections of the user's own. Cheap to clone; does not use the store's connection.
#[derive(Debug, Clone)]
pub struct Fencing {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    label: String,
    statements: Arc<Statements>,
    clocks: Arc<dyn Clocks>,
    files: Arc<Files>,
}

/// The values that [`Fencing::statement`] binds, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceParameters {
    /// `?1`: the lease.
    pub lease: String,
    /// `?2`: the term.
    pub term: i64,
    /// `?3`: the wall clock, in microseconds since 1970.
    pub wall_us: i64,
    /// `?4`: which start of the machine the steady clock counts from.
    pub boot: Option<String>,
    /// `?5`: the steady clock, in microseconds.
    pub steady_us: Option<i64>,
}

impl Fencing {
    pub(crate) fn new(
        label: String,
        statements: Arc<Statements>,
        clocks: Arc<dyn Clocks>,
        files: Arc<Files>,
    ) -> Self {
        Self { inner: Arc::new(Inner { label, statements, clocks, files }) }
    }

    /// Answers whether the grant holds, and goes on holding until the transaction ends. Takes a
    /// [`rusqlite::Transaction`] too, and refuses a connection without an open transaction.
    ///
    /// ```no_run
    /// # fn pay(store: tenure_sqlite::SqliteStore, fence: tenure_core::lease::Fence) -> Result<(), Box<dyn std::error::Error>> {
    /// use rusqlite::TransactionBehavior::Immediate;
    ///
    /// let fencing = store.fencing();
    /// let mut connection = rusqlite::Connection::open("app.db")?;
    /// let transaction = connection.transaction_with_behavior(Immediate)?;
    /// fencing.check(&transaction, &fence)?;
    /// transaction.execute("update account set balance = balance - 10 where id = 7", [])?;
    /// transaction.commit()?;
    /// # Ok(()) }
    /// ```
    pub fn check(&self, transaction: &Connection, fence: &Fence) -> Result<(), FenceError> {
        if transaction.is_autocommit() {
            return Err(self.fault(no_transaction("check the fence, write, commit")));
        }
        let row = read_lease(transaction, &self.inner.statements, &fence.lease)
            .map_err(|fault| self.fault(fault))?;
        self.decide(row.as_ref(), fence)
    }

    /// Like [`check`](Self::check), on a connection of sqlx. The transaction has to be begun through sqlx
    /// (`begin_with("BEGIN IMMEDIATE")` is advised), for otherwise sqlx does not know of it.
    #[cfg(feature = "sqlx")]
    pub async fn check_sqlx(
        &self,
        transaction: &mut sqlx::SqliteConnection,
        fence: &Fence,
    ) -> Result<(), FenceError> {
        use sqlx::Connection as _;

        if !transaction.is_in_transaction() {
            return Err(self.fault(no_transaction("check the fence, write, commit")));
        }
        let statement = crate::statements::for_sqlx(&self.inner.statements.lease_read);
        let found =
            sqlx::query(statement).bind(fence.lease.as_str().to_owned()).fetch_optional(transaction).await;
        let found = found.map_err(|error| self.fault(from_sqlx(error)))?;
        let row = found
            .as_ref()
            .map(|row| LeaseRow::read(&crate::rows::OfSqlx(row)))
            .transpose()
            .map_err(|fault| self.fault(fault))?;
        self.decide(row.as_ref(), fence)
    }

    /// The check as one statement, for other drivers: it returns a row when the grant holds, and none when it is over.
    /// Run it inside the transaction of the write, with [`parameters`](Self::parameters) made after it was begun.
    pub fn statement(&self) -> &str {
        &self.inner.statements.fence_check
    }

    /// The values for [`statement`](Self::statement), with the clocks of this moment.
    pub fn parameters(&self, fence: &Fence) -> FenceParameters {
        let Reading { wall, steady } = self.inner.clocks.read();
        FenceParameters {
            lease: fence.lease.as_str().to_owned(),
            term: fence.term.as_column(),
            wall_us: wall.as_micros(),
            boot: steady.as_ref().map(|steady| steady.boot.to_string()),
            steady_us: steady.map(|steady| steady.micros),
        }
    }

    fn decide(&self, row: Option<&LeaseRow>, fence: &Fence) -> Result<(), FenceError> {
        // In another file, the same term may be another's.
        match self.inner.files.check() {
            Err(Fault::Replaced) => {
                return Err(Fenced { fence: fence.clone(), loss: Loss::Unknown }.into());
            }
            checked => checked.map_err(|fault| self.fault(fault))?,
        }
        // Inside the transaction, the row cannot change any more; the clocks are read last, so as not to be early.
        let now = self.inner.clocks.read();
        let seen = row.map(|row| row.seen_at(&now));
        Ok(decide::check(seen.as_ref(), fence, now.wall).into_result()?)
    }

    fn fault(&self, fault: Fault) -> FenceError {
        fault.at(&self.inner.label).into()
    }
}

/// What was asked means something only inside a transaction; `then` says what to do in it.
pub(crate) fn no_transaction(then: &str) -> Fault {
    Fault::Failed(format!("no transaction is open on the connection; begin one, {then}"))
}

/// Both drivers speak of the same library, so its codes mean the same.
#[cfg(feature = "sqlx")]
pub(crate) fn from_sqlx(error: sqlx::Error) -> Fault {
    let said = error.as_database_error();
    let code = said.and_then(|said| said.code()?.parse().ok());
    match (said, code) {
        (Some(said), Some(code)) => {
            let message = Some(said.message().to_owned());
            Fault::Sqlite(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), message))
        }
        _ => Fault::Failed(format!("the driver gave no answer: {error}")),
    }
}
