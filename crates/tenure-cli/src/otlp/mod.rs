//! Telemetry by OTLP, for the commands that run for long.

mod swallow;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure::otlp::{Otlp, OtlpError, OtlpOptions};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::args::{Command, OtlpWish};
use crate::output::{self, Failure};

/// How long the end of the process waits for what is still to be sent.
const END_WITHIN: Duration = Duration::from_secs(3);

static ON: AtomicBool = AtomicBool::new(false);

/// What is sent, if anything.
pub(crate) struct Telemetry(Option<Otlp>);

impl Telemetry {
    /// Starts it where the command or the environment says so.
    pub(crate) fn start(command: &Command) -> Result<Self, Failure> {
        let wrong = |error: OtlpError| Failure::Usage(error.to_string());
        let options = match command.wants_otlp() {
            None if !command.runs_long() => None,
            None => meant_for_others(OtlpOptions::from_env()).map_err(wrong)?,
            Some(OtlpWish::To(url)) => OtlpOptions::from_env_to(Some(url)).map_err(wrong)?,
            Some(OtlpWish::Nowhere) => Some(OtlpOptions::to(&swallow::start()?)),
        };
        let otlp = options.map(Otlp::start).transpose().map_err(wrong)?;
        ON.store(otlp.is_some(), Ordering::Relaxed);
        Ok(Self(otlp))
    }

    pub(crate) fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        self.0.as_ref().and_then(Otlp::layer)
    }

    /// Sends the rest, within a bound.
    pub(crate) fn end(self) {
        if let Some(otlp) = self.0
            && !otlp.shutdown(END_WITHIN)
        {
            tracing::warn!(
                "the collector was too slow at the end: some of the last spans and numbers are lost"
            );
        }
    }
}

/// An environment that many programs share may say what only others know. Nobody has asked this one for telemetry, so that is told,
/// and its work is done.
fn meant_for_others(read: Result<Option<OtlpOptions>, OtlpError>) -> Result<Option<OtlpOptions>, OtlpError> {
    match read {
        Err(error @ OtlpError::Unknown { .. }) => {
            output::note(format_args!("no telemetry is sent: {error}"));
            Ok(None)
        }
        read => read,
    }
}

/// Whether telemetry is sent: then somebody has to find out the numbers that only the database knows.
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}
