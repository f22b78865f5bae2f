//! `cargo xtask book`: whether the pages of the reference and the marked numbers of the book are what the code says.
//!
//! The pages are made by the binary itself (`tenure reference`), which knows its own options, tables and metrics. `mdbook` is
//! not needed for that; where it is on the path, the book is built too, and a warning of it is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::apt::find_program;
use crate::cargo::{cargo, describe, root, run as run_command};

/// `cargo xtask book [--write]`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let write = match args {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => return Err("use: cargo xtask book [--write]".to_owned()),
    };
    let build = cargo(&["build", "-p", "tenure-cli"]);
    println!("{}", describe(&build));
    run_command(build)?;
    check(&target().join("debug").join("tenure"), write)
}

/// Where cargo puts what it builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Compares the book with what `binary` says, or writes it.
pub(crate) fn check(binary: &Path, write: bool) -> Result<()> {
    let mut command = Command::new(binary);
    command.arg("reference").arg(if write { "--write" } else { "--check" }).arg(root());
    println!("{}", describe(&command));
    run_command(command).map_err(|reason| {
        format!("{reason}: the book is not what the code says; run `cargo xtask book --write`, and mend the numbers that it names")
    })?;
    build()
}

/// Builds the book where that can be done.
fn build() -> Result<()> {
    let Some(mdbook) = find_program("mdbook") else {
        println!(
            "xtask: mdbook IS NOT ON THE PATH: the book is checked, but not built (`cargo install mdbook --locked`)"
        );
        return Ok(());
    };
    let mut command = Command::new(mdbook);
    command.arg("build").arg(root().join("docs"));
    println!("{}", describe(&command));
    let said = command.output().map_err(|error| format!("mdbook does not start: {error}"))?;
    let text = String::from_utf8_lossy(&said.stderr).into_owned() + &String::from_utf8_lossy(&said.stdout);
    print!("{text}");
    if !said.status.success() {
        return Err("mdbook cannot build the book".to_owned());
    }
    match text.lines().find(|line| is_complaint(line)) {
        Some(line) => Err(format!("mdbook warns, and that is a failure: {line}")),
        None => Ok(()),
    }
}

fn is_complaint(line: &str) -> bool {
    ["WARN", "ERROR"]
        .iter()
        .any(|word| line.split_whitespace().any(|part| part.trim_matches(['[', ']']) == *word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_mdbook_are_seen() {
        assert!(is_complaint("2026-01-01 [WARN] (mdbook::preprocess::links): no such file"));
        assert!(is_complaint(" WARN unclosed HTML tag"));
        assert!(!is_complaint(" INFO Running the html backend"));
    }

    #[test]
    fn only_its_own_option_is_taken() {
        assert!(run(&["--wrte".to_owned()]).is_err());
    }
}
