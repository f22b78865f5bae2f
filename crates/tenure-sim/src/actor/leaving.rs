//! The way out of office: release the exact grant, try again when nobody answers, lower the flag.

use std::time::Duration;

use tenure_core::lease::{Flag, Grant, Release, Term};
use tenure_core::time::Monotonic;

use super::turn::{Purpose, Turn};
use super::{FAR, Patience};
use crate::world::message::{Answer, Request};

/// How often a release without an answer is tried.
const RELEASE_TRIES: u32 = 4;

/// A grant on its way out.
#[derive(Debug)]
pub(crate) struct Leaving {
    grant: Grant,
    flag: Option<Flag>,
    tries_left: u32,
    /// When to try; `None` while a try is under way.
    try_at: Option<Monotonic>,
}

impl Leaving {
    pub(crate) fn new(grant: Grant, flag: Option<Flag>, now: Monotonic) -> Self {
        Self { grant, flag, tries_left: RELEASE_TRIES, try_at: Some(now) }
    }

    pub(crate) fn term(&self) -> Term {
        self.grant.term
    }

    /// Releases; says when it wants to be looked at again.
    pub(crate) fn drive(&mut self, patience: Patience, turn: &mut Turn<'_>) -> Monotonic {
        match self.try_at {
            None => FAR,
            Some(at) if turn.now < at => at,
            Some(_) => {
                let purpose = Purpose::Release(self.grant.term);
                turn.ask(Request::Release(self.grant.clone()), purpose, Some(patience.call));
                self.tries_left -= 1;
                self.try_at = None;
                FAR
            }
        }
    }

    /// Notes the answer; answers whether there is nothing left to do.
    pub(crate) fn released(&mut self, answer: Option<&Answer>, turn: &mut Turn<'_>) -> bool {
        let answered = matches!(answer, Some(Answer::Release(Release::Released | Release::NotHeld)));
        let done = answered || self.tries_left == 0;
        if !done {
            self.try_at = Some(turn.now.after(Duration::from_millis(100)));
        } else if let Some(flag) = self.flag.take() {
            turn.ask(Request::Lower(flag), Purpose::Nothing, None);
        }
        done
    }
}
