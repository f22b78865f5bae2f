//! Packages of Debian's newest release, unpacked into a folder of our own.
//!
//! Oracle's MySQL is in Debian `sid` only. Nothing of it is installed: a second apt with lists, cache and status of its
//! own fetches the packages with everything they stand on, down to the C library, and each is unpacked into one folder.
//! The source is the machine's own with the release replaced, so that a mirror or a proxy that it has is used here too.
//! None of this needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::apt::find_program;
use crate::server::{Account, output};

const SID: &str = "sid";
const APT: &str = "/etc/apt";

/// A source of packages, in one of the two forms that apt reads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    /// How the name of its file ends, which tells apt the form.
    ending: &'static str,
    text: String,
}

/// Fetches packages and unpacks them into `root`. `work` is for what is needed on the way, and is removed.
pub(crate) fn unpack(packages: &[&str], work: &Path, root: &Path) -> Result<()> {
    for program in ["apt-get", "dpkg"] {
        find_program(program).ok_or_else(|| format!("there is no {program} here to fetch packages with"))?;
    }
    let sources = machine_sources();
    let mut failures = Vec::new();
    for source in &sources {
        match fetch(packages, source, work) {
            Ok(archives) => {
                for archive in archives {
                    let mut dpkg = Account::ourselves().command(Path::new("dpkg"));
                    dpkg.arg("-x").arg(archive).arg(root);
                    output(dpkg)?;
                }
                return clear(work);
            }
            Err(reason) => failures.push(reason),
        }
        clear(work)?;
    }
    if failures.is_empty() {
        return Err(format!("no source of Debian is named under {APT}"));
    }
    Err(format!("{} cannot be fetched from Debian {SID}: {}", packages.join(", "), failures.join("; ")))
}

/// Downloads packages and all they depend on, from one source.
fn fetch(packages: &[&str], source: &Source, work: &Path) -> Result<Vec<PathBuf>> {
    let archives = work.join("cache/archives");
    let write = || -> std::io::Result<()> {
        for folder in ["sources", "lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(work.join(folder))?;
        }
        // Nothing is installed as far as this apt knows, so it fetches the whole tree.
        fs::write(work.join("status"), "")?;
        fs::write(work.join("sources").join(format!("{SID}.{}", source.ending)), &source.text)
    };
    write().map_err(|error| format!("cannot write {}: {error}", work.display()))?;
    output(apt_get(work, &["update"]))?;
    let install = ["install", "--yes", "--no-install-recommends", "--download-only"];
    output(apt_get(work, &[&install[..], packages].concat()))?;
    let entries = fs::read_dir(&archives).map_err(|error| format!("cannot read the archives: {error}"))?;
    let found = entries.flatten().map(|entry| entry.path());
    Ok(found.filter(|path| path.extension().is_some_and(|ending| ending == "deb")).collect())
}

fn apt_get(work: &Path, args: &[&str]) -> Command {
    // Killed with us: the next attempt begins in the same folder.
    let mut command = Account::ourselves().command(Path::new("apt-get"));
    let path = |name: &str| work.join(name).display().to_string();
    let options = [
        "Dir::Etc::sourcelist=/dev/null".to_owned(),
        format!("Dir::Etc::sourceparts={}", path("sources")),
        "Dir::Etc::preferences=/dev/null".to_owned(),
        "Dir::Etc::preferencesparts=/dev/null".to_owned(),
        format!("Dir::State::lists={}", path("lists")),
        format!("Dir::State::status={}", path("status")),
        format!("Dir::Cache={}", path("cache")),
        // The folders are ours alone: no lock of the system, and no user of apt's own who could not write here.
        "Debug::NoLocking=1".to_owned(),
        "APT::Sandbox::User=".to_owned(),
        "Acquire::Languages=none".to_owned(),
        "Acquire::Retries=3".to_owned(),
        // A source that does not answer is an error, not a reason to go on with nothing.
        "APT::Update::Error-Mode=any".to_owned(),
    ];
    for option in options {
        command.args(["-o", &option]);
    }
    command.arg("--quiet").args(args).env("DEBIAN_FRONTEND", "noninteractive").env("LC_ALL", "C");
    command
}

fn clear(work: &Path) -> Result<()> {
    fs::remove_dir_all(work).map_err(|error| format!("cannot remove {}: {error}", work.display()))
}

/// The sources of this machine that may be Debian's own, as they are for `sid`. The likeliest come first.
fn machine_sources() -> Vec<Source> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let codename =
        release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap_or_default();
    let parts = fs::read_dir(Path::new(APT).join("sources.list.d")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = parts.map(|entry| entry.path()).collect();
    // Debian calls its own file `debian.sources`.
    files.sort_by_key(|path| (path.file_name().is_none_or(|name| name != "debian.sources"), path.clone()));
    files.insert(0, Path::new(APT).join("sources.list"));
    let read = files.iter().map(|path| (path, fs::read_to_string(path).unwrap_or_default()));
    read.flat_map(|(path, text)| match path.extension().and_then(|ending| ending.to_str()) {
        Some("list") => from_lines(&text, codename.trim_matches('"')),
        Some("sources") => from_stanzas(&text, codename.trim_matches('"')),
        _ => Vec::new(),
    })
    .collect()
}

/// Whether a release is one of Debian's as a whole: not its updates, and not somebody else's name.
fn is_release(suite: &str, codename: &str) -> bool {
    suite == codename || ["stable", "oldstable", "testing", "unstable", SID].contains(&suite)
}

/// `deb [signed-by=…] URI bookworm main contrib`
fn from_lines(text: &str, codename: &str) -> Vec<Source> {
    let derive = |line: &str| {
        let rest = line.trim().strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim_start();
        let (options, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map(|(options, rest)| (format!("[{options}] "), rest))?,
            None => (String::new(), rest),
        };
        let mut words = rest.split('#').next()?.split_whitespace();
        let (uri, suite) = (words.next()?, words.next()?);
        (is_release(suite, codename) && words.any(|component| component == "main"))
            .then(|| Source { ending: "list", text: format!("deb {options}{uri} {SID} main\n") })
    };
    text.lines().filter_map(derive).collect()
}

/// Stanzas of `Types:`, `URIs:`, `Suites:`, `Components:` and more, with an empty line between two.
fn from_stanzas(text: &str, codename: &str) -> Vec<Source> {
    let mut stanzas = vec![Vec::new()];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.trim().is_empty() {
            stanzas.push(Vec::new());
        } else if let Some(stanza) = stanzas.last_mut() {
            stanza.push(line);
        }
    }
    stanzas.iter().filter_map(|stanza| from_stanza(stanza, codename)).collect()
}

fn from_stanza(lines: &[&str], codename: &str) -> Option<Source> {
    let mut text = String::new();
    let (mut binary, mut release, mut main) = (false, false, false);
    for line in lines {
        // A key may stand in the stanza itself, on lines that are indented.
        let field = line.split_once(':').filter(|_| !line.starts_with([' ', '\t']));
        let name = field.map(|(name, _)| name.to_ascii_lowercase()).unwrap_or_default();
        let mut words = field.map(|(_, value)| value).unwrap_or_default().split_whitespace();
        match name.as_str() {
            "enabled" if words.any(|word| word == "no") => return None,
            "types" => {
                binary = words.any(|word| word == "deb");
                text.push_str("Types: deb");
            }
            "suites" => {
                release = words.any(|suite| is_release(suite, codename));
                text.push_str(&format!("Suites: {SID}"));
            }
            "components" => {
                main = words.any(|word| word == "main");
                text.push_str("Components: main");
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    (binary && release && main).then_some(Source { ending: "sources", text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sources: Vec<Source>) -> Vec<String> {
        sources.into_iter().map(|source| source.text).collect()
    }

    #[test]
    fn a_line_of_the_machine_becomes_one_for_sid() {
        let list = "# deb http://a.example/debian bookworm main\n\
                    deb [arch=amd64 signed-by=/k.gpg] http://b.example/debian bookworm main contrib # ours\n\
                    deb http://b.example/debian bookworm-updates main\n\
                    deb http://b.example/security bookworm-security main\n\
                    deb-src http://b.example/debian bookworm main\n\
                    deb https://c.example/apt tool-bookworm main\n\
                    deb https://d.example/apt bookworm nightly\n";
        assert_eq!(
            texts(from_lines(list, "bookworm")),
            ["deb [arch=amd64 signed-by=/k.gpg] http://b.example/debian sid main\n"]
        );
    }

    #[test]
    fn a_stanza_of_the_machine_becomes_one_for_sid() {
        let stanzas = "Types: deb deb-src\n# a comment\nURIs: http://b.example/debian\n\
                       Suites: bookworm bookworm-updates\nComponents: main contrib\nSigned-By:\n -----BEGIN\n .\n abc\n\n\
                       Types: deb\nURIs: http://b.example/security\nSuites: bookworm-security\nComponents: main\n\n\
                       Types: deb\nURIs: https://c.example/node\nSuites: nodistro\nComponents: main\n\n\
                       Enabled: no\nTypes: deb\nURIs: http://e.example\nSuites: bookworm\nComponents: main\n";
        assert_eq!(
            texts(from_stanzas(stanzas, "bookworm")),
            [
                "Types: deb\nURIs: http://b.example/debian\nSuites: sid\nComponents: main\nSigned-By:\n -----BEGIN\n .\n abc\n"
            ]
        );
    }

    #[test]
    fn a_machine_without_debian_sources_has_none_for_sid() {
        assert!(from_lines("deb http://u.example/ubuntu noble universe\n", "noble").is_empty());
        assert!(from_stanzas("", "bookworm").is_empty());
    }

    #[test]
    fn the_second_apt_leaves_the_system_alone() {
        let command = apt_get(Path::new("/w"), &["update"]);
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        for own in
            ["Dir::State::lists=/w/", "Dir::State::status=/w/", "Dir::Cache=/w/", "Dir::Etc::sourceparts=/w/"]
        {
            assert!(args.iter().any(|arg| arg.starts_with(own)), "{own}");
        }
    }
}
