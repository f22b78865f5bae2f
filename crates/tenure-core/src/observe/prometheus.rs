//! The numbers as Prometheus reads them: text, one line for each series.

use std::fmt::Write;

use super::instrument::{Value, Visitor};
use super::metric::{Metric, MetricKind};

/// What a server says of the kind of this text.
pub const PROMETHEUS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes what it is shown.
#[derive(Debug, Default)]
pub struct PrometheusText {
    text: String,
    last: Option<&'static str>,
}

impl PrometheusText {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// All that was shown.
    pub fn finish(self) -> String {
        self.text
    }

    fn head(&mut self, metric: &'static Metric, name: &str) {
        if self.last.replace(metric.name) == Some(metric.name) {
            return;
        }
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let help = metric.help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, suffix: &str, labels: &[(&str, &str)], bound: Option<&str>, value: &str) {
        let _ = write!(self.text, "{name}{suffix}");
        let all = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        for (at, (label, text)) in all.clone().enumerate() {
            let open = if at == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{open}{label}=\"{}\"", escaped(text));
        }
        if all.count() > 0 {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

impl Visitor for PrometheusText {
    fn sample(&mut self, metric: &'static Metric, labels: &[(&str, &str)], value: Value<'_>) {
        let name = metric.prometheus_name();
        self.head(metric, &name);
        match value {
            Value::Counter(count) => self.line(&name, "", labels, None, &count.to_string()),
            Value::Gauge(value) => self.line(&name, "", labels, None, &value.to_string()),
            Value::Histogram { bounds, counts, sum } => {
                let mut seen = 0;
                for (at, count) in counts.iter().enumerate() {
                    seen += count;
                    let bound = bounds.get(at).map_or_else(|| "+Inf".to_owned(), f64::to_string);
                    self.line(&name, "_bucket", labels, Some(&bound), &seen.to_string());
                }
                self.line(&name, "_sum", labels, None, &sum.to_string());
                self.line(&name, "_count", labels, None, &seen.to_string());
            }
        }
    }
}

/// A label's text: a name that somebody chose may hold anything.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
