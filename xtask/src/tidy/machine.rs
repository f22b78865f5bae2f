//! Nothing of the machine on which a file was written: no path of its own, no host that it fetched packages from.

use super::Finding;
use super::files::File;

/// Folders that exist on somebody's machine. Written in two parts, so that this file does not find itself.
const FOLDERS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/")];
/// Hosts of package registries: a package is named, and the client knows where it is.
const HOSTS: &[&str] = &[
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("//crates", ".io"),
    concat!("pypi", ".org"),
    concat!("files.pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("npmjs", ".org"),
    concat!("repo1.maven", ".org"),
    concat!("deb.debian", ".org"),
];
/// Cargo writes this file, and names its registry in it.
const LOCK: &str = "Cargo.lock";

/// No file names an absolute path of one machine.
pub(crate) fn no_paths(files: &[File]) -> Vec<Finding> {
    find(files, |line| {
        FOLDERS
            .iter()
            .find(|folder| starts_a_path(line, folder))
            .map(|folder| format!("a path under `{folder}`"))
    })
}

/// No file names the host of a package registry.
pub(crate) fn no_registry_hosts(files: &[File]) -> Vec<Finding> {
    find(files, |line| {
        HOSTS.iter().find(|host| line.contains(**host)).map(|_| "a host of a package registry".to_owned())
    })
}

fn find(files: &[File], wrong: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.name() != LOCK) {
        for (line, text) in file.lines() {
            if let Some(what) = wrong(text) {
                findings.push(Finding::error(&file.path, line, format!("{what} is of one machine only")));
            }
        }
    }
    findings
}

/// Whether the folder stands where a path begins, and is not the middle of a longer one or of a web address.
fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | ')'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{check, lines};
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_found() {
        for folder in FOLDERS {
            let text = format!("fine\nlet path = \"{folder}me/file\";\nurl = file://{folder}x\n");
            assert_eq!(lines(no_paths, "docs/a.md", &text), [2, 3], "{folder}");
        }
    }

    #[test]
    fn the_middle_of_a_path_is_fine() {
        let text = format!("see docs{0}notes and https://example.org{0}page\n", FOLDERS[0]);
        assert!(check(no_paths, "docs/a.md", &text).is_empty());
    }

    #[test]
    fn a_registry_host_is_found_except_where_cargo_writes_it() {
        for host in HOSTS {
            let text = format!("fetch https:{}{host}/x\n", if host.starts_with("//") { "" } else { "//" });
            assert_eq!(lines(no_registry_hosts, "README.md", &text), [1], "{host}");
            assert!(check(no_registry_hosts, "Cargo.lock", &text).is_empty());
        }
    }
}
