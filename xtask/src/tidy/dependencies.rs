//! Who may depend on whom.
//!
//! ```text
//!            tenure-core           words, contracts, decisions; does no I/O
//!     ▲       ▲       ▲      ▲
//! tenure-sql  │       │      │            what SQL stores have in common; sees only the core
//!     ▲       │       │      │
//!  backends  suite   sim   dashboard      none of them sees another; only backends see tenure-sql
//!     ▲                      ▲
//!   tenure                   │            the library: the only one that sees backends, besides
//!     ▲                      │
//!   tenure-cli ──────────────┘            the binary
//! ```

use super::Finding;
use super::files::File;
use super::manifest::{Manifest, packages};

/// What `tenure-core` may stand on: crates that touch neither clock, chance, files, network nor threads. A name is added
/// here only after a look at what it does.
const PURE: &[&str] = &["async-trait", "serde", "serde_json", "thiserror", "uuid"];

/// The place of a package in the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Core,
    Sql,
    Backend,
    Conformance,
    Sim,
    Dashboard,
    Library,
    Binary,
    Workshop,
}

impl Place {
    /// A `tenure-…` that is nothing else is a backend.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "tenure-core" => Self::Core,
            "tenure-sql" => Self::Sql,
            "tenure-conformance" => Self::Conformance,
            "tenure-sim" => Self::Sim,
            "tenure-dashboard" => Self::Dashboard,
            "tenure" => Self::Library,
            "tenure-cli" => Self::Binary,
            "xtask" => Self::Workshop,
            _ if name.starts_with("tenure-") => Self::Backend,
            _ => return None,
        })
    }

    /// Whether a package here may use one there in what it ships.
    fn may_use(self, other: Self) -> bool {
        match self {
            Self::Core | Self::Workshop => false,
            Self::Sql | Self::Conformance | Self::Sim | Self::Dashboard => other == Self::Core,
            Self::Backend => matches!(other, Self::Core | Self::Sql),
            Self::Library => matches!(other, Self::Core | Self::Backend),
            Self::Binary => matches!(other, Self::Core | Self::Backend | Self::Library | Self::Dashboard),
        }
    }

    /// Tests may use more, but a backend is not tested with the help of another, and only what ships backends
    /// is tested with them.
    fn may_test_with(self, other: Self) -> bool {
        self.may_use(other)
            || match other {
                Self::Conformance | Self::Core => self != Self::Workshop,
                Self::Backend => matches!(self, Self::Library | Self::Binary),
                _ => false,
            }
    }
}

/// Packages depend on each other only downwards.
pub(crate) fn direction(files: &[File]) -> Vec<Finding> {
    let check = |package: &Manifest| {
        let place = Place::of(&package.name);
        let wrong = |dependency: &&super::manifest::Dependency| match (place, Place::of(&dependency.name)) {
            // A package is tested with features of its own by naming itself.
            _ if dependency.dev && dependency.name == package.name => false,
            (Some(place), Some(other)) if dependency.dev => !place.may_test_with(other),
            (Some(place), Some(other)) => !place.may_use(other),
            _ => false,
        };
        let say = |dependency: &super::manifest::Dependency| {
            let what = format!("`{}` must not depend on `{}`", package.name, dependency.name);
            Finding::error(&package.path, dependency.line, what)
        };
        package.dependencies.iter().filter(wrong).map(say).collect::<Vec<_>>()
    };
    packages(files).iter().flat_map(check).collect()
}

/// The core stands only on crates that do no I/O.
pub(crate) fn pure_core(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages(files).iter().filter(|package| Place::of(&package.name) == Some(Place::Core)) {
        for dependency in package.dependencies.iter().filter(|dependency| !dependency.dev) {
            // Our own packages are the other rule's business.
            if Place::of(&dependency.name).is_none() && !PURE.contains(&dependency.name.as_str()) {
                let what =
                    format!("`tenure-core` does no I/O, and `{}` is not known to do none", dependency.name);
                findings.push(Finding::error(&package.path, dependency.line, what));
            }
        }
    }
    findings
}

/// Every package takes its lints from the workspace.
pub(crate) fn workspace_lints(files: &[File]) -> Vec<Finding> {
    let without = packages(files).into_iter().filter(|package| !package.workspace_lints);
    without.map(|package| Finding::error(&package.path, 0, "`[lints] workspace = true` is missing")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::{check, lines};
    use super::*;

    fn manifest(name: &str, section: &str, dependency: &str) -> String {
        format!(
            "[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n[{section}]\n{dependency}.workspace = true\n"
        )
    }

    fn refused(name: &str, section: &str, dependency: &str) -> bool {
        !check(direction, "crates/x/Cargo.toml", &manifest(name, section, dependency)).is_empty()
    }

    #[test]
    fn a_backend_never_sees_another_nor_the_library() {
        assert!(refused("tenure-sqlite", "dependencies", "tenure-postgres"));
        assert!(refused("tenure-mysql", "dev-dependencies", "tenure-sqlite"));
        assert!(refused("tenure-postgres", "dependencies", "tenure"));
        assert!(refused("tenure-postgres", "dependencies", "tenure-conformance"));
        assert!(!refused("tenure-postgres", "dev-dependencies", "tenure-conformance"));
        assert!(!refused("tenure-postgres", "dependencies", "tenure-core"));
    }

    #[test]
    fn only_backends_see_what_sql_stores_have_in_common() {
        for backend in ["tenure-sqlite", "tenure-postgres", "tenure-mysql"] {
            assert!(!refused(backend, "dependencies", "tenure-sql"), "{backend}");
            assert!(refused("tenure-sql", "dependencies", backend), "{backend}");
            assert!(refused("tenure-sql", "dev-dependencies", backend), "{backend}");
        }
        for other in ["tenure", "tenure-cli", "tenure-conformance", "tenure-sim"] {
            assert!(refused(other, "dependencies", "tenure-sql"), "{other}");
        }
        assert!(!refused("tenure-sql", "dependencies", "tenure-core"));
        assert!(!refused("tenure-sql", "dev-dependencies", "tenure-conformance"));
    }

    #[test]
    fn the_core_sees_nobody() {
        for other in
            ["tenure", "tenure-sql", "tenure-sqlite", "tenure-sim", "tenure-conformance", "tenure-cli"]
        {
            assert!(refused("tenure-core", "dependencies", other), "{other}");
        }
        assert!(refused("tenure-core", "build-dependencies", "tenure-sqlite"));
    }

    #[test]
    fn suite_simulator_and_dashboard_see_only_the_core() {
        for name in ["tenure-conformance", "tenure-sim", "tenure-dashboard"] {
            assert!(!refused(name, "dependencies", "tenure-core"));
            assert!(refused(name, "dependencies", "tenure-sqlite"));
            assert!(refused(name, "dependencies", "tenure"));
        }
    }

    #[test]
    fn a_package_may_be_tested_with_its_own_features() {
        assert!(!refused("tenure-dashboard", "dev-dependencies", "tenure-dashboard"));
        assert!(refused("tenure-dashboard", "dependencies", "tenure-dashboard"));
    }

    #[test]
    fn library_and_binary_see_backends() {
        assert!(!refused("tenure", "dependencies", "tenure-sqlite"));
        assert!(!refused("tenure-cli", "dependencies", "tenure"));
        assert!(!refused("tenure-cli", "dev-dependencies", "tenure-postgres"));
        assert!(refused("tenure", "dependencies", "tenure-cli"));
    }

    #[test]
    fn the_core_stands_on_nothing_that_does_io() {
        let bad = manifest("tenure-core", "dependencies", "tokio");
        assert_eq!(lines(pure_core, "crates/tenure-core/Cargo.toml", &bad), [6]);
        let good = manifest("tenure-core", "dependencies", "serde");
        assert!(check(pure_core, "crates/tenure-core/Cargo.toml", &good).is_empty());
        let test_only = manifest("tenure-core", "dev-dependencies", "tokio");
        assert!(check(pure_core, "crates/tenure-core/Cargo.toml", &test_only).is_empty());
    }

    #[test]
    fn a_package_without_the_workspace_lints_is_found() {
        assert_eq!(check(workspace_lints, "crates/x/Cargo.toml", "[package]\nname = \"tenure\"\n").len(), 1);
        let good = manifest("tenure", "dependencies", "serde");
        assert!(check(workspace_lints, "crates/x/Cargo.toml", &good).is_empty());
    }
}
