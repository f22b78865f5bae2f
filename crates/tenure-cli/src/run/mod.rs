//! `tenure run`: a command under a lease.
//!
//! ```text
//!   tenure run ──── pipe: "until T" after every renewal ────▶ guard        (own process group)
//!      │                                                        │ SIGKILL when T has come, or the pipe closes
//!      └── spawns ──▶ launcher ── exec ──▶ command ◀────────────┘
//!                     (own process group; dies with tenure by PR_SET_PDEATHSIG)
//! ```
//!
//! Three things can go wrong with tenure itself. Killed, the kernel ends the command (and the guard everything that the
//! command started). Stopped, the guard ends it before trust does. The whole machine paused, the guard and tenure see on
//! waking that time is up; what the command did in between is refused by its fence.

mod acquire;
mod command;
mod guard;
mod guardian;
mod launcher;
mod settings;

mod supervise;
mod terminal;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tenure::core::contract::LeaseStore;
use tenure::core::id::Node;
use tenure::{FencedLeases, Lease, Leases, local_node};

use self::acquire::Wait;
use self::supervise::Ended;
use crate::args::{Global, RunArgs};
use crate::output::{self, Failure};
use crate::signals::{Signals, code_of};
use crate::store;

/// What stays the same from one holding to the next.
struct Job<'a> {
    args: &'a RunArgs,
    lease: &'a Lease,
    node: &'a Node,
    /// How much trust is left when `--on-lost term` sends SIGTERM.
    term_lead: Duration,
    voice: &'a Voice,
}

/// Does the work of the processes that `run` starts from this same binary.
pub(crate) fn inner_process() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    match args.next()?.to_str()? {
        guard::COMMAND => Some(guard::main()),
        launcher::COMMAND => Some(launcher::main(args.collect())),
        _ => None,
    }
}

pub(crate) async fn run(global: &Global, args: &RunArgs) -> Result<ExitCode, Failure> {
    let mut settings = settings::from_args(args);
    settings.validate()?;
    let url = lease_url(global, args)?;
    let node = local_node(args.node.as_deref())?;
    tenure::LeaseName::new(args.name.as_str())?;
    // A command that cannot run is better known before the lease is waited for than after.
    if let Some(problem) = launcher::problem(&args.command[0]) {
        output::note(&problem.message);
        return Ok(ExitCode::from(problem.code));
    }
    let voice = Voice { json: global.json, quiet: args.quiet };
    let mut signals = Signals::catch()?;
    let granting = tokio::select! {
        biased;
        signal = signals.ending() => return voice.result(json!({ "acquired": false }), code_of(signal)),
        opened = open(global, args, &url) => opened?,
    };
    let leases = Leases::new(granting, node);
    let capabilities = leases.capabilities();
    for note in capabilities.notes {
        voice.say(json!({ "event": "note", "note": note }), &note);
    }
    let term_lead = settings::term_lead(&settings, capabilities.presence);
    settings.watchdog = Some(settings::watchdog(&settings, capabilities.presence));
    let lease = leases.lease(args.name.as_str(), settings)?;
    let job = Job { args, lease: &lease, node: leases.node(), term_lead, voice: &voice };
    job.until_done(&mut signals).await
}

/// Opens the store. With `--wait` or `--restart` one that is away is waited for, as it would be later.
///
/// A database beside it is what the lease protects: its terms are recorded there, and are that database's own.
async fn open(global: &Global, args: &RunArgs, url: &str) -> Result<Arc<dyn LeaseStore>, Failure> {
    if url.starts_with("memory:") {
        output::note(
            "leases in memory exclude nobody outside of this process; use a database instead, say sqlite:jobs.db",
        );
    }
    let patience = if args.restart { Duration::MAX } else { args.wait.unwrap_or_default() };
    let granting = store::open_lease_place(global, url, !args.no_migrate, patience).await?;
    let protected =
        global.db.as_deref().filter(|database| !database.is_empty() && !store::is_same(url, database));
    let Some(protected) = protected.filter(|_| !url.starts_with("memory:")) else { return Ok(granting) };
    store::refuse_memory(protected)?;
    let database = store::open_patiently(global, protected, !args.no_migrate, patience).await?;
    Ok(Arc::new(FencedLeases::new(granting, database.registry())))
}

impl Job<'_> {
    /// One holding after the other, until the command has ended by itself or the waiting is over.
    async fn until_done(&self, signals: &mut Signals) -> Result<ExitCode, Failure> {
        loop {
            let fence = match acquire::acquire(self, signals).await? {
                Wait::Granted(fence) => fence,
                Wait::GaveUp(code) => {
                    self.lease.forgo().await;
                    return self.voice.result(json!({ "acquired": false }), code);
                }
            };
            let (lost, code) = match supervise::supervise(self, &fence, signals).await? {
                Ended::Lost if self.args.restart => continue,
                Ended::Lost => (true, 1),
                Ended::Exited(code) => (false, code),
            };
            let result = json!({ "acquired": true, "term": fence.term, "lost": lost });
            return self.voice.result(result, code);
        }
    }
}

fn lease_url(global: &Global, args: &RunArgs) -> Result<String, Failure> {
    let url = args.lease.clone().or_else(|| global.db.clone()).filter(|url| !url.is_empty());
    url.ok_or_else(|| {
        Failure::Usage("no lease store: give --lease URL, for example --lease sqlite:jobs.db".into())
    })
}

/// How `run` speaks of itself.
pub(crate) struct Voice {
    json: bool,
    quiet: bool,
}

impl Voice {
    /// Tells of an event: a line of JSON on standard output, or a line for people on standard error.
    fn say(&self, event: serde_json::Value, text: &str) {
        if self.json {
            output::event(&event);
        } else if !self.quiet {
            output::note(text);
        }
    }

    /// Tells of an event to programs only.
    fn event(&self, event: serde_json::Value) {
        if self.json {
            output::event(&event);
        }
    }

    /// The last line, and the exit code.
    fn result(&self, mut result: serde_json::Value, code: u8) -> Result<ExitCode, Failure> {
        result["event"] = "result".into();
        result["exit_code"] = code.into();
        self.event(result);
        Ok(ExitCode::from(code))
    }
}
