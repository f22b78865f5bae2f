//! The text is read by a parser that takes nothing it should not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::instrument::{Counter, Family, Histogram, Instrument};
use super::super::metric::{METER, METRICS, Values, metric};
use super::*;

/// A line: name, labels, value.
type Line = (String, Vec<(String, String)>, f64);

/// Reads a whole text, strictly: help and type before the first line of a metric, each metric once, no line twice.
fn read(text: &str) -> Result<Vec<Line>, String> {
    let (mut lines, mut current, mut seen) = (Vec::new(), None::<(String, String)>, BTreeSet::new());
    let mut doubles = BTreeSet::new();
    assert!(text.is_empty() || text.ends_with('\n'));
    let mut rest = text.lines();
    while let Some(line) = rest.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let name = help.split_once(' ').ok_or("help without a text")?.0.to_owned();
            let kind = rest.next().and_then(|line| line.strip_prefix("# TYPE ")).ok_or("no type")?;
            let (again, kind) = kind.split_once(' ').ok_or("type without a kind")?;
            if again != name || !seen.insert(name.clone()) {
                return Err(format!("{name} is there twice, or its type is another's"));
            }
            current = Some((name, kind.to_owned()));
            continue;
        }
        let (name, kind) = current.clone().ok_or("a line before any type")?;
        let (full, labels, value) = line_of(line)?;
        let suffix = full.strip_prefix(&name).ok_or_else(|| format!("{full} stands below {name}"))?;
        let fits = match kind.as_str() {
            "histogram" => ["_bucket", "_sum", "_count"].contains(&suffix),
            "counter" => suffix.is_empty() && name.ends_with("_total"),
            "gauge" => suffix.is_empty() && !name.ends_with("_total"),
            _ => false,
        };
        if !fits || !doubles.insert((full.clone(), labels.clone())) {
            return Err(format!("{line:?} does not fit, or is there twice"));
        }
        lines.push((full, labels, value));
    }
    Ok(lines)
}

fn line_of(line: &str) -> Result<Line, String> {
    let wrong = || format!("no line: {line:?}");
    let end = line.find(['{', ' ']).ok_or_else(wrong)?;
    let (name, mut rest) = line.split_at(end);
    let word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !word(name) {
        return Err(wrong());
    }
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").ok_or_else(wrong)?;
            if !word(label) {
                return Err(wrong());
            }
            let (mut text, mut chars) = (String::new(), after.char_indices());
            let closed = loop {
                match chars.next().ok_or_else(wrong)? {
                    (at, '"') => break at,
                    (_, '\\') => text.push(match chars.next().ok_or_else(wrong)?.1 {
                        'n' => '\n',
                        c @ ('\\' | '"') => c,
                        _ => return Err(wrong()),
                    }),
                    (_, c) => text.push(c),
                }
            };
            labels.push((label.to_owned(), text));
            rest = &after[closed + 1..];
            match rest.strip_prefix(',') {
                Some(next) => rest = next,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').ok_or_else(wrong)?;
    }
    let value = rest.strip_prefix(' ').ok_or_else(wrong)?;
    Ok((name.to_owned(), labels, value.parse().map_err(|_| wrong())?))
}

#[test]
fn the_parser_refuses_what_is_no_text() {
    for wrong in [
        "a_total 1\n",
        "# HELP a_total x\n# TYPE a_total counter\na_total{x=\"1} 1\n",
        "# HELP a_total x\n# TYPE a_total counter\na_total 1\na_total 2\n",
        "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a x\n# TYPE a gauge\na one\n",
    ] {
        assert!(read(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn s75_any_name_can_be_a_label() {
    let family: Family<Counter<1>> = Family::new();
    let hostile = ["a\"b", "back\\slash", "two\nlines", "} 7\nx_total 1", "ünï≠", ""];
    for name in hostile {
        family.of(name).add(0, 1);
    }
    let mut text = PrometheusText::new();
    family.visit(metric("tenure.subscription.events").unwrap(), &[], &mut text);
    let lines = read(&text.finish()).unwrap();
    let names: BTreeSet<&str> = lines.iter().map(|(_, labels, _)| labels[0].1.as_str()).collect();
    assert_eq!(names, BTreeSet::from(hostile));
}

#[test]
fn a_histogram_sums_up_to_its_count() {
    let histogram: Histogram<1> = Histogram::new();
    for millis in [0, 3, 40_000] {
        histogram.observe(0, Duration::from_millis(millis));
    }
    let mut text = PrometheusText::new();
    histogram.visit(metric("tenure.outbox.record.duration_ms").unwrap(), &[], &mut text);
    let lines = read(&text.finish()).unwrap();
    let bucket = |bound: &str| {
        lines.iter().find(|(_, labels, _)| labels.iter().any(|(_, le)| le == bound)).map(|line| line.2)
    };
    assert_eq!(
        (bucket("1"), bucket("5"), bucket("30000"), bucket("+Inf")),
        (Some(1.0), Some(2.0), Some(2.0), Some(3.0))
    );
    assert_eq!(lines[lines.len() - 2].2, 40_003.0);
    assert_eq!(lines[lines.len() - 1].2, 3.0);
}

#[test]
fn b14_every_metric_of_the_meter_is_told_with_the_labels_that_the_table_says() {
    METER.outbox_pending.set(0, 3);
    METER.outbox_dead.set(0, 1);
    METER.outbox_lag.set(0, 10);
    METER.outbox_halted.set(0, 0);
    METER.outbox_held.change(0, 1);
    METER.outbox_in_flight.change(0, 1);
    METER.lease_acquisitions.of("outbox").add(0, 1);
    METER.lease_renewals.of("outbox").add(0, 1);
    METER.lease_losses.of("outbox").add(0, 1);
    METER.lease_held.of("outbox").change(0, 1);
    METER.lease_renew.of("outbox").observe(0, Duration::from_millis(1));
    METER.election_leading.set(0, 1);
    METER.cluster_nodes.set(0, 1);
    METER.cluster_daemons.set(0, 1);
    METER.daemon_starts.of("none").add(0, 1);
    METER.daemon_stops.of("none").add(0, 1);
    METER.daemon_failures.of("none").add(0, 1);
    METER.subscription_events.of("mails").add(0, 1);
    METER.subscription_parked.of("mails").add(0, 1);
    METER.subscription_behind.of("mails").set(0, 1);
    METER.dashboard_requests.of("overview").add(0, 1);
    METER.dashboard_live.set(0, 0);
    METER.store_away.set(0, 0);
    METER.info.set(["one", "7f", "0.1.0"]);
    let mut text = PrometheusText::new();
    METER.visit(&mut text);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, labels, _) in read(&text.finish()).unwrap() {
        let bare = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
        let labels = labels.into_iter().map(|(label, _)| label).filter(|label| label != "le");
        found.entry(bare.unwrap_or(&name).to_owned()).or_default().extend(labels);
    }
    for metric in METRICS.iter().filter(|metric| !metric.name.starts_with("tenure.runner.")) {
        let labels: BTreeSet<String> = metric.labels.iter().map(|label| label.name.to_owned()).collect();
        assert_eq!(found.get(&metric.prometheus_name()), Some(&labels), "{}", metric.name);
        for label in metric.labels {
            assert!(!matches!(label.values, Values::These([])));
        }
    }
}
