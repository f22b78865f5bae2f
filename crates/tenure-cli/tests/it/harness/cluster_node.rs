//! Real nodes of a cluster, what they told, and whether any daemon ever ran twice at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;
use tenure::core::cluster::{Answer, Order};
use tenure::core::naming::{Identifier, Naming};
use tenure::core::time::Clock;
use tenure::{ClusterSettings, DaemonSpec, OpenOptions, SteadyClock};

use super::{Store, block_on, code, freeze, signal, tenure, wait_for};

/// The machine's steady clock, as nodes stamp what they tell.
pub(crate) fn micros_now() -> u64 {
    u64::try_from(SteadyClock.now().since_origin().as_micros()).unwrap()
}

/// Declares daemons, as a program would.
pub(crate) fn declare(store: &Store, specs: Vec<DaemonSpec>) {
    let naming = Naming { schema: None, prefix: Identifier::new("prefix", store.prefix()).unwrap() };
    let deadlines = ClusterSettings::default().deadlines();
    let answer = block_on(async {
        let database = tenure::open(store.url(), OpenOptions { naming, ..OpenOptions::default() }).await?;
        let answer = database.cluster().apply(&Order::Declare { specs, deadlines }).await?;
        Ok::<_, tenure::OpenError>(answer)
    });
    assert!(matches!(answer, Ok(Answer::Done(_))), "{answer:?}");
}

/// A running node; what it logs goes to a file of the test's.
pub(crate) struct ClusterNode {
    pub(crate) name: String,
    child: Child,
    log: String,
    heard: Arc<Mutex<Heard>>,
    killed_at: Option<u64>,
    /// From when to when it was frozen.
    frozen: Vec<(u64, u64)>,
}

#[derive(Debug, Default)]
struct Heard {
    events: Vec<Value>,
    ended: bool,
}

/// A daemon that ran in one process.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) node: String,
    pub(crate) generation: u64,
    pub(crate) started: u64,
    /// Never, so far.
    pub(crate) ended: Option<u64>,
    /// It was told that its right is over, and not to stop.
    pub(crate) lost: bool,
    frozen: Vec<(u64, u64)>,
}

impl ClusterNode {
    /// Starts a node.
    pub(crate) fn start(store: &Store, name: &str, options: &[&str]) -> Self {
        Self::start_by(store, store.url(), name, options)
    }

    /// The same, by another way to the same store.
    pub(crate) fn start_by(store: &Store, url: &str, name: &str, options: &[&str]) -> Self {
        let log = store.path(&format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log).expect("a log");
        let mut command = tenure();
        command.args(["cluster-node", "--db", url, "--table-prefix", store.prefix(), "--name", name]);
        command.env("TENURE_LOG", "info").args(options).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().expect("a process");
        let stdout = child.stdout.take().expect("piped");
        let heard = Arc::new(Mutex::new(Heard::default()));
        let ear = heard.clone();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                ear.lock().unwrap().events.push(event);
            }
            ear.lock().unwrap().ended = true;
        });
        Self { name: name.to_owned(), child, log, heard, killed_at: None, frozen: Vec::new() }
    }

    /// Starts a node, and waits until it has joined.
    pub(crate) fn joined(store: &Store, name: &str, options: &[&str]) -> Self {
        let node = Self::start(store, name, options);
        node.until("joined");
        node
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Every event of this kind so far.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        self.heard().events.iter().filter(|event| event["event"] == kind).cloned().collect()
    }

    /// Waits for the first event of this kind.
    pub(crate) fn until(&self, kind: &str) -> Value {
        wait_for(&format!("event {kind} of {}", self.name), || self.events(kind).first().cloned())
    }

    pub(crate) fn signal(&self, which: Signal) {
        signal(self.pid(), which);
    }

    /// Kills it, and waits until it is gone and heard out.
    pub(crate) fn kill(&mut self) {
        self.killed_at = Some(micros_now());
        let _ = self.child.kill();
        self.exit();
    }

    /// Freezes it while something is done, at a moment at which it does not hold up everyone else: who is frozen with the one
    /// lock of a SQLite file in hand stops all who write, and no lease mends that.
    pub(crate) fn freeze_while(&mut self, store: &Store, what: impl FnOnce()) {
        let mut from = micros_now();
        freeze(self.pid());
        while !store.can_be_written() {
            self.signal(Signal::SIGCONT);
            self.frozen.push((from, micros_now()));
            thread::sleep(Duration::from_millis(30)); // passes time: it commits meanwhile
            from = micros_now();
            freeze(self.pid());
        }
        what();
        self.signal(Signal::SIGCONT);
        self.frozen.push((from, micros_now()));
    }

    /// Asks it to leave; the exit code as a shell gives it.
    pub(crate) fn stop(&mut self) -> i32 {
        self.signal(Signal::SIGTERM);
        self.exit()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_some()
    }

    /// Waits for its end, and for all that it said.
    pub(crate) fn exit(&mut self) -> i32 {
        let status = wait_for("the end of a node", || self.child.try_wait().expect("a status"));
        wait_for("all that a node said", || self.heard().ended.then_some(()));
        code(status)
    }

    /// The daemons that run here.
    pub(crate) fn running(&self) -> Vec<String> {
        let runs = runs([self]);
        let open = runs.into_iter().filter(|(_, runs)| runs.iter().any(|run| run.ended.is_none()));
        open.map(|(daemon, _)| daemon).collect()
    }
}

impl Drop for ClusterNode {
    fn drop(&mut self) {
        self.signal(Signal::SIGCONT);
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let log = self.log();
            let end = log.len().saturating_sub(6000);
            let end = (end..log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(log.len());
            eprintln!("{} ({}):\n{}", self.name, self.child.id(), &log[end..]);
        }
    }
}

/// Every daemon, and where it ran from when to when, in the order of its starts.
pub(crate) fn runs<'a>(nodes: impl IntoIterator<Item = &'a ClusterNode>) -> BTreeMap<String, Vec<Run>> {
    let mut all: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for node in nodes {
        let mut open: BTreeMap<(String, u64), Run> = BTreeMap::new();
        for event in &node.heard().events {
            let Some(daemon) = event["daemon"].as_str().map(ToOwned::to_owned) else { continue };
            let (generation, at) = (event["generation"].as_u64().unwrap(), event["at_us"].as_u64().unwrap());
            match event["event"].as_str().unwrap() {
                "started" => {
                    let run = Run {
                        node: node.name.clone(),
                        generation,
                        started: at,
                        ended: None,
                        lost: false,
                        frozen: node.frozen.clone(),
                    };
                    let beside = open.insert((daemon.clone(), generation), run);
                    assert!(beside.is_none(), "{daemon} was started twice on {}", node.name);
                }
                kind @ ("stopped" | "lost") => {
                    let mut run = open.remove(&(daemon.clone(), generation)).expect("it was started");
                    (run.ended, run.lost) = (Some(at), kind == "lost");
                    all.entry(daemon).or_default().push(run);
                }
                _ => {}
            }
        }
        for ((daemon, _), mut run) in open {
            run.ended = node.killed_at;
            all.entry(daemon).or_default().push(run);
        }
    }
    all.values_mut().for_each(|runs| runs.sort_by_key(|run| run.started));
    all
}

/// How long after it was woken a frozen process may take to notice.
const WAKING_US: u64 = 3_000_000;

/// Fails if a daemon ran twice at once. One whose process was frozen cannot have known; it must find out soon after it
/// was woken.
pub(crate) fn assert_never_doubled<'a>(nodes: impl IntoIterator<Item = &'a ClusterNode>) {
    for (daemon, runs) in runs(nodes) {
        for (at, former) in runs.iter().enumerate() {
            for latter in &runs[at + 1..] {
                let until = former.ended.unwrap_or(u64::MAX).min(latter.ended.unwrap_or(u64::MAX));
                let excused = [former, latter].into_iter().any(|run| {
                    let mut frozen = run.frozen.iter();
                    frozen.any(|(from, to)| latter.started >= *from && until <= *to + WAKING_US)
                });
                assert!(
                    latter.started >= until || excused,
                    "{daemon} ran twice for {} µs: {former:?} and {latter:?}",
                    until - latter.started
                );
            }
        }
    }
}
