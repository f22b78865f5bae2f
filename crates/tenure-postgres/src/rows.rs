//! Rows of the two drivers, ours and sqlx in a user's transaction, as the [`Columns`](tenure_sql::Columns) that all SQL
//! stores read by; and moments, as ours writes them.

use std::time::{Duration, SystemTime};

use tenure_core::time::StoreTime;
use tenure_sql::Columns;
use tenure_sql::limits::LAST_MICROS;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::wire::{Id, Loose, Number, Raw, Text};

/// A row of tokio-postgres.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain<'r>(pub(crate) &'r Row);

impl<'r> Plain<'r> {
    fn get<T: FromSql<'r>>(self, column: &str) -> Result<Option<T>, String> {
        self.0.try_get(column).map_err(|error| error.to_string())
    }
}

impl Columns for Plain<'_> {
    fn text(&self, column: &str) -> Result<Option<String>, String> {
        Ok(self.get::<Text>(column)?.map(|text| text.0))
    }

    fn number(&self, column: &str) -> Result<Option<i64>, String> {
        Ok(self.get::<Number>(column)?.map(|number| number.0))
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.get::<Raw>(column)?.map(|bytes| bytes.0))
    }

    fn uuid(&self, column: &str) -> Result<Option<Uuid>, String> {
        Ok(self.get::<Id>(column)?.map(|id| id.0))
    }
}

/// The same of a table that anyone may insert into, for people to see: what is no UTF-8 in it is shown as well as it can be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'r>(pub(crate) &'r Row);

impl Columns for Shown<'_> {
    fn text(&self, column: &str) -> Result<Option<String>, String> {
        Ok(Plain(self.0).get::<Loose>(column)?.map(|text| text.0))
    }

    fn number(&self, column: &str) -> Result<Option<i64>, String> {
        Plain(self.0).number(column)
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String> {
        Plain(self.0).bytes(column)
    }
}

/// A row of sqlx.
#[cfg(feature = "sqlx")]
pub(crate) struct OfSqlx<'r>(pub(crate) &'r sqlx::postgres::PgRow);

#[cfg(feature = "sqlx")]
impl Columns for OfSqlx<'_> {
    fn text(&self, column: &str) -> Result<Option<String>, String> {
        sqlx::Row::try_get(self.0, column).map_err(|error| error.to_string())
    }

    fn number(&self, column: &str) -> Result<Option<i64>, String> {
        sqlx::Row::try_get(self.0, column).map_err(|error| error.to_string())
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String> {
        sqlx::Row::try_get(self.0, column).map_err(|error| error.to_string())
    }
}

/// A moment as the driver writes it. Exact to the microsecond, as the server's clock is.
pub(crate) fn moment(at: StoreTime) -> SystemTime {
    let micros = at.as_micros().clamp(0, LAST_MICROS).unsigned_abs();
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
}
