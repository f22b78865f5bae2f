//! The launcher: the few steps between the fork and the command.
//!
//! It asks the kernel to end it when its parent dies, stops itself until the parent has told the guard about it, and then
//! becomes the command. Both settings survive the `exec`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use nix::sys::signal::{Signal, raise};
use nix::unistd::{AccessFlags, access, getpgid, getpgrp, getppid};

use super::terminal;
use crate::output;

/// The first argument by which this binary knows that it is the launcher.
pub(super) const COMMAND: &str = "__launch";

/// Arguments: the parent's process id, then the command.
pub(super) fn main(args: Vec<OsString>) -> ExitCode {
    let [parent, command, rest @ ..] = args.as_slice() else { return ExitCode::from(2) };
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL) {
        output::note(format_args!("cannot tie the command to this process: {error}"));
        return ExitCode::from(1);
    }
    // The parent may have died before the line above; then nobody will tell us.
    if parent.to_str().and_then(|pid| pid.parse().ok()) != Some(getppid().as_raw()) {
        return ExitCode::from(1);
    }
    if let Err(error) = raise(Signal::SIGSTOP) {
        output::note(format_args!("cannot wait for the guard: {error}"));
        return ExitCode::from(1);
    }
    if let Ok(parents) = getpgid(Some(getppid())) {
        terminal::hand_over(parents, getpgrp());
    }
    let error = Command::new(command).args(rest).exec();
    let problem = Problem::new(command, &error);
    output::note(&problem.message);
    ExitCode::from(problem.code)
}

/// Why a command cannot run, and the exit code that shells have for it.
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) code: u8,
}

impl Problem {
    fn new(command: &OsStr, error: &io::Error) -> Self {
        let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
        let what = match error.kind() {
            io::ErrorKind::NotFound => "not found".to_owned(),
            io::ErrorKind::PermissionDenied => "cannot be executed: permission denied".to_owned(),
            _ => format!("cannot be executed: {error}"),
        };
        Self { message: format!("command `{}` {what}", command.display()), code }
    }
}

/// What would keep `command` from running, as far as can be told beforehand.
pub(super) fn problem(command: &OsStr) -> Option<Problem> {
    if command.is_empty() {
        return Some(Problem::new(command, &io::Error::from(io::ErrorKind::NotFound)));
    }
    let candidates: Vec<PathBuf> = if command.as_encoded_bytes().contains(&b'/') {
        vec![PathBuf::from(command)]
    } else {
        let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
        env::split_paths(&path).map(|directory| directory.join(command)).collect()
    };
    if candidates.iter().any(|path| executable(path)) {
        return None;
    }
    let found = candidates.iter().any(|path| path.exists());
    let kind = if found { io::ErrorKind::PermissionDenied } else { io::ErrorKind::NotFound };
    Some(Problem::new(command, &io::Error::from(kind)))
}

fn executable(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}
