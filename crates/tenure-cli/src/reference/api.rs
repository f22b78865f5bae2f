//! The dashboard's API, from the document that it answers with itself.

use serde_json::Value;
use tenure_dashboard::{MOUNT, openapi, routes};

use super::cell;
use super::shapes::kind;

/// A bound from here on is that of the type, and says nothing.
const LARGE: u64 = 1 << 53;

pub(super) fn page() -> String {
    let document = openapi(MOUNT);
    let mut page = format!(
        "# The dashboard's API\n\nPaths are below the mount, which is `{MOUNT}` where the binary serves it. The same as a document of OpenAPI 3.1: \
         `GET {MOUNT}/api/v1/openapi.json`. A token goes into the header `authorization: Bearer …`, never into the query. A list answers `items`, and \
         `next`, which the next question goes on from; its items are the [shapes](json.md) that commands print with `--json`. A search of messages also answers `looked_back_to`, the moment that it has come back to, \
         null where it has looked at all there is. A parameter that is not known is refused, in a query as in a body; so is a field of a change that is an empty text or given twice; null is as not given. One thing that is named and is not there is \
         `not_found`; one that is not as the change needs it, such as a message that is not dead, is a `conflict`. To look, the name and the token may also be sent \
         as `authorization: Basic …`; a change needs Bearer.\n\n\
         Trouble is an object with `error`, a sentence for people, and `what`: {}.\n",
        kind(&document["components"]["schemas"]["Error"]["properties"]["what"])
    );
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            page.push_str(&operation_text(path, method, operation));
        }
    }
    page.push_str("\n## Shapes that only the API has\n");
    for name in ["Job", "BoundedStatus"] {
        let schema = &document["components"]["schemas"][name];
        page.push_str(&format!("\n### {name}\n\n| field | kind |\n|---|---|\n"));
        for (field, what) in schema["properties"].as_object().into_iter().flatten() {
            page.push_str(&format!("| `{field}` | {} |\n", linked(what)));
        }
    }
    page.push_str("\n## Pages\n\nWhat people look at, and the forms by which they change something.\n\n| | needs | |\n|---|---|---|\n");
    for route in routes().filter(|route| !route.is_api) {
        let needs = route.permission.map_or("", |permission| permission.as_str());
        page.push_str(&format!(
            "| {} `{}` | {needs} | {} |\n",
            route.method,
            route.path,
            cell(route.summary)
        ));
    }
    page
}

fn operation_text(path: &str, method: &str, operation: &Value) -> String {
    let method = method.to_uppercase();
    let text = |what: &Value| what.as_str().unwrap_or_default().to_owned();
    let mut page = format!(
        "\n## {method} {path}\n\n{}. {}",
        upper(&text(&operation["summary"])),
        text(&operation["description"])
    );
    let answer = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    page.push_str(&format!(" Answers {}.\n", answered(answer)));
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let needed: Vec<&str> =
        body["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let query = operation["parameters"].as_array().into_iter().flatten();
    let query =
        query.map(|it| (text(&it["name"]), &it["schema"], it["required"] == true, text(&it["description"])));
    let fields = body["properties"].as_object().into_iter().flatten();
    let fields = fields.map(|(name, what)| {
        (name.clone(), what, needed.contains(&name.as_str()), text(&what["description"]))
    });
    let rows: Vec<String> = query
        .chain(fields)
        .map(|(name, what, needed, about)| {
            let needed = if needed { ", required" } else { "" };
            format!("| `{name}` | {}{needed} | {} |\n", bounded(what), cell(&about))
        })
        .collect();
    if !rows.is_empty() {
        page.push_str(&format!("\n| parameter | kind | |\n|---|---|---|\n{}", rows.concat()));
    }
    page
}

/// What an operation answers.
fn answered(schema: &Value) -> String {
    let items = &schema["properties"]["items"]["items"];
    if items.is_object() { format!("a list of {}", linked(items)) } else { linked(schema) }
}

/// A kind, with its bounds.
fn bounded(what: &Value) -> String {
    let kind = kind(what);
    match (&what["maxLength"], &what["minimum"], &what["maximum"]) {
        (max @ Value::Number(_), ..) => format!("{kind} of up to {max} bytes"),
        (_, from @ Value::Number(_), to) if to.as_u64().is_some_and(|to| to < LARGE) => {
            format!("{kind} from {from} to {to}")
        }
        (_, from @ Value::Number(_), _) => format!("{kind} from {from} on"),
        _ => kind,
    }
}

/// A kind, with links to the page of shapes where it is one of those.
fn linked(what: &Value) -> String {
    let own = ["job", "boundedstatus", "error"];
    let known = tenure::core::show::schemas();
    let mut text = kind(what);
    for name in known.keys().map(|name| name.to_lowercase()).filter(|name| !own.contains(&name.as_str())) {
        text = text.replace(&format!("](#{name})"), &format!("](json.md#{name})"));
    }
    text
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
