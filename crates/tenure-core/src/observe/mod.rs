//! For those who watch: what the loops of a process say of themselves, numbers, traces, who did what, and what operators are
//! called.
//!
//! | file | what it holds |
//! |---|---|
//! | `actor`, `audit` | what operators are called, and what they did |
//! | `runner` | a loop of ours, as it tells of itself |
//! | `metric` | the table of every number, and the registry made from it |
//! | `instrument` | counters, gauges and histograms with a bound on their series |
//! | `prometheus` | the numbers as text |
//! | `trace` | the W3C trace context, and the names of our spans |

mod actor;
mod audit;
mod instrument;
mod metric;
mod prometheus;
mod range;
mod runner;
mod trace;

pub use actor::{ACTOR_MAX_BYTES, Actor, Via};
pub use audit::{AUDIT_LIST_MAX, AUDIT_LOOK_MAX, AuditId, AuditLine, AuditPage, AuditSelection};
pub use instrument::{
    BOUNDS_MS, Counter, Elsewhere, Facts, Family, Gauge, Histogram, Instrument, OTHER, Share, Tally, Value,
    Visitor,
};
pub use metric::{
    Label, METER, METRICS, Meter, Metric, MetricKind, NAMES_MAX, Values, loss_slot, metric, outcome_slot,
};
pub use prometheus::{PROMETHEUS_CONTENT_TYPE, PrometheusText};
pub use range::NameRange;
pub use runner::{
    LocalBeat, LocalRunners, NotARunnerKind, RUNNER_FALLEN, RUNNER_HEARD_WITHIN, RUNNER_KINDS,
    RUNNER_NAME_MAX_BYTES, RUNNER_ROWS_MAX, RUNNERS_MAX, RunnerKind, RunnerReport, RunnerRow, Runners,
};
pub use trace::{SPANS, TRACEPARENT, TRACESTATE, TraceContext, trace_headers};
