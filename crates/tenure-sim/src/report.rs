//! What a run comes to: numbers, or the invariant that failed and how to see it again.

use std::fmt;
use std::time::Duration;

use tenure_core::mutation::Rule;

use crate::world::Tally;

/// A run in which everything held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// What happened, in numbers.
    pub tally: Tally,
    /// One number for the whole trace; the same seed gives the same.
    pub trace_hash: u64,
}

/// A run in which something did not hold.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The rule that was switched off, if one was.
    pub rule: Option<Rule>,
    /// The number of the directed scenario, if it was one.
    pub scenario: Option<u32>,
    /// What did not hold.
    pub invariant: &'static str,
    /// What was seen.
    pub message: String,
    /// When, after the beginning of the world.
    pub at: Duration,
    /// The last lines of the trace.
    pub trace: Vec<String>,
}

impl Failure {
    /// The command that shows it again.
    pub fn replay(&self) -> String {
        let rule = self.rule.map(|rule| format!(" --rule {rule:?}")).unwrap_or_default();
        let scenario = self.scenario.map(|number| format!(" --scenario {number}")).unwrap_or_default();
        format!("cargo xtask sim --from {} --seeds 1{scenario}{rule}", self.seed)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "  {line}")?;
        }
        writeln!(f, "seed {}: {} at {:?}: {}", self.seed, self.invariant, self.at, self.message)?;
        write!(f, "again: {}", self.replay())
    }
}

impl std::error::Error for Failure {}
