//! Waiting for the lease, as long as the command line and the signals allow.

use std::time::Duration;

use serde_json::json;
use tenure::{Acquired, Fence, LeaseError, Stop};
use tokio::time::timeout;

use super::Job;
use super::supervise::give_back;
use crate::output::{self, Failure};
use crate::signals::{Signals, code_of};

/// When we give up, how long the answer to a claim that is under way is waited for.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// How the waiting ended.
pub(super) enum Wait {
    Granted(Fence),
    /// Without the lease, and with this exit code.
    GaveUp(u8),
}

pub(super) async fn acquire(job: &Job<'_>, signals: &mut Signals) -> Result<Wait, Failure> {
    match first_try(job, signals).await? {
        Some(wait) => Ok(wait),
        None => wait_until_free(job, signals).await,
    }
}

/// Tries once; `None` when there is something to wait for.
async fn first_try(job: &Job<'_>, signals: &mut Signals) -> Result<Option<Wait>, Failure> {
    let claim = job.lease.acquire();
    tokio::pin!(claim);
    let answer = tokio::select! {
        answer = &mut claim => answer,
        signal = signals.ending() => {
            // What was won at the last moment goes straight back.
            if let Ok(Ok(Acquired::Granted(_))) = timeout(ANSWER_PATIENCE, claim).await {
                give_back(job.lease).await;
            }
            return Ok(Some(Wait::GaveUp(code_of(signal))));
        }
    };
    let (lease, once) = (job.lease.name(), job.args.wait == Some(Duration::ZERO));
    match answer {
        Ok(Acquired::Granted(fence)) => return Ok(Some(Wait::Granted(fence))),
        Ok(Acquired::Held(holder)) => {
            let text = format!("lease {lease} is held by {} (term {})", holder.node, holder.term);
            if once {
                output::note(text);
                return Ok(Some(Wait::GaveUp(1)));
            }
            let event = json!({ "event": "waiting", "lease": lease, "holder": holder.node.name, "term": holder.term });
            job.voice.say(event, &format!("{text}; waiting"));
        }
        // The store was there when it was opened: it will be back.
        Err(LeaseError::Store(error)) if error.is_transient() && !once => {
            let event = json!({ "event": "waiting", "lease": lease, "reason": error.to_string() });
            job.voice.say(event, &format!("{error}; waiting"));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(None)
}

async fn wait_until_free(job: &Job<'_>, signals: &mut Signals) -> Result<Wait, Failure> {
    let stop = Stop::new();
    let waiting = job.lease.acquire_when_free(&stop);
    tokio::pin!(waiting);
    let patience = async {
        match job.args.wait {
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
        signal = signals.ending() => code_of(signal),
        () = patience => {
            output::note(format_args!("lease {} was not had in time", job.lease.name()));
            1
        }
    };
    // The wait may have been won at the last moment; then the lease goes straight back.
    stop.stop();
    if let Ok(Ok(Some(_))) = timeout(ANSWER_PATIENCE, waiting).await {
        give_back(job.lease).await;
    }
    Ok(Wait::GaveUp(code))
}
