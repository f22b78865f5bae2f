//! Bulk changes under way and done.

use serde_json::Value;
use tenure_core::outbox::Filter;

use super::{list as envelope, told};
use crate::act::Change;
use crate::asked::{Allowed, Operate, View};
use crate::dashboard::Desk;
use crate::jobs::{self, Order, RATE};
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;

pub(super) const ID: Param = Param::text("id", 16, "the number of a job").needed();

pub(super) async fn list(allowed: Allowed<View>) -> Answer {
    envelope(allowed.desk.jobs.list().iter().map(|job| job.shape()).collect::<Vec<Value>>(), None::<String>)
}

pub(super) async fn one(allowed: Allowed<View>) -> Answer {
    let id = allowed.query.need(&ID)?;
    match allowed.desk.jobs.get(&id) {
        Some(job) => told(&job.shape()),
        None => Err(unknown(&allowed.desk, &id).await),
    }
}

pub(super) async fn stop(allowed: Allowed<Operate>) -> Answer {
    let id = allowed.body.need(&ID)?;
    match jobs::stop(&allowed, &id).await {
        Some(job) => told(&job.shape()),
        None => Err(unknown(&allowed.desk, &id).await),
    }
}

/// Begins a job.
pub(super) async fn start(
    allowed: &Allowed<Operate>,
    change: Change,
    filter: Filter,
    limit: u32,
    rate: Option<u32>,
) -> Result<Value, Problem> {
    let until = allowed.operator().and_then(|operator| operator.expires_at);
    let rate = rate.map_or(RATE, u64::from);
    let order = Order {
        change,
        filter,
        limit: limit.into(),
        rate,
        by: allowed.actor(),
        operator: allowed.name().to_owned(),
        until,
    };
    Ok(allowed.desk.jobs.start(&allowed.desk, order)?.shape())
}

/// Where it runs instead, where that is known.
async fn unknown(desk: &Desk, id: &str) -> Problem {
    match jobs::runs_elsewhere(desk, id).await {
        Some(where_it_runs) => Problem::Conflict(where_it_runs),
        None => Problem::NotFound("there is no such job in this process".into()),
    }
}
