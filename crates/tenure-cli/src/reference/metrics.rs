//! Every metric and every span, from the tables by which they are made.

use tenure::core::observe::{METRICS, Metric, MetricKind, SPANS, Values};

use super::cell;

pub(super) fn page() -> String {
    let mut page = String::from(
        "# Metrics and spans\n\nNo label holds a payload, a message's id, a source, a topic, a stream or a URL. A label by which people name \
         things takes so many names as the table says; the rest are told as `other`. Counters begin at 0 with the process; a gauge that \
         is not known is not there.\n\n## Metrics\n\n| name | for Prometheus | kind | unit | labels | |\n|---|---|---|---|---|---|\n",
    );
    for metric in METRICS {
        page.push_str(&format!(
            "| `{}` | `{}` | {} | {} | {} | {} |\n",
            metric.name,
            metric.prometheus_name(),
            kind(metric),
            metric.unit,
            labels(metric),
            cell(metric.help)
        ));
    }
    page.push_str(
        "\n## Spans\n\nOf the crate `tracing`, at level debug or below: what `TENURE_LOG=tenure=debug` shows, and what a subscriber of your own \
         receives.\n\n| span | |\n|---|---|\n",
    );
    for (name, about) in SPANS {
        page.push_str(&format!("| `{name}` | {} |\n", cell(about)));
    }
    page
}

fn kind(metric: &Metric) -> &'static str {
    match metric.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    }
}

fn labels(metric: &Metric) -> String {
    let labels = metric.labels.iter().map(|label| match label.values {
        Values::These(values) => format!("`{}`: {}", label.name, values.join(", ")),
        Values::Named { max } => format!("`{}`: {max} at most", label.name),
    });
    labels.collect::<Vec<_>>().join("; ")
}
