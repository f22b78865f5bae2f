//! Who this process is.

use tenure_core::id::{NameError, Node, NodeName, Unique};

/// A new random number, for incarnations, claims and sessions.
pub(crate) fn random_unique() -> Unique {
    Unique::from_u128(uuid::Uuid::new_v4().as_u128())
}

/// Describes this process as a node: the chosen name, or the machine's, with an incarnation of its own.
///
/// Call it once per process and share the result: each call is another incarnation.
pub fn local_node(name: Option<&str>) -> Result<Node, NameError> {
    let machine = machine_name();
    let name = NodeName::new(name.unwrap_or(&machine))?;
    Ok(Node { name, incarnation: random_unique(), machine, pid: std::process::id() })
}

/// What this machine is called.
pub(crate) fn machine_name() -> String {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    // The name goes into rows and onto terminals: no control characters, no novels.
    let clean = |name: String| name.chars().filter(|c| !c.is_control()).take(100).collect::<String>();
    name.map(clean).filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

/// A new random id, for events and messages.
pub fn new_id() -> uuid::Uuid {
    uuid::Uuid::new_v4()
}
