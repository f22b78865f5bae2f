//! What operators change, for pages and API alike. Each takes the proof that the operator may, and is written to the audit
//! table by the store, in the same transaction, with his name, the way and the number of the request.

use std::sync::Arc;

use tenure_core::cluster::{
    Answer, ClusterSettings, Daemon, DaemonFilter, DaemonName, Order, Refusal, Steering, Verdict,
};
use tenure_core::event::Position;
use tenure_core::lease::{LeaseName, Revoke};
use tenure_core::observe::{RunnerKind, RunnerReport};
use tenure_core::outbox::{Acted, Counted, DeadWalk, State};
use tenure_core::subscription::{Checkpoint, Rewind, SubscriptionName};

use crate::asked::{Allowed, Asked, Operate};
use crate::auth::Action;
use crate::problem::Problem;

/// What becomes of dead messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// They are pending again.
    Retry,
    /// They are not sent.
    Discard,
}

/// Changes dead messages: one call, as far as it goes. Answers which ones, and whether there may be more.
pub(crate) async fn change(
    allowed: &Allowed<Operate>,
    change: Change,
    walk: DeadWalk,
) -> Result<Acted, Problem> {
    let (outbox, by) = (Arc::clone(&allowed.desk.stores.outbox), allowed.actor());
    let call = async move {
        match change {
            Change::Retry => outbox.retry(&walk, &by).await,
            Change::Discard => outbox.discard(&walk, &by).await,
        }
    };
    Ok(allowed.desk.ask("a change; look at the audit table whether it was made", call).await?)
}

/// Why the one message that was named did not change.
pub(crate) async fn why_not(allowed: &Allowed<Operate>, id: String) -> Result<Problem, Problem> {
    let outbox = Arc::clone(&allowed.desk.stores.outbox);
    let found = allowed.desk.ask("a message", async move { outbox.show(&id, 0).await }).await?;
    Ok(match found.map(|details| details.summary.state) {
        None => Problem::NotFound("there is no such message".into()),
        Some(State::Dead) => {
            Problem::Conflict("the message is dead, but does not fit the rest of the filter".into())
        }
        Some(state) => Problem::Conflict(format!("the message is {}, not dead", state.as_str())),
    })
}

/// How many messages a change would be for.
pub(crate) async fn count(allowed: &Allowed<Operate>, walk: DeadWalk) -> Result<Counted, Problem> {
    let outbox = Arc::clone(&allowed.desk.stores.outbox);
    Ok(allowed.desk.ask("a count", async move { outbox.count_dead(&walk).await }).await?)
}

/// Has the holder of a lease out of office. With force the lease is free at once, while the holder may still believe in it.
pub(crate) async fn release(
    allowed: &Allowed<Operate>,
    name: LeaseName,
    force: bool,
) -> Result<Revoke, Problem> {
    if let Some(daemon) = DaemonName::of_lease(&name) {
        return Err(Problem::Conflict(format!(
            "this is the lease of daemon {daemon}, which the cluster grants: pause or move the daemon"
        )));
    }
    if force && !allowed.may_do(Action::ForceLease) {
        return Err(Problem::Forbidden("you may not take a lease by force here".into()));
    }
    let (leases, by) = (Arc::clone(&allowed.desk.stores.leases), allowed.actor());
    let call = async move { leases.revoke(&name, &by, force).await };
    Ok(allowed.desk.ask("a release; look at the audit table whether it was made", call).await?)
}

/// Steers a daemon, and answers how it stands then; `None` when it is gone.
pub(crate) async fn steer(
    allowed: &Allowed<Operate>,
    daemon: DaemonName,
    steering: Steering,
) -> Result<Option<Daemon>, Problem> {
    let (cluster, by) = (Arc::clone(&allowed.desk.stores.cluster), allowed.actor());
    let deadlines = ClusterSettings::default().deadlines();
    let order = Order::Steer { daemon: daemon.clone(), steering, by, deadlines };
    let call = async move { cluster.apply(&order).await };
    let answer = allowed.desk.ask("an order; look at the audit table whether it was taken", call).await?;
    let refused = |refusal: Refusal| match refusal {
        Refusal::NoDaemon(_) | Refusal::NoNode(_) => Problem::NotFound(refusal.to_string()),
        other => Problem::Conflict(other.to_string()),
    };
    let refusal = match answer {
        Answer::Done(verdicts) => verdicts.into_iter().find_map(|verdict| match verdict {
            Verdict::Taken => None,
            Verdict::Refused(refusal) => Some(refused(refusal)),
        }),
        Answer::Refused(refusal) => Some(refused(refusal)),
        Answer::Fenced(fenced) => Some(Problem::Conflict(fenced.to_string())),
    };
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let cluster = Arc::clone(&allowed.desk.stores.cluster);
    let filter = DaemonFilter { limit: 1, ..DaemonFilter::beginning(daemon.as_str()) };
    let rows = allowed.desk.ask("a daemon", async move { cluster.daemons(&filter).await }).await?;
    Ok(rows.into_iter().find(|row| *row.name() == daemon))
}

/// Moves the checkpoint of a subscription that there is, to a place that the log has.
pub(crate) async fn rewind(
    allowed: &Allowed<Operate>,
    name: SubscriptionName,
    to: Position,
) -> Result<(), Problem> {
    subscription(allowed, &name).await?;
    let (checkpoints, by) = (Arc::clone(&allowed.desk.stores.checkpoints), allowed.actor());
    let call = async move { checkpoints.rewind(&name, to, &by).await };
    match allowed.desk.ask("a rewind; look at the audit table whether it was made", call).await? {
        Rewind::Moved => Ok(()),
        Rewind::Beyond { end } => Err(Problem::invalid(
            "position",
            format!(
                "is beyond the end of the log, which is {end}: events that nobody has appended yet would be passed over. \
                 Nothing was changed"
            ),
        )),
    }
}

/// Where a subscription stands, if there is one of that name: it has moved, or a process that reports reads for it, which has come to
/// nothing so far.
pub(crate) async fn subscription(asked: &Asked, name: &SubscriptionName) -> Result<Checkpoint, Problem> {
    let (checkpoints, wanted) = (Arc::clone(&asked.desk.stores.checkpoints), name.clone());
    let checkpoint =
        asked.desk.ask("a subscription", async move { checkpoints.checkpoint(&wanted).await }).await?;
    if checkpoint != Checkpoint::default() {
        return Ok(checkpoint);
    }
    let snapshot = asked.desk.sampler.snapshot(asked.desk.limits.refresh, asked.desk.limits.patience).await;
    let known = snapshot.facts.as_ref().is_some_and(|facts| {
        let reads =
            |report: &RunnerReport| report.kind == RunnerKind::Subscription && report.name == name.as_str();
        facts.slow.subscriptions.iter().any(|progress| progress.name == *name)
            || facts.runners.rows.iter().any(|row| reads(&row.report))
    });
    match known {
        true => Ok(checkpoint),
        false => Err(Problem::NotFound(
            "there is no such subscription: none of this name has moved, and no process that reports reads for it".into(),
        )),
    }
}
