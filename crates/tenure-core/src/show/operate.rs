//! The shapes of what an operator looks at: bounded numbers, causes, audit, runners, streams.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::schema::{Shape, map_of, maybe, object, one, text, truth, whole, word};
use super::{MessageShape, millis};
use crate::event::StreamLine;
use crate::observe::{AuditLine, RunnerKind, RunnerRow};
use crate::outbox::{Grave, Pulse};

/// The outbox in numbers that cost the same however much is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PulseShape {
    /// Messages that were given up and not decided about.
    pub dead: u64,
    /// Whether there are more of them: no further was counted.
    pub dead_or_more: bool,
    /// Sources that stand still behind a dead message.
    pub halted_sources: u64,
    /// Whether there are more of them.
    pub halted_sources_or_more: bool,
    /// Whether the lag is at least so long: not all that waits was looked at.
    pub lag_is_least: bool,
    /// How long the oldest message that could go has been waiting; null when nothing waits.
    pub lag_ms: Option<u64>,
    /// The store's time.
    pub now: String,
    /// Messages that wait.
    pub pending: u64,
    /// Whether there are more of them.
    pub pending_or_more: bool,
    /// Of those that were counted, how many have failed before.
    pub retrying: u64,
}

impl From<&Pulse> for PulseShape {
    fn from(pulse: &Pulse) -> Self {
        Self {
            dead: pulse.dead.number,
            dead_or_more: pulse.dead.or_more,
            halted_sources: pulse.halted_sources.number,
            halted_sources_or_more: pulse.halted_sources.or_more,
            lag_is_least: pulse.lag_is_least,
            lag_ms: pulse.lag.map(millis),
            now: pulse.now.to_string(),
            pending: pulse.pending.number,
            pending_or_more: pulse.pending.or_more,
            retrying: pulse.retrying.number,
        }
    }
}

impl Shape for PulseShape {
    const NAME: &'static str = "Pulse";
    fn schema() -> Value {
        object(vec![
            ("dead", whole()),
            ("dead_or_more", truth()),
            ("halted_sources", whole()),
            ("halted_sources_or_more", truth()),
            ("lag_is_least", truth()),
            ("lag_ms", maybe(whole())),
            ("now", text()),
            ("pending", whole()),
            ("pending_or_more", truth()),
            ("retrying", whole()),
        ])
    }
}

/// Dead messages of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CauseShape {
    /// What they have in common: 16 hexadecimal digits.
    pub cause: String,
    /// How many.
    pub messages: u64,
    /// Whether there are more of them: no further was counted.
    pub messages_or_more: bool,
    /// The one that died last: its reason stands for all.
    pub newest: MessageShape,
    /// The one with the lowest number.
    pub oldest: MessageShape,
    /// Why they died, in the words of the newest; null where no reason was written down.
    pub reason: Option<String>,
}

impl From<&Grave> for CauseShape {
    fn from(grave: &Grave) -> Self {
        Self {
            cause: grave.cause.to_string(),
            messages: grave.messages.number,
            messages_or_more: grave.messages.or_more,
            newest: MessageShape::from(&grave.newest),
            oldest: MessageShape::from(&grave.oldest),
            reason: grave.newest.last_error.clone(),
        }
    }
}

impl Shape for CauseShape {
    const NAME: &'static str = "Cause";
    fn schema() -> Value {
        object(vec![
            ("cause", text()),
            ("messages", whole()),
            ("messages_or_more", truth()),
            ("newest", one::<MessageShape>()),
            ("oldest", one::<MessageShape>()),
            ("reason", maybe(text())),
        ])
    }
}

/// One thing that an operator did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditShape {
    /// What.
    pub action: String,
    /// Who, and by which way.
    pub actor: String,
    /// When.
    pub at: String,
    /// More about it.
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

/// A loop of some process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunnerShape {
    /// How long before it was seen it got on with its work last.
    pub advanced_ago_ms: Option<u64>,
    /// What it has counted since it was started.
    pub counters: BTreeMap<String, u64>,
    /// How long before it was seen it went round last.
    pub cycled_ago_ms: Option<u64>,
    /// How often it goes round when nothing happens.
    pub every_ms: u64,
    /// The random number of its process.
    pub incarnation: String,
    /// What kind of loop.
    pub kind: RunnerKind,
    /// The machine it runs on.
    pub machine: String,
    /// What it is called.
    pub name: String,
    /// The node it runs in.
    pub node: String,
    /// The process id.
    pub pid: u32,
    /// When it was last reported.
    pub seen_at: String,
    /// When it was first reported.
    pub started_at: String,
    /// In a word or two.
    pub state: String,
    /// Why it does not get on, if so.
    pub trouble: Option<String>,
}

impl From<&RunnerRow> for RunnerShape {
    fn from(row: &RunnerRow) -> Self {
        let report = &row.report;
        Self {
            advanced_ago_ms: report.advanced_ago.map(millis),
            counters: report.counters.iter().map(|(name, number)| (name.to_string(), *number)).collect(),
            cycled_ago_ms: report.cycled_ago.map(millis),
            every_ms: millis(report.every),
            incarnation: row.node.incarnation.to_string(),
            kind: report.kind,
            machine: row.node.machine.clone(),
            name: report.name.clone(),
            node: row.node.name.to_string(),
            pid: row.node.pid,
            seen_at: row.seen_at.to_string(),
            started_at: row.started_at.to_string(),
            state: report.state.clone(),
            trouble: report.trouble.clone(),
        }
    }
}

impl Shape for RunnerShape {
    const NAME: &'static str = "Runner";
    fn schema() -> Value {
        object(vec![
            ("advanced_ago_ms", maybe(whole())),
            ("counters", map_of(whole())),
            ("cycled_ago_ms", maybe(whole())),
            ("every_ms", whole()),
            ("incarnation", text()),
            ("kind", word(&RunnerKind::ALL.map(RunnerKind::as_str))),
            ("machine", text()),
            ("name", text()),
            ("node", text()),
            ("pid", whole()),
            ("seen_at", text()),
            ("started_at", text()),
            ("state", text()),
            ("trouble", maybe(text())),
        ])
    }
}

/// A stream of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamShape {
    /// Which version its snapshot shows, if it has one.
    pub snapshot: Option<i64>,
    /// Its name.
    pub stream: String,
    /// How many events it has.
    pub version: i64,
}

impl From<&StreamLine> for StreamShape {
    fn from(line: &StreamLine) -> Self {
        let snapshot = line.snapshot.map(|version| version.0);
        Self { snapshot, stream: line.stream.to_string(), version: line.version.0 }
    }
}

impl Shape for StreamShape {
    const NAME: &'static str = "Stream";
    fn schema() -> Value {
        object(vec![("snapshot", maybe(whole())), ("stream", text()), ("version", whole())])
    }
}
