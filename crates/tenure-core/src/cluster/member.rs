//! A node's row: who it is and what it can do. Whether it lives is not said here, but by its lease.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Agents, Revision};
use crate::id::{NameError, Node, check_name};
use crate::lease::Term;
use crate::time::StoreTime;

/// The longest key or value of a label, and the longest version, in bytes.
const TEXT_MAX_BYTES: usize = 100;
/// How many labels a node or a daemon may have.
const LABELS_MAX: usize = 50;
/// How many daemons and families one node may name; a family has any number of daemons.
const AGENTS_MAX: usize = 1000;
/// The largest capacity or weight.
pub(super) const WEIGHT_MAX: u32 = 1_000_000;

/// Labels: `zone=a`. A daemon may ask for some; a node must have them all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, String>);

impl Labels {
    /// The first wanted label that is not there.
    pub fn missing<'w>(&self, wanted: &'w Self) -> Option<(&'w str, &'w str)> {
        let lacks = |(key, value): &(&String, &String)| self.0.get(*key) != Some(*value);
        wanted.0.iter().find(lacks).map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub(super) fn check(&self) -> Result<(), MemberError> {
        if self.0.len() > LABELS_MAX {
            return Err(MemberError::TooMany { what: "labels", count: self.0.len(), limit: LABELS_MAX });
        }
        for (key, value) in &self.0 {
            check_name("label", key, TEXT_MAX_BYTES)?;
            check_name("label's value", value, TEXT_MAX_BYTES)?;
        }
        Ok(())
    }
}

/// What a node or a daemon says of itself cannot be accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemberError {
    /// A name is not one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There are too many of something.
    #[error("{count} {what} are more than the {limit} that are accepted")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many may be.
        limit: usize,
    },
    /// A number is out of its range.
    #[error("the {what} {number} is not between 1 and {WEIGHT_MAX}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// What was given.
        number: u32,
    },
}

/// A node's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Who.
    pub node: Node,
    /// The term of the lease under which it registered.
    pub term: Term,
    /// What it is labelled with.
    pub labels: Labels,
    /// The version of the program that it runs.
    pub version: String,
    /// How much it takes beside others: a node of capacity 2 gets twice the weight of one of capacity 1.
    pub capacity: u32,
    /// Whether it may lead.
    pub leads: bool,
    /// What it has code for.
    pub agents: Agents,
    /// Whether it is about to leave: it gets nothing more, and what it has is moved.
    pub leaving: bool,
    /// When it registered, by the store's clock.
    pub joined_at: StoreTime,
    /// The last change that concerns it or one of its daemons.
    pub revision: Revision,
}

impl Member {
    /// Checks every text and number.
    pub fn check(&self) -> Result<(), MemberError> {
        super::node_lease(&self.node.name)?;
        self.labels.check()?;
        if !self.version.is_empty() {
            check_name("version", &self.version, TEXT_MAX_BYTES)?;
        }
        check_number("capacity", self.capacity)?;
        let agents = self.agents.names.len() + self.agents.families.len();
        if agents > AGENTS_MAX {
            return Err(MemberError::TooMany { what: "agents", count: agents, limit: AGENTS_MAX });
        }
        for family in &self.agents.families {
            check_name("family", family, TEXT_MAX_BYTES)?;
        }
        Ok(())
    }
}

pub(super) fn check_number(what: &'static str, number: u32) -> Result<(), MemberError> {
    if (1..=WEIGHT_MAX).contains(&number) { Ok(()) } else { Err(MemberError::OutOfRange { what, number }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_missing_when_its_value_differs() {
        let labels = |pairs: &[(&str, &str)]| {
            Labels(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
        };
        let has = labels(&[("zone", "a"), ("disk", "ssd")]);
        assert_eq!(has.missing(&labels(&[("zone", "a")])), None);
        assert_eq!(has.missing(&labels(&[("zone", "b")])), Some(("zone", "b")));
        assert_eq!(has.missing(&labels(&[("gpu", "1"), ("zone", "a")])), Some(("gpu", "1")));
        assert!(labels(&[("", "a")]).check().is_err());
    }
}
