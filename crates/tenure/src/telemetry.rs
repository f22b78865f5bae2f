//! The numbers of this process: what is counted, and what its loops say.
//!
//! ```
//! let text = tenure::telemetry::prometheus();
//! assert!(text.contains("tenure_outbox_attempts_total"));
//! ```
//!
//! Another system of metrics is a [`Visitor`] of some ten lines.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::id::Node;
use tenure_core::observe::NAMES_MAX;
pub use tenure_core::observe::{
    METER, METRICS, Metric, MetricKind, OTHER, PROMETHEUS_CONTENT_TYPE, PrometheusText, RunnerReport, Value,
    Visitor, metric,
};

use crate::runners::runners;

/// Shows every series to `visitor`, those of one metric one after another.
pub fn visit(visitor: &mut dyn Visitor) {
    METER.visit(visitor);
    loops(&runners().list(), visitor);
}

/// All numbers as Prometheus reads them; to be served as [`PROMETHEUS_CONTENT_TYPE`].
pub fn prometheus() -> String {
    let mut text = PrometheusText::new();
    visit(&mut text);
    text.finish()
}

/// Says which node this process is, in `tenure.info`.
pub fn this_node(node: &Node) {
    METER.info.set([node.name.as_str(), &node.incarnation.to_string(), env!("CARGO_PKG_VERSION")]);
}

/// A number of a loop.
type Number = fn(&RunnerReport) -> Option<Duration>;

fn loops(reports: &[RunnerReport], visitor: &mut dyn Visitor) {
    let numbers: [(&str, Number); 3] = [
        ("tenure.runner.cycled_ago_ms", |report| report.cycled_ago),
        ("tenure.runner.advanced_ago_ms", |report| report.advanced_ago),
        ("tenure.runner.every_ms", |report| Some(report.every)),
    ];
    for (name, number) in numbers {
        let Some(metric) = metric(name) else { continue };
        let mut names = BTreeSet::new();
        let mut rest: Option<(&str, Duration)> = None;
        for report in reports {
            let Some(span) = number(report) else { continue };
            if names.len() < NAMES_MAX && names.insert((report.kind, report.name.as_str())) {
                let labels = [("kind", report.kind.as_str()), ("name", report.name.as_str())];
                visitor.sample(metric, &labels, Value::Gauge(millis(span)));
            } else if rest.is_none_or(|(_, worst)| span > worst) {
                rest = Some((report.kind.as_str(), span));
            }
        }
        // Of those that have no place, the worst.
        if let Some((kind, span)) = rest {
            visitor.sample(metric, &[("kind", kind), ("name", OTHER)], Value::Gauge(millis(span)));
        }
    }
}

fn millis(span: Duration) -> f64 {
    span.as_millis() as f64
}

#[cfg(test)]
mod tests {
    use tenure_core::observe::RunnerKind;

    use super::*;
    use crate::Runners;

    #[test]
    fn ten_thousand_loops_are_a_bounded_number_of_series() {
        let runners = Runners::default();
        let beats: Vec<_> = (0..10_000)
            .map(|n| runners.register(RunnerKind::Lease, format!("lease {n}"), Duration::from_secs(1)))
            .collect();
        let mut text = PrometheusText::new();
        loops(&runners.list(), &mut text);
        let text = text.finish();
        let lines = text.lines().filter(|line| line.starts_with("tenure_runner_cycled_ago_ms{")).count();
        assert_eq!(lines, NAMES_MAX + 1);
        drop(beats);
    }
}
