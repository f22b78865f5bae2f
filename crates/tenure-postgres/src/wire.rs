//! Values as they cross the wire, where the driver's own types would lose something.
//!
//! A row of the outbox may have been inserted by anyone: a time may be infinite, a text in a database without an encoding
//! may not be UTF-8. Neither may keep the relay from reading the rows around it.

use std::error::Error;

use tenure_core::time::StoreTime;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};
use uuid::Uuid;

type Problem = Box<dyn Error + Sync + Send>;

/// From 1970, where our time begins, to 2000, where that of Postgres does, in microseconds.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// A moment, exact to the microsecond. What lies outside of our time is its first or its last moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp(pub(crate) StoreTime);

impl Stamp {
    /// Before every moment: minus infinity.
    pub(crate) const FIRST: Self = Self(StoreTime::from_micros(i64::MIN));
}

impl<'a> FromSql<'a> for Stamp {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(StoreTime::from_micros(micros.saturating_add(EPOCH_MICROS))))
    }

    accepts!(TIMESTAMPTZ);
}

impl ToSql for Stamp {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Problem> {
        out.extend_from_slice(&self.0.as_micros().saturating_sub(EPOCH_MICROS).to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

/// A UUID.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Id(pub(crate) Uuid);

impl<'a> FromSql<'a> for Id {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        Ok(Self(Uuid::from_slice(raw)?))
    }

    accepts!(UUID);
}

/// A text, whatever its bytes are.
#[derive(Debug, Clone)]
pub(crate) struct Loose(pub(crate) String);

impl<'a> FromSql<'a> for Loose {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        Ok(Self(String::from_utf8_lossy(raw).into_owned()))
    }

    accepts!(TEXT);
}

/// That something is there, whatever it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anything;

impl<'a> FromSql<'a> for Anything {
    fn from_sql(_: &Type, _: &'a [u8]) -> Result<Self, Problem> {
        Ok(Self)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(micros: i64) -> StoreTime {
        Stamp::from_sql(&Type::TIMESTAMPTZ, &micros.to_be_bytes()).unwrap().0
    }

    #[test]
    fn infinite_times_are_the_ends_of_ours() {
        assert_eq!(read(i64::MAX).as_micros(), i64::MAX);
        assert!(read(i64::MIN) < StoreTime::from_micros(0));
        assert_eq!(read(0).to_string(), "2000-01-01T00:00:00.000Z");
    }

    #[test]
    fn what_was_read_is_written_as_it_was() {
        for micros in [i64::MIN, -1, 0, 1, 1_000_000] {
            let mut out = BytesMut::new();
            Stamp(read(micros)).to_sql(&Type::TIMESTAMPTZ, &mut out).unwrap();
            assert_eq!(out[..], micros.to_be_bytes());
        }
        let mut out = BytesMut::new();
        Stamp::FIRST.to_sql(&Type::TIMESTAMPTZ, &mut out).unwrap();
        assert_eq!(out[..], i64::MIN.to_be_bytes(), "minus infinity");
    }
}
