//! Who did it, as it stands in the audit table.

use std::fmt;

use crate::id::{NameError, check_name};

/// The longest name of an operator, in bytes.
pub const ACTOR_MAX_BYTES: usize = 100;

/// By which way an operator acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Via {
    /// The command line.
    Cli,
    /// The pages of the dashboard.
    Dashboard,
    /// The JSON API of the dashboard.
    Api,
}

impl Via {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Dashboard => "dashboard",
            Self::Api => "api",
        }
    }
}

/// An operator. Shown as `ada`, or as `ada (dashboard, request 7f3a…)`: that is what `by` of a change is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    name: String,
    via: Via,
    request: Option<String>,
}

impl Actor {
    /// Accepts a name of 1 to 100 bytes without control characters.
    pub fn new(name: impl Into<String>, via: Via) -> Result<Self, NameError> {
        let name = name.into();
        check_name("operator's name", &name, ACTOR_MAX_BYTES)?;
        Ok(Self { name, via, request: None })
    }

    /// The same in a request of this number.
    #[must_use]
    pub fn in_request(self, request: u64) -> Self {
        Self { request: Some(format!("{request:016x}")), ..self }
    }

    /// What the operator is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// By which way.
    pub const fn via(&self) -> Via {
        self.via
    }

    /// In which request, as 16 hexadecimal digits.
    pub fn request(&self) -> Option<&str> {
        self.request.as_deref()
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.request, self.via) {
            (Some(request), via) => write!(f, "{} ({}, request {request})", self.name, via.as_str()),
            (None, Via::Cli) => f.write_str(&self.name),
            (None, via) => write!(f, "{} ({})", self.name, via.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_shown_with_way_and_request() {
        let ada = Actor::new("ada", Via::Dashboard).unwrap();
        assert_eq!(ada.to_string(), "ada (dashboard)");
        assert_eq!(ada.in_request(0x7f3a).to_string(), "ada (dashboard, request 0000000000007f3a)");
        assert_eq!(Actor::new("ada", Via::Cli).unwrap().to_string(), "ada");
        for bad in ["", "a\nb", &"x".repeat(101)] {
            assert!(Actor::new(bad, Via::Api).is_err());
        }
    }
}
