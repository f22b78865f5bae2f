//! Rows of the tables, as the words of the core.
//!
//! Whatever a row holds that no version of Tenure wrote is an error that names the column. Rows are read through
//! [`Columns`], because fences are checked and events appended on connections of more than one driver.

use std::str::FromStr;
use std::time::Duration;

use rusqlite::types::{ToSql, ToSqlOutput, Value};
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Announced, Cause, Change, LeaseName, LeaseRecord, Term};
use tenure_core::outbox::Body;
use tenure_core::time::StoreTime;

use crate::clock::{Reading, Steady};
use crate::error::Fault;

/// A row that some driver read.
pub(crate) trait Columns {
    /// The text in a column.
    fn text(&self, at: usize) -> Result<Option<String>, Fault>;
    /// The integer in a column.
    fn integer(&self, at: usize) -> Result<Option<i64>, Fault>;
    /// The bytes in a column.
    fn bytes(&self, at: usize) -> Result<Option<Vec<u8>>, Fault>;
}

impl Columns for rusqlite::Row<'_> {
    fn text(&self, at: usize) -> Result<Option<String>, Fault> {
        Ok(self.get(at)?)
    }
    fn integer(&self, at: usize) -> Result<Option<i64>, Fault> {
        Ok(self.get(at)?)
    }
    fn bytes(&self, at: usize) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.get(at)?)
    }
}

/// A lease's row, with the steady clock's reading that belongs to its last stamp.
#[derive(Debug, Clone)]
pub(crate) struct LeaseRow {
    pub(crate) record: LeaseRecord,
    pub(crate) steady: Option<Steady>,
}

/// Below this, the two clocks have drifted, not stepped. A row that is only shown is then shown as it is: shifting it
/// by the difference of two readings would make it differ from itself from one look to the next.
const DRIFT_US: i64 = 100_000;

impl LeaseRow {
    /// Reads the columns of `lease_read.sql`, `lease_list.sql` and `lease_sweep.sql`.
    pub(crate) fn read(row: &impl Columns) -> Result<Self, Fault> {
        let time = |at, column| need(row.integer(at)?, column).map(StoreTime::from_micros);
        let maybe_time = |at| row.integer(at).map(|micros| micros.map(StoreTime::from_micros));
        let record = LeaseRecord {
            name: name(row.text(0)?)?,
            term: term(row.integer(1)?)?,
            node: node(row.text(2)?, row.text(3)?, row.text(6)?, row.integer(7)?)?,
            claim: parse(row.text(4)?, "claim")?,
            renewals: u64::try_from(need(row.integer(5)?, "renewals")?).map_err(|_| nonsense("renewals"))?,
            kind: row.text(8)?,
            backend: need(row.text(9)?, "backend")?,
            acquired_at: time(10, "acquired_at")?,
            renewed_at: time(11, "renewed_at")?,
            expires_at: time(12, "expires_at")?,
            released_at: maybe_time(13)?,
            revoked_at: maybe_time(14)?,
            presence: presence(row.text(15)?, row.integer(16)?)?,
        };
        let steady = row.text(17)?.zip(row.integer(18)?);
        Ok(Self { record, steady: steady.map(|(boot, micros)| Steady { boot: boot.into(), micros }) })
    }

    /// The record in today's wall time: whoever judges it at `now.wall` judges it by its own clock.
    pub(crate) fn seen_at(&self, now: &Reading) -> LeaseRecord {
        self.shifted(self.wall_step(now))
    }

    /// The record for people to see, next to `now.wall`.
    pub(crate) fn shown_at(&self, now: &Reading) -> LeaseRecord {
        let step = self.wall_step(now);
        self.shifted(if step.abs() < DRIFT_US { 0 } else { step })
    }

    /// By how much the wall clock went ahead of the steady one since the row's last stamp.
    fn wall_step(&self, now: &Reading) -> i64 {
        let by_its_clock = now.since(self.record.renewed_at, self.steady.as_ref());
        now.wall.as_micros().saturating_sub(by_its_clock.as_micros())
    }

    fn shifted(&self, step: i64) -> LeaseRecord {
        let shift = |time: StoreTime| StoreTime::from_micros(time.as_micros().saturating_add(step));
        let record = &self.record;
        LeaseRecord {
            renewed_at: shift(record.renewed_at),
            expires_at: shift(record.expires_at),
            ..record.clone()
        }
    }

    /// The values of `lease_write.sql`.
    pub(crate) fn values(&self) -> Result<[Value; 19], Fault> {
        let Self { record, steady } = self;
        let renewals =
            i64::try_from(record.renewals).map_err(|_| Fault::Failed("renewals have run out".into()))?;
        let presence = record.presence.as_ref();
        Ok([
            text(&record.name),
            record.term.as_column().into(),
            text(&record.node.name),
            text(&record.node.incarnation),
            text(&record.claim),
            renewals.into(),
            text(&record.node.machine),
            record.node.pid.into(),
            record.kind.clone().into(),
            text(&record.backend),
            record.acquired_at.as_micros().into(),
            record.renewed_at.as_micros().into(),
            record.expires_at.as_micros().into(),
            record.released_at.map(StoreTime::as_micros).into(),
            record.revoked_at.map(StoreTime::as_micros).into(),
            presence.map(|announced| announced.session.to_string()).into(),
            presence.map(|announced| whole_millis(announced.trust)).into(),
            steady.as_ref().map(|steady| steady.boot.to_string()).into(),
            steady.as_ref().map(|steady| steady.micros).into(),
        ])
    }
}

/// The values of `history_add.sql`.
pub(crate) fn change_values(change: &Change) -> [Value; 8] {
    [
        text(&change.name),
        change.term.as_column().into(),
        text(&change.cause),
        text(&change.node.name),
        text(&change.node.incarnation),
        text(&change.node.machine),
        change.node.pid.into(),
        change.at.as_micros().into(),
    ]
}

/// Reads the columns of `history_list.sql`.
pub(crate) fn change(row: &impl Columns) -> Result<Change, Fault> {
    Ok(Change {
        name: name(row.text(0)?)?,
        term: term(row.integer(1)?)?,
        cause: parse::<Cause>(row.text(2)?, "cause")?,
        node: node(row.text(3)?, row.text(4)?, row.text(5)?, row.integer(6)?)?,
        at: StoreTime::from_micros(need(row.integer(7)?, "at")?),
    })
}

/// A lease's name as a bound value.
pub(crate) struct NameValue<'a>(pub(crate) &'a LeaseName);

impl ToSql for NameValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.as_str().into())
    }
}

/// A payload as text, or as bytes: the two columns that hold it.
pub(crate) fn payload(body: &Body) -> (Option<&str>, Option<&[u8]>) {
    match body {
        Body::Text(text) => (Some(text), None),
        Body::Bytes(bytes) => (None, Some(bytes)),
    }
}

fn text(value: &impl ToString) -> Value {
    value.to_string().into()
}

/// Rounded up: a contender that waits a little longer than the holder trusts itself is safe, the other way is not.
fn whole_millis(span: Duration) -> i64 {
    i64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

fn name(text: Option<String>) -> Result<LeaseName, Fault> {
    LeaseName::new(need(text, "name")?).map_err(|_| nonsense("name"))
}

fn term(number: Option<i64>) -> Result<Term, Fault> {
    Term::from_column(need(number, "term")?).ok_or_else(|| nonsense("term"))
}

pub(crate) fn node(
    name: Option<String>,
    incarnation: Option<String>,
    machine: Option<String>,
    pid: Option<i64>,
) -> Result<Node, Fault> {
    Ok(Node {
        name: NodeName::new(need(name, "node")?).map_err(|_| nonsense("node"))?,
        incarnation: parse(incarnation, "incarnation")?,
        machine: need(machine, "machine")?,
        pid: u32::try_from(need(pid, "pid")?).map_err(|_| nonsense("pid"))?,
    })
}

fn presence(session: Option<String>, trust_ms: Option<i64>) -> Result<Option<Announced>, Fault> {
    let Some(session) = session else { return Ok(None) };
    let session: Unique = parse(Some(session), "presence")?;
    let trust_ms =
        u64::try_from(need(trust_ms, "presence_trust_ms")?).map_err(|_| nonsense("presence_trust_ms"))?;
    Ok(Some(Announced { session, trust: Duration::from_millis(trust_ms) }))
}

pub(crate) fn parse<T: FromStr>(text: Option<String>, column: &str) -> Result<T, Fault> {
    need(text, column)?.parse().map_err(|_| nonsense(column))
}

pub(crate) fn need<T>(value: Option<T>, column: &str) -> Result<T, Fault> {
    value.ok_or_else(|| nonsense(column))
}

pub(crate) fn nonsense(column: &str) -> Fault {
    Fault::Corrupt(format!("the column {column} holds nothing that Tenure wrote"))
}
