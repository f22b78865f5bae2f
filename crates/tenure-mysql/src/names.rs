//! The names of locks that `GET_LOCK` takes.
//!
//! Such a name belongs to the whole server, has at most 64 characters, and does not tell `a` from `A`. So ours are hashes, of
//! the database and the tables' prefix among the rest: programs that use other tables never meet ours.

use tenure_core::hash;
use tenure_core::lease::{Flag, LeaseName};

/// Names of locks around one set of tables.
#[derive(Debug, Clone)]
pub(crate) struct LockNames {
    database: String,
    prefix: String,
}

impl LockNames {
    /// For the tables of this database that begin with this prefix. `folded` where the server does not tell databases apart
    /// by the case of their names: nodes that write it differently must agree.
    pub(crate) fn new(database: &str, prefix: &str, folded: bool) -> Self {
        let database = if folded { database.to_lowercase() } else { database.to_owned() };
        Self { database, prefix: prefix.to_owned() }
    }

    /// The flag of a grant.
    pub(crate) fn flag(&self, flag: &Flag) -> String {
        let (term, session) = (flag.term.get().to_be_bytes(), flag.session.as_u128().to_be_bytes());
        self.name("flag", &[flag.lease.as_str().as_bytes(), &term, &session])
    }

    /// A session lock of a user's.
    pub(crate) fn lock(&self, name: &LeaseName) -> String {
        self.name("lock", &[name.as_str().as_bytes()])
    }

    /// What nodes queue for that migrate the tables.
    pub(crate) fn migration(&self) -> String {
        self.name("migration", &[])
    }

    /// A lock that nobody else has, to try locks by.
    pub(crate) fn probe(&self, id: u128) -> String {
        self.name("probe", &[&id.to_be_bytes()])
    }

    /// Two hashes of 64 bits: a name that two locks share would exclude where nothing is to be excluded.
    fn name(&self, kind: &'static str, rest: &[&[u8]]) -> String {
        let parts = |first: &'static str| {
            [first.as_bytes(), self.database.as_bytes(), self.prefix.as_bytes(), kind.as_bytes()]
                .into_iter()
                .chain(rest.iter().copied())
        };
        format!("tenure:{kind}:{:016x}{:016x}", hash::key(parts("1")), hash::key(parts("2")))
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::id::Unique;
    use tenure_core::lease::Term;

    use super::*;

    #[test]
    fn names_are_short_and_plain_and_differ_by_all_that_counts() {
        let here = LockNames::new("App", "tenure_", false);
        let lease = LeaseName::new("x".repeat(200)).unwrap();
        let flag = Flag { lease: lease.clone(), term: Term::FIRST, session: Unique::from_u128(7) };
        let mut names = vec![here.flag(&flag), here.lock(&lease), here.migration()];
        names.push(here.lock(&LeaseName::new("a").unwrap()));
        names.push(here.lock(&LeaseName::new("A").unwrap()));
        names.push(here.flag(&Flag { term: Term::new(2).unwrap(), ..flag.clone() }));
        names.push(here.flag(&Flag { session: Unique::from_u128(8), ..flag.clone() }));
        names.push(LockNames::new("app", "tenure_", false).flag(&flag));
        names.push(LockNames::new("App", "other_", false).flag(&flag));
        for name in &names {
            assert!(name.len() <= 64 && !name.contains(['\'', '\\', ' ']), "{name}");
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        assert_eq!(
            LockNames::new("App", "tenure_", true).flag(&flag),
            LockNames::new("app", "tenure_", true).flag(&flag)
        );
    }
}
