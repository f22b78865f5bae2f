//! Names: of daemons, of the agents that can run them, and of the leases behind nodes, daemons and the leader.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{NameError, NodeName, check_name};
use crate::lease::LeaseName;

/// The longest name of a daemon, in bytes; its lease's name is longer by a prefix.
pub const DAEMON_NAME_MAX_BYTES: usize = 160;
/// The longest name of a node that joins a cluster, in bytes.
pub const MEMBER_NAME_MAX_BYTES: usize = 160;

/// The lease whose holder leads.
pub const LEADER_LEASE: &str = "tenure/leader";
/// What the lease of a node is called, before the node's name.
pub const NODE_LEASE_PREFIX: &str = "tenure/node/";
/// What the lease of a daemon is called, before the daemon's name.
pub const DAEMON_LEASE_PREFIX: &str = "tenure/daemon/";

/// The lease that a node holds for as long as it lives.
pub fn node_lease(node: &NodeName) -> Result<LeaseName, NameError> {
    check_name("node name", node.as_str(), MEMBER_NAME_MAX_BYTES)?;
    LeaseName::new(format!("{NODE_LEASE_PREFIX}{node}"))
}

/// The name of a daemon: 1 to 160 bytes without control characters, compared byte by byte. What stands before the first
/// `/` is its family, if there is one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DaemonName(String);

impl DaemonName {
    /// Accepts any text of 1 to 160 bytes without control characters.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        check_name("daemon name", &text, DAEMON_NAME_MAX_BYTES)?;
        Ok(Self(text))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the first `/`.
    pub fn family(&self) -> Option<&str> {
        self.0.split_once('/').map(|(family, _)| family)
    }

    /// What stands behind the first `/`; the whole name of one without a family.
    pub fn member(&self) -> &str {
        self.0.split_once('/').map_or(self.as_str(), |(_, member)| member)
    }

    /// The lease whose term is this daemon's generation.
    pub fn lease(&self) -> Result<LeaseName, NameError> {
        LeaseName::new(format!("{DAEMON_LEASE_PREFIX}{}", self.0))
    }

    /// The daemon behind a lease, if it is one's.
    pub fn of_lease(lease: &LeaseName) -> Option<Self> {
        Self::new(lease.as_str().strip_prefix(DAEMON_LEASE_PREFIX)?).ok()
    }
}

impl TryFrom<String> for DaemonName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl From<DaemonName> for String {
    fn from(name: DaemonName) -> Self {
        name.0
    }
}

impl fmt::Display for DaemonName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a node has code for: daemons by their names, and whole families.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agents {
    /// Single daemons.
    #[serde(default)]
    pub names: BTreeSet<DaemonName>,
    /// Families: every daemon whose name begins with one of these and a `/`.
    #[serde(default)]
    pub families: BTreeSet<String>,
}

impl Agents {
    /// Whether there is code for a daemon.
    pub fn can_run(&self, daemon: &DaemonName) -> bool {
        self.names.contains(daemon) || daemon.family().is_some_and(|family| self.families.contains(family))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_what_stands_before_the_first_slash() {
        let name = DaemonName::new("tenant/42/eu").unwrap();
        assert_eq!((name.family(), name.member()), (Some("tenant"), "42/eu"));
        let single = DaemonName::new("sweeper").unwrap();
        assert_eq!((single.family(), single.member()), (None, "sweeper"));
        let agents = Agents { names: [single.clone()].into(), families: ["tenant".to_owned()].into() };
        assert!(agents.can_run(&name) && agents.can_run(&single));
        assert!(!agents.can_run(&DaemonName::new("tenants/1").unwrap()));
        assert!(!agents.can_run(&DaemonName::new("tenant").unwrap()));
    }

    #[test]
    fn leases_of_the_longest_names_fit() {
        let daemon = DaemonName::new("d".repeat(DAEMON_NAME_MAX_BYTES)).unwrap();
        assert_eq!(DaemonName::of_lease(&daemon.lease().unwrap()), Some(daemon));
        assert!(DaemonName::new("d".repeat(DAEMON_NAME_MAX_BYTES + 1)).is_err());
        node_lease(&NodeName::new("n".repeat(MEMBER_NAME_MAX_BYTES)).unwrap()).unwrap();
        assert!(node_lease(&NodeName::new("n".repeat(MEMBER_NAME_MAX_BYTES + 1)).unwrap()).is_err());
        assert_eq!(DaemonName::of_lease(&LeaseName::new(LEADER_LEASE).unwrap()), None);
    }
}
