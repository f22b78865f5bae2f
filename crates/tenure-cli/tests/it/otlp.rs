//! Telemetry by OTLP, as users of the binary meet it.

use crate::harness::{Store, run, tests_on};

#[cfg(not(feature = "otlp"))]
tests_on!(sqlite: without_the_feature_the_option_names_it_and_the_environment_is_not_minded);
#[cfg(feature = "otlp")]
tests_on!(sqlite:
    a_relay_sends_spans_and_metrics_and_its_receiver_goes_on_from_the_trace,
    a_collector_that_is_away_is_told_once_and_messages_flow,
    what_cannot_be_used_is_wrong_usage_and_told_without_secrets,
    drain_is_measured_with_telemetry,
);

#[cfg(not(feature = "otlp"))]
fn without_the_feature_the_option_names_it_and_the_environment_is_not_minded(store: &Store) {
    let relay = ["relay", "--to", "stdout:", "--until-empty"];
    let said = run(store.command(&relay).args(["--otlp", "http://127.0.0.1:4318"]));
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.stderr.contains("feature `otlp`"), "{said:?}");
    run(store.command(&relay).env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")).ok();
}

#[cfg(feature = "otlp")]
use crate::harness::Receiver;

#[cfg(feature = "otlp")]
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[cfg(feature = "otlp")]
fn send(store: &Store) {
    let traced = format!("traceparent={TRACE}");
    store.tenure(&["send", "--topic", "orders", "--header", &traced, "{\"secret\":\"hunter3\"}"]).ok();
}

#[cfg(feature = "otlp")]
fn a_relay_sends_spans_and_metrics_and_its_receiver_goes_on_from_the_trace(store: &Store) {
    let (receiver, collector) = (Receiver::start(), Receiver::start());
    for by_option in [true, false] {
        send(store);
        let url = receiver.url();
        let mut relay = store.command(&["relay", "--until-empty", "--to", &url]);
        relay.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2").env("TENURE_LOG", "trace");
        // Its path is /events.
        match by_option {
            true => relay.args(["--otlp", &collector.url()]),
            false => {
                relay.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).env("OTEL_SERVICE_NAME", "by-name")
            }
        };
        let said = run(&mut relay).ok();
        for text in [&said.stdout, &said.stderr] {
            assert!(!text.contains("hunter2") && !text.contains("hunter3"), "{text}");
        }
        let service = if by_option { "tenure" } else { "by-name" };
        for (path, what) in [("traces", "tenure.outbox.dispatch"), ("metrics", "tenure.outbox.attempts")] {
            let line = format!("POST /events/v1/{path} HTTP/1.1");
            let requests = collector.requests();
            let sent = requests.iter().rev().find(|request| request.line == line);
            let sent = sent.unwrap_or_else(|| panic!("nothing came by {path}: {said:?}"));
            assert_eq!(sent.header("authorization"), "Bearer hunter2");
            assert!(sent.text().contains(what) && sent.text().contains(service), "{}", sent.text());
            assert!(!sent.text().contains("hunter"), "no payload and no header is in it");
        }
        let got = receiver.requests().pop().unwrap();
        let (sent, here) = (TRACE.split('-'), got.header("traceparent").split('-'));
        let (sent, here): (Vec<_>, Vec<_>) = (sent.collect(), here.collect());
        assert_eq!(sent[1], here[1], "it is the same trace");
        assert_ne!(sent[2], here[2], "it goes on from the delivery");
    }
}

#[cfg(feature = "otlp")]
fn a_collector_that_is_away_is_told_once_and_messages_flow(store: &Store) {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for _ in 0..20 {
        send(store);
    }
    let receiver = Receiver::start();
    let url = receiver.url();
    let mut relay = store.command(&["relay", "--until-empty", "--to", &url]);
    // Small batches and short intervals: it has many occasions to complain.
    relay.env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1").env("OTEL_METRIC_EXPORT_INTERVAL", "20");
    relay.args(["--otlp", &format!("http://{nobody}/hunter4")]);
    let said = run(&mut relay).ok();
    assert_eq!(receiver.applied(), 20);
    for what in ["spans", "metrics"] {
        let told = format!("the collector does not take {what}");
        assert_eq!(said.stderr.matches(&told).count(), 1, "{}", said.stderr);
    }
    assert!(!said.stderr.contains("hunter4"), "{}", said.stderr);
}

#[cfg(feature = "otlp")]
fn what_cannot_be_used_is_wrong_usage_and_told_without_secrets(store: &Store) {
    for (name, value) in [
        ("TENURE_OTLP", "ftp://hunter2"),
        ("TENURE_OTLP", "http://ada:hunter2@collector"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "hunter2"),
    ] {
        let mut relay = store.command(&["relay", "--until-empty", "--to", "stdout:"]);
        relay.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1").env(name, value);
        let said = run(&mut relay);
        assert_eq!(said.code, 2, "{name}={value}: {said:?}");
        assert!(!said.stderr.contains("hunter2"), "{said:?}");
    }
    // An environment that is meant for others: with a collector it is told, without one there is nothing to tell.
    for (name, value) in [("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_TRACES_EXPORTER", "jaeger")] {
        let relay = || {
            let mut relay = store.command(&["relay", "--until-empty", "--to", "stdout:"]);
            relay.env(name, value);
            relay
        };
        let said = run(relay().env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")).ok();
        assert!(said.stderr.contains(&format!("no telemetry is sent: {name}")), "{said:?}");
        let said = run(&mut relay()).ok();
        assert!(!said.stderr.contains("telemetry"), "{said:?}");
        let said = run(relay().args(["--otlp", "http://127.0.0.1:1"]));
        assert!(said.code == 2 && said.stderr.contains(name), "who asks for it is refused: {said:?}");
    }
    // A command that ends soon sends nothing, and minds nothing of it.
    let mut status = store.command(&["migrate"]);
    run(status.env("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x")).ok();
}

#[cfg(feature = "otlp")]
fn drain_is_measured_with_telemetry(store: &Store) {
    let drain = |telemetry: &str| {
        let args =
            ["bench", "drain", "--messages", "500", "--rounds", "1", "--json", "--telemetry", telemetry];
        store.tenure(&args).ok().json()
    };
    for telemetry in ["off", "on"] {
        let report = drain(telemetry);
        assert_eq!(report["telemetry"], telemetry);
        assert!(report["rate"].as_f64().unwrap() > 0.0);
        if telemetry == "off" {
            assert_eq!(report["spans_dropped"], 0);
        }
    }
}
