//! States: a word, a sign and a colour, never a colour alone.

use maud::{Markup, html};
use tenure_core::outbox::{Kind, Level, State, Summary};

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tone {
    Plain,
    Info,
    Good,
    Warn,
    Bad,
}

impl Tone {
    /// Its class in the style sheet.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Info => "info",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }

    /// Its sign.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Plain => "○",
            Self::Info => "◆",
            Self::Good => "✓",
            Self::Warn => "▲",
            Self::Bad => "✕",
        }
    }

    /// The tone of a judgement.
    pub(crate) const fn of(level: Level) -> Self {
        match level {
            Level::Healthy => Self::Good,
            Level::Degraded => Self::Warn,
            Level::Unhealthy => Self::Bad,
        }
    }
}

/// A word with its sign.
pub(crate) fn pill(tone: Tone, word: &str) -> Markup {
    html! { span class={ "state " (tone.class()) } { span aria-hidden="true" { (tone.sign()) } " " (word) } }
}

/// Where a message stands.
pub(crate) fn message(message: &Summary) -> Markup {
    let tone = match message.state {
        State::Pending if message.attempts > 0 => Tone::Warn,
        State::Pending => Tone::Info,
        State::Dispatched => Tone::Good,
        State::Dead => Tone::Bad,
        State::Discarded => Tone::Plain,
    };
    pill(tone, message.state.as_str())
}

/// How an attempt ended.
pub(crate) const fn outcome(kind: Kind) -> (Tone, &'static str) {
    match kind {
        Kind::Success => (Tone::Good, "delivered"),
        Kind::Transient => (Tone::Warn, "failed, may pass"),
        Kind::Rejected => (Tone::Bad, "rejected"),
        Kind::Poison => (Tone::Bad, "cannot be read"),
    }
}

/// The word for a judgement.
pub(crate) const fn level(level: Level) -> &'static str {
    match level {
        Level::Healthy => "healthy",
        Level::Degraded => "degraded",
        Level::Unhealthy => "unhealthy",
    }
}
