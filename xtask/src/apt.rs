//! What the servers need on the machine, and getting it: with apt when we are root, else by saying what is missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::server::is_root;

/// A program that private servers need, and the Debian package that brings it.
#[derive(Debug, Clone, Copy)]
struct Need {
    package: &'static str,
    /// The backends that need it; none means that tests need it in any case.
    of: &'static [&'static str],
    present: fn() -> bool,
}

const NEEDS: &[Need] = &[
    Need { package: "postgresql", of: &["Postgres", "PgBouncer"], present: || postgres_bin().is_some() },
    Need { package: "pgbouncer", of: &["PgBouncer"], present: || find_program("pgbouncer").is_some() },
    Need {
        package: "openssl",
        of: &["Postgres", "PgBouncer", "MariaDB"],
        present: || find_program("openssl").is_some(),
    },
    // The programs alone. `mariadb-server` would also start a server of the system's own.
    Need {
        package: "mariadb-server-core",
        of: &["MariaDB"],
        present: || find_program("mariadbd").is_some() && find_program("mariadb-install-db").is_some(),
    },
    Need { package: "mariadb-client-core", of: &["MariaDB"], present: || find_program("mariadb").is_some() },
    Need { package: "etcd-server", of: &["etcd"], present: || find_program("etcd").is_some() },
    // The client of etcd is generated when it is built.
    Need { package: "protobuf-compiler", of: &[], present: || find_program("protoc").is_some() },
    // What the compiler's own files name; the compiler only recommends it.
    Need {
        package: "libprotobuf-dev",
        of: &[],
        present: || Path::new("/usr/include/google/protobuf/descriptor.proto").exists(),
    },
    Need { package: "nats-server", of: &["NATS"], present: || find_program("nats-server").is_some() },
    Need { package: "openjdk-17-jre-headless", of: &["Kafka"], present: || find_program("java").is_some() },
    // Fetches Kafka's jars, see `kafka.rs`.
    Need { package: "maven", of: &["Kafka"], present: || find_program("mvn").is_some() },
    // The client of Kafka is C, and built along; with every feature it has TLS by the system's library.
    Need { package: "libssl-dev", of: &[], present: || Path::new("/usr/include/openssl/ssl.h").exists() },
    Need { package: "pkg-config", of: &[], present: || find_program("pkg-config").is_some() },
    Need { package: "make", of: &[], present: || find_program("make").is_some() },
    Need { package: "g++", of: &[], present: || find_program("g++").is_some() },
    // A user's own way to a SQLite file: the tests insert messages with it.
    Need { package: "sqlite3", of: &[], present: || find_program("sqlite3").is_some() },
    // The dashboard is tested in a browser; the versions of the two are one.
    Need { package: "chromium", of: &[], present: || find_program("chromium").is_some() },
    Need { package: "chromium-driver", of: &[], present: || find_program("chromedriver").is_some() },
    // MySQL is not here: no release of Debian that one would install has it. It is fetched by `mysql.rs`.
];

/// What to do about missing packages.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Install(Vec<&'static str>),
    /// They are missing, and it is not for us to install them; why not.
    Without(Vec<&'static str>, &'static str),
}

/// Installs what the wanted backends lack if that can be done. What is still missing is said by the server that cannot
/// start.
pub(crate) fn ensure(wanted: &[&str]) -> Result<()> {
    let missing = needed(wanted).filter(|need| !(need.present)()).map(|need| need.package).collect();
    match plan(missing, is_root(), find_program("apt-get").is_some()) {
        Plan::Nothing => Ok(()),
        Plan::Without(packages, why) => {
            eprintln!("xtask: MISSING PACKAGES: {} ({why})", packages.join(", "));
            Ok(())
        }
        Plan::Install(packages) => {
            eprintln!("xtask: installing {}", packages.join(", "));
            let [update, install] = commands(&packages);
            // Old lists may still do; if not, the installation says so.
            run(update).unwrap_or_else(|reason| eprintln!("xtask: {reason}"));
            run(install).or_else(|_| one_by_one(&packages, run))
        }
    }
}

/// One package that cannot be had must not keep the others out: apt-get installs all of a list or none.
fn one_by_one(
    packages: &[&'static str],
    mut install: impl FnMut(Vec<&'static str>) -> Result<()>,
) -> Result<()> {
    let failed: Vec<&str> = packages
        .iter()
        .filter(|package| install(commands(&[**package])[1].clone()).is_err())
        .copied()
        .collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "CANNOT BE INSTALLED: {}; tests that need them are left out and say so, and in CI that is a failure",
            failed.join(", ")
        )),
    }
}

/// What a browser needs that is not here, for the tests of the dashboard.
pub(crate) fn missing_browser() -> Vec<&'static str> {
    let of_browser = |need: &&Need| need.package.starts_with("chromium");
    NEEDS.iter().filter(of_browser).filter(|need| !(need.present)()).map(|need| need.package).collect()
}

/// The directory with `initdb` and `postgres`: Debian keeps it off the path, one per major version.
pub(crate) fn postgres_bin() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin")))
        })
        .filter(|(_, bin)| bin.join("initdb").is_file() && bin.join("postgres").is_file())
        .max_by_key(|(version, _)| *version);
    match newest {
        Some((_, bin)) => Some(bin),
        None => find_program("initdb").and_then(|initdb| initdb.parent().map(PathBuf::from)),
    }
}

/// Looks for a program on the path, and where Debian keeps programs for administrators.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

fn needed(wanted: &[&str]) -> impl Iterator<Item = &'static Need> {
    NEEDS.iter().filter(|need| need.of.is_empty() || need.of.iter().any(|backend| wanted.contains(backend)))
}

fn plan(missing: Vec<&'static str>, root: bool, apt: bool) -> Plan {
    match (missing.is_empty(), apt, root) {
        (true, _, _) => Plan::Nothing,
        (false, false, _) => Plan::Without(missing, "there is no apt-get here; install their like by hand"),
        (false, true, false) => {
            Plan::Without(missing, "only root can install them: apt-get install them first")
        }
        (false, true, true) => Plan::Install(missing),
    }
}

fn commands(packages: &[&'static str]) -> [Vec<&'static str>; 2] {
    let install = ["install", "--yes", "--no-install-recommends"];
    [vec!["update"], install.into_iter().chain(packages.iter().copied()).collect()]
}

fn run(args: Vec<&'static str>) -> Result<()> {
    let mut apt = Command::new("apt-get");
    // Another apt may be at work on a machine that has just started.
    apt.args(["--quiet", "-o", "DPkg::Lock::Timeout=120"])
        .args(&args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // What `cargo xtask services` prints is for a shell to read.
        .stdout(std::io::stderr());
    match apt.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("apt-get {} failed ({status})", args.join(" "))),
        Err(error) => Err(format!("apt-get does not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_package_that_cannot_be_had_does_not_keep_the_others_out() {
        let mut tried = Vec::new();
        let install = |args: Vec<&'static str>| {
            let package = *args.last().unwrap();
            tried.push(package);
            if package == "chromium" { Err("no such package".to_owned()) } else { Ok(()) }
        };
        let said = one_by_one(&["postgresql", "chromium", "pgbouncer"], install).unwrap_err();
        assert_eq!(tried, ["postgresql", "chromium", "pgbouncer"]);
        assert!(said.contains(": chromium;") && !said.contains("postgresql"), "{said}");
    }

    #[test]
    fn nothing_missing_means_nothing_done() {
        assert_eq!(plan(vec![], true, true), Plan::Nothing);
        assert_eq!(plan(vec![], false, false), Plan::Nothing);
    }

    #[test]
    fn a_given_server_needs_no_package() {
        let packages = |wanted: &[&str]| needed(wanted).map(|need| need.package).collect::<Vec<_>>();
        let always = [
            "protobuf-compiler",
            "libprotobuf-dev",
            "libssl-dev",
            "pkg-config",
            "make",
            "g++",
            "sqlite3",
            "chromium",
            "chromium-driver",
        ];
        assert_eq!(packages(&["MySQL"]), always);
        let mut with_mariadb = vec!["openssl", "mariadb-server-core", "mariadb-client-core"];
        with_mariadb.extend(always);
        assert_eq!(packages(&["MariaDB"]), with_mariadb);
        assert!(packages(&["PgBouncer"]).contains(&"postgresql"), "it needs a private Postgres behind it");
    }

    #[test]
    fn no_package_starts_a_mariadb_of_the_system() {
        assert!(NEEDS.iter().all(|need| need.package != "mariadb-server"));
    }

    #[test]
    fn only_root_installs() {
        assert_eq!(plan(vec!["pgbouncer"], true, true), Plan::Install(vec!["pgbouncer"]));
        assert!(
            matches!(plan(vec!["pgbouncer"], false, true), Plan::Without(missing, _) if missing == ["pgbouncer"])
        );
        assert!(matches!(plan(vec!["pgbouncer"], true, false), Plan::Without(..)));
    }

    #[test]
    fn lists_are_fetched_before_packages() {
        let [update, install] = commands(&["postgresql", "pgbouncer"]);
        assert_eq!(update, ["update"]);
        assert_eq!(install, ["install", "--yes", "--no-install-recommends", "postgresql", "pgbouncer"]);
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(find_program("sh").is_some());
        assert!(find_program("no-such-program-anywhere").is_none());
    }
}
