//! A daemon's row: what it is, where it is placed, and why.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::member::check_number;
use super::{DaemonName, Labels, MemberError, Revision};
use crate::id::{NodeName, check_name};
use crate::lease::{Fence, Term};
use crate::time::StoreTime;

/// How many nodes a daemon avoids at once; the one that it avoids for the shortest time makes way.
const AVOIDS_MAX: usize = 20;

/// Where a daemon is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DaemonState {
    /// It is nowhere.
    Unassigned,
    /// A node was chosen and has not said yes.
    Assigning,
    /// The node has said yes, and runs it.
    Active,
    /// The node is to stop it and to say when it has.
    Revoking,
}

impl DaemonState {
    const TEXTS: [(Self, &'static str); 4] = [
        (Self::Unassigned, "unassigned"),
        (Self::Assigning, "assigning"),
        (Self::Active, "active"),
        (Self::Revoking, "revoking"),
    ];

    /// The text a row holds.
    pub fn as_str(self) -> &'static str {
        Self::TEXTS.iter().find(|(state, _)| *state == self).map_or("", |(_, text)| text)
    }
}

impl fmt::Display for DaemonState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no state of a daemon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a state of a daemon")]
pub struct NotAState;

impl FromStr for DaemonState {
    type Err = NotAState;
    fn from_str(text: &str) -> Result<Self, NotAState> {
        Self::TEXTS.iter().find(|(_, known)| *known == text).map(|(state, _)| *state).ok_or(NotAState)
    }
}

/// Daemons that divide one thing among them. Those of one layout never run beside those of another: the parts of eight
/// are not the parts of sixteen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Group {
    /// What is divided.
    pub name: String,
    /// Into how many parts, or in which other way.
    pub layout: u32,
}

/// What a daemon is, whoever runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaemonSpec {
    /// Its name.
    pub name: DaemonName,
    /// How heavy it is beside others.
    pub weight: u32,
    /// What its node must be labelled with.
    pub labels: Labels,
    /// What it is a part of.
    pub group: Option<Group>,
}

impl DaemonSpec {
    /// A daemon of weight 1 that any node with its agent may run.
    pub fn new(name: DaemonName) -> Self {
        Self { name, weight: 1, labels: Labels::default(), group: None }
    }

    /// With another weight.
    #[must_use]
    pub fn with_weight(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    /// Only on nodes with this label.
    #[must_use]
    pub fn on(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.0.insert(key.into(), value.into());
        self
    }

    /// As a part of something that was divided.
    #[must_use]
    pub fn in_group(self, group: Group) -> Self {
        Self { group: Some(group), ..self }
    }

    /// Checks every text and number.
    pub fn check(&self) -> Result<(), MemberError> {
        check_number("weight", self.weight)?;
        self.labels.check()?;
        if let Some(group) = &self.group {
            check_name("group", &group.name, super::DAEMON_NAME_MAX_BYTES)?;
            check_number("layout", group.layout)?;
        }
        Ok(())
    }
}

/// A node on which a daemon failed, and until when it is not placed there if there is any other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Avoid {
    /// Which node.
    pub node: NodeName,
    /// Until when, by the store's clock.
    pub until: StoreTime,
}

/// A daemon's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Daemon {
    /// What it is.
    #[serde(flatten)]
    pub spec: DaemonSpec,
    /// Where it is on its way.
    pub state: DaemonState,
    /// Its node, and the term of that node's lease; `None` when it is nowhere.
    pub place: Option<(NodeName, Term)>,
    /// The number of its last placement: the term of its lease. `None` before the first.
    pub generation: Option<Term>,
    /// Where it goes once it has stopped.
    pub next: Option<NodeName>,
    /// Until when the node is to have acknowledged, or stopped.
    pub deadline: Option<StoreTime>,
    /// Why it is where it is, or nowhere.
    pub reason: String,
    /// Since when it is in its state.
    pub since: StoreTime,
    /// Who paused it.
    pub paused_by: Option<String>,
    /// Where an operator wants it, as long as that is possible.
    pub pinned_to: Option<NodeName>,
    /// Whether it is to go for good.
    pub retired: bool,
    /// How often in a row it failed and was moved away for it.
    pub failures: u32,
    /// Where it failed of late.
    pub avoids: Vec<Avoid>,
    /// How often it was placed.
    pub moves: u64,
    /// The last change of this row.
    pub revision: Revision,
}

impl Daemon {
    /// One that was never placed.
    pub fn new(spec: DaemonSpec, now: StoreTime) -> Self {
        Self {
            spec,
            state: DaemonState::Unassigned,
            place: None,
            generation: None,
            next: None,
            deadline: None,
            reason: "it is new and waits for the leader".to_owned(),
            since: now,
            paused_by: None,
            pinned_to: None,
            retired: false,
            failures: 0,
            avoids: Vec::new(),
            moves: 0,
            revision: Revision::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &DaemonName {
        &self.spec.name
    }

    /// Its node.
    pub fn node(&self) -> Option<&NodeName> {
        self.place.as_ref().map(|(node, _)| node)
    }

    /// The value that writes of its present generation carry; `None` while it is nowhere.
    pub fn fence(&self) -> Option<Fence> {
        let generation = self.generation.filter(|_| self.place.is_some())?;
        Some(Fence { lease: self.name().lease().ok()?, term: generation })
    }

    /// Whether it is to run somewhere.
    pub fn is_wanted(&self) -> bool {
        !self.retired && self.paused_by.is_none()
    }

    /// Whether it failed on a node of late.
    pub fn avoids(&self, node: &NodeName, now: StoreTime) -> bool {
        self.avoids.iter().any(|avoid| avoid.node == *node && avoid.until > now)
    }

    /// Notes that it failed on a node, and forgets what is over.
    pub(super) fn avoid(&mut self, node: NodeName, span: Duration, now: StoreTime) {
        self.avoids.retain(|avoid| avoid.node != node && avoid.until > now);
        self.avoids.push(Avoid { node, until: now.after(span) });
        if self.avoids.len() > AVOIDS_MAX {
            self.avoids.sort_by_key(|avoid| avoid.until);
            self.avoids.remove(0);
        }
    }
}
