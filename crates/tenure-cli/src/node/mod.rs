//! `tenure cluster-node`: one node of a cluster, as measurements and tests start it. Its daemons do nothing, or write rows
//! under their fences. Every event is one line of JSON, stamped by the steady clock that all processes of a machine share.

mod ledger;
mod mysql;
mod statements;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tenure::core::time::Clock;
use tenure::{
    AgentError, Cluster, ClusterError, ClusterEvent, ClusterSettings, Duty, SteadyClock, agent, local_node,
};
use tokio::io::AsyncReadExt;

use self::ledger::{Ledger, Written};
use crate::args::{ClusterNodeArgs, Global};
use crate::output::{self, Failure};
use crate::signals::Signals;
use crate::store;

pub(crate) async fn node(global: &Global, args: &ClusterNodeArgs) -> Result<ExitCode, Failure> {
    let mut signals = Signals::catch()?;
    let database = store::open_to_work(global, store::database_url(global)?, true).await?;
    let ledger = match args.ledger {
        Some(every) => Some((Arc::new(Ledger::open(global).await?), every)),
        None => None,
    };
    let mut settings = ClusterSettings::default();
    settings.settle = args.settle.unwrap_or(settings.settle);
    let node = local_node(Some(&args.name))?;
    let mut builder = Cluster::builder(database.leases(), database.cluster(), node)
        .settings(settings)
        .version(&args.version)
        .family(&args.family, agent(move |duty| work(duty, ledger.clone())))?;
    for (key, value) in &args.labels {
        builder = builder.label(key, value);
    }
    if args.never_leads {
        builder = builder.never_leads();
    }
    let cluster = tokio::select! {
        joined = builder.start() => joined?,
        _ = signals.ending() => return Ok(ExitCode::SUCCESS),
    };
    tell("joined", json!({ "pid": std::process::id() }));
    let events = cluster.follow();
    tokio::spawn(tell_leading(events));
    tokio::select! {
        _ = signals.ending() => {}
        () = orphaned() => {}
    }
    tell("leaving", json!({}));
    cluster.stop().await;
    tell("left", json!({}));
    Ok(ExitCode::SUCCESS)
}

/// Whoever started this node holds the other end of its standard input, if that is a pipe.
async fn orphaned() {
    use std::os::unix::fs::FileTypeExt;

    let pipe = std::fs::metadata("/dev/stdin").is_ok_and(|stdin| stdin.file_type().is_fifo());
    if !pipe {
        return std::future::pending().await;
    }
    let (mut stdin, mut byte) = (tokio::io::stdin(), [0]);
    while matches!(stdin.read(&mut byte).await, Ok(1..)) {}
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Settings(_) | ClusterError::Name(_) | ClusterError::Member(_) => {
                Self::Usage(error.to_string())
            }
            ClusterError::Store(error) => error.into(),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// A line for whoever started this node. It reads, so waiting for it is right: nothing may be left out.
fn tell(event: &str, mut what: Value) {
    what["event"] = event.into();
    what["at_us"] = u64::try_from(SteadyClock.now().since_origin().as_micros()).unwrap_or(u64::MAX).into();
    output::line(what);
}

async fn tell_leading(mut events: tokio::sync::mpsc::Receiver<ClusterEvent>) {
    while let Some(event) = events.recv().await {
        match event {
            ClusterEvent::Elected { fence } => tell("leads", json!({ "term": fence.term })),
            ClusterEvent::Lost { fence, reason } => {
                tell("deposed", json!({ "term": fence.term, "reason": reason }));
            }
            _ => {}
        }
    }
}

/// A daemon: started, and stopped or lost, whatever way it ends.
async fn work(duty: Duty, ledger: Option<(Arc<Ledger>, Duration)>) -> Result<(), AgentError> {
    let running = Running::of(&duty);
    if let Some((ledger, every)) = &ledger {
        tokio::select! {
            // What it is in the midst of when its right is over is left where it is: the fence decides.
            () = duty.lost.stopped() => {}
            () = write(&duty, ledger, *every) => {}
        }
    }
    duty.stop.stopped().await;
    drop(running);
    if let Some((ledger, _)) = ledger.filter(|_| duty.lost.is_stopped()) {
        tokio::spawn(async move { write_once_more(&duty, &ledger).await });
    }
    Ok(())
}

/// What a daemon would do that does not know yet that its right is over: the fence must refuse it, once another has it.
async fn write_once_more(duty: &Duty, ledger: &Ledger) {
    if ledger.write(duty, 0).await == Written::Refused {
        tell("refused", json!({ "daemon": duty.daemon, "generation": duty.fence.term, "seq": 0 }));
    }
}

/// Writes until it is to stop, or a write is refused.
async fn write(duty: &Duty, ledger: &Ledger, every: Duration) {
    let mut seq = 0;
    while !duty.stop.is_stopped() {
        seq += 1;
        let told = json!({ "daemon": duty.daemon, "generation": duty.fence.term, "seq": seq });
        match ledger.write(duty, seq).await {
            Written::Done => {}
            Written::Refused => return tell("refused", told),
            Written::Failed(reason) => {
                tracing::warn!(daemon = %duty.daemon, reason, "a row may not have been written");
            }
        }
        tokio::select! {
            () = duty.stop.stopped() => {}
            () = tokio::time::sleep(every) => {}
        }
    }
}

struct Running<'a>(&'a Duty);

impl<'a> Running<'a> {
    fn of(duty: &'a Duty) -> Self {
        let running = Self(duty);
        tell("started", running.told());
        running
    }

    fn told(&self) -> Value {
        json!({ "daemon": self.0.daemon, "generation": self.0.fence.term })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        tell(if self.0.lost.is_stopped() { "lost" } else { "stopped" }, self.told());
    }
}
