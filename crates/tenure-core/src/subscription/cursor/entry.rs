//! What waits to be handled: an event, or a row that cannot be read.

use crate::event::{Position, Recorded, Unreadable, Version};
use crate::outbox::shorten;
use crate::subscription::Aside;

/// A row of the store: an event, or what is left of one.
#[derive(Debug)]
pub(super) enum Entry {
    Event(Recorded),
    Unreadable(Unreadable),
}

impl Entry {
    pub(super) fn position(&self) -> Position {
        match self {
            Self::Event(event) => event.position,
            Self::Unreadable(row) => row.position,
        }
    }

    pub(super) fn event(&self) -> Option<&Recorded> {
        match self {
            Self::Event(event) => Some(event),
            Self::Unreadable(_) => None,
        }
    }

    pub(super) fn aside(self, reason: &str, attempts: u32) -> Aside {
        let reason = shorten(reason);
        match self {
            Self::Event(Recorded { position, stream, version, kind, .. }) => {
                Aside { position, stream: Some(stream), version, kind, reason, attempts }
            }
            Self::Unreadable(Unreadable { position, stream, version, kind, .. }) => {
                let (version, kind) = (version.unwrap_or(Version::NONE), kind.unwrap_or_default());
                // It may be anything, and must not be what keeps the row from being put aside.
                Aside { position, stream, version, kind: shorten(&kind), reason, attempts }
            }
        }
    }
}
