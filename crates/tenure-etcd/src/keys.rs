//! Which keys there are.
//!
//! The kind of a key stands before the name of its lease, so that no name, whatever slashes it has, is another's key.

use tenure_core::lease::LeaseName;

/// The keys of one lease below a prefix.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pub(crate) name: LeaseName,
    /// There while someone holds the lease, attached to an etcd lease.
    pub(crate) held: String,
    /// What is known of the last grant; attached to nothing.
    pub(crate) last: String,
    /// The mark of this keyspace; the same key for all leases.
    pub(crate) birth: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str, name: &LeaseName) -> Self {
        Self {
            name: name.clone(),
            held: format!("{prefix}held/{name}"),
            last: format!("{prefix}last/{name}"),
            birth: format!("{prefix}birth"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_the_key_of_another() {
        let keys = |name| Keys::new("p/", &LeaseName::new(name).expect("a name"));
        let (plain, odd) = (keys("a"), keys("../last/a"));
        assert_eq!((plain.held.as_str(), plain.last.as_str()), ("p/held/a", "p/last/a"));
        assert_eq!(odd.held, "p/held/../last/a", "etcd's keys are bytes and not paths");
        assert_eq!(plain.birth, keys("b").birth);
    }
}
