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

mod child;
mod guard;
mod launcher;
mod supervise;

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use tenure::core::lease::{LeaseSettings, PresenceSettings};
use tenure::{Acquired, Fence, Lease, LeaseError, Leases, Stop, local_node};

use crate::args::{Global, RunArgs};
use crate::output::{self, Failure};
use crate::store;

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
    let settings = settings(args);
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
    let mut signals = child::Signals::catch()?;
    let database = store::open_to_work(global, &url, !args.no_migrate).await?;
    let leases = Leases::new(database.leases(), node);
    for note in leases.capabilities().notes {
        voice.say(json!({ "event": "note", "note": note }), &note);
    }
    let lease = leases.lease(args.name.as_str(), settings)?;
    loop {
        let fence = match acquire(&lease, args, &mut signals, &voice).await? {
            Wait::Granted(fence) => fence,
            Wait::GaveUp(code) => return voice.result(json!({ "acquired": false }), code),
        };
        let ended = supervise::supervise(&lease, &fence, leases.node(), args, &mut signals, &voice).await?;
        match ended {
            supervise::Ended::Exited(code) => {
                return voice.result(json!({ "acquired": true, "term": fence.term, "lost": false }), code);
            }
            supervise::Ended::Lost if args.restart => {}
            supervise::Ended::Lost => {
                return voice.result(json!({ "acquired": true, "term": fence.term, "lost": true }), 1);
            }
        }
    }
}

fn settings(args: &RunArgs) -> LeaseSettings {
    let mut settings = LeaseSettings::with_ttl(args.ttl);
    settings.renew = args.renew.unwrap_or(settings.renew);
    settings.margin = args.margin.unwrap_or(settings.margin);
    settings.presence = (!args.no_presence).then(|| {
        let default = PresenceSettings::default();
        // Silence must outlast trust: keep their distance when trust is set.
        let idle_timeout = default.idle_timeout.max(args.presence_trust * 2);
        PresenceSettings { trust: args.presence_trust, idle_timeout, ..default }
    });
    settings
}

fn lease_url(global: &Global, args: &RunArgs) -> Result<String, Failure> {
    let url = args.lease.clone().or_else(|| global.db.clone()).filter(|url| !url.is_empty());
    url.ok_or_else(|| {
        Failure::Usage("no lease store: give --lease URL, for example --lease sqlite:jobs.db".into())
    })
}

enum Wait {
    Granted(Fence),
    GaveUp(u8),
}

/// Waits for the lease, as long as the command line and the signals allow.
async fn acquire(
    lease: &Lease,
    args: &RunArgs,
    signals: &mut child::Signals,
    voice: &Voice,
) -> Result<Wait, Failure> {
    match lease.acquire().await {
        Ok(Acquired::Granted(fence)) => return Ok(Wait::Granted(fence)),
        Ok(Acquired::Held(holder)) => {
            let text = format!("lease {} is held by {} (term {})", lease.name(), holder.node, holder.term);
            let event = json!({ "event": "waiting", "lease": lease.name(), "holder": holder.node.name, "term": holder.term });
            if args.wait == Some(Duration::ZERO) {
                output::note(text);
                return Ok(Wait::GaveUp(1));
            }
            voice.say(event, &format!("{text}; waiting"));
        }
        // The store was there when it was opened: it will be back.
        Err(LeaseError::Store(error)) if error.is_transient() && args.wait != Some(Duration::ZERO) => {
            let event = json!({ "event": "waiting", "lease": lease.name(), "reason": error.to_string() });
            voice.say(event, &format!("{error}; waiting"));
        }
        Err(error) => return Err(error.into()),
    }
    let stop = Stop::new();
    let waiting = lease.acquire_when_free(&stop);
    tokio::pin!(waiting);
    let patience = async {
        match args.wait {
            Some(patience) => tokio::time::sleep(patience).await,
            None => std::future::pending().await,
        }
    };
    let code = tokio::select! {
        granted = &mut waiting => {
            return match granted? {
                Some(fence) => Ok(Wait::Granted(fence)),
                None => Ok(Wait::GaveUp(1)),
            };
        }
        signal = signals.ending() => 128 + u8::try_from(signal as i32).unwrap_or(0),
        () = patience => {
            output::note(format_args!("lease {} was not had in time", lease.name()));
            1
        }
    };
    // The wait may have been won at the last moment; then the lease goes straight back.
    stop.stop();
    if waiting.await?.is_some() {
        lease.release().await?;
    }
    Ok(Wait::GaveUp(code))
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
            output::line(event);
        } else if !self.quiet {
            output::note(text);
        }
    }

    /// The last line, and the exit code.
    fn result(&self, mut result: serde_json::Value, code: u8) -> Result<ExitCode, Failure> {
        if self.json {
            result["event"] = "result".into();
            result["exit_code"] = code.into();
            output::line(result);
        }
        Ok(ExitCode::from(code))
    }
}
