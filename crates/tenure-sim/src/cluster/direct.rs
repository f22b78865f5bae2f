//! What a story can do with a cluster: let it run, spoil one call, and say what it expects.

use std::time::Duration;

use super::ClusterWorld;
use super::message::Call;
use crate::faults::Fate;
use crate::report::Failure;

/// A fate that waits for the next calls of a process that fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trap {
    pub(crate) node: usize,
    pub(crate) fits: fn(&Call) -> bool,
    pub(crate) fate: Fate,
}

/// Arrives and is answered within a millisecond.
const SOON: Option<Duration> = Some(Duration::from_millis(1));

impl Trap {
    /// The next such call arrives only after so long, and is answered then.
    pub(crate) fn late(node: usize, fits: fn(&Call) -> bool, after: Duration) -> Self {
        Self { node, fits, fate: Fate { request: Some(after), answer: SOON, ..Fate::SILENCE } }
    }

    /// The next such call arrives, and arrives once more after so long.
    pub(crate) fn twice(node: usize, fits: fn(&Call) -> bool, after: Duration) -> Self {
        Self { node, fits, fate: Fate { request: SOON, answer: SOON, copy: Some(after), error: None } }
    }
}

impl ClusterWorld {
    /// Spoils the next call that fits.
    pub(crate) fn trap(&mut self, trap: Trap) {
        self.traps.push(trap);
    }

    pub(super) fn take_trap(&mut self, node: usize, call: &Call) -> Option<Fate> {
        let at = self.traps.iter().position(|trap| trap.node == node && (trap.fits)(call))?;
        Some(self.traps.remove(at).fate)
    }

    /// Lets `span` pass.
    pub(crate) fn run_for(&mut self, span: Duration) -> Result<(), Failure> {
        let until = self.now.after(span);
        while self.step(until)? {}
        Ok(())
    }

    /// Lets time pass until `done`, which is asked now and then; fails as `what` when that takes longer than `at_most`.
    pub(crate) fn run_until(
        &mut self,
        what: &'static str,
        at_most: Duration,
        mut done: impl FnMut(&Self) -> Result<(), String>,
    ) -> Result<(), Failure> {
        let until = self.now.after(at_most);
        loop {
            match done(self) {
                Ok(()) => return Ok(()),
                Err(message) if self.now >= until => {
                    return Err(self.failure(what, format!("not within {at_most:?}: {message}")));
                }
                Err(_) => self.run_for(Duration::from_millis(250))?,
            }
        }
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
}
