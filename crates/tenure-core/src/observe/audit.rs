//! What operators did, as it is read back.

use serde::{Deserialize, Serialize};

use crate::time::StoreTime;

/// The most lines that one call answers with.
pub const AUDIT_LIST_MAX: u32 = 1_000;
/// The most lines that one call looks at.
pub const AUDIT_LOOK_MAX: u32 = 20_000;

/// The number of a line of audit. Rises with every line, with gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AuditId(pub i64);

/// One thing that an operator did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    /// The number of the line.
    pub id: AuditId,
    /// When, by the store's clock.
    pub at: StoreTime,
    /// Who.
    pub actor: String,
    /// What.
    pub action: String,
    /// To what.
    pub subject: String,
    /// More about it, such as the state or the reason before.
    pub detail: String,
}

/// Which lines. Every part that is given must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditSelection {
    /// Whose: a whole name, or one that [`Actor`](super::Actor) writes further words behind.
    pub actor: Option<String>,
    /// What was done.
    pub action: Option<String>,
    /// To what.
    pub subject: Option<String>,
    /// Only lines with a lower number: the last one of the page before.
    pub before: Option<AuditId>,
    /// How many at most; at most [`AUDIT_LIST_MAX`].
    pub limit: u32,
    /// How many lines are looked at, at most; at most [`AUDIT_LOOK_MAX`]. 0 stands for as many as that.
    pub steps: u32,
}

impl AuditSelection {
    /// How many lines are answered with, at most: one more than is asked for tells whether there are more.
    pub fn limit(&self) -> u32 {
        self.limit.min(AUDIT_LIST_MAX)
    }

    /// How many lines are looked at, at most.
    pub fn steps(&self) -> u32 {
        let most = if self.steps == 0 { AUDIT_LOOK_MAX } else { self.steps.min(AUDIT_LOOK_MAX) };
        let any = self.actor.is_none() && self.action.is_none() && self.subject.is_none();
        if any { most.min(self.limit().saturating_add(1)) } else { most }
    }

    /// Whether a line is among those that are meant, whatever its number.
    pub fn fits(&self, line: &AuditLine) -> bool {
        let whose = |actor: &String| line.actor == *actor || line.actor.starts_with(&format!("{actor} ("));
        self.actor.as_ref().is_none_or(whose)
            && self.action.as_ref().is_none_or(|action| line.action == *action)
            && self.subject.as_ref().is_none_or(|subject| line.subject == *subject)
    }

    /// The page of what was found: `lines` with one more than the limit where there are more, among `looked` lines down to
    /// `end`.
    pub fn page(&self, mut lines: Vec<AuditLine>, looked: u32, end: Option<AuditId>) -> AuditPage {
        let limit = self.limit() as usize;
        let cut = lines.len() > limit;
        lines.truncate(limit);
        let last = lines.last().map(|line| line.id);
        let more_before = if cut { last } else { end.filter(|_| looked >= self.steps()) };
        AuditPage { lines, more_before }
    }
}

/// Lines, the newest first, and from where to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// The lines.
    pub lines: Vec<AuditLine>,
    /// From where to go on, also when nothing was found so far; `None` when all there is was looked at.
    pub more_before: Option<AuditId>,
}
