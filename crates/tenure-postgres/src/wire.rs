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

/// A UUID, or the text of one: statements that sqlx runs too give it as that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Id(pub(crate) Uuid);

impl<'a> FromSql<'a> for Id {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        Ok(Self(match *kind {
            Type::UUID => Uuid::from_slice(raw)?,
            _ => Uuid::try_parse_ascii(raw)?,
        }))
    }

    accepts!(UUID, TEXT);
}

/// A text; a UUID is written as one.
#[derive(Debug, Clone)]
pub(crate) struct Text(pub(crate) String);

impl<'a> FromSql<'a> for Text {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        match *kind {
            Type::UUID => Ok(Self(Uuid::from_slice(raw)?.to_string())),
            _ => String::from_sql(kind, raw).map(Self),
        }
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID || <String as FromSql>::accepts(kind)
    }
}

/// A whole number of any size; a truth value is 0 or 1, and a moment its microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number(pub(crate) i64);

impl<'a> FromSql<'a> for Number {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        Ok(Self(match *kind {
            Type::INT4 => i32::from_sql(kind, raw)?.into(),
            Type::BOOL => bool::from_sql(kind, raw)?.into(),
            Type::TIMESTAMPTZ => Stamp::from_sql(kind, raw)?.0.as_micros(),
            _ => i64::from_sql(kind, raw)?,
        }))
    }

    accepts!(INT8, INT4, BOOL, TIMESTAMPTZ);
}

/// Bytes; those of a text are its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Raw(pub(crate) Vec<u8>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        Ok(Self(raw.to_vec()))
    }

    accepts!(BYTEA, TEXT);
}

/// A text, whatever its bytes are; a UUID is written as one.
#[derive(Debug, Clone)]
pub(crate) struct Loose(pub(crate) String);

impl<'a> FromSql<'a> for Loose {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        match *kind {
            Type::UUID => Text::from_sql(kind, raw).map(|text| Self(text.0)),
            _ => Ok(Self(String::from_utf8_lossy(raw).into_owned())),
        }
    }

    accepts!(TEXT, UUID);
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
    fn numbers_of_every_kind_are_numbers() {
        let number = |kind: &Type, raw: &[u8]| Number::from_sql(kind, raw).unwrap().0;
        assert_eq!(number(&Type::INT8, &(-7_i64).to_be_bytes()), -7);
        assert_eq!(number(&Type::INT4, &(-7_i32).to_be_bytes()), -7);
        assert_eq!((number(&Type::BOOL, &[1]), number(&Type::BOOL, &[0])), (1, 0));
        assert_eq!(number(&Type::TIMESTAMPTZ, &0_i64.to_be_bytes()), EPOCH_MICROS);
    }

    #[test]
    fn a_uuid_is_a_text_too() {
        let (id, written) = ([7; 16], "07070707-0707-0707-0707-070707070707");
        assert_eq!(Text::from_sql(&Type::UUID, &id).unwrap().0, written);
        assert_eq!(Id::from_sql(&Type::TEXT, written.as_bytes()).unwrap().0, Uuid::from_bytes(id));
        assert_eq!(Loose::from_sql(&Type::UUID, &id).unwrap().0, written);
        assert_eq!(Loose::from_sql(&Type::TEXT, b"a\xff").unwrap().0, "a\u{fffd}");
        Text::from_sql(&Type::TEXT, b"a\xff").unwrap_err();
        assert_eq!(Raw::from_sql(&Type::TEXT, b"a\xff").unwrap().0, b"a\xff");
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
