//! What every test needs: a store of its own, processes that end with the test, and patience.

mod acts;
mod cluster_node;
mod mysql;
mod pipe;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "kubernetes"))]
mod place;
mod process;
mod proxy;
mod receiver;
mod relay;
mod runner;
mod store;

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use acts::Acts;
pub(crate) use cluster_node::{ClusterNode, assert_never_doubled, declare, micros_now, runs};
pub(crate) use pipe::{fill, full_pipe};
#[cfg(any(feature = "etcd", feature = "kafka", feature = "kubernetes"))]
pub(crate) use place::{Place, at, tests_at};
pub(crate) use process::{children, freeze, guard_of, is_running, signal, signal_group};
pub(crate) use proxy::{Link, Proxy};
pub(crate) use receiver::{Answer, Receiver};
pub(crate) use relay::Relay;
pub(crate) use runner::{Run, Runner};
pub(crate) use store::{Store, block_on, on, server};

/// The binary under test.
pub(crate) const TENURE: &str = env!("CARGO_BIN_EXE_tenure");
/// How long to wait for what must happen. Far longer than it takes: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Makes each function a test on one store: `tests_on!(postgres: some_property)` is the test `postgres::some_property`.
macro_rules! tests_on {
    ($store:ident: $($name:ident),+ $(,)?) => {
        mod $store {
            $(#[test] fn $name() { crate::harness::on(stringify!($store), super::$name); })+
        }
    };
}
pub(crate) use tests_on;

/// Asks until there is an answer; fails, naming what was waited for, when patience ends.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain for {what}");
        thread::sleep(Duration::from_millis(5)); // passes time: between two looks
    }
}

/// Asks until it is so.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// What a command that ends by itself had to say.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Fails unless the command did.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

/// `tenure` without anything of the environment that it would listen to.
pub(crate) fn tenure() -> Command {
    clean(Command::new(TENURE))
}

/// The same, with a script of the shell before it; the script ends with `exec "$0" "$@"`.
pub(crate) fn through_shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, TENURE]);
    clean(command)
}

fn clean(mut command: Command) -> Command {
    let ours = |name: &str| name.starts_with("TENURE_") || name.starts_with("OTEL_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Said {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process");
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = |mut from: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = from.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let (stdout, stderr) = (reader(Box::new(out)), reader(Box::new(err)));
    let deadline = Instant::now() + PATIENCE * 3;
    let status = loop {
        match child.try_wait().expect("a status") {
            Some(status) => break Some(status),
            None if Instant::now() > deadline => break None,
            None => thread::sleep(Duration::from_millis(5)), // passes time: between two looks
        }
    };
    let Some(status) = status else {
        let _ = child.kill();
        panic!("{command:?} does not end");
    };
    Said { code: code(status), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// The exit code as a shell gives it.
pub(crate) fn code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
