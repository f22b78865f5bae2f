//! Calls of cargo from within `cargo xtask`.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::Result;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map(PathBuf::from).unwrap_or(own)
}

/// A cargo command in the root of the workspace.
///
/// The outer cargo tells `xtask` about its own package in the environment. Build scripts that watch those variables
/// would see them change between a plain `cargo build` and one from here, and build everything again.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(args).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_BIN_NAME" {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command with its output going where ours goes.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let told = describe(&command);
    let status = command.status().map_err(|error| format!("`{told}` does not start: {error}"))?;
    judge(&told, status)
}

/// Runs a command and hands over each line of its standard output.
pub(crate) fn run_reading(mut command: Command, mut line: impl FnMut(&str)) -> Result<()> {
    let told = describe(&command);
    let fail = |error: std::io::Error| format!("`{told}` does not run: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(fail)?;
    if let Some(out) = child.stdout.take() {
        each_line(out, &mut line).map_err(fail)?;
    }
    judge(&told, child.wait().map_err(fail)?)
}

/// Runs a command, passes its output and its errors on in the order in which they come, and hands over each line.
pub(crate) fn run_streaming(mut command: Command, mut line: impl FnMut(&str)) -> Result<()> {
    let told = describe(&command);
    let fail = |error: std::io::Error| format!("`{told}` does not run: {error}");
    let (reader, writer) = std::io::pipe().map_err(fail)?;
    command.stdout(writer.try_clone().map_err(fail)?).stderr(writer);
    let mut child = command.spawn().map_err(fail)?;
    // The command still holds the ends for writing; without dropping it the pipe would never end.
    drop(command);
    each_line(reader, |text| {
        println!("{text}");
        line(text);
    })
    .map_err(fail)?;
    judge(&told, child.wait().map_err(fail)?)
}

/// A command as one would type it.
pub(crate) fn describe(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    std::iter::once(name).chain(args).collect::<Vec<_>>().join(" ")
}

fn judge(told: &str, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(format!("`{told}` failed ({status})")) }
}

/// Tests may print anything: what is not UTF-8 is shown as well as it can be.
fn each_line(reader: impl std::io::Read, mut line: impl FnMut(&str)) -> std::io::Result<()> {
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        line(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']));
        bytes.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_errors_arrive_in_order() {
        let mut seen = Vec::new();
        run_streaming(shell("echo one; echo two >&2; echo three"), |line| seen.push(line.to_owned()))
            .unwrap();
        assert_eq!(seen, ["one", "two", "three"]);
    }

    #[test]
    fn a_failure_is_told_with_its_command() {
        let reason = run(shell("exit 7")).unwrap_err();
        assert!(reason.contains("sh -c exit 7") && reason.contains('7'), "{reason}");
        assert!(run_streaming(shell("echo said; exit 1"), |_| {}).is_err());
    }

    #[test]
    fn what_is_not_utf8_does_not_end_the_reading() {
        let mut seen = 0;
        run_reading(shell(r"printf 'a\377\nb\n'"), |_| seen += 1).unwrap();
        assert_eq!(seen, 2);
    }
}
