//! Schemas of what programs see, in the words of JSON Schema as OpenAPI 3.1 uses them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    AttemptShape, AuditShape, AvoidShape, CauseShape, ChangeShape, ChangedShape, DaemonShape, DaemonsShape,
    DryRunShape, EventShape, LeaderShape, LeaseLine, LeaseShape, MessageDetails, MessageShape, NodeShape,
    ParkedShape, PulseShape, RunnerShape, StatsShape, StatusShape, StreamShape, SubscriptionShape,
};

/// Something that programs see, with its schema.
pub trait Shape: Serialize {
    /// What it is called in a document of schemas.
    const NAME: &'static str;
    /// Fields that are left out where they say nothing.
    const MAY_LACK: &'static [&'static str] = &[];
    /// What it looks like: an object with all its fields. Other shapes are referred to by name.
    fn schema() -> Value;
}

/// Every schema by its name, each with the fields that are always there.
pub fn schemas() -> BTreeMap<&'static str, Value> {
    let mut all = BTreeMap::new();
    add::<AttemptShape>(&mut all);
    add::<AuditShape>(&mut all);
    add::<AvoidShape>(&mut all);
    add::<CauseShape>(&mut all);
    add::<ChangeShape>(&mut all);
    add::<ChangedShape>(&mut all);
    add::<DaemonShape>(&mut all);
    add::<DaemonsShape>(&mut all);
    add::<DryRunShape>(&mut all);
    add::<EventShape>(&mut all);
    add::<LeaderShape>(&mut all);
    add::<LeaseLine>(&mut all);
    add::<LeaseShape>(&mut all);
    add::<MessageDetails>(&mut all);
    add::<MessageShape>(&mut all);
    add::<NodeShape>(&mut all);
    add::<ParkedShape>(&mut all);
    add::<PulseShape>(&mut all);
    add::<RunnerShape>(&mut all);
    add::<StatsShape>(&mut all);
    add::<StatusShape>(&mut all);
    add::<StreamShape>(&mut all);
    add::<SubscriptionShape>(&mut all);
    all
}

fn add<S: Shape>(all: &mut BTreeMap<&'static str, Value>) {
    let mut schema = S::schema();
    let fields = schema["properties"].as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
    let always =
        fields.unwrap_or_default().into_iter().filter(|field| !S::MAY_LACK.contains(&field.as_str()));
    let always: Vec<String> = always.collect();
    if let Some(object) = schema.as_object_mut() {
        object.insert("required".to_owned(), always.into());
    }
    all.insert(S::NAME, schema);
}

pub(super) fn object(fields: Vec<(&'static str, Value)>) -> Value {
    let fields: Map<String, Value> = fields.into_iter().map(|(name, what)| (name.to_owned(), what)).collect();
    json!({ "type": "object", "properties": fields })
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

/// One of these words.
pub(super) fn word(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

pub(super) fn whole() -> Value {
    json!({ "type": "integer" })
}

pub(super) fn number() -> Value {
    json!({ "type": "number" })
}

pub(super) fn truth() -> Value {
    json!({ "type": "boolean" })
}

pub(super) fn any() -> Value {
    json!({})
}

/// An object whose keys are not known, with values of one kind.
pub(super) fn map_of(value: Value) -> Value {
    json!({ "type": "object", "additionalProperties": value })
}

pub(super) fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

pub(super) fn one<S: Shape>() -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", S::NAME) })
}

pub(super) fn list_of<S: Shape>() -> Value {
    list(one::<S>())
}

/// That, or null.
pub(super) fn maybe(what: Value) -> Value {
    json!({ "anyOf": [what, { "type": "null" }] })
}
