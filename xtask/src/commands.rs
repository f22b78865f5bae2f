//! Runs the commands that the README and the docs tell a reader to run.
//!
//! A block of shell in a Markdown file is run when the line above it is `<!-- xtask: run -->`:
//!
//! ````text
//! <!-- xtask: run -->
//! ```sh
//! tenure lease list --db sqlite:demo.db
//! ```
//! ````
//!
//! The blocks of one file run in order in one empty directory, each stopping at its first failing command. The binary
//! that the tests built stands in for `cargo run --release --`, so that nothing is built twice.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cargo::root;
use crate::scratch::Scratch;
use crate::server::output;
use crate::{Result, tidy};

const MARK: &str = "<!-- xtask: run -->";
const LIMIT_SECONDS: &str = "60";
/// In a reader's shell `cargo run --release --` runs the binary; here the one that is built already.
const PREAMBLE: &str = "\
set -euo pipefail
cargo() {
  if [ \"${1-} ${2-} ${3-}\" = 'run --release --' ]; then shift 3; tenure \"$@\"; else command cargo \"$@\"; fi
}
";

/// A marked block.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    line: usize,
    script: String,
}

/// Runs every marked block of every Markdown file with `binary` as `tenure`.
pub(crate) fn run(binary: Option<&Path>) -> Result<()> {
    let mut count = 0_usize;
    for path in tidy::files::list(&root())?.iter().filter(|path| path.ends_with(".md")) {
        let text =
            fs::read_to_string(root().join(path)).map_err(|error| format!("cannot read {path}: {error}"))?;
        let blocks = blocks(&text);
        if blocks.is_empty() {
            continue;
        }
        let folder = binary
            .and_then(Path::parent)
            .ok_or("the binary `tenure` was not built; it has no test that needs it")?;
        let scratch = Scratch::create()?;
        for block in blocks {
            println!("{path}:{}", block.line);
            output(shell(&block.script, folder, scratch.path()))
                .map_err(|reason| format!("{path}:{}: {reason}", block.line))?;
            count += 1;
        }
    }
    println!("{count} blocks of commands run as the docs say");
    Ok(())
}

fn shell(script: &str, binaries: &Path, directory: &Path) -> Command {
    let mut path = binaries.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = Command::new("timeout");
    command.args([LIMIT_SECONDS, "bash", "-c", &format!("{PREAMBLE}{script}")]);
    command.current_dir(directory).env("PATH", path).stdin(Stdio::null());
    command
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        if line.trim() != MARK {
            continue;
        }
        let Some((at, _)) = lines.by_ref().next().filter(|(_, line)| line.trim_start().starts_with("```sh"))
        else {
            continue;
        };
        let script: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```").collect();
        blocks.push(Block { line: at + 1, script: script.join("\n") });
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str =
        "# Title\n\n```sh\nrm -rf everything\n```\n\n<!-- xtask: run -->\n```sh\necho one\necho two\n```\n";

    #[test]
    fn only_marked_blocks_are_run() {
        assert_eq!(blocks(SAMPLE), [Block { line: 8, script: "echo one\necho two".to_owned() }]);
    }

    #[test]
    fn a_command_that_fails_fails_the_block() {
        let scratch = Scratch::create().unwrap();
        let run = |script| output(shell(script, scratch.path(), scratch.path()));
        assert!(run("false\ntrue").is_err());
        assert_eq!(run("echo fine"), Ok("fine".to_owned()));
    }

    #[test]
    fn the_built_binary_stands_in_for_cargo_run() {
        let scratch = Scratch::create().unwrap();
        let tenure = scratch.path().join("tenure");
        fs::write(&tenure, "#!/bin/sh\necho ran \"$@\"\n").unwrap();
        output({
            let mut chmod = Command::new("chmod");
            chmod.arg("755").arg(&tenure);
            chmod
        })
        .unwrap();
        let said = output(shell("cargo run --release -- lease list", scratch.path(), scratch.path()));
        assert_eq!(said, Ok("ran lease list".to_owned()));
    }
}
