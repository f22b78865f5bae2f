//! Numbers, loops and spans of a relay at work; the trace context on its way to a handler.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tenure::core::contract::{OutboxStore, Sink};
use tenure::core::memory::MemoryStore;
use tenure::core::observe::{RunnerKind, SPANS};
use tenure::core::outbox::{Limits, Message, NewMessage, Verdict};
use tenure::telemetry::METER;
use tenure::{
    Aggregates, Events, LeaseSettings, Leases, Relay, RelaySettings, RetryPolicy, Role, SteadyStoreClock,
    Stop, local_node, runners,
};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::bank::{Account, AccountCommand, database};

/// A span that has ended: its name and fields, and its parent's name.
#[derive(Debug, Clone, Default)]
struct Spanned {
    name: &'static str,
    parent: Option<&'static str>,
    fields: BTreeMap<String, String>,
}

impl tracing::field::Visit for Spanned {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

#[derive(Debug, Clone, Default)]
struct Spans(Arc<Mutex<Vec<Spanned>>>);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let parent = span.parent().map(|parent| parent.name());
        let mut spanned = Spanned { name: span.name(), parent, fields: BTreeMap::new() };
        attributes.record(&mut spanned);
        span.extensions_mut().insert(spanned);
    }
    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(spanned) = span.extensions_mut().get_mut::<Spanned>() {
            values.record(spanned);
        }
    }
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let spanned = context.span(&id).and_then(|span| span.extensions().get::<Spanned>().cloned());
        self.0.lock().unwrap().extend(spanned);
    }
}

#[derive(Debug)]
pub(crate) struct Receiver {
    batch: usize,
    pub(crate) seen: Mutex<Vec<Message>>,
}

#[async_trait]
impl Sink for Receiver {
    fn name(&self) -> &str {
        "receiver"
    }
    fn batch_size(&self) -> usize {
        self.batch
    }
    async fn deliver(&self, message: &Message) -> Verdict {
        self.seen.lock().unwrap().push(message.clone());
        match message.kind.as_str() {
            "bad" => Verdict::rejected("never"),
            _ => Verdict::Accepted,
        }
    }
    async fn deliver_batch(&self, messages: &[Message]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for message in messages {
            verdicts.push(self.deliver(message).await);
        }
        verdicts
    }
}

pub(crate) const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Has a relay deliver one message that is accepted and one that is rejected, under a lease of this name.
pub(crate) async fn deliver(lease: &str, batch: usize) -> (Arc<Receiver>, u64) {
    let store = Arc::new(MemoryStore::new(Arc::new(SteadyStoreClock::start())));
    let good = NewMessage::json("orders", "good", r#"{"secret":"hunter2"}"#).with_trace(TRACE, None);
    let bad = NewMessage::json("orders", "bad", r#"{"secret":"hunter2"}"#);
    store.enqueue(&[good, bad], &Limits::default()).await.unwrap();
    let receiver = Arc::new(Receiver { batch, seen: Mutex::default() });
    let node = local_node(Some("one")).unwrap();
    let lease = Leases::new(store.clone(), node.clone()).lease(lease, LeaseSettings::default()).unwrap();
    let settings = RelaySettings { retry: RetryPolicy::default(), ..RelaySettings::default() };
    let relay = Relay::new(store.clone(), receiver.clone(), node.name, settings).unwrap().exclusive(lease);
    let (stop, running) = (Stop::new(), relay.clone());
    let end = stop.clone();
    let task = tokio::spawn(async move { running.run(&end).await });
    while relay.status().dead + relay.status().delivered < 2 {
        // passes time: between two looks at the status
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let Role::Leading { term } = relay.status().role else { panic!("{:?}", relay.status()) };
    stop.stop();
    task.await.unwrap().unwrap();
    (receiver, term)
}

#[tokio::test]
async fn b14_a_delivery_is_a_span_with_its_id_and_outcome_also_in_a_batch() {
    let spans = Spans::default();
    let _guard = tracing_subscriber::registry().with(spans.clone()).set_default();
    for (lease, batch) in [("spans-one", 1), ("spans-batch", 16)] {
        let (receiver, term) = deliver(lease, batch).await;
        let spans = std::mem::take(&mut *spans.0.lock().unwrap());
        for message in receiver.seen.lock().unwrap().iter() {
            let id = message.id.to_string();
            let found: Vec<_> = spans
                .iter()
                .filter(|span| span.name == "tenure.outbox.dispatch" && span.fields["id"] == id)
                .collect();
            assert_eq!(found.len(), 1, "{found:?}");
            let outcome = if message.kind == "good" { "success" } else { "rejected" };
            for (field, value) in [
                ("type", message.kind.as_str()),
                ("attempt", "1"),
                ("outcome", outcome),
                ("term", &term.to_string()),
            ] {
                assert_eq!(found[0].fields[field], value, "{field}");
            }
            assert_eq!(found[0].parent, (batch > 1).then_some("tenure.outbox.dispatch_batch"));
        }
        assert!(!format!("{spans:?}").contains("hunter2"), "no span holds a payload");
        for span in &spans {
            assert!(SPANS.iter().any(|(name, _)| *name == span.name), "{} is not in the table", span.name);
        }
        let names: Vec<&str> = spans.iter().map(|span| span.name).collect();
        assert!(
            names.contains(&"tenure.lease.acquire") && names.contains(&"tenure.outbox.record"),
            "{names:?}"
        );
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_enqueueing_is_a_span_with_the_id_of_one_and_the_number_of_several() {
    let spans = Spans::default();
    let _guard = tracing_subscriber::registry().with(spans.clone()).set_default();
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("app.db").display());
    let database = tenure::open(&url, tenure::OpenOptions::default()).await.unwrap();
    database.schema().migrate().await.unwrap();
    let store = database.outbox();
    let one = NewMessage::json("orders", "good", r#"{"secret":"hunter2"}"#);
    let sent = store.enqueue(std::slice::from_ref(&one), &Limits::default()).await.unwrap();
    store.enqueue(&[one.clone(), one], &Limits::default()).await.unwrap();
    let spans = std::mem::take(&mut *spans.0.lock().unwrap());
    let fields: Vec<_> = spans.iter().map(|span| (span.name, span.fields.clone())).collect();
    let fields_of = |pairs: &[(&str, String)]| {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect::<BTreeMap<_, _>>()
    };
    let alone = fields_of(&[("count", "1".to_owned()), ("id", sent[0].id.to_string())]);
    let both = fields_of(&[("count", "2".to_owned())]);
    assert_eq!(fields, [("tenure.outbox.enqueue", alone), ("tenure.outbox.enqueue", both)]);
}

#[tokio::test]
async fn a_command_is_a_span_and_its_steps_are_spans_in_it() {
    let spans = Spans::default();
    let _guard = tracing_subscriber::registry().with(spans.clone()).set_default();
    let accounts = Aggregates::<Account>::new(Events::new(database().events())).unwrap();
    for reply in ["accepted", "rejected"] {
        let command = match reply {
            "accepted" => AccountCommand::Freeze,
            _ => AccountCommand::Deposit { amount: 7 },
        };
        let _ = accounts.tell("ann", command).await.unwrap();
        let spans = std::mem::take(&mut *spans.0.lock().unwrap());
        for span in &spans {
            assert!(SPANS.iter().any(|(name, _)| *name == span.name), "{} is not in the table", span.name);
        }
        let tell = spans.last().unwrap();
        assert_eq!((tell.name, tell.fields["reply"].as_str()), ("tenure.entity.tell", reply));
        assert_eq!(tell.fields["stream"], "account-ann");
        let steps: Vec<_> = spans.iter().filter(|span| span.parent == Some("tenure.entity.tell")).collect();
        let names: Vec<_> = steps.iter().map(|span| span.name).collect();
        match reply {
            "accepted" => {
                assert_eq!(names, ["tenure.entity.load", "tenure.entity.decide", "tenure.events.append"]);
                assert_eq!((&*steps[0].fields["version"], &*steps[1].fields["events"]), ("0", "1"));
            }
            // What is in memory may be old: it is looked, and asked again.
            _ => assert_eq!(names, ["tenure.entity.decide"; 2]),
        }
    }
}

#[tokio::test]
async fn b14_what_a_relay_does_is_counted() {
    let before = |slot| METER.outbox_attempts.get(slot);
    let (good, bad, died) = (before(0), before(1), METER.outbox_died.get(1));
    deliver("outbox-counted", 1).await;
    // Other tests of this process count too.
    assert!(METER.outbox_attempts.get(0) > good);
    assert!(METER.outbox_attempts.get(1) > bad);
    assert!(METER.outbox_died.get(1) > died);
    assert!(METER.lease_acquisitions.of("outbox").get(0) > 0);
    assert!(METER.outbox_enqueued.get(0) >= 2);
    let text = tenure::telemetry::prometheus();
    for line in [
        "tenure_outbox_attempts_total{outcome=\"success\"}",
        "tenure_outbox_dispatch_duration_ms_bucket{outcome=\"rejected\",le=\"+Inf\"}",
        "tenure_lease_acquisitions_total{kind=\"outbox\",answer=\"granted\"}",
        "tenure_runner_cycled_ago_ms{kind=\"heart\",name=\"heart\"}",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[tokio::test]
async fn a7_a_relay_is_among_the_runners_while_it_runs_standing_by_too() {
    let store = Arc::new(MemoryStore::new(Arc::new(SteadyStoreClock::start())));
    let name = "runners-standby";
    let found = |state: &str| {
        let list = runners().list();
        list.iter().any(|report| {
            report.kind == RunnerKind::Relay && report.name == name && report.state.starts_with(state)
        })
    };
    let holder = Leases::new(store.clone(), local_node(Some("holder")).unwrap());
    let held = holder.lease(name, LeaseSettings::default()).unwrap();
    held.acquire().await.unwrap();
    let node = local_node(Some("one")).unwrap();
    let lease = Leases::new(store.clone(), node.clone()).lease(name, LeaseSettings::default()).unwrap();
    let receiver = Arc::new(Receiver { batch: 1, seen: Mutex::default() });
    let relay = Relay::new(store, receiver, node.name, RelaySettings::default()).unwrap().exclusive(lease);
    let (stop, running) = (Stop::new(), relay.clone());
    let end = stop.clone();
    let task = tokio::spawn(async move { running.run(&end).await });
    let until = async |state: &str| {
        while !found(state) {
            // passes time: between two looks at the list
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    until("standing by").await;
    held.release().await.unwrap();
    until("leading, term ").await;
    stop.stop();
    task.await.unwrap().unwrap();
    assert!(!found(""), "one that has ended is not shown, although somebody keeps it");
    drop(relay);
}

#[tokio::test]
async fn a_handler_sees_the_trace_of_who_enqueued() {
    let (receiver, _) = deliver("outbox-traced", 1).await;
    let seen = receiver.seen.lock().unwrap();
    let traced = seen.iter().find(|message| message.kind == "good").unwrap();
    assert_eq!(traced.headers["traceparent"], TRACE);
}
