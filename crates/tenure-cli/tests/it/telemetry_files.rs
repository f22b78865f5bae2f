//! The Grafana dashboard and the alert rules name only metrics, labels and values that there are.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use tenure::core::observe::{METRICS, Metric, MetricKind, Values};

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The expressions of the Grafana dashboard.
fn panels() -> Vec<String> {
    let board: Value = serde_json::from_str(&file("grafana.json")).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    assert!(panels.len() >= 12, "{} panels", panels.len());
    let mut found = Vec::new();
    for panel in panels {
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        for target in panel["targets"].as_array().expect("targets") {
            found.push(target["expr"].as_str().expect("an expression").to_owned());
        }
    }
    found
}

/// The expressions of the alert rules: each on a line of its own, so that no reader of YAML is needed here.
fn rules() -> Vec<(String, String)> {
    let text = file("alerts.yaml");
    let after = |line: &str, word: &str| line.trim().strip_prefix(word).map(|rest| rest.trim().to_owned());
    let (mut found, mut name) = (Vec::new(), None);
    for line in text.lines() {
        if let Some(alert) = after(line, "- alert:") {
            assert_eq!(name.replace(alert), None, "an alert without an expression");
        }
        if let Some(expr) = after(line, "expr:") {
            found.push((name.take().expect("an expression without an alert"), expr));
        }
    }
    for alert in ["summary:", "description:", "severity:"] {
        assert_eq!(text.matches(alert).count(), found.len(), "each alert has a {alert}");
    }
    found
}

/// The metric behind a name that Prometheus knows.
fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| {
        let own = metric.prometheus_name();
        match metric.kind {
            MetricKind::Histogram => {
                ["_bucket", "_sum", "_count"].iter().any(|end| own.clone() + end == name)
            }
            MetricKind::Counter | MetricKind::Gauge => own == name,
        }
    })
}

/// Every metric in an expression, with the labels that it is picked by.
fn names(expr: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found = Vec::new();
    let mut rest = expr;
    while let Some(at) = rest.find("tenure_") {
        rest = &rest[at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let picked =
            after.strip_prefix('{').and_then(|inner| inner.split_once('}')).map(|(inside, _)| inside);
        let labels = picked.unwrap_or("").split(',').filter(|pair| !pair.is_empty()).map(|pair| {
            let at = pair.find(['=', '!']).expect("a label and a value");
            let value = pair[at..].trim_start_matches(['=', '!', '~']).trim().trim_matches('"');
            (pair[..at].trim().to_owned(), value.to_owned())
        });
        found.push((name.to_owned(), labels.collect()));
        rest = after;
    }
    found
}

fn check(place: &str, expr: &str) -> BTreeSet<&'static str> {
    for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
        assert_eq!(expr.matches(open).count(), expr.matches(close).count(), "{place}: {expr}");
    }
    assert_eq!(expr.matches('"').count() % 2, 0, "{place}: {expr}");
    let all = names(expr);
    assert!(!all.is_empty(), "{place} is about none of our metrics: {expr}");
    let mut used = BTreeSet::new();
    for (name, labels) in all {
        let metric = metric(&name).unwrap_or_else(|| panic!("{place}: there is no metric {name}"));
        used.insert(metric.name);
        for (label, value) in labels {
            // What Prometheus itself adds.
            if ["le", "job", "instance"].contains(&label.as_str()) {
                continue;
            }
            let known = metric.labels.iter().find(|known| known.name == label);
            let known = known.unwrap_or_else(|| panic!("{place}: {name} has no label {label}"));
            if let Values::These(values) = known.values {
                for one in value.split('|').filter(|one| !one.starts_with('$')) {
                    assert!(values.contains(&one), "{place}: {label} of {name} is never {one}");
                }
            }
        }
    }
    // Labels that numbers are summed by.
    for by in expr.split("by (").skip(1) {
        for label in by.split(')').next().unwrap_or("").split(',').map(str::trim) {
            let known = ["le", "job", "instance"].contains(&label)
                || METRICS.iter().any(|metric| metric.labels.iter().any(|known| known.name == label));
            assert!(known, "{place}: no metric has a label {label}: {expr}");
        }
    }
    used
}

#[test]
fn b14_the_grafana_dashboard_and_the_alerts_name_only_what_there_is() {
    let mut used = BTreeSet::new();
    for expr in panels() {
        used.extend(check("grafana.json", &expr));
    }
    let rules = rules();
    let names: BTreeSet<&str> = rules.iter().map(|(name, _)| name.as_str()).collect();
    for alert in [
        "OutboxLagHigh",
        "OutboxDead",
        "NothingDelivered",
        "NoLeader",
        "LoopStopped",
        "LeaseFlapping",
        "FenceRefusals",
        "SubscriptionBehind",
        "StoreErrors",
        "DashboardRefusals",
    ] {
        assert!(names.contains(alert), "{alert} is not among {names:?}");
    }
    for (name, expr) in &rules {
        used.extend(check(name, expr));
    }
    for name in ["tenure.outbox.attempts", "tenure.outbox.dispatch.duration_ms", "tenure.outbox.lag_ms"] {
        assert!(used.contains(name), "{name} is shown nowhere");
    }
}

/// Who is paged must have something to do: what waits for its own time is nothing, and a database that is away is.
#[test]
fn pages_are_for_what_is_late_and_for_a_database_that_is_away() {
    let text = file("alerts.yaml");
    let pages: Vec<&str> = text.split("- alert:").filter(|rule| rule.contains("severity: page")).collect();
    let by = |metric: &str| pages.iter().filter(|rule| rule.contains(metric)).count();
    assert_eq!(by("tenure_outbox_pending"), 0, "it counts messages of the year 2100");
    assert!(by("tenure_outbox_lag_ms") >= 2);
    assert_eq!(by("tenure_store_away_ms"), 1, "the other numbers are absent then");
}
