//! The name of a lease: data, compared byte by byte, the same on every store.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{NameError, check_name};

/// The longest name of a lease, in bytes.
pub const LEASE_NAME_MAX_BYTES: usize = 200;

/// A name of 1 to 200 bytes without control characters. Quotes and unicode are data; `a` and `A` are two names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LeaseName(String);

impl LeaseName {
    /// Accepts any text of 1 to 200 bytes without control characters.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        check_name("lease name", &text, LEASE_NAME_MAX_BYTES)?;
        Ok(Self(text))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for LeaseName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl From<LeaseName> for String {
    fn from(name: LeaseName) -> Self {
        name.0
    }
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
