//! Rows of leases and their history.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::id::{Node, NodeName};
use tenure_core::lease::{Announced, Change, Fate, HistoryId, LeaseName, LeaseRecord, Term};
use tenure_core::registry::Origin;
use tenure_core::time::StoreTime;

use super::{Columns, Reader};

impl Reader<'_> {
    /// The lease that a row stands for, if there is one, and the store's clock.
    pub fn lease_and_now(self, row: &impl Columns) -> Result<(Option<LeaseRecord>, StoreTime), StoreError> {
        let now = self.need(row.number("now_us"), "now_us")?;
        let is_there = row.text("name").map_err(|error| self.corrupt(error))?.is_some();
        let record = if is_there { Some(self.lease(row)?) } else { None };
        Ok((record, StoreTime::from_micros(now)))
    }

    /// The lease that a row stands for.
    pub fn lease(self, row: &impl Columns) -> Result<LeaseRecord, StoreError> {
        let name = self.need(row.text("name"), "name")?;
        self.named("leases", &name, self.read_lease(row))
    }

    fn read_lease(self, row: &impl Columns) -> Result<LeaseRecord, StoreError> {
        let moment =
            |column, called| self.maybe(row.number(column), called).map(|at| at.map(StoreTime::from_micros));
        let always = |column, called| self.need(row.number(column), called).map(StoreTime::from_micros);
        Ok(LeaseRecord {
            name: self.lease_name(row)?,
            term: self.term(row)?,
            node: self.node(row)?,
            claim: self.unique(self.need(row.text("claim"), "claim")?, "claim")?,
            renewals: self.fits(self.need(row.number("renewals"), "renewals")?, "renewals")?,
            kind: self.maybe(row.text("kind"), "kind")?,
            backend: self.need(row.text("backend"), "backend")?,
            acquired_at: always("acquired_us", "acquired_at")?,
            renewed_at: always("renewed_us", "renewed_at")?,
            expires_at: always("expires_us", "expires_at")?,
            released_at: moment("released_us", "released_at")?,
            revoked_at: moment("revoked_us", "revoked_at")?,
            presence: self.presence(row)?,
            origin: self.origin(row)?,
        })
    }

    /// A line of history, and what may become of it: `id` and `fate`.
    pub fn fate(self, row: &impl Columns) -> Result<(HistoryId, Fate), StoreError> {
        let id = HistoryId(self.need(row.number("id"), "id")?);
        let fate = match self.need(row.number("fate"), "fate")? {
            0 => Fate::Last,
            1 => Fate::Goes,
            _ => Fate::Young,
        };
        Ok((id, fate))
    }

    /// A line of history.
    pub fn change(self, row: &impl Columns) -> Result<Change, StoreError> {
        let id = self.need(row.number("id"), "id")?;
        self.named("lease_history", &id.to_string(), self.read_change(row, HistoryId(id)))
    }

    fn read_change(self, row: &impl Columns, id: HistoryId) -> Result<Change, StoreError> {
        let cause = self.need(row.text("cause"), "cause")?;
        Ok(Change {
            name: self.lease_name(row)?,
            term: self.term(row)?,
            cause: cause
                .parse()
                .map_err(|_| self.corrupt("column cause holds no cause that Tenure knows".into()))?,
            node: self.node(row)?,
            at: StoreTime::from_micros(self.need(row.number("at_us"), "at")?),
            id: Some(id),
        })
    }

    /// The number in a column that may be empty.
    pub fn optional_term(self, row: &impl Columns) -> Result<Option<Term>, StoreError> {
        let Some(number) = self.maybe(row.number("term"), "term")? else { return Ok(None) };
        Term::from_column(number).map(Some).ok_or_else(|| self.corrupt(format!("column term holds {number}")))
    }

    /// The version of a schema.
    pub fn version(self, row: &impl Columns) -> Result<u32, StoreError> {
        self.fits(self.need(row.number("version"), "version")?, "version")
    }

    /// The name of the lease that a row stands for.
    pub fn lease_name(self, row: &impl Columns) -> Result<LeaseName, StoreError> {
        let name = LeaseName::new(self.need(row.text("name"), "name")?);
        name.map_err(|error| self.corrupt(format!("column name: {error}")))
    }

    fn term(self, row: &impl Columns) -> Result<Term, StoreError> {
        self.optional_term(row)?.ok_or_else(|| self.corrupt("column term is empty".into()))
    }

    pub(super) fn node(self, row: &impl Columns) -> Result<Node, StoreError> {
        let name = NodeName::new(self.need(row.text("node"), "node")?);
        Ok(Node {
            name: name.map_err(|error| self.corrupt(format!("column node: {error}")))?,
            incarnation: self.unique(self.need(row.text("incarnation"), "incarnation")?, "incarnation")?,
            machine: self.need(row.text("machine"), "machine")?,
            pid: self.fits(self.need(row.number("pid"), "pid")?, "pid")?,
        })
    }

    fn origin(self, row: &impl Columns) -> Result<Option<Origin>, StoreError> {
        let epoch = self.maybe(row.text("origin_epoch"), "origin_epoch")?;
        let Some(number) = self.maybe(row.number("origin_term"), "origin_term")? else { return Ok(None) };
        let term = Term::from_column(number)
            .ok_or_else(|| self.corrupt(format!("column origin_term holds {number}")))?;
        Ok(Some(Origin { epoch, term }))
    }

    fn presence(self, row: &impl Columns) -> Result<Option<Announced>, StoreError> {
        let session = self.maybe(row.text("presence"), "presence")?;
        let Some(session) = session else { return Ok(None) };
        let session = self.unique(session, "presence")?;
        let trust = self.need(row.number("presence_trust_ms"), "presence_trust_ms")?;
        Ok(Some(Announced { session, trust: Duration::from_millis(self.fits(trust, "presence_trust_ms")?) }))
    }
}
