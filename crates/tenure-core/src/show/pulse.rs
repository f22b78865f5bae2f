//! The outbox in bounded numbers, and dead messages by cause.

use serde::Serialize;
use serde_json::Value;

use super::schema::{Shape, maybe, object, one, text, truth, whole};
use super::{MessageShape, millis};
use crate::outbox::{Grave, Pulse};

/// The outbox in numbers that cost the same however much is in it. A number beside which `…_or_more` is true was not counted
/// further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PulseShape {
    /// Messages that were given up and not decided about.
    pub dead: u64,
    /// Whether there are more.
    pub dead_or_more: bool,
    /// Sources that stand still behind a dead message.
    pub halted_sources: u64,
    /// Whether there are more.
    pub halted_sources_or_more: bool,
    /// Whether not all could be looked at: then the lag is at least so long.
    pub lag_is_least: bool,
    /// How long the oldest message that could go has been waiting; null when nothing waits.
    pub lag_ms: Option<u64>,
    /// The number of the newest message.
    pub newest: Option<i64>,
    /// The store's time.
    pub now: String,
    /// Messages that wait.
    pub pending: u64,
    /// Whether there are more.
    pub pending_or_more: bool,
    /// Of those, how many have failed before.
    pub retrying: u64,
    /// Whether there are more.
    pub retrying_or_more: bool,
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
            newest: pulse.newest.map(|row| row.0),
            now: pulse.now.to_string(),
            pending: pulse.pending.number,
            pending_or_more: pulse.pending.or_more,
            retrying: pulse.retrying.number,
            retrying_or_more: pulse.retrying.or_more,
        }
    }
}

impl Shape for PulseShape {
    const NAME: &'static str = "OutboxPulse";
    fn schema() -> Value {
        object(vec![
            ("dead", whole()),
            ("dead_or_more", truth()),
            ("halted_sources", whole()),
            ("halted_sources_or_more", truth()),
            ("lag_is_least", truth()),
            ("lag_ms", maybe(whole())),
            ("newest", maybe(whole())),
            ("now", text()),
            ("pending", whole()),
            ("pending_or_more", truth()),
            ("retrying", whole()),
            ("retrying_or_more", truth()),
        ])
    }
}

/// Dead messages that have their cause in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraveShape {
    /// The cause: 16 hexadecimal digits, by which retry and discard know it.
    pub cause: String,
    /// How many messages, counted up to a bound.
    pub messages: u64,
    /// Whether there are more.
    pub messages_or_more: bool,
    /// The newest of them: its reason stands for all.
    pub newest: MessageShape,
    /// The oldest of them.
    pub oldest: MessageShape,
}

impl From<&Grave> for GraveShape {
    fn from(grave: &Grave) -> Self {
        Self {
            cause: grave.cause.to_string(),
            messages: grave.messages.number,
            messages_or_more: grave.messages.or_more,
            newest: MessageShape::from(&grave.newest),
            oldest: MessageShape::from(&grave.oldest),
        }
    }
}

impl Shape for GraveShape {
    const NAME: &'static str = "DeadCause";
    fn schema() -> Value {
        object(vec![
            ("cause", text()),
            ("messages", whole()),
            ("messages_or_more", truth()),
            ("newest", one::<MessageShape>()),
            ("oldest", one::<MessageShape>()),
        ])
    }
}
