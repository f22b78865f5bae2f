//! For those who watch: what the loops of a process say of themselves, who did what, and what operators are called.

mod actor;
mod audit;
mod range;
mod runner;

pub use actor::{ACTOR_MAX_BYTES, Actor, Via};
pub use audit::{AUDIT_LIST_MAX, AUDIT_LOOK_MAX, AuditId, AuditLine, AuditPage, AuditSelection};
pub use range::NameRange;
pub use runner::{
    NotARunnerKind, RUNNER_NAME_MAX_BYTES, RUNNER_ROWS_MAX, RUNNERS_MAX, RunnerKind, RunnerReport, RunnerRow,
    Runners,
};
