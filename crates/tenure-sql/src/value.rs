//! What goes into a statement.

use std::time::Duration;

use tenure_core::time::StoreTime;

use crate::limits::{LAST_MICROS, LONGEST_MICROS};

/// A parameter. How it reaches the server (bound, or as a literal) is the driver's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number; a truth value is 0 or 1.
    Int(i64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A moment by the store's clock.
    Time(StoreTime),
    /// Several values where the statement says `IN ($1)`. Never empty: see [`Value::list`].
    List(Vec<Value>),
    /// Several rows where the statement says `VALUES $1`, each of the same width. Never empty.
    Rows(Vec<Vec<Value>>),
    /// Several questions of one kind where the statement says `FROM ($1)`: for each list of parameters what `one` answers to
    /// it, all together. A database that has no other means puts as many copies of `one` together by `UNION ALL`. Never
    /// empty.
    Branches {
        /// The question, with `$1`, `$2` … for its own parameters.
        one: String,
        /// The parameters, once for each.
        each: Vec<Vec<Value>>,
    },
    /// What the server is to work out: an expression of its own, which is written where the value would stand. Only within rows.
    Expression {
        /// The expression, with `$1`, `$2` … for its own parameters.
        sql: String,
        /// The parameters.
        params: Vec<Value>,
    },
}

impl Value {
    /// A list for `IN (…)`; an empty one holds nothing that any row has.
    pub fn list<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> Self {
        let list: Vec<Value> = values.into_iter().map(Into::into).collect();
        Self::List(if list.is_empty() { vec![Self::Null] } else { list })
    }

    /// How many bytes it holds, about.
    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Int(_) | Self::Time(_) => 8,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.iter().map(Self::size).sum(),
            Self::Rows(rows) => rows.iter().flatten().map(Self::size).sum(),
            Self::Branches { each, .. } => each.iter().flatten().map(Self::size).sum(),
            Self::Expression { sql, params } => sql.len() + params.iter().map(Self::size).sum::<usize>(),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Int(truth.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_owned())
    }
}

impl From<StoreTime> for Value {
    fn from(at: StoreTime) -> Self {
        Self::Time(at)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A moment as SQL writes it in UTC, to the microsecond: `2026-11-15 09:30:00.123456`.
pub fn moment_text(at: StoreTime) -> String {
    let micros = at.as_micros().clamp(0, LAST_MICROS);
    let millis = StoreTime::from_micros(micros).to_string();
    let (date, time) = millis.trim_end_matches('Z').split_once('T').unwrap_or((millis.as_str(), ""));
    format!("{date} {time}{:03}", micros % 1000)
}

/// A span in microseconds, as the statements want it.
#[inline]
pub fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros().min(LONGEST_MICROS)).unwrap_or(i64::MAX)
}

/// A span in whole milliseconds, rounded up: a contender must not wait shorter than the holder trusts.
pub fn trust_millis(span: Duration) -> i32 {
    i32::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_to_the_microsecond_and_within_what_can_be_written() {
        let text = |micros| moment_text(StoreTime::from_micros(micros));
        assert_eq!(text(1_000_000_007), "1970-01-01 00:16:40.000007");
        assert_eq!(text(1_763_199_000_123_456), "2025-11-15 09:30:00.123456");
        assert_eq!(text(-5), "1970-01-01 00:00:00.000000");
        assert_eq!(text(i64::MAX), "9999-12-31 23:59:59.000000");
    }

    #[test]
    fn an_empty_list_is_one_that_matches_nothing() {
        assert_eq!(Value::list(Vec::<i64>::new()), Value::List(vec![Value::Null]));
    }
}
