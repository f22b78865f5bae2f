//! From rows to records and back.
//!
//! Rows are read as plain texts and numbers through [`Columns`], because two drivers read them: ours, and sqlx in a
//! user's transaction. What no version of Tenure wrote is reported as corrupt and never guessed at.

use std::time::{Duration, SystemTime};

use tenure_core::StoreError;
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Announced, Change, LeaseName, LeaseRecord, Term};
use tenure_core::time::StoreTime;

/// A row of any driver.
pub(crate) trait Columns {
    fn text(&self, column: &str) -> Result<Option<String>, String>;
    fn number(&self, column: &str) -> Result<Option<i64>, String>;
    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String>;
}

impl Columns for tokio_postgres::Row {
    fn text(&self, column: &str) -> Result<Option<String>, String> {
        self.try_get(column).map_err(|error| error.to_string())
    }

    fn number(&self, column: &str) -> Result<Option<i64>, String> {
        self.try_get(column).map_err(|error| error.to_string())
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String> {
        self.try_get(column).map_err(|error| error.to_string())
    }
}

#[cfg(feature = "sqlx")]
impl Columns for sqlx::postgres::PgRow {
    fn text(&self, column: &str) -> Result<Option<String>, String> {
        sqlx::Row::try_get(self, column).map_err(|error| error.to_string())
    }

    fn number(&self, column: &str) -> Result<Option<i64>, String> {
        sqlx::Row::try_get(self, column).map_err(|error| error.to_string())
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String> {
        sqlx::Row::try_get(self, column).map_err(|error| error.to_string())
    }
}

/// Reads rows of one store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) store: &'a str,
}

impl Reader<'_> {
    /// The lease that a row stands for, if there is one, and the store's clock.
    pub(crate) fn lease_and_now(
        self,
        row: &impl Columns,
    ) -> Result<(Option<LeaseRecord>, StoreTime), StoreError> {
        let now = self.need(row.number("now_us"), "now_us")?;
        let is_there = row.text("name").map_err(|error| self.corrupt(error))?.is_some();
        let record = if is_there { Some(self.lease(row)?) } else { None };
        Ok((record, StoreTime::from_micros(now)))
    }

    pub(crate) fn lease(self, row: &impl Columns) -> Result<LeaseRecord, StoreError> {
        let moment = |column| self.maybe(row.number(column), column).map(|at| at.map(StoreTime::from_micros));
        let always = |column| self.need(row.number(column), column).map(StoreTime::from_micros);
        Ok(LeaseRecord {
            name: self.name(row)?,
            term: self.term(row)?,
            node: self.node(row)?,
            claim: self.unique(self.need(row.text("claim"), "claim")?, "claim")?,
            renewals: self.fits(self.need(row.number("renewals"), "renewals")?, "renewals")?,
            kind: self.maybe(row.text("kind"), "kind")?,
            backend: self.need(row.text("backend"), "backend")?,
            acquired_at: always("acquired_us")?,
            renewed_at: always("renewed_us")?,
            expires_at: always("expires_us")?,
            released_at: moment("released_us")?,
            revoked_at: moment("revoked_us")?,
            presence: self.presence(row)?,
        })
    }

    pub(crate) fn change(self, row: &impl Columns) -> Result<Change, StoreError> {
        let cause = self.need(row.text("cause"), "cause")?;
        Ok(Change {
            name: self.name(row)?,
            term: self.term(row)?,
            cause: cause.parse().map_err(|_| self.corrupt("an unknown cause in the history".into()))?,
            node: self.node(row)?,
            at: StoreTime::from_micros(self.need(row.number("at_us"), "at_us")?),
        })
    }

    /// The number in a column that may be empty.
    pub(crate) fn optional_term(self, row: &impl Columns) -> Result<Option<Term>, StoreError> {
        let Some(number) = self.maybe(row.number("term"), "term")? else { return Ok(None) };
        Term::from_column(number).map(Some).ok_or_else(|| self.corrupt(format!("term {number}")))
    }

    pub(crate) fn version(self, row: &impl Columns) -> Result<u32, StoreError> {
        self.fits(self.need(row.number("version"), "version")?, "version")
    }

    fn name(self, row: &impl Columns) -> Result<LeaseName, StoreError> {
        LeaseName::new(self.need(row.text("name"), "name")?).map_err(|error| self.corrupt(error.to_string()))
    }

    fn term(self, row: &impl Columns) -> Result<Term, StoreError> {
        self.optional_term(row)?.ok_or_else(|| self.corrupt("column term is empty".into()))
    }

    fn node(self, row: &impl Columns) -> Result<Node, StoreError> {
        let name = NodeName::new(self.need(row.text("node"), "node")?);
        Ok(Node {
            name: name.map_err(|error| self.corrupt(error.to_string()))?,
            incarnation: self.unique(self.need(row.text("incarnation"), "incarnation")?, "incarnation")?,
            machine: self.need(row.text("machine"), "machine")?,
            pid: self.fits(self.need(row.number("pid"), "pid")?, "pid")?,
        })
    }

    fn presence(self, row: &impl Columns) -> Result<Option<Announced>, StoreError> {
        let session = self.maybe(row.text("presence"), "presence")?;
        let trust = self.maybe(row.number("presence_trust_ms"), "presence_trust_ms")?;
        let (Some(session), Some(trust)) = (session, trust) else { return Ok(None) };
        let trust = Duration::from_millis(self.fits(trust, "presence_trust_ms")?);
        Ok(Some(Announced { session: self.unique(session, "presence")?, trust }))
    }

    pub(crate) fn need<T>(self, value: Result<Option<T>, String>, column: &str) -> Result<T, StoreError> {
        self.maybe(value, column)?.ok_or_else(|| self.corrupt(format!("column {column} is empty")))
    }

    pub(crate) fn maybe<T>(
        self,
        value: Result<Option<T>, String>,
        column: &str,
    ) -> Result<Option<T>, StoreError> {
        value.map_err(|error| self.corrupt(format!("column {column}: {error}")))
    }

    pub(crate) fn unique(self, text: String, column: &str) -> Result<Unique, StoreError> {
        text.parse().map_err(|error| self.corrupt(format!("column {column}: {error}")))
    }

    pub(crate) fn fits<T: TryFrom<i64>>(self, number: i64, column: &str) -> Result<T, StoreError> {
        T::try_from(number).map_err(|_| self.corrupt(format!("column {column} holds {number}")))
    }

    pub(crate) fn corrupt(self, message: String) -> StoreError {
        StoreError::Corrupt { store: self.store.to_owned(), message }
    }
}

/// The end of the year 9999: what a time that saturated becomes, so that it can still be written.
const LAST_MICROS: i64 = 253_402_300_799_000_000;
/// A hundred years: the longest span that is added to the server's clock.
const LONGEST_MICROS: u128 = 100 * 366 * 86_400 * 1_000_000;

/// A moment as the driver writes it. Exact to the microsecond, as the server's clock is.
pub(crate) fn moment(at: StoreTime) -> SystemTime {
    let micros = at.as_micros().clamp(0, LAST_MICROS).unsigned_abs();
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
}

/// A span in microseconds, as the statements want it.
pub(crate) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros().min(LONGEST_MICROS)).unwrap_or(i64::MAX)
}

/// A span in whole milliseconds, rounded up: a contender must not wait shorter than the holder trusts.
pub(crate) fn trust_millis(span: Duration) -> i32 {
    i32::try_from(span.as_micros().div_ceil(1000)).unwrap_or(i32::MAX)
}
