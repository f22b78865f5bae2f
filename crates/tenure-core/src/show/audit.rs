//! What operators did.

use serde::Serialize;
use serde_json::Value;

use super::schema::{Shape, object, text, whole};
use crate::observe::AuditLine;

/// One thing that an operator did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditShape {
    /// What.
    pub action: String,
    /// Who.
    pub actor: String,
    /// When.
    pub at: String,
    /// More about it, such as the state or the reason before.
    pub detail: String,
    /// The number of the line.
    pub id: i64,
    /// To what.
    pub subject: String,
}

impl From<&AuditLine> for AuditShape {
    fn from(line: &AuditLine) -> Self {
        Self {
            action: line.action.clone(),
            actor: line.actor.clone(),
            at: line.at.to_string(),
            detail: line.detail.clone(),
            id: line.id.0,
            subject: line.subject.clone(),
        }
    }
}

impl Shape for AuditShape {
    const NAME: &'static str = "AuditLine";
    fn schema() -> Value {
        object(vec![
            ("action", text()),
            ("actor", text()),
            ("at", text()),
            ("detail", text()),
            ("id", whole()),
            ("subject", text()),
        ])
    }
}
