//! What a scenario can do with a world: let it run, spoil one call, and say what it expects.

use std::time::Duration;

use tenure_core::lease::Term;

use super::message::Kind;
use super::{Tally, World};
use crate::faults::Fate;
use crate::report::{Failure, Report};

/// A fate that waits for the next calls of a kind from a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snare {
    pub(crate) node: usize,
    pub(crate) kind: Kind,
    pub(crate) fate: Fate,
}

/// Arrives and is answered within a millisecond.
const SOON: Option<Duration> = Some(Duration::from_millis(1));

impl Snare {
    /// The next such call never arrives.
    pub(crate) fn lose_request(node: usize, kind: Kind) -> Self {
        Self { node, kind, fate: Fate::SILENCE }
    }

    /// The next such call takes effect, and nobody hears of it.
    pub(crate) fn lose_answer(node: usize, kind: Kind) -> Self {
        Self { node, kind, fate: Fate { request: SOON, ..Fate::SILENCE } }
    }

    /// The next such call arrives only after so long.
    pub(crate) fn late_request(node: usize, kind: Kind, after: Duration) -> Self {
        Self { node, kind, fate: Fate { request: Some(after), answer: SOON, ..Fate::SILENCE } }
    }

    /// The next such call takes effect at once, and is answered only after so long.
    pub(crate) fn late_answer(node: usize, kind: Kind, after: Duration) -> Self {
        Self { node, kind, fate: Fate { request: SOON, answer: Some(after), ..Fate::SILENCE } }
    }

    /// The next such call arrives, and arrives once more after so long.
    pub(crate) fn twice(node: usize, kind: Kind, after: Duration) -> Self {
        Self { node, kind, fate: Fate { request: SOON, answer: SOON, copy: Some(after), error: None } }
    }
}

impl World {
    /// Spoils the next call that fits.
    pub(crate) fn snare(&mut self, snare: Snare) {
        self.snares.push(snare);
    }

    pub(super) fn take_snare(&mut self, node: usize, kind: Kind) -> Option<Fate> {
        let at = self.snares.iter().position(|snare| snare.node == node && snare.kind == kind)?;
        Some(self.snares.remove(at).fate)
    }

    /// Lets `span` pass.
    pub(crate) fn run_for(&mut self, span: Duration) -> Result<(), Failure> {
        let until = self.now.after(span);
        while self.step(until)? {}
        Ok(())
    }

    /// Lets time pass until `done`; fails as `what` when that takes longer than `at_most`.
    pub(crate) fn run_until(
        &mut self,
        what: &'static str,
        at_most: Duration,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), Failure> {
        let until = self.now.after(at_most);
        while !done(self) {
            if !self.step(until)? {
                return self.expect(what, done(self), || format!("did not happen within {at_most:?}"));
            }
        }
        Ok(())
    }

    /// Lets time pass until someone believes, and says who and in which term.
    pub(crate) fn run_until_held(&mut self, at_most: Duration) -> Result<(usize, Term), Failure> {
        self.run_until("someone_holds", at_most, |world| world.holder().is_some())?;
        let holder = self.beliefs(self.now).max_by_key(|(_, term)| *term);
        holder.ok_or_else(|| self.failure("someone_holds", "nobody does".into()))
    }

    /// Fails as `what` unless it holds.
    pub(crate) fn expect(
        &self,
        what: &'static str,
        holds: bool,
        message: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if holds { Ok(()) } else { Err(self.failure(what, message())) }
    }

    /// Whether a node believes now.
    pub(crate) fn believes(&self, node: usize) -> bool {
        self.beliefs(self.now).any(|(believer, _)| believer == node)
    }

    /// How many nodes believe now.
    pub(crate) fn believers(&self) -> usize {
        self.beliefs(self.now).count()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.store.tally
    }

    /// What came of it.
    pub(crate) fn report(&self) -> Report {
        Report { seed: self.seed, tally: self.tally(), trace_hash: self.trace.hash() }
    }
}
