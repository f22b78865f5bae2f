//! The API's document, made of the table of routes.

use serde_json::{Map, Value, json};
use tenure_core::show::schemas;

use super::told;
use crate::asked::{Allowed, View};
use crate::auth::Permission;
use crate::params::{Bounds, Param};
use crate::routes::{Answer, Kind, Route, Shown, Verb, all};

pub(super) async fn document(allowed: Allowed<View>) -> Answer {
    told(&write(&allowed.desk.mount))
}

/// The document; `mount` is where the API is.
pub(crate) fn write(mount: &str) -> Value {
    let mut paths = Map::new();
    for route in all().filter(|route| route.kind == Kind::Api) {
        let method = match route.verb {
            Verb::Get => "get",
            Verb::Post => "post",
        };
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tenure",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Seeing and steering Tenure. Lists are read page by page: `next` of an answer is what the next question goes on from.",
        },
        "servers": [{ "url": if mount.is_empty() { "/" } else { mount } }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": all_schemas(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let name = route.path.trim_start_matches("/api/v1/").replace(['/', '.'], "_");
    let needs = route.handler.permission().map_or("nothing", Permission::as_str);
    let mut operation = json!({
        "operationId": if route.verb == Verb::Get { name } else { format!("{name}_change") },
        "summary": route.summary,
        "description": format!("Needs the permission `{needs}`."),
        "responses": {
            "200": { "description": "the answer", "content": { "application/json": { "schema": answer(route.answer) } } },
            "default": {
                "description": "what went wrong",
                "content": { "application/json": { "schema": reference("Error") } },
            },
        },
    });
    match route.verb {
        Verb::Get => operation["parameters"] = route.params.iter().map(parameter).collect(),
        Verb::Post => {
            operation["requestBody"] = json!({
                "required": true,
                "content": { "application/json": { "schema": body(route.params) } },
            });
        }
    }
    if let Shown::AnyOf(_) = route.answer {
        operation["responses"]["202"] = json!({
            "description": "a job has begun",
            "content": { "application/json": { "schema": reference("Job") } },
        });
    }
    operation
}

fn parameter(param: &Param) -> Value {
    json!({
        "name": param.name, "in": "query", "required": param.needed, "description": param.what, "schema": bounds(param),
    })
}

fn body(params: &[Param]) -> Value {
    let fields: Map<String, Value> = params
        .iter()
        .map(|param| {
            let mut schema = bounds(param);
            schema["description"] = param.what.into();
            (param.name.to_owned(), schema)
        })
        .collect();
    let needed: Vec<_> = params.iter().filter(|param| param.needed).map(|param| param.name).collect();
    json!({ "type": "object", "properties": fields, "required": needed, "additionalProperties": false })
}

fn bounds(param: &Param) -> Value {
    match param.bounds {
        Bounds::Text(max) => json!({ "type": "string", "maxLength": max }),
        Bounds::Number(from, to) => json!({ "type": "integer", "minimum": from, "maximum": to }),
        Bounds::Moment => json!({
            "type": "string",
            "examples": ["2026-11-15T09:30:00Z", "2026-11-15 09:30", "2026-11-15", "-15m"],
        }),
        Bounds::Word(words) => json!({ "type": "string", "enum": words }),
        Bounds::Yes => json!({ "type": "boolean" }),
    }
}

fn answer(shown: Shown) -> Value {
    match shown {
        Shown::One(name) => reference(name),
        Shown::AnyOf(names) => {
            json!({ "anyOf": names.iter().map(|name| reference(name)).collect::<Vec<_>>() })
        }
        Shown::List(name) => json!({
            "type": "object",
            "required": ["items", "next"],
            "properties": {
                "items": { "type": "array", "items": reference(name) },
                "next": { "type": ["string", "null"], "description": "from where to go on; null when there is no more" },
                "looked_back_to": { "type": ["string", "null"], "description": "how far back a search has come" },
            },
        }),
        Shown::Other => json!({ "type": "object" }),
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The core's schemas, and those that only the API has.
fn all_schemas() -> Value {
    let mut all: Map<String, Value> =
        schemas().into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    if let Some(mut status) = all.get("Status").cloned() {
        status["properties"]["outbox"] = reference("Pulse");
        all.insert("BoundedStatus".into(), status);
    }
    all.insert(
        "Error".into(),
        json!({
            "type": "object",
            "required": ["error", "what"],
            "properties": {
                "error": { "type": "string", "description": "a sentence for people" },
                "what": {
                    "type": "string",
                    "enum": ["invalid", "unauthenticated", "forbidden", "not_found", "conflict", "too_many", "slow", "away", "broken"],
                },
            },
        }),
    );
    all.insert("Job".into(), crate::jobs::schema());
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_of_the_api_is_in_the_document_and_nothing_else() {
        let document = write("/_tenure");
        let paths = document["paths"].as_object().unwrap();
        let mut written = 0;
        for (path, methods) in paths {
            for method in methods.as_object().unwrap().keys() {
                let verb = if method == "get" { Verb::Get } else { Verb::Post };
                let row = all().find(|route| route.path == path && route.verb == verb);
                assert_eq!(row.map(|row| row.kind), Some(Kind::Api), "{method} {path}");
                written += 1;
            }
        }
        assert_eq!(written, all().filter(|route| route.kind == Kind::Api).count());
        assert!(all().all(|route| (route.kind == Kind::Api) == route.path.starts_with("/api/v1/")));
    }

    #[test]
    fn every_reference_is_to_a_schema_that_is_there_and_no_two_operations_share_a_name() {
        let document = write("");
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut open = vec![&document];
        let mut names = std::collections::BTreeSet::new();
        while let Some(value) = open.pop() {
            if let Some(object) = value.as_object() {
                if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
                    let name = reference.strip_prefix("#/components/schemas/").unwrap();
                    assert!(schemas.contains_key(name), "{reference}");
                }
                if let Some(id) = object.get("operationId").and_then(Value::as_str) {
                    assert!(names.insert(id.to_owned()), "{id}");
                    let responses = object["responses"].as_object().unwrap();
                    assert!(responses.contains_key("200") && responses.contains_key("default"), "{id}");
                }
                open.extend(object.values());
            } else if let Some(list) = value.as_array() {
                open.extend(list);
            }
        }
        assert_eq!(document["openapi"], "3.1.0");
        assert!(names.len() > 20);
    }
}
