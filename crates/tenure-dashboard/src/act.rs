//! What operators change, for pages and API alike. Each takes the proof that the operator may, and is written to the audit
//! table by the store, in the same transaction, with his name, the way and the number of the request.

use std::sync::Arc;

use tenure_core::cluster::{
    Answer, ClusterSettings, Daemon, DaemonFilter, DaemonName, Order, Steering, Verdict,
};
use tenure_core::event::Position;
use tenure_core::lease::{LeaseName, Revoke};
use tenure_core::outbox::{Count, Filter};
use tenure_core::subscription::SubscriptionName;

use crate::asked::{Allowed, Operate};
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

/// Changes dead messages, at most `limit`. Answers which ones.
pub(crate) async fn change(
    allowed: &Allowed<Operate>,
    change: Change,
    filter: Filter,
    limit: u32,
) -> Result<Vec<String>, Problem> {
    let (outbox, by) = (Arc::clone(&allowed.desk.stores.outbox), allowed.actor());
    let call = async move {
        match change {
            Change::Retry => outbox.retry(&filter, &by, limit).await,
            Change::Discard => outbox.discard(&filter, &by, limit).await,
        }
    };
    Ok(allowed.desk.ask("a change; look at the audit table whether it was made", call).await?)
}

/// How many messages a change would be for.
pub(crate) async fn count(
    allowed: &Allowed<Operate>,
    filter: Filter,
    at_most: u32,
) -> Result<Count, Problem> {
    let outbox = Arc::clone(&allowed.desk.stores.outbox);
    Ok(allowed.desk.ask("a count", async move { outbox.count_dead(&filter, at_most).await }).await?)
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
    let refusal = match answer {
        Answer::Done(verdicts) => verdicts.into_iter().find_map(|verdict| match verdict {
            Verdict::Taken => None,
            Verdict::Refused(refusal) => Some(refusal.to_string()),
        }),
        Answer::Refused(refusal) => Some(refusal.to_string()),
        Answer::Fenced(fenced) => Some(fenced.to_string()),
    };
    if let Some(refusal) = refusal {
        return Err(Problem::Conflict(refusal));
    }
    let cluster = Arc::clone(&allowed.desk.stores.cluster);
    let filter = DaemonFilter { limit: 1, ..DaemonFilter::beginning(daemon.as_str()) };
    let rows = allowed.desk.ask("a daemon", async move { cluster.daemons(&filter).await }).await?;
    Ok(rows.into_iter().find(|row| *row.name() == daemon))
}

/// Moves the checkpoint of a subscription.
pub(crate) async fn rewind(
    allowed: &Allowed<Operate>,
    name: SubscriptionName,
    to: Position,
) -> Result<(), Problem> {
    let (checkpoints, by) = (Arc::clone(&allowed.desk.stores.checkpoints), allowed.actor());
    let call = async move { checkpoints.rewind(&name, to, &by).await };
    Ok(allowed.desk.ask("a rewind; look at the audit table whether it was made", call).await?)
}
