//! What operators did.

use std::sync::Arc;

use tenure_core::observe::{AuditId, AuditSelection};
use tenure_core::show::AuditShape;

use super::list;
use crate::asked::{Allowed, View};
use crate::fields::{self, ACTION, ACTOR, SUBJECT};
use crate::routes::Answer;
use crate::shown;

pub(super) async fn lines(allowed: Allowed<View>) -> Answer {
    let selection = AuditSelection {
        actor: allowed.query.text(&ACTOR)?,
        action: allowed.query.text(&ACTION)?,
        subject: allowed.query.text(&SUBJECT)?,
        before: fields::before(&allowed.query)?.map(|row| AuditId(row.0)),
        limit: fields::limit(&allowed.query, allowed.desk.limits.page)?,
        steps: 0,
    };
    let audit = Arc::clone(&allowed.desk.stores.audit);
    let mut page = allowed.desk.ask("audit", async move { audit.audit(&selection).await }).await?;
    shown::discreet(&allowed, page.lines.iter_mut().map(|line| &mut line.detail));
    list(page.lines.iter().map(AuditShape::from).collect(), page.more_before.map(|id| id.0))
}
