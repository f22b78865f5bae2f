//! Leases and their history.

use std::sync::Arc;

use serde_json::json;
use tenure_core::lease::{HistoryId, LeaseName, LeasePageOf, Revoke};
use tenure_core::show::{ChangeShape, LeaseShape};

use super::{list as envelope, told};
use crate::act;
use crate::asked::{Allowed, Operate, View};
use crate::fields::{self, AFTER, NAME, PREFIX};
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;

const FORCE: Param = Param::yes("force", "free at once, while the holder may still believe in it");
const SURE: Param = Param::text("sure", 500, "the name once more, where force is asked for");
pub(super) const RELEASE: &[Param] = &[NAME.needed(), FORCE, SURE];

pub(super) async fn list(allowed: Allowed<View>) -> Answer {
    let limit = fields::limit(&allowed.query, allowed.desk.limits.page)?;
    let after = fields::name(&AFTER, allowed.query.text(&AFTER)?, LeaseName::new)?;
    let page = LeasePageOf { after, prefix: allowed.query.text(&PREFIX)?, limit: limit + 1 };
    let leases = Arc::clone(&allowed.desk.stores.leases);
    let (mut rows, now) = allowed.desk.ask("leases", async move { leases.list(&page).await }).await?;
    let next = super::cut(&mut rows, limit).then(|| rows.last().map(|row| row.name.to_string())).flatten();
    envelope(rows.iter().map(|row| LeaseShape::of(row, now)).collect(), next)
}

pub(super) async fn history(allowed: Allowed<View>) -> Answer {
    let limit = fields::limit(&allowed.query, allowed.desk.limits.page)?;
    let name = fields::name(&NAME, allowed.query.text(&NAME)?, LeaseName::new)?;
    let before = fields::before(&allowed.query)?.map(|row| HistoryId(row.0));
    let leases = Arc::clone(&allowed.desk.stores.leases);
    let call = async move { leases.history(name.as_ref(), before, limit + 1).await };
    let mut rows = allowed.desk.ask("history", call).await?;
    let next = super::cut(&mut rows, limit).then(|| rows.last().and_then(|row| row.id)).flatten();
    envelope(rows.iter().map(ChangeShape::from).collect(), next.map(|id| id.0))
}

pub(super) async fn release(allowed: Allowed<Operate>) -> Answer {
    let text = allowed.body.need(&NAME)?;
    let force = allowed.body.yes(&FORCE)?;
    if force && allowed.body.text(&SURE)?.as_deref() != Some(text.as_str()) {
        return Err(Problem::invalid(
            "sure",
            "is to hold the name once more, for the holder may still believe in it",
        ));
    }
    let name =
        LeaseName::new(text).map_err(|error| Problem::invalid("name", format!("is no name: {error}")))?;
    match act::release(&allowed, name.clone(), force).await? {
        Revoke::NotHeld => Err(not_held(&allowed, name).await?),
        done => told(&json!(done)),
    }
}

/// Whether nobody holds it, or there is none.
async fn not_held(allowed: &Allowed<Operate>, name: LeaseName) -> Result<Problem, Problem> {
    // The name itself is the first of all that begin with it.
    let page = LeasePageOf { after: None, prefix: Some(name.to_string()), limit: 1 };
    let leases = Arc::clone(&allowed.desk.stores.leases);
    let (rows, _) = allowed.desk.ask("a lease", async move { leases.list(&page).await }).await?;
    Ok(match rows.iter().any(|row| row.name == name) {
        true => Problem::Conflict("nobody holds this lease".into()),
        false => Problem::NotFound("there is no such lease".into()),
    })
}
