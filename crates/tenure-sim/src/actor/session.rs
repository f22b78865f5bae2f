//! A node's presence session: opened, pinged, lost, opened again.

use std::time::Duration;

use tenure_core::id::Unique;
use tenure_core::lease::PresenceSettings;
use tenure_core::time::Monotonic;

use super::turn::{Purpose, Turn};
use super::{FAR, Patience};
use crate::world::message::{Answer, Request};

/// The session as the node sees it; the store may see it otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Session {
    Closed { reopen_at: Monotonic },
    Opening { id: Unique },
    Open { id: Unique, last_ping: Monotonic, ping_at: Monotonic, in_flight: bool },
}

impl Session {
    /// The open session, and when its last answered ping started.
    pub(crate) fn live(&self) -> Option<(Unique, Monotonic)> {
        match self {
            Self::Open { id, last_ping, .. } => Some((*id, *last_ping)),
            _ => None,
        }
    }

    /// Opens and pings; says when it wants to be looked at again.
    pub(crate) fn drive(
        &mut self,
        settings: &PresenceSettings,
        patience: Patience,
        turn: &mut Turn<'_>,
    ) -> Monotonic {
        let started = turn.now;
        match self {
            Self::Closed { reopen_at } if turn.now < *reopen_at => *reopen_at,
            Self::Closed { .. } => {
                let id = turn.unique();
                turn.ask(
                    Request::Open(id, settings.idle_timeout),
                    Purpose::Open { id, started },
                    Some(patience.call),
                );
                *self = Self::Opening { id };
                FAR
            }
            Self::Opening { .. } | Self::Open { in_flight: true, .. } => FAR,
            Self::Open { ping_at, .. } if turn.now < *ping_at => *ping_at,
            Self::Open { id, in_flight, ping_at, .. } => {
                turn.ask(Request::Ping(*id), Purpose::Ping { id: *id, started }, Some(patience.ping));
                *in_flight = true;
                *ping_at = started.after(settings.ping);
                FAR
            }
        }
    }

    /// Notes the answer to opening. Opening counts as the first ping: the session is younger than its start.
    pub(crate) fn opened(
        &mut self,
        opened: Unique,
        started: Monotonic,
        answer: Option<&Answer>,
        turn: &mut Turn<'_>,
    ) {
        if !matches!(self, Self::Opening { id } if *id == opened) {
            return;
        }
        *self = match answer {
            Some(Answer::Session) => {
                Self::Open { id: opened, last_ping: started, ping_at: turn.now, in_flight: false }
            }
            _ => Self::Closed { reopen_at: turn.now.after(turn.millis(10, 500)) },
        };
    }

    /// Notes the answer to a ping; answers whether the session still lives.
    pub(crate) fn pinged(&mut self, pinged: Unique, started: Monotonic, answer: Option<&Answer>) -> bool {
        match self {
            Self::Open { id, last_ping, in_flight, .. } if *id == pinged => {
                *in_flight = false;
                let lives = matches!(answer, Some(Answer::Session));
                if lives {
                    *last_ping = started.max(*last_ping);
                }
                lives
            }
            _ => true,
        }
    }

    /// Gives a session up. A half-dead one is closed, if the store still hears it.
    pub(crate) fn lose(&mut self, lost: Unique, turn: &mut Turn<'_>) -> bool {
        if self.live().is_none_or(|(id, _)| id != lost) {
            return false;
        }
        turn.ask(Request::Close(lost), Purpose::Nothing, None);
        let pause: Duration = turn.millis(5, 400);
        *self = Self::Closed { reopen_at: turn.now.after(pause) };
        true
    }
}
