//! Aggregates and processes: entities whose state is the sum of their events.
//!
//! ```text
//!   command ──▶ state (cache, or snapshot + events) ──▶ handle ──▶ events, dispatches │ rejection
//!                                                                    └── one append, at the version of the state
//! ```
//!
//! An [`Aggregate`] answers a command with events, or refuses it. A [`Process`] also sends commands to others, through the
//! outbox. Both are plain functions: no clock, no I/O, nothing to mock. What is done with their answers stands in
//! [`plan`], and is the same for both.

mod dispatch;
mod plan;
mod settings;
mod traits;
mod window;

pub use dispatch::{Dispatch, HEADER_CAUSATION, HEADER_CORRELATION, HEADER_SCHEMA, HEADER_TO, causing_event};
pub use plan::{Caller, PlanError, Planned, Replayed, plan, replay};
pub use settings::EntitySettings;
pub use traits::{Aggregate, AggregateOf, Behaviour, Process, ProcessOf, Reaction, Rejection};
pub use window::{WINDOW_DEFAULT, Window};
