//! Rows of the tables, as the words of the core.
//!
//! What they mean is read as for all SQL stores, through [`Columns`]: fences are checked and events appended on connections
//! of more than one driver. The queue of the outbox is not read so, for it is read most (`outbox/look.rs`).

use std::cell::Cell;

use rusqlite::types::{FromSql, ToSql, ToSqlOutput, Value, ValueRef};
use rusqlite::{Row, Statement};
use tenure_core::lease::{Change, LeaseName, LeaseRecord};
use tenure_core::time::StoreTime;
use tenure_sql::{Columns, Reader, trust_millis};

use crate::clock::{Reading, Steady};
use crate::error::Fault;

/// Reads rows. The store's name is put to what it says where a [`Fault`] leaves.
pub(crate) const READER: Reader<'static> = Reader { store: "" };

/// A row of `rusqlite`. Columns are mostly read in the order in which they stand, so the search for a name begins behind
/// the column that was found last.
pub(crate) struct Plain<'r, 's> {
    row: &'r Row<'s>,
    names: Option<&'r Names>,
    next: Cell<usize>,
}

/// The names of a statement's columns. To ask SQLite for them takes half as long again as to read an event, so whoever reads
/// many rows asks once.
pub(crate) struct Names(Vec<String>);

impl Names {
    pub(crate) fn of(statement: &Statement<'_>) -> Self {
        Self(statement.column_names().into_iter().map(str::to_owned).collect())
    }
}

impl<'r, 's> Plain<'r, 's> {
    pub(crate) fn of(row: &'r Row<'s>) -> Self {
        Self { row, names: None, next: Cell::new(0) }
    }

    /// One of many, whose names are known.
    pub(crate) fn named(row: &'r Row<'s>, names: &'r Names) -> Self {
        Self { row, names: Some(names), next: Cell::new(0) }
    }

    fn get<T: FromSql>(&self, column: &str) -> Result<T, String> {
        self.row.get(self.place(column)?).map_err(|error| error.to_string())
    }

    fn place(&self, column: &str) -> Result<usize, String> {
        let statement: &Statement<'_> = self.row.as_ref();
        let named = |at: &usize| match self.names {
            Some(Names(names)) => names.get(*at).is_some_and(|name| name == column),
            None => statement.column_name(*at).is_ok_and(|name| name == column),
        };
        let next = self.next.get();
        let found = if named(&next) { Some(next) } else { (0..statement.column_count()).find(named) };
        let found = found.ok_or_else(|| "there is no such column".to_owned())?;
        self.next.set(found + 1);
        Ok(found)
    }
}

impl Columns for Plain<'_, '_> {
    fn text(&self, column: &str) -> Result<Option<String>, String> {
        self.get(column)
    }

    fn number(&self, column: &str) -> Result<Option<i64>, String> {
        self.get(column)
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String> {
        match self.row.get_ref(self.place(column)?).map_err(|error| error.to_string())? {
            ValueRef::Null => Ok(None),
            ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Ok(Some(bytes.to_vec())),
            _ => Err("it holds a number where bytes should be".into()),
        }
    }
}

/// A row of sqlx.
#[cfg(feature = "sqlx")]
pub(crate) struct OfSqlx<'r>(pub(crate) &'r sqlx::sqlite::SqliteRow);

#[cfg(feature = "sqlx")]
impl Columns for OfSqlx<'_> {
    fn text(&self, column: &str) -> Result<Option<String>, String> {
        sqlx::Row::try_get(self.0, column).map_err(|_| UNREADABLE.into())
    }

    fn number(&self, column: &str) -> Result<Option<i64>, String> {
        sqlx::Row::try_get(self.0, column).map_err(|_| UNREADABLE.into())
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String> {
        sqlx::Row::try_get(self.0, column).map_err(|_| UNREADABLE.into())
    }
}

/// Said instead of the driver's own words, which may hold the value.
#[cfg(feature = "sqlx")]
const UNREADABLE: &str = "it cannot be read";

/// A row of a table that anyone may insert into. SQLite does not check that a text is UTF-8; what is none is read as said.
pub(crate) struct Foreign<R> {
    pub(crate) row: R,
    /// What a text is that is no UTF-8.
    pub(crate) garbled: fn(&[u8]) -> String,
}

impl<R: Columns> Foreign<R> {
    /// For people to see: as much of it as can be shown.
    pub(crate) fn shown(row: R) -> Self {
        Self { row, garbled: |bytes| String::from_utf8_lossy(bytes).into_owned() }
    }

    /// To be compared: as what no message can say.
    pub(crate) fn compared(row: R) -> Self {
        Self { row, garbled: |_| "\0".into() }
    }
}

impl<R: Columns> Columns for Foreign<R> {
    fn text(&self, column: &str) -> Result<Option<String>, String> {
        let read = |bytes| String::from_utf8(bytes).unwrap_or_else(|error| (self.garbled)(error.as_bytes()));
        Ok(self.row.bytes(column)?.map(read))
    }

    fn number(&self, column: &str) -> Result<Option<i64>, String> {
        self.row.number(column)
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String> {
        self.row.bytes(column)
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
    /// Reads the columns of `lease_columns.sql`.
    pub(crate) fn read(row: &impl Columns) -> Result<Self, Fault> {
        let record = READER.lease(row)?;
        let boot = READER.maybe(row.text("clock_boot"), "clock_boot")?;
        let steady = boot.zip(READER.maybe(row.number("clock_us"), "clock_us")?);
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
    pub(crate) fn values(&self) -> Result<[Value; 21], Fault> {
        let Self { record, steady } = self;
        let renewals =
            i64::try_from(record.renewals).map_err(|_| Fault::Failed("renewals have run out".into()))?;
        let (presence, origin) = (record.presence.as_ref(), record.origin.as_ref());
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
            presence.map(|announced| trust_millis(announced.trust)).into(),
            steady.as_ref().map(|steady| steady.boot.to_string()).into(),
            steady.as_ref().map(|steady| steady.micros).into(),
            origin.and_then(|origin| origin.epoch.clone()).into(),
            origin.map(|origin| origin.term.as_column()).into(),
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

/// A lease's name as a bound value.
pub(crate) struct NameValue<'a>(pub(crate) &'a LeaseName);

impl ToSql for NameValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.as_str().into())
    }
}

fn text(value: &impl ToString) -> Value {
    value.to_string().into()
}
