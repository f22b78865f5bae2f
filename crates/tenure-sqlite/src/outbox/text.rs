//! Texts as anyone may have inserted them: SQLite does not check that they are UTF-8.

use rusqlite::Row;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

/// A text as a bound value, whatever its bytes are.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl ToSql for Bytes<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// The texts of a row, with the memory of whether one of them could not be read.
pub(super) struct Texts<'a, 'b> {
    row: &'a Row<'b>,
    pub(super) garbled: bool,
}

impl<'a, 'b> Texts<'a, 'b> {
    pub(super) fn of(row: &'a Row<'b>) -> Self {
        Self { row, garbled: false }
    }

    /// The text in a column that is longer than `limit` is of no use: so much of it that this is seen.
    pub(super) fn cut(&mut self, at: usize, limit: usize) -> rusqlite::Result<Option<String>> {
        match self.row.get_ref(at)? {
            ValueRef::Text(bytes) if bytes.len() > (2 * limit).max(4_000) => {
                let end = (limit + 1..limit + 5).find(|end| bytes[*end] & 0xc0 != 0x80).unwrap_or(limit + 1);
                Ok(Some(self.read(&bytes[..end])))
            }
            _ => self.maybe(at),
        }
    }

    /// The text in a column, with replacement characters for what is no UTF-8.
    pub(super) fn maybe(&mut self, at: usize) -> rusqlite::Result<Option<String>> {
        let bytes = match self.row.get_ref(at)? {
            ValueRef::Null => return Ok(None),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
            other => {
                return other.as_str().map(|text| Some(text.to_owned())).map_err(|error| {
                    rusqlite::Error::FromSqlConversionFailure(at, other.data_type(), Box::new(error))
                });
            }
        };
        Ok(Some(self.read(bytes)))
    }

    fn read(&mut self, bytes: &[u8]) -> String {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                self.garbled = true;
                String::from_utf8_lossy(bytes).into_owned()
            }
        }
    }

    /// The same for a column that is never null.
    pub(super) fn of_column(&mut self, at: usize) -> rusqlite::Result<String> {
        Ok(self.maybe(at)?.unwrap_or_default())
    }
}
