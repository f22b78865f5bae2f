//! Spans and metrics to a collector of OpenTelemetry, by OTLP over HTTP (feature `otlp`).
//!
//! ```no_run
//! use std::time::Duration;
//! use tenure::otlp::{Otlp, OtlpOptions};
//! use tracing_subscriber::layer::SubscriberExt as _;
//! use tracing_subscriber::util::SubscriberInitExt as _;
//!
//! # fn example() -> Result<(), tenure::otlp::OtlpError> {
//! // OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME …
//! if let Some(options) = OtlpOptions::from_env()? {
//!     let otlp = Otlp::start(options)?;
//!     tracing_subscriber::registry().with(otlp.layer()).init();
//!     // … and at the end of the program:
//!     otlp.shutdown(Duration::from_secs(3));
//! }
//! # Ok(()) }
//! ```
//!
//! **It holds nothing up.** A span that ends goes into a queue of bounded length, and is dropped and
//! [counted](tenure_core::observe::Meter::telemetry_dropped) when there is no room; all else happens on a thread of its own. A
//! collector that is away is told once in the log, and once when it is back.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | [`Otlp`]: starting, the layer, the end |
//! | `options` | what is sent where, and what the environment says of it |
//! | `post` | one request to the collector, and what its answer means |
//! | `spans` | the queue of spans, and sending them |
//! | `metrics` | the table of metrics as OTLP has it, and sending it |

mod metrics;
mod options;
mod post;
mod spans;

use std::sync::mpsc as blocking;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tenure_core::outbox::NewMessage;
use tokio::sync::mpsc;
use tracing::{Metadata, Span, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

pub use self::options::{OtlpOptions, OtlpSignal};
use self::post::Post;
use self::spans::Queue;
use crate::node::machine_name;
use crate::sink::SinkError;
use crate::stop::Stop;
use crate::trace;

/// Telemetry could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpError {
    /// The collector's URL cannot be used.
    #[error("the collector's URL cannot be used: {message}")]
    BadUrl {
        /// Why. The URL itself is not repeated: it may hold a secret.
        message: String,
    },
    /// An option, or a variable of the environment, cannot be used.
    #[error("{option}: {message}")]
    BadOption {
        /// Which.
        option: String,
        /// Why.
        message: String,
    },
    /// A variable of the environment says what the standard knows and this program does not: another protocol, another exporter.
    #[error("{option}: {message}")]
    Unknown {
        /// Which.
        option: String,
        /// What is known instead.
        message: String,
    },
    /// The thread that sends could not be started.
    #[error("telemetry could not be started: {0}")]
    NoThread(#[source] std::io::Error),
}

impl From<SinkError> for OtlpError {
    fn from(error: SinkError) -> Self {
        match error {
            SinkError::BadUrl { message } => Self::BadUrl { message },
            SinkError::BadOption { option, message } => {
                Self::BadOption { option: option.to_owned(), message }
            }
            other => Self::BadUrl { message: other.to_string() },
        }
    }
}

/// Sends spans and metrics until it is shut down. To drop it ends it as well, without waiting for what is still to be sent.
#[derive(Debug)]
pub struct Otlp {
    tracer: Option<SdkTracer>,
    stop: Stop,
    ended: blocking::Receiver<()>,
}

impl Otlp {
    /// Starts a thread that sends. A collector that is away is no error: it may come.
    pub fn start(options: OtlpOptions) -> Result<Self, OtlpError> {
        options.validate()?;
        let resource = resource(&options);
        let scope = InstrumentationScope::builder("tenure").with_version(env!("CARGO_PKG_VERSION")).build();
        let (mut tracer, mut spans) = (None, None);
        let stop = Stop::new();
        if let Some(signal) = &options.traces {
            let post = Post::new("spans", signal, &options.root_certificates)?;
            let (queue, queued) = mpsc::channel(options.queue);
            let provider = SdkTracerProvider::builder()
                .with_resource(resource.clone())
                .with_span_processor(Queue::new(queue))
                .build();
            tracer = Some(provider.tracer_with_scope(scope));
            spans = Some(spans::Sender::new(queued, post, &resource, &options, stop.clone()));
        }
        let metrics = options.metrics.as_ref();
        let metrics = metrics.map(|signal| Post::new("metrics", signal, &options.root_certificates));
        let metrics = metrics.transpose()?;
        let metrics =
            metrics.map(|post| metrics::Sender::new(post, &resource, options.interval, stop.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(OtlpError::NoThread)?;
        let (end, ended) = blocking::channel();
        let work = move || {
            runtime.block_on(async move {
                let spans = async {
                    if let Some(spans) = spans {
                        spans.run().await;
                    }
                };
                let metrics = async {
                    if let Some(metrics) = metrics {
                        metrics.run().await;
                    }
                };
                tokio::join!(spans, metrics);
            });
            // Nobody may be waiting.
            let _ = end.send(());
        };
        std::thread::Builder::new()
            .name("tenure-otlp".to_owned())
            .spawn(work)
            .map_err(OtlpError::NoThread)?;
        Ok(Self { tracer, stop, ended })
    }

    /// What makes spans of OpenTelemetry from those of Tenure. Those of other libraries are left out, and so are log lines,
    /// which may hold what a receiver answered.
    pub fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        self.layer_for(|metadata| metadata.target().starts_with("tenure"))
    }

    /// The same for such spans as `wanted` says, those of an application's own among them.
    pub fn layer_for<S, F>(&self, wanted: F) -> Option<impl Layer<S> + use<S, F>>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
        F: Fn(&Metadata<'_>) -> bool + Send + Sync + 'static,
    {
        let layer = tracing_opentelemetry::layer()
            .with_tracer(self.tracer.clone()?)
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false);
        Some(layer.with_filter(filter_fn(move |metadata| metadata.is_span() && wanted(metadata))))
    }

    /// Sends what is still to be sent and ends; gives up after `within`. Blocks the thread. Whether all was tried.
    pub fn shutdown(self, within: Duration) -> bool {
        self.stop.stop();
        self.ended.recv_timeout(within).is_ok()
    }
}

impl Drop for Otlp {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// Gives a message the trace of the span that is entered now, for its delivery to go on from. One that has a trace keeps it.
#[must_use]
pub fn traced(mut message: NewMessage) -> NewMessage {
    if !message.headers.contains_key(tenure_core::observe::TRACEPARENT) {
        trace::carry(&Span::current(), &mut message.headers);
    }
    message
}

/// What all that is sent says of this process.
fn resource(options: &OtlpOptions) -> Resource {
    let mut builder = Resource::builder().with_attributes([
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", uuid::Uuid::new_v4().to_string()),
        KeyValue::new("host.name", machine_name()),
        KeyValue::new("process.pid", i64::from(std::process::id())),
    ]);
    if let Some(name) = &options.service_name {
        builder = builder.with_service_name(name.clone());
    }
    builder.build()
}
