//! From rows to the words of the core.
//!
//! Rows are read as plain texts, numbers and bytes through [`Columns`], because every driver has rows of its own. What no
//! version of Tenure wrote is reported as corrupt, with its column, and never guessed at. Statements give moments as
//! microseconds since 1970 in columns called `…_us`.

mod cluster;
mod lease;

use tenure_core::StoreError;
use tenure_core::id::Unique;

/// A row of any driver.
pub trait Columns {
    /// The text in a column.
    fn text(&self, column: &str) -> Result<Option<String>, String>;
    /// The whole number in a column; a truth value is 0 or 1.
    fn number(&self, column: &str) -> Result<Option<i64>, String>;
    /// The bytes in a column.
    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String>;
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
        self.maybe(value, column)?.ok_or_else(|| self.corrupt(format!("column {column} is empty")))
    }

    /// What a column holds that may be empty.
    pub fn maybe<T>(self, value: Result<Option<T>, String>, column: &str) -> Result<Option<T>, StoreError> {
        value.map_err(|error| self.corrupt(format!("column {column}: {error}")))
    }

    /// A random id.
    pub fn unique(self, text: String, column: &str) -> Result<Unique, StoreError> {
        text.parse().map_err(|error| self.corrupt(format!("column {column}: {error}")))
    }

    /// A number of a smaller type.
    pub fn fits<T: TryFrom<i64>>(self, number: i64, column: &str) -> Result<T, StoreError> {
        T::try_from(number).map_err(|_| self.corrupt(format!("column {column} holds {number}")))
    }

    /// A row holds what no version of Tenure wrote.
    pub fn corrupt(self, message: String) -> StoreError {
        StoreError::Corrupt { store: self.store.to_owned(), message }
    }
}
