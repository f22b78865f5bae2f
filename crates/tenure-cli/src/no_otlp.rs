//! What stands for telemetry in a `tenure` that was built without it.

use tracing_subscriber::layer::Identity;

use crate::args::Command;
use crate::output::Failure;

/// No telemetry.
pub(crate) struct Telemetry;

impl Telemetry {
    /// What the environment says to every program is none of our business here; what is said to us is.
    pub(crate) fn start(command: &Command) -> Result<Self, Failure> {
        match command.wants_otlp() {
            None => Ok(Self),
            Some(_) => Err(Failure::Usage(
                "this tenure was built without telemetry by OTLP: build it with the feature `otlp`".into(),
            )),
        }
    }

    pub(crate) fn layer(&self) -> Option<Identity> {
        None
    }

    pub(crate) fn end(self) {}
}

/// Whether telemetry is sent.
pub(crate) fn is_on() -> bool {
    false
}
