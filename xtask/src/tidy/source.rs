//! Rules about single source files.

use super::Finding;
use super::files::{File, code};

const LONG_LINES: usize = 600;
/// Macros that mark unfinished or forgotten work.
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "dbg!"];
/// Where the outside world comes in. The core takes time and chance as inputs instead.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
    "std::io",
    "Instant::now",
    "SystemTime::now",
];

/// Every source file opens with what it is and why.
pub(crate) fn opens_with_a_comment(files: &[File]) -> Vec<Finding> {
    let ours = files.iter().filter(|file| file.is_crate_source() || in_workshop(file));
    ours.filter(|file| !file.text.starts_with("//!"))
        .map(|file| Finding::error(&file.path, 1, "a file opens with `//!`: what it is and why"))
        .collect()
}

/// Nothing is left for later: no ignored tests, no placeholders.
pub(crate) fn nothing_unfinished(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && file.path.starts_with("crates/")) {
        for (line, text) in file.lines() {
            let text = code(text);
            if text.trim_start().starts_with("#[ignore") {
                findings.push(Finding::error(&file.path, line, "a test that is ignored proves nothing"));
            }
            for name in UNFINISHED.iter().filter(|name| calls(text, name)) {
                findings.push(Finding::error(&file.path, line, format!("`{name}` is left over")));
            }
        }
    }
    findings
}

/// The core does no I/O: no clock, no files, no sockets, no threads.
pub(crate) fn core_does_no_io(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with("crates/tenure-core/src/") && file.is_rust())
    {
        for (line, text) in file.lines_before_tests() {
            for outside in OUTSIDE.iter().filter(|outside| code(text).contains(**outside)) {
                findings.push(Finding::error(
                    &file.path,
                    line,
                    format!("the core does no I/O, but names `{outside}`"),
                ));
            }
        }
    }
    findings
}

/// A long file is right only for one story told in one place; so this is only said.
pub(crate) fn long_files(files: &[File]) -> Vec<Finding> {
    let rust = files.iter().filter(|file| file.is_rust());
    rust.map(|file| (file, file.lines().count()))
        .filter(|(_, count)| *count > LONG_LINES)
        .map(|(file, count)| Finding::warning(&file.path, count, format!("{count} lines: is it one idea?")))
        .collect()
}

fn in_workshop(file: &File) -> bool {
    file.is_rust() && file.path.starts_with("xtask/src/")
}

/// Whether a macro is called, and not one whose name ends the same.
fn calls(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{check, lines};
    use super::*;

    const SOURCE: &str = "crates/tenure/src/lease.rs";

    #[test]
    fn a_file_without_an_opening_comment_is_found() {
        assert_eq!(lines(opens_with_a_comment, SOURCE, "use std::fmt;\n"), [1]);
        assert!(check(opens_with_a_comment, SOURCE, "//! A lease.\n").is_empty());
    }

    #[test]
    fn ignored_tests_and_placeholders_are_found() {
        let text =
            "#[ignore = \"slow\"]\nfn a() { todo!() }\nfn b() { dbg!(1); unimplemented!() }\n// todo!\n";
        assert_eq!(lines(nothing_unfinished, SOURCE, text), [1, 2, 3, 3]);
        assert_eq!(lines(nothing_unfinished, "crates/tenure/tests/it.rs", "    #[ignore]\n"), [1]);
        assert!(check(nothing_unfinished, SOURCE, "my_todo!();\n").is_empty());
    }

    #[test]
    fn a_clock_in_the_core_is_found_but_not_in_its_tests() {
        let core = "crates/tenure-core/src/time.rs";
        let text = "let now = Instant::now();\n#[cfg(test)]\nuse std::thread;\n";
        assert_eq!(lines(core_does_no_io, core, text), [1]);
        assert!(check(core_does_no_io, SOURCE, text).is_empty());
    }

    #[test]
    fn a_long_file_is_only_a_warning() {
        let findings = check(long_files, SOURCE, &"x\n".repeat(LONG_LINES + 1));
        assert!(matches!(findings.as_slice(), [one] if one.weight == super::super::Weight::Warning));
        assert!(check(long_files, SOURCE, &"x\n".repeat(LONG_LINES)).is_empty());
    }
}
