//! A real `tenure run`, watched while it runs and ended with the test, together with all that it started.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;

use super::{Store, children, code, signal, signal_group, tenure, through_shell, wait_for};

/// Options under which a holder rides out the hiccups of a busy machine. For tests in which nobody dies.
const CALM: [&str; 4] = ["--ttl", "12s", "--presence-trust", "5s"];
/// Options under which a death is noticed soon, and yet no holder falls to a hiccup of a second.
const BRISK: [&str; 6] = ["--ttl", "4s", "--renew", "500ms", "--presence-trust", "2s"];

/// How to run a command under a lease.
pub(crate) struct Run<'a> {
    store: &'a Store,
    url: String,
    lease: String,
    options: Vec<String>,
    environment: Vec<(String, String)>,
    ignoring: Option<String>,
    stdin: Stdio,
    stdout: Stdio,
    stderr: Stdio,
}

impl<'a> Run<'a> {
    /// The lease `job`, calmly.
    pub(crate) fn calm(store: &'a Store) -> Self {
        Self::new(store, &CALM)
    }

    /// The lease `job`, with death noticed soon.
    pub(crate) fn brisk(store: &'a Store) -> Self {
        Self::new(store, &BRISK)
    }

    /// The lease `job`, with the defaults.
    pub(crate) fn plain(store: &'a Store) -> Self {
        Self::new(store, &[])
    }

    fn new(store: &'a Store, options: &[&str]) -> Self {
        let run = Self {
            store,
            url: store.url().into(),
            lease: "job".into(),
            options: vec![],
            environment: vec![],
            ignoring: None,
            stdin: Stdio::null(),
            stdout: Stdio::piped(),
            stderr: Stdio::piped(),
        };
        run.with(options)
    }

    /// Another lease.
    pub(crate) fn lease(mut self, name: &str) -> Self {
        self.lease = name.into();
        self
    }

    /// Another way to the same store.
    pub(crate) fn by(mut self, url: &str) -> Self {
        self.url = url.into();
        self
    }

    /// More options.
    pub(crate) fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|option| (*option).to_owned()));
        self
    }

    pub(crate) fn stdin(mut self, stdin: Stdio) -> Self {
        self.stdin = stdin;
        self
    }

    /// Events and the command's output go there, and are not listened to.
    pub(crate) fn stdout(mut self, stdout: Stdio) -> Self {
        self.stdout = stdout;
        self
    }

    /// Notes go there, and are not listened to.
    pub(crate) fn stderr(mut self, stderr: Stdio) -> Self {
        self.stderr = stderr;
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Started to ignore this signal, as `nohup` does with `HUP`.
    pub(crate) fn ignoring(mut self, signal: &str) -> Self {
        self.ignoring = Some(signal.into());
        self
    }

    /// Starts it.
    pub(crate) fn start(self, command: &[&str]) -> Runner {
        let mut tenure = match self.ignoring {
            Some(signal) => through_shell(&format!("trap '' {signal}; exec \"$0\" \"$@\"")),
            None => tenure(),
        };
        tenure.envs(self.environment);
        tenure.args(["run", "--json", "--lease", &self.url, "--name", &self.lease]);
        tenure.args(["--table-prefix", self.store.prefix()]).args(self.options).arg("--").args(command);
        tenure.stdin(self.stdin).stdout(self.stdout).stderr(self.stderr);
        Runner::watch(tenure.spawn().expect("a process"))
    }

    /// Starts a shell script.
    pub(crate) fn shell(self, script: &str) -> Runner {
        self.start(&["sh", "-c", script])
    }

    /// Starts it and waits until the command runs; returns its term as well.
    pub(crate) fn holding(self, command: &[&str]) -> (Runner, u64) {
        let runner = self.start(command);
        let term = runner.until("acquired")["term"].as_u64().expect("a term");
        (runner, term)
    }

    /// Starts it and waits until it waits.
    pub(crate) fn waiting(self, command: &[&str]) -> Runner {
        let runner = self.start(command);
        runner.until("waiting");
        runner
    }
}

/// A running `tenure run --json`.
pub(crate) struct Runner {
    child: Child,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Debug, Default)]
struct Heard {
    events: Vec<Value>,
    /// What the command itself wrote to standard output.
    lines: Vec<String>,
    stderr: String,
    open: usize,
}

impl Runner {
    fn watch(mut child: Child) -> Self {
        let heard = Arc::new(Mutex::new(Heard::default()));
        if let Some(stdout) = child.stdout.take() {
            listen(&heard, move |heard| hear_events(stdout, heard));
        }
        if let Some(stderr) = child.stderr.take() {
            listen(&heard, move |heard| hear_notes(stderr, heard));
        }
        Self { child, heard }
    }

    /// Also after a listener failed: what it heard until then is worth reading.
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    /// The command's process, which leads a group of its own.
    pub(crate) fn command(&self) -> Pid {
        let pid = self.until("acquired")["pid"].as_i64().expect("a process id");
        Pid::from_raw(i32::try_from(pid).unwrap())
    }

    pub(crate) fn signal(&self, which: Signal) {
        signal(self.pid(), which);
    }

    /// Every event of this kind so far.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let heard = self.heard();
        heard.events.iter().filter(|event| event["event"] == kind).cloned().collect()
    }

    /// Waits for the first event of this kind.
    pub(crate) fn until(&self, kind: &str) -> Value {
        self.until_nth(kind, 1)
    }

    /// Waits for the n-th event of this kind.
    pub(crate) fn until_nth(&self, kind: &str, nth: usize) -> Value {
        let look = || {
            if let Some(event) = self.events(kind).get(nth - 1) {
                return Some(event.clone());
            }
            assert!(self.heard().open > 0, "ended without having been {kind}");
            None
        };
        wait_for(&format!("event {kind} number {nth}"), look)
    }

    /// What the command wrote to standard output.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.heard().lines.clone()
    }

    pub(crate) fn stderr(&self) -> String {
        self.heard().stderr.clone()
    }

    /// Fails unless a write under this holder's term is let through. Where the holder has lost its lease to a hiccup of
    /// the machine, the refusal is right, and it must know.
    pub(crate) fn assert_passes_the_fence(&self, store: &Store) {
        let acquired = self.until("acquired");
        let (lease, term) = (acquired["lease"].as_str().unwrap(), acquired["term"].as_u64().unwrap());
        if !store.fence_holds(lease, term) {
            self.until("lost");
        }
    }

    pub(crate) fn take_stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("piped")
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_some()
    }

    /// Waits for its end, and for all that it wrote; the exit code as a shell gives it.
    pub(crate) fn exit(&mut self) -> i32 {
        let status = wait_for("the end of tenure", || self.child.try_wait().expect("a status"));
        wait_for("all that tenure wrote", || (self.heard().open == 0).then_some(()));
        code(status)
    }
}

fn listen(heard: &Arc<Mutex<Heard>>, listener: impl FnOnce(&Mutex<Heard>) + Send + 'static) {
    heard.lock().unwrap().open += 1;
    let heard = heard.clone();
    thread::spawn(move || {
        listener(&heard);
        heard.lock().unwrap().open -= 1;
    });
}

fn hear_events(stdout: ChildStdout, heard: &Mutex<Heard>) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let mut heard = heard.lock().unwrap();
        match serde_json::from_str::<Value>(&line) {
            Ok(event) if event["event"].is_string() => heard.events.push(event),
            _ => heard.lines.push(line),
        }
    }
}

fn hear_notes(mut stderr: ChildStderr, heard: &Mutex<Heard>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        heard.lock().unwrap().stderr.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
}

/// Nothing that a test started may outlive it, whatever state it was left in.
impl Drop for Runner {
    fn drop(&mut self) {
        // One that came to its own end has left nothing behind, unless that is what the test found out.
        let ended = self.has_ended() && !self.events("result").is_empty();
        if !ended || thread::panicking() {
            let started = children(self.pid());
            self.signal(Signal::SIGKILL);
            for pid in started {
                signal(pid, Signal::SIGKILL);
            }
            for event in self.events("acquired") {
                let group = event["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
                group.into_iter().for_each(|group| signal_group(Pid::from_raw(group), Signal::SIGKILL));
            }
        }
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("{:#?}", self.heard());
        }
    }
}
