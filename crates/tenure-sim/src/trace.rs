//! What happened, in lines: the last ones for a reader, all of them in one hash for the proof of determinism.

use std::collections::VecDeque;
use std::fmt;

use tenure_core::time::StoreTime;

use crate::clock::EPOCH;

/// How many lines are kept for a reader.
const KEPT_LINES: usize = 40;

/// The lines of one run.
#[derive(Debug)]
pub(crate) struct Trace {
    kept: VecDeque<String>,
    hash: u64,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self { kept: VecDeque::with_capacity(KEPT_LINES), hash: 0xcbf2_9ce4_8422_2325 }
    }

    /// Adds a line about `who` at the true time `at`.
    pub(crate) fn note(&mut self, at: StoreTime, who: &str, what: fmt::Arguments<'_>) {
        let line = format!("{:>12.6}s {who:<5} {what}", EPOCH.until(at).as_secs_f64());
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        if self.kept.len() == KEPT_LINES {
            self.kept.pop_front();
        }
        self.kept.push_back(line);
    }

    /// One number for every line there ever was.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The last lines.
    pub(crate) fn last(&self) -> Vec<String> {
        self.kept.iter().cloned().collect()
    }
}
