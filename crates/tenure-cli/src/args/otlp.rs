//! Where telemetry goes, as the commands that run for long take it.

use clap::Args;

/// Telemetry.
#[derive(Debug, Clone, Args)]
pub(crate) struct OtlpArgs {
    /// Send spans and metrics to this collector, by OTLP over HTTP, as OTEL_EXPORTER_OTLP_ENDPOINT does; headers and all else
    /// are said by the standard's OTEL_… variables
    #[arg(long, env = "TENURE_OTLP", value_name = "URL", hide_env_values = true)]
    pub(crate) otlp: Option<String>,
}
