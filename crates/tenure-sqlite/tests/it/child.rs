//! A second process: this test binary, started again to play one part.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};

use crate::{event_read, opening, processes, relays, replaced};

/// Which part to play, and on which file.
const PART: &str = "TENURE_TEST_PART";
const FILE: &str = "TENURE_TEST_FILE";
/// What the lines of a child begin with, to tell them from those of the test harness.
const MARK: &str = "child: ";

/// A process of one's own to compete with. Killed when dropped.
pub(crate) struct Child {
    process: std::process::Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Child {
    pub(crate) fn start(part: &str, file: &Path) -> Self {
        Self::spawn(command(&std::env::current_exe().unwrap(), part, file))
    }

    /// A child that file permissions bind, also when root runs the tests. Where the build lies, only root may be able to
    /// go; `program` is a copy of this binary elsewhere.
    pub(crate) fn start_unprivileged(part: &str, file: &Path, program: &Path) -> Self {
        let mut command = command(program, part, file);
        if Uid::effective().is_root() {
            command.uid(65534).gid(65534);
        }
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = process.stdin.take().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        Self { process, stdin, stdout }
    }

    /// The next line that the child said.
    pub(crate) fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the child ended");
            if let Some((_, said)) = line.trim_end().split_once(MARK) {
                return said.to_owned();
            }
        }
    }

    /// Lets the child go on.
    pub(crate) fn go(&mut self) {
        self.stdin.write_all(b"go\n").unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.process.id()).unwrap()), signal).unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(program: &Path, part: &str, file: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", "child::plays_its_part", "--nocapture"]).env(PART, part).env(FILE, file);
    command
}

/// What the parent reads as one line.
pub(crate) fn said(text: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{MARK}{text}").unwrap();
    stdout.flush().unwrap();
}

/// Waits for the parent's word.
pub(crate) fn wait_for_go() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

/// Not a test: the way into a child.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plays_its_part() {
    let (Ok(part), Some(file)) = (std::env::var(PART), std::env::var_os(FILE)) else { return };
    let file = PathBuf::from(file);
    match part.as_str() {
        "open" => opening::open(&file).await,
        "look" => opening::look(&file).await,
        "look again" => opening::look_again(&file).await,
        "race" => processes::race(&file).await,
        "quarrel" => processes::quarrel(&file).await,
        "take" => replaced::take_and_renew(&file).await,
        "hold" => processes::hold(&file).await,
        "enqueue" => relays::enqueue(&file).await,
        "append" => event_read::append_along(&file).await,
        "relay" => relays::relay(&file).await,
        other => panic!("no part called {other}"),
    }
}
