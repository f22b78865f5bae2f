//! What the row says of presence, and what a contender may conclude from it.
//!
//! A holder with an open session to the store raises a [`Flag`] there, one per grant, and then says so in the row
//! ([`Announced`]). The flag falls when the holder releases the grant, and when its session ends for whatever reason.
//! A contender who saw it fall, and has waited out the holder's trust, has [`Evidence`].
//!
//! The session is named by a number that is never used twice. Otherwise a holder that lost its session, withdrew its
//! announcement and announced a new session could be deposed by evidence about the old one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{LeaseName, Term};
use crate::hash;
use crate::id::Unique;

/// What a row says of its holder's presence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// The session on which the flag is up.
    pub session: Unique,
    /// How long the holder may trust itself after its last ping; a contender waits as long, by the holder's number.
    pub trust: Duration,
}

/// The mark of one grant on its holder's session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Flag {
    /// The lease.
    pub lease: LeaseName,
    /// The number of the grant.
    pub term: Term,
    /// The session on which it was raised.
    pub session: Unique,
}

impl Flag {
    /// A 64-bit name for stores whose session locks are numbers.
    ///
    /// Two flags with one number only cost speed: the second cannot be raised, and its grant lives by its ttl.
    pub fn key(&self, namespace: &str) -> i64 {
        let (term, session) = (self.term.get().to_be_bytes(), self.session.as_u128().to_be_bytes());
        hash::key([namespace.as_bytes(), self.lease.as_str().as_bytes(), &term, &session])
    }
}

/// Proof that a holder is gone: its flag fell, and its trust has been waited out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// The term whose flag fell.
    pub term: Term,
    /// The session on which it had been raised.
    pub session: Unique,
}
