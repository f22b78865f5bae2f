//! What nodes ask of the store and of the receiver, and what these answer.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::id::Unique;
use tenure_core::lease::decide::TermError;
use tenure_core::lease::{Acquire, Claim, Fence, FenceCheck, Flag, Grant, Release, Renew, Renewal};
use tenure_core::outbox::{Limits, Loaded, Look, Message, Outcome, Page, Recorded, RowId, Swept, Verdict};

/// A call to the store.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Acquire(Claim),
    Renew(Grant, Renewal),
    Release(Grant),
    /// A protected write.
    Write(Fence),
    /// Opens a presence session that the store ends after so much silence.
    Open(Unique, Duration),
    Ping(Unique),
    Close(Unique),
    Raise(Flag),
    Lower(Flag),
    /// Wants to know when the flag is down.
    Watch(Flag),
    /// What is pending in the outbox.
    Look(Arc<Look>),
    /// A large payload.
    Load(RowId, Limits),
    Record(Fence, Arc<[Outcome]>),
    /// One step of retention, from a row on.
    Sweep(Fence, Option<i64>),
    /// To the receiver, not to the store.
    Deliver(Arc<[Message]>),
}

/// The kinds of calls, for scenarios that spoil one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Acquire,
    Renew,
    Release,
    Write,
    Session,
    Watch,
    Look,
    Load,
    Record,
    Sweep,
    Deliver,
}

impl Kind {
    /// Whether it is a relay's.
    pub(crate) fn is_outbox(self) -> bool {
        matches!(self, Self::Look | Self::Load | Self::Record | Self::Sweep | Self::Deliver)
    }
}

impl Request {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Acquire(_) => Kind::Acquire,
            Self::Renew(..) => Kind::Renew,
            Self::Release(_) => Kind::Release,
            Self::Write(_) => Kind::Write,
            Self::Watch(_) => Kind::Watch,
            Self::Look(_) => Kind::Look,
            Self::Load(..) => Kind::Load,
            Self::Record(..) => Kind::Record,
            Self::Sweep(..) => Kind::Sweep,
            Self::Deliver(_) => Kind::Deliver,
            Self::Open(..) | Self::Ping(_) | Self::Close(_) | Self::Raise(_) | Self::Lower(_) => {
                Kind::Session
            }
        }
    }
}

/// An answer of the store.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Acquire(Acquire),
    /// The lease's terms cannot go on; nobody may lead.
    Regress(TermError),
    Renew(Renew),
    /// An error: the outcome is unknown.
    Doubt,
    Release(Release),
    Write(FenceCheck),
    /// Done on the session.
    Session,
    /// The session is no more.
    NoSession,
    /// The watched flag is down.
    Fallen,
    Page(Arc<Page>),
    Body(Loaded),
    Recorded(Recorded),
    Swept(Swept),
    /// The receiver's, one for each message.
    Verdicts(Vec<Verdict>),
}

/// A call on its way to the store.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    /// The node that asks.
    pub(crate) from: usize,
    /// In which of its lives it asks; an answer to a former life is not delivered.
    pub(crate) life: u64,
    pub(crate) call: u64,
    pub(crate) request: Request,
    /// How long the answer will take; `None`: it is lost.
    pub(crate) answer_after: Option<Duration>,
}
