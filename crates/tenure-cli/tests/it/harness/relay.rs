//! A real `tenure relay`, ended with the test.

use std::fs::File;
use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use super::{Store, code, signal, tenure, wait_for};

/// A running relay; what it says goes to a file of the test's.
pub(crate) struct Relay {
    child: Child,
    log: String,
}

impl Relay {
    /// Starts a relay of this name to a sink.
    pub(crate) fn start(store: &Store, name: &str, to: &str, options: &[&str]) -> Self {
        Self::start_by(store, store.url(), name, to, options)
    }

    /// The same, by another way to the same store.
    pub(crate) fn start_by(store: &Store, url: &str, name: &str, to: &str, options: &[&str]) -> Self {
        Self::spawn(store, url, name, &[&["--name", name, "--to", to], options].concat())
    }

    /// One that has to find a name by itself.
    pub(crate) fn start_nameless(store: &Store, log: &str, to: &str, options: &[&str]) -> Self {
        Self::spawn(store, store.url(), log, &[&["--to", to], options].concat())
    }

    fn spawn(store: &Store, url: &str, log: &str, options: &[&str]) -> Self {
        let log = store.path(&format!("{log}.log"));
        let file = File::options().create(true).append(true).open(&log).expect("a log");
        let mut command = tenure();
        command.args(["relay", "--db", url, "--table-prefix", store.prefix()]);
        command.args(options).stdout(Stdio::null()).stderr(file);
        Self { child: command.spawn().expect("a process"), log }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    pub(crate) fn signal(&self, which: Signal) {
        signal(self.pid(), which);
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Kills it, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to stop; the exit code as a shell gives it.
    pub(crate) fn stop(&mut self) -> i32 {
        self.signal(Signal::SIGTERM);
        self.exit()
    }

    /// Waits for its end.
    pub(crate) fn exit(&mut self) -> i32 {
        code(wait_for("the end of a relay", || self.child.try_wait().expect("a status")))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.signal(Signal::SIGCONT);
        self.kill();
        if std::thread::panicking() {
            eprintln!("{}:\n{}", self.log, self.log());
        }
    }
}
