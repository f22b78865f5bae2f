//! From rows to the words of the core.
//!
//! Rows are read as plain texts, numbers and bytes through [`Columns`], because every driver has rows of its own. What no
//! version of Tenure wrote is reported as corrupt, with its column, and never guessed at. Statements give moments as
//! microseconds since 1970 in columns called `…_us`.

mod checkpoint;
mod cluster;
mod event;
mod lease;
mod message;
mod operator;
mod search;
#[cfg(test)]
mod tests;

use tenure_core::StoreError;
use tenure_core::id::Unique;
use tenure_core::time::StoreTime;
use uuid::Uuid;

pub use event::recorded;
pub use message::{Before, counted};
pub use operator::{AuditFound, RunnerColumns};
pub use search::Found;

/// How much of a key is repeated in a message.
const KEY_MAX_CHARS: usize = 60;

/// A row of any driver.
pub trait Columns {
    /// The text in a column.
    fn text(&self, column: &str) -> Result<Option<String>, String>;
    /// The whole number in a column; a truth value is 0 or 1.
    fn number(&self, column: &str) -> Result<Option<i64>, String>;
    /// The bytes in a column; those of a text are its bytes.
    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String>;

    /// The UUID in a column; a driver that has it as such gives it as such.
    fn uuid(&self, column: &str) -> Result<Option<Uuid>, String> {
        let Some(text) = self.text(column)? else { return Ok(None) };
        Uuid::try_parse(&text).map(Some).map_err(|_| "it holds no UUID".into())
    }

    /// The moment in a column of microseconds since 1970.
    fn moment(&self, column: &str) -> Result<Option<StoreTime>, String> {
        Ok(self.number(column)?.map(StoreTime::from_micros))
    }
}

/// Says of what is wrong with a value in which column it is.
fn named<T>(value: Result<T, String>, column: &str) -> Result<T, String> {
    value.map_err(|error| format!("column {column}: {error}"))
}

/// What a column holds that is never empty, for those who read without a [`Reader`].
fn present<T>(value: Result<Option<T>, String>, column: &str) -> Result<T, String> {
    named(value, column)?.ok_or_else(|| format!("column {column} is empty"))
}

/// A number of a smaller type, likewise.
fn fit<T: TryFrom<i64>>(number: i64, column: &str) -> Result<T, String> {
    T::try_from(number).map_err(|_| format!("column {column} holds {number}"))
}

/// Reads rows of one store.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// What errors call the store.
    pub store: &'a str,
}

impl Reader<'_> {
    /// What a column holds that is never empty.
    pub fn need<T>(self, value: Result<Option<T>, String>, column: &str) -> Result<T, StoreError> {
        present(value, column).map_err(|message| self.corrupt(message))
    }

    /// What a column holds that may be empty.
    pub fn maybe<T>(self, value: Result<Option<T>, String>, column: &str) -> Result<Option<T>, StoreError> {
        named(value, column).map_err(|message| self.corrupt(message))
    }

    /// A random id.
    pub fn unique(self, text: String, column: &str) -> Result<Unique, StoreError> {
        text.parse().map_err(|error| self.corrupt(format!("column {column}: {error}")))
    }

    /// A number of a smaller type.
    pub fn fits<T: TryFrom<i64>>(self, number: i64, column: &str) -> Result<T, StoreError> {
        fit(number, column).map_err(|message| self.corrupt(message))
    }

    /// Says of what is wrong with a row which one it is, and what to do.
    fn named<T>(self, table: &str, key: &str, read: Result<T, StoreError>) -> Result<T, StoreError> {
        read.map_err(|error| match error {
            StoreError::Corrupt { message, .. } => {
                let key: String = key.chars().take(KEY_MAX_CHARS).flat_map(char::escape_debug).collect();
                self.corrupt(format!("table {table}, row {key}: {message}; set that right by hand"))
            }
            other => other,
        })
    }

    /// A row holds what no version of Tenure wrote.
    pub fn corrupt(self, message: String) -> StoreError {
        StoreError::Corrupt { store: self.store.to_owned(), message }
    }
}
