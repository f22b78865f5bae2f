//! Bulk changes under way and done.

use serde_json::{Value, json};
use tenure_core::outbox::Filter;

use super::{list as envelope, told};
use crate::act::Change;
use crate::asked::{Allowed, Operate, View};
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;

pub(super) const ID: Param = Param::number("id", 1, u64::MAX, "the number of a job").needed();

pub(super) async fn list(allowed: Allowed<View>) -> Answer {
    let _ = &allowed.desk.jobs;
    envelope(Vec::<Value>::new(), None::<String>)
}

pub(super) async fn one(allowed: Allowed<View>) -> Answer {
    let _ = allowed.query.number(&ID)?;
    Err(Problem::NotFound("there is no such job in this process".into()))
}

pub(super) async fn stop(allowed: Allowed<Operate>) -> Answer {
    let _ = allowed.body.number(&ID)?;
    told(&json!({}))?;
    Err(Problem::NotFound("there is no such job in this process".into()))
}

/// Begins a job.
pub(super) async fn start(
    _allowed: &Allowed<Operate>,
    _change: Change,
    _filter: Filter,
    _limit: u32,
    _rate: Option<u32>,
) -> Result<Value, Problem> {
    Err(Problem::Busy("jobs are not built yet".into()))
}
