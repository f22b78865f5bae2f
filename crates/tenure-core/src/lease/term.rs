//! The number of a grant: strictly increasing per lease name, for ever.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of one grant. Stored as a signed 64-bit integer, hence at most `i64::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Term(u64);

impl Term {
    /// The first term of every lease.
    pub const FIRST: Self = Self(1);

    /// The term with this number; `None` for zero and for numbers that no database column holds.
    pub const fn new(number: u64) -> Option<Self> {
        if number == 0 || number > i64::MAX as u64 { None } else { Some(Self(number)) }
    }

    /// The term a database column holds; `None` when the column holds nonsense.
    pub fn from_column(number: i64) -> Option<Self> {
        Self::new(u64::try_from(number).ok()?)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number as a database column holds it.
    pub const fn as_column(self) -> i64 {
        self.0 as i64
    }

    /// The term after this one; `None` when terms have run out.
    pub const fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
