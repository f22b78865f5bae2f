//! Spans and metrics on their way to a collector, which here is a receiver made by hand that decodes what it gets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric::Data, number_data_point};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tenure::core::observe::{METRICS, TraceContext};
use tenure::entity::Caller;
use tenure::otlp::{Otlp, OtlpOptions, traced};
use tenure::telemetry::METER;
use tenure::{Aggregates, Events, NewMessage};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::bank::{Account, AccountCommand, database};
use crate::sink_server::{Answer, Asked, Receiver, say};
use crate::telemetry::{TRACE, deliver};

fn options(collector: &Receiver) -> OtlpOptions {
    let mut options = OtlpOptions::to(&format!("http://127.0.0.1:{}/otlp/", collector.port));
    for signal in [&mut options.traces, &mut options.metrics].into_iter().flatten() {
        signal.headers.push(("authorization".to_owned(), "Bearer hunter2".into()));
    }
    options.service_name = Some("shop".to_owned());
    options
}

/// Ends it beside the test's runtime, on which the collector runs.
async fn end(otlp: Otlp, within: Duration) -> bool {
    tokio::task::spawn_blocking(move || otlp.shutdown(within)).await.unwrap()
}

const LONG: Duration = Duration::from_secs(20);

fn asked(collector: &Receiver, path: &str) -> Vec<Asked> {
    let line = format!("POST /otlp/v1/{path} HTTP/1.1");
    let all = collector.asked.lock().unwrap();
    all.iter().filter(|asked| asked.head.lines().next() == Some(&line)).cloned().collect()
}

fn spans(collector: &Receiver) -> Vec<Span> {
    let requests = asked(collector, "traces");
    let decoded =
        requests.iter().map(|asked| ExportTraceServiceRequest::decode(asked.body.as_slice()).unwrap());
    let resources = decoded.flat_map(|request| request.resource_spans);
    resources.flat_map(|of| of.scope_spans).flat_map(|of| of.spans).collect()
}

fn metrics(collector: &Receiver) -> Vec<Metric> {
    let last = asked(collector, "metrics").pop().unwrap();
    let request = ExportMetricsServiceRequest::decode(last.body.as_slice()).unwrap();
    request.resource_metrics.into_iter().flat_map(|of| of.scope_metrics).flat_map(|of| of.metrics).collect()
}

fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    Some(match found.value.clone()?.value? {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    })
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[tokio::test]
async fn b14_spans_and_metrics_arrive_and_a_delivery_goes_on_from_its_messages_trace() {
    let collector = Receiver::start(|_| say(200, &[], "")).await;
    let otlp = Otlp::start(options(&collector)).unwrap();
    let guard = tracing_subscriber::registry().with(otlp.layer()).set_default();
    let (receiver, term) = deliver("otlp-one", 1).await;
    drop(guard);
    assert!(end(otlp, LONG).await);

    let spans = spans(&collector);
    let sender = TraceContext::parse(TRACE).unwrap();
    for message in receiver.seen.lock().unwrap().iter() {
        let id = message.id.to_string();
        let found = named(&spans, "tenure.outbox.dispatch");
        let span = found.iter().find(|span| text(&span.attributes, "id").as_ref() == Some(&id)).unwrap();
        let outcome = if message.kind == "good" { "success" } else { "rejected" };
        for (name, value) in [("type", message.kind.as_str()), ("outcome", outcome), ("attempt", "1")] {
            assert_eq!(text(&span.attributes, name).as_deref(), Some(value), "{name}");
        }
        assert_eq!(text(&span.attributes, "term"), Some(term.to_string()));
        // What the receiver gets goes on from the delivery.
        let sent = TraceContext::parse(&message.headers["traceparent"]).unwrap();
        assert_eq!((&sent.trace_id[..], &sent.parent_id[..]), (&span.trace_id[..], &span.span_id[..]));
        assert!(sent.is_sampled());
        match message.kind.as_str() {
            "good" => {
                assert_eq!(span.trace_id, sender.trace_id);
                assert_eq!(span.parent_span_id, sender.parent_id);
            }
            _ => assert!(span.parent_span_id.is_empty(), "without a trace it is the first of one"),
        }
    }
    assert!(!named(&spans, "tenure.lease.acquire").is_empty());

    let metrics = metrics(&collector);
    let attempts = metrics.iter().find(|metric| metric.name == "tenure.outbox.attempts").unwrap();
    let Some(Data::Sum(sum)) = &attempts.data else { panic!("{attempts:?}") };
    assert!(sum.is_monotonic && attempts.unit == "{attempts}");
    let outcomes: Vec<_> = sum.data_points.iter().map(|point| text(&point.attributes, "outcome")).collect();
    assert_eq!(outcomes, ["success", "rejected", "transient", "poison"].map(|word| Some(word.to_owned())));
    for point in &sum.data_points[..2] {
        assert!(matches!(point.value, Some(number_data_point::Value::AsInt(1..))), "{point:?}");
        assert!(point.start_time_unix_nano > 0 && point.time_unix_nano >= point.start_time_unix_nano);
    }
    let took = metrics.iter().find(|metric| metric.name == "tenure.outbox.dispatch.duration_ms").unwrap();
    let Some(Data::Histogram(took)) = &took.data else { panic!("{took:?}") };
    let point = &took.data_points[0];
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
    assert!(point.count > 0);
    for metric in &metrics {
        assert!(METRICS.iter().any(|known| known.name == metric.name), "{} is not in the table", metric.name);
        let times = metrics.iter().filter(|other| other.name == metric.name).count();
        assert_eq!(times, 1, "{}: series of one metric are together", metric.name);
    }

    let request = asked(&collector, "traces").pop().unwrap();
    assert_eq!(request.header("authorization").as_deref(), Some("Bearer hunter2"));
    assert_eq!(request.header("content-type").as_deref(), Some("application/x-protobuf"));
    let decoded = ExportTraceServiceRequest::decode(request.body.as_slice()).unwrap();
    let resource = decoded.resource_spans[0].resource.clone().unwrap().attributes;
    assert_eq!(text(&resource, "service.name").as_deref(), Some("shop"));
    assert_eq!(text(&resource, "process.pid"), Some(std::process::id().to_string()));
    for asked in collector.asked.lock().unwrap().iter() {
        assert!(
            !String::from_utf8_lossy(&asked.body).contains("hunter2"),
            "no payload and no header is in it"
        );
    }
}

#[tokio::test]
async fn in_a_batch_a_message_with_a_trace_belongs_to_that_and_names_the_batch() {
    let collector = Receiver::start(|_| say(200, &[], "")).await;
    let otlp = Otlp::start(options(&collector)).unwrap();
    let guard = tracing_subscriber::registry().with(otlp.layer()).set_default();
    let (receiver, _) = deliver("otlp-batch", 16).await;
    drop(guard);
    assert!(end(otlp, LONG).await);
    let spans = spans(&collector);
    let batches = named(&spans, "tenure.outbox.dispatch_batch");
    let sender = TraceContext::parse(TRACE).unwrap();
    for message in receiver.seen.lock().unwrap().iter() {
        let sent = TraceContext::parse(&message.headers["traceparent"]).unwrap();
        let span = spans.iter().find(|span| span.span_id == sent.parent_id).unwrap();
        assert_eq!(span.name, "tenure.outbox.dispatch");
        if message.kind == "good" {
            assert_eq!(
                (&span.trace_id[..], &span.parent_span_id[..]),
                (&sender.trace_id[..], &sender.parent_id[..])
            );
            assert!(batches.iter().any(|batch| batch.span_id == span.links[0].span_id));
        } else {
            assert!(batches.iter().any(|batch| batch.span_id == span.parent_span_id));
        }
    }
}

#[tokio::test]
async fn what_a_command_causes_goes_on_from_it_and_its_steps_are_spans() {
    let collector = Receiver::start(|_| say(200, &[], "")).await;
    let otlp = Otlp::start(options(&collector)).unwrap();
    let guard = tracing_subscriber::registry().with(otlp.layer()).set_default();
    let events = Events::new(database().events());
    let accounts = Aggregates::<Account>::new(events.clone()).unwrap();
    let deposit = AccountCommand::Deposit { amount: 1 };
    let _ = accounts.tell_as("ann", deposit.clone(), &Caller::default()).await.unwrap();
    let trace = vec![("traceparent".to_owned(), TRACE.to_owned())];
    let _ = accounts.tell_as("bob", deposit, &Caller { trace, ..Caller::default() }).await.unwrap();
    let stamped = {
        let span = tracing::info_span!(target: "tenure", "tenure.test");
        let _entered = span.enter();
        traced(NewMessage::json("orders", "placed", "{}"))
    };
    let kept = traced(stamped.clone());
    drop(guard);
    assert!(end(otlp, LONG).await);
    let spans = spans(&collector);
    let page = events.read_all(tenure::event::Position::START, 10).await.unwrap();
    let sender = TraceContext::parse(TRACE).unwrap();
    for (event, stream) in page.events.iter().zip(["account-ann", "account-bob"]) {
        let told = named(&spans, "tenure.entity.tell");
        let tell =
            told.iter().find(|span| text(&span.attributes, "stream").as_deref() == Some(stream)).unwrap();
        for inner in ["tenure.entity.load", "tenure.entity.decide", "tenure.events.append"] {
            let found = named(&spans, inner);
            let found = found.iter().filter(|span| span.parent_span_id == tell.span_id);
            assert_eq!(found.count(), 1, "{inner}");
        }
        assert_eq!(text(&tell.attributes, "reply").as_deref(), Some("accepted"));
        let stored = TraceContext::parse(&event.metadata.headers["traceparent"]).unwrap();
        assert_eq!((&stored.trace_id[..], &stored.parent_id[..]), (&tell.trace_id[..], &tell.span_id[..]));
        let parent = if stream == "account-bob" { &sender.parent_id[..] } else { &[] };
        assert_eq!(tell.parent_span_id, parent, "a trace that is given is gone on from");
    }
    let test = named(&spans, "tenure.test")[0];
    let stamp = TraceContext::parse(&stamped.headers["traceparent"]).unwrap();
    assert_eq!(stamp.parent_id[..], test.span_id[..]);
    assert_eq!(kept, stamped, "one that has a trace keeps it");
}

/// The collector of each kind of trouble; messages flow all the same.
async fn flows_without(collector: &str, lease: &str) -> bool {
    let options = OtlpOptions { queue: 4, batch: 2, ..OtlpOptions::to(collector) };
    let otlp = Otlp::start(options).unwrap();
    let guard = tracing_subscriber::registry().with(otlp.layer()).set_default();
    let before = METER.telemetry_dropped.get(0);
    let (receiver, _) = deliver(lease, 1).await;
    assert_eq!(receiver.seen.lock().unwrap().len(), 2);
    drop(guard);
    let began = Instant::now();
    let all = end(otlp, Duration::from_secs(2)).await;
    assert!(began.elapsed() < Duration::from_secs(10), "the end has a bound");
    assert!(!all || METER.telemetry_dropped.get(0) > before, "what was not taken is counted");
    all
}

#[tokio::test]
async fn a_collector_that_is_away_silent_or_refuses_holds_nothing_up() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert!(flows_without(&format!("http://{nobody}"), "otlp-away").await);
    let silent = Receiver::start(|_| Answer::Hang(Vec::new())).await;
    assert!(!flows_without(&format!("http://127.0.0.1:{}", silent.port), "otlp-silent").await);
    let refuses = Receiver::start(|_| say(401, &[], "Bearer hunter2")).await;
    assert!(flows_without(&format!("http://127.0.0.1:{}", refuses.port), "otlp-refused").await);
}

#[tokio::test]
async fn what_a_collector_cannot_take_now_it_is_sent_again() {
    let busy = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = busy.clone();
    let collector = Receiver::start(move |asked| {
        let first =
            asked.head.contains("traces") && count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        if first { say(503, &[], "") } else { say(200, &[], "") }
    })
    .await;
    let options = OtlpOptions { delay: Duration::from_millis(1), ..options(&collector) };
    let otlp = Otlp::start(options).unwrap();
    let guard = tracing_subscriber::registry().with(otlp.layer()).set_default();
    drop(tracing::info_span!(target: "tenure", "tenure.test"));
    drop(guard);
    while asked(&collector, "traces").len() < 2 {
        // passes time: between two looks at what came
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let requests = asked(&collector, "traces");
    assert_eq!(requests[0].body, requests[1].body);
    assert!(end(otlp, LONG).await);
}

#[test]
fn a_url_that_cannot_be_used_is_refused_and_not_repeated() {
    for url in ["ftp://hunter2", "hunter2", "http://user:hunter2@collector"] {
        let error = Otlp::start(OtlpOptions::to(url)).unwrap_err().to_string();
        assert!(error.contains("the collector's URL cannot be used"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let mut options = OtlpOptions::to("http://collector");
    for signal in [&mut options.traces, &mut options.metrics].into_iter().flatten() {
        signal.headers.push(("a".into(), "hunter2\n".into()));
    }
    let error = Otlp::start(options).unwrap_err().to_string();
    assert!(error.contains("`a`") && !error.contains("hunter2"), "{error}");
}
