//! The table of metrics as OTLP has it: the same names, labels and numbers as for Prometheus.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::body::Bytes;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric as Series, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, metric::Data, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource as Described;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_sdk::Resource;
use prost::Message as _;
use tenure_core::observe::{METER, Metric, MetricKind, Value, Visitor};
use tokio::time::MissedTickBehavior;

use super::post::Post;
use crate::stop::Stop;
use crate::telemetry;

/// Counters count from the start of the process, or as good as.
const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// Sends all numbers every so often, and once more at the end.
pub(super) struct Sender {
    post: Post,
    resource: Described,
    since: u64,
    every: Duration,
    stop: Stop,
}

impl Sender {
    pub(super) fn new(post: Post, resource: &Resource, every: Duration, stop: Stop) -> Self {
        let attributes = ResourceAttributesWithSchema::from(resource).attributes.0;
        let resource = Described { attributes, ..Described::default() };
        Self { post, resource, since: nanos(SystemTime::now()), every, stop }
    }

    pub(super) async fn run(self) {
        let mut ticks = tokio::time::interval(self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first one is at once, when there is nothing to tell.
        ticks.tick().await;
        loop {
            let ending = tokio::select! {
                biased;
                () = self.stop.stopped() => true,
                _ = ticks.tick() => false,
            };
            let request = self.request(nanos(SystemTime::now()));
            // Not tried again: the next one says all of it.
            if self.post.send(Bytes::from(request.encode_to_vec())).await.is_err() {
                METER.telemetry_dropped.add(1, 1);
            }
            if ending {
                return;
            }
        }
    }

    fn request(&self, now: u64) -> ExportMetricsServiceRequest {
        let mut gathered = Gathered { since: self.since, now, series: Vec::new() };
        telemetry::visit(&mut gathered);
        let scope = InstrumentationScope {
            name: "tenure".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let scope_metrics =
            vec![ScopeMetrics { scope: Some(scope), metrics: gathered.series, ..ScopeMetrics::default() }];
        let resource_metrics = vec![ResourceMetrics {
            resource: Some(self.resource.clone()),
            scope_metrics,
            ..ResourceMetrics::default()
        }];
        ExportMetricsServiceRequest { resource_metrics }
    }
}

/// All series, those of one metric together.
struct Gathered {
    since: u64,
    now: u64,
    series: Vec<Series>,
}

impl Visitor for Gathered {
    fn sample(&mut self, metric: &'static Metric, labels: &[(&str, &str)], value: Value<'_>) {
        if self.series.last().is_none_or(|last| last.name != metric.name) {
            self.series.push(empty(metric));
        }
        let attributes = labels.iter().map(|(name, text)| attribute(name, text)).collect();
        let (start_time_unix_nano, time_unix_nano) = (self.since, self.now);
        let number = |attributes, start_time_unix_nano, value| NumberDataPoint {
            attributes,
            start_time_unix_nano,
            time_unix_nano,
            value: Some(value),
            ..NumberDataPoint::default()
        };
        match (self.series.last_mut().and_then(|last| last.data.as_mut()), value) {
            (Some(Data::Sum(sum)), Value::Counter(count)) => {
                let count = number_data_point::Value::AsInt(i64::try_from(count).unwrap_or(i64::MAX));
                sum.data_points.push(number(attributes, start_time_unix_nano, count));
            }
            (Some(Data::Gauge(gauge)), Value::Gauge(now)) => {
                gauge.data_points.push(number(attributes, 0, number_data_point::Value::AsDouble(now)));
            }
            (Some(Data::Histogram(histogram)), Value::Histogram { bounds, counts, sum }) => {
                histogram.data_points.push(HistogramDataPoint {
                    attributes,
                    start_time_unix_nano,
                    time_unix_nano,
                    count: counts.iter().sum(),
                    sum: Some(sum),
                    bucket_counts: counts.to_vec(),
                    explicit_bounds: bounds.to_vec(),
                    ..HistogramDataPoint::default()
                });
            }
            // A value of another kind than its metric's: the table has none.
            _ => {}
        }
    }
}

fn empty(metric: &Metric) -> Series {
    let data = match metric.kind {
        MetricKind::Counter => Data::Sum(Sum {
            data_points: Vec::new(),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        MetricKind::Gauge => Data::Gauge(Gauge::default()),
        MetricKind::Histogram => {
            Data::Histogram(Histogram { data_points: Vec::new(), aggregation_temporality: CUMULATIVE })
        }
    };
    Series {
        name: metric.name.to_owned(),
        description: metric.help.to_owned(),
        unit: unit(metric.unit),
        data: Some(data),
        ..Series::default()
    }
}

/// As UCUM writes it: what is counted stands in braces.
fn unit(unit: &str) -> String {
    match unit {
        "ms" => unit.to_owned(),
        "" => "1".to_owned(),
        counted => format!("{{{counted}}}"),
    }
}

fn attribute(name: &str, text: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(text.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}

fn nanos(at: SystemTime) -> u64 {
    u64::try_from(at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}
