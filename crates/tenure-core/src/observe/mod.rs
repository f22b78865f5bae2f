//! What the loops of a process say of themselves, for those who watch.

mod runner;

pub use runner::{
    NotARunnerKind, RUNNER_NAME_MAX_BYTES, RUNNER_ROWS_MAX, RUNNERS_MAX, RunnerKind, RunnerReport, RunnerRow,
    Runners,
};
