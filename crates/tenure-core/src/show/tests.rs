//! A full sample of each shape has exactly the fields of its schema, of the kinds that it says.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::cluster::{Avoid, ClusterLook, Daemon, DaemonName, DaemonSpec, Group, Member, Standing};
use crate::event::StreamLine;
use crate::event::{Metadata, Position, Recorded, StreamName, Version};
use crate::id::{Node, NodeName, Unique};
use crate::lease::{Cause, Change, LeaseName, LeaseRecord, Term};
use crate::observe::{AuditId, AuditLine, RunnerKind, RunnerReport, RunnerRow};
use crate::outbox::Grave;
use crate::outbox::{Attempt, Body, Details, Kind, Level, MessageId, RowId, Sequence, State, Stats, Summary};
use crate::registry::Origin;
use crate::subscription::{Aside, Parked, Progress, SubscriptionName};
use crate::time::StoreTime;

fn at(second: i64) -> StoreTime {
    StoreTime::from_micros(second * 1_000_000)
}

fn node() -> Node {
    Node {
        name: NodeName::new("n1").unwrap(),
        incarnation: Unique::from_u128(1),
        machine: "m".into(),
        pid: 7,
    }
}

pub(super) fn lease() -> LeaseRecord {
    let term = Term::new(3).unwrap();
    LeaseRecord {
        name: LeaseName::new("job").unwrap(),
        term,
        node: node(),
        claim: Unique::from_u128(2),
        renewals: 1,
        kind: Some("job".into()),
        backend: "sqlite".into(),
        acquired_at: at(1),
        renewed_at: at(2),
        expires_at: at(20),
        released_at: None,
        revoked_at: None,
        presence: None,
        origin: Some(Origin { epoch: Some("e".into()), term }),
    }
}

fn summary() -> Summary {
    Summary {
        row: RowId(1),
        id: "i".into(),
        state: State::Dead,
        source: Some("s".into()),
        sequence: Sequence { version: 4, index: 5 },
        topic: "t".into(),
        kind: "k".into(),
        created_at: at(1),
        attempts: 2,
        due_at: Some(at(2)),
        finished_at: Some(at(3)),
        last_error: Some("e".into()),
        halts: true,
    }
}

fn details() -> Details {
    let attempt = Attempt {
        number: 1,
        at: at(3),
        outcome: Kind::Rejected,
        took_us: 1_500,
        node: "n1".into(),
        term: Some(3),
        error: Some("e".into()),
    };
    Details {
        summary: summary(),
        content_type: Some("text/plain".into()),
        headers: Some("{\"a\":\"b\"}".into()),
        payload: Some(b"hello".to_vec()),
        payload_bytes: 5,
        is_text: true,
        attempts: vec![attempt],
    }
}

fn cluster() -> (ClusterLook, Daemon) {
    let record = lease();
    let member = Member {
        node: node(),
        term: record.term,
        labels: Default::default(),
        version: "1".into(),
        capacity: 1,
        leads: true,
        agents: Default::default(),
        leaving: false,
        joined_at: at(1),
        revision: Default::default(),
    };
    let look = ClusterLook {
        now: at(5),
        revision: Default::default(),
        leader: Some(record.clone()),
        nodes: vec![Standing { member, lease: Some(record) }],
    };
    let group = Group { name: "g".into(), layout: 8 };
    let spec = DaemonSpec::new(DaemonName::new("d").unwrap()).on("zone", "a").in_group(group);
    let mut daemon = Daemon::new(spec, at(1));
    daemon.deadline = Some(at(9));
    daemon.generation = Term::new(1);
    daemon.next = Some(node().name);
    daemon.pinned_to = Some(node().name);
    daemon.avoids = vec![Avoid { node: node().name, until: at(9) }];
    (look, daemon)
}

fn status() -> StatusShape {
    let (look, daemon) = cluster();
    let daemons = [daemon];
    let overview = Overview::of(&look, &daemons);
    let progress = Progress {
        name: SubscriptionName::new("mails").unwrap(),
        position: Position(5),
        moved_at: at(1),
        parked: crate::outbox::Count { number: 1, or_more: true },
    };
    let stats = Stats { lag: Some(Duration::from_millis(1_500)), ..Stats::default() };
    StatusShape {
        daemons: overview.daemons(),
        exit_code: 0,
        health: Level::Degraded,
        leader: overview.leader(),
        leases: vec![LeaseLine::of(&lease(), at(5))],
        nodes: overview.nodes(),
        outbox: StatsShape::from(&stats),
        reasons: vec!["r".into()],
        subscriptions: vec![SubscriptionShape::of(&progress, Position(7))],
    }
}

fn event() -> Recorded {
    Recorded {
        position: Position(5),
        stream: StreamName::new("loan-7").unwrap(),
        version: Version(2),
        id: uuid::Uuid::from_u128(1),
        kind: "Lent".into(),
        schema: 1,
        body: Body::Bytes(vec![1, 255]),
        metadata: Metadata {
            message_id: Some(MessageId::new(uuid::Uuid::from_u128(2))),
            correlation: Some("c".into()),
            causation: Some("d".into()),
            headers: [("a".to_owned(), "b".to_owned())].into(),
        },
        recorded_at: at(1),
    }
}

/// A value of each shape, with something in every field that may be empty.
fn samples() -> BTreeMap<&'static str, Value> {
    let mut all = BTreeMap::new();
    fn add<S: Shape>(all: &mut BTreeMap<&'static str, Value>, sample: &S) {
        all.insert(S::NAME, serde_json::to_value(sample).unwrap());
    }
    let change = Change {
        id: Some(crate::lease::HistoryId(1)),
        name: lease().name,
        term: lease().term,
        cause: Cause::Crashed,
        node: node(),
        at: at(1),
    };
    let (look, daemon) = cluster();
    let status = status();
    let details = MessageDetails::of(&details(), 10);
    add(&mut all, &details.history[0]);
    add(&mut all, &DaemonShape::of(&daemon, &look).avoids[0]);
    add(&mut all, &ChangeShape::from(&change));
    add(
        &mut all,
        &ChangedShape { by: "ada".into(), changed: 1, ids: vec!["i".into()], next: Some(7), or_more: true },
    );
    add(&mut all, &DaemonShape::of(&daemon, &look));
    add(&mut all, &status.daemons);
    add(&mut all, &DryRunShape { dry_run: true, or_more: false, would_change: 1 });
    add(&mut all, &EventShape::of(&event(), 10).with_sent(&[summary()]).hidden());
    let aside = Aside {
        position: Position(5),
        stream: Some(event().stream),
        version: Version(2),
        kind: "Lent".into(),
        reason: "r".into(),
        attempts: 3,
    };
    add(&mut all, &ParkedShape::from(&Parked { aside, parked_at: at(1) }));
    let count = |number| crate::outbox::Count { number, or_more: true };
    let pulse = crate::outbox::Pulse {
        now: at(1),
        newest: None,
        pending: count(1),
        retrying: count(1),
        dead: count(1),
        halted_sources: count(1),
        lag: Some(Duration::from_secs(1)),
        lag_is_least: true,
    };
    add(&mut all, &PulseShape::from(&pulse));
    let cause = crate::outbox::CauseId::UNKNOWN;
    let grave = Grave { cause, messages: count(1), newest: summary(), oldest: summary() };
    add(&mut all, &CauseShape::from(&grave));
    let line = AuditLine {
        id: AuditId(1),
        at: at(1),
        actor: "ada".into(),
        action: "retry".into(),
        subject: "i".into(),
        detail: "d".into(),
    };
    add(&mut all, &AuditShape::from(&line));
    let report = RunnerReport {
        kind: RunnerKind::Relay,
        name: "outbox".into(),
        state: "leading".into(),
        trouble: Some("t".into()),
        cycled_ago: Some(Duration::from_secs(1)),
        advanced_ago: Some(Duration::from_secs(1)),
        every: Duration::from_secs(1),
        counters: [("delivered".into(), 1)].into(),
    };
    let row = RunnerRow { node: node(), report, started_at: at(1), seen_at: at(2) };
    add(&mut all, &RunnerShape::from(&row));
    let line = StreamLine { stream: event().stream, version: Version(2), snapshot: Some(Version(1)) };
    add(&mut all, &StreamShape::from(&line));
    add(&mut all, status.leader.as_ref().unwrap());
    add(&mut all, &status.leases[0]);
    add(&mut all, &LeaseShape::of(&lease(), at(5)));
    add(&mut all, &details.hidden());
    add(&mut all, &MessageShape::from(&summary()));
    add(&mut all, &status.nodes[0]);
    add(&mut all, &status.outbox);
    add(&mut all, &status.subscriptions[0]);
    add(&mut all, &status);
    all
}

/// What is null in a sample because of what is not: a lease that is held was not released.
const NULL: [&str; 6] = [
    "Event.body",
    "Daemon.node",
    "Daemon.paused_by",
    "Lease.released_at",
    "MessageDetails.headers",
    "MessageDetails.payload",
];

/// Why a value is not what a schema says.
fn problem(
    schema: &Value,
    value: &Value,
    all: &BTreeMap<&'static str, Value>,
    place: &str,
) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/components/schemas/");
        let Some(schema) = all.get(name) else { return Some(format!("{place}: there is no schema {name}")) };
        return problem(schema, value, all, place);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let problems: Vec<_> = any.iter().map_while(|one| problem(one, value, all, place)).collect();
        return (problems.len() == any.len()).then(|| problems.join("; "));
    }
    let fits = match schema["type"].as_str() {
        None => true,
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(other) => return Some(format!("{place}: {other} is no type")),
    };
    if !fits {
        return Some(format!("{place}: {value} is no {}", schema["type"]));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return Some(format!("{place}: {value} is none of {words:?}"));
    }
    if let Some(items) = value.as_array() {
        return items.iter().find_map(|item| problem(&schema["items"], item, all, place));
    }
    let fields = schema["properties"].as_object()?;
    let object = value.as_object()?;
    if let Some(unknown) = object.keys().find(|key| !fields.contains_key(*key)) {
        return Some(format!("{place}: the schema has no {unknown}"));
    }
    let lacks = |key: &&Value| !object.contains_key(key.as_str().unwrap_or_default());
    if let Some(lacking) = schema["required"].as_array().and_then(|required| required.iter().find(lacks)) {
        return Some(format!("{place}: {lacking} is not there"));
    }
    object.iter().find_map(|(key, value)| problem(&fields[key], value, all, &format!("{place}.{key}")))
}

#[test]
fn samples_have_exactly_the_fields_of_their_schemas() {
    let (schemas, samples) = (schemas(), samples());
    assert_eq!(schemas.keys().collect::<Vec<_>>(), samples.keys().collect::<Vec<_>>());
    for (name, sample) in &samples {
        assert_eq!(problem(&schemas[name], sample, &schemas, name), None);
        let fields = schemas[name]["properties"].as_object().unwrap();
        for field in fields.keys() {
            assert!(sample.get(field).is_some(), "the sample of {name} has no {field}");
        }
        // Nor may a field that can be null be null here: then its other kind would not be looked at.
        for (field, value) in sample.as_object().unwrap() {
            let whole = format!("{name}.{field}");
            assert!(!value.is_null() || NULL.contains(&whole.as_str()), "{whole} is null in its sample");
        }
    }
}

#[test]
fn a_schema_that_says_something_else_is_noticed() {
    let (mut schemas, samples) = (schemas(), samples());
    let sample = &samples["Lease"];
    schemas.get_mut("Lease").unwrap()["properties"]["pid"] = json!({ "type": "string" });
    assert!(problem(&schemas["Lease"], sample, &schemas, "Lease").is_some_and(|why| why.contains("pid")));
    let lease = schemas.get_mut("Lease").unwrap()["properties"].as_object_mut().unwrap();
    lease.remove("pid");
    assert!(problem(&schemas["Lease"], sample, &schemas, "Lease").is_some_and(|why| why.contains("no pid")));
}

#[test]
fn what_may_not_be_seen_is_not_there() {
    let shown = MessageDetails::of(&details(), 3);
    assert_eq!((shown.payload.as_deref(), shown.payload_bytes, shown.payload_cut), (Some("hel"), 5, true));
    assert!(!serde_json::to_string(&shown).unwrap().contains("payload_hidden"));
    let hidden = serde_json::to_value(shown.hidden()).unwrap();
    assert_eq!((&hidden["payload"], &hidden["headers"]), (&Value::Null, &Value::Null));
    assert_eq!((&hidden["payload_hidden"], &hidden["payload_bytes"]), (&json!(true), &json!(5)));
    let event = EventShape::of(&event(), 1);
    assert_eq!((event.body.as_deref(), event.body_bytes, event.body_cut), (Some("01"), 2, true));
    let hidden = event.hidden();
    assert!(hidden.body.is_none() && hidden.headers.is_empty() && hidden.body_hidden);
}
