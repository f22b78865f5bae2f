//! What is asked of the store of events, and what it answers.

use std::sync::Arc;

use tenure_core::event::{
    AllPage, Append, AppendAnswer, Position, Snapshot, StreamName, StreamPage, Version,
};
use tenure_core::subscription::{Advance, Checkpoint, Step};

/// A call to the store.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Append(Arc<Append>),
    ReadStream { stream: StreamName, from: Version, limit: u32 },
    ReadAll { after: Position, limit: u32 },
    LoadSnapshot(StreamName),
    SaveSnapshot(Snapshot),
    Checkpoint(usize),
    Advance(Arc<Stride>),
}

/// A step of a reader, as the store sees it.
#[derive(Debug, Clone)]
pub(crate) struct Stride {
    pub(crate) subscription: usize,
    /// The term of its office, where one is needed.
    pub(crate) term: Option<u64>,
    pub(crate) step: Step,
    /// What a projection takes in with it, in the same transaction.
    pub(crate) applies: Vec<Position>,
}

/// The kinds of calls, for scenarios that spoil one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Append,
    Read,
    Snapshot,
    Checkpoint,
    Advance,
}

impl Request {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Append(_) => Kind::Append,
            Self::ReadStream { .. } | Self::ReadAll { .. } => Kind::Read,
            Self::LoadSnapshot(_) | Self::SaveSnapshot(_) => Kind::Snapshot,
            Self::Checkpoint(_) => Kind::Checkpoint,
            Self::Advance(_) => Kind::Advance,
        }
    }
}

/// An answer of the store.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Append(AppendAnswer),
    /// It can never happen.
    Problem(String),
    Stream(StreamPage),
    Page(AllPage),
    Snapshot(Option<Snapshot>),
    Kept,
    Checkpoint(Checkpoint),
    Advance(Advance),
    /// An error: the outcome is unknown.
    Doubt,
}
