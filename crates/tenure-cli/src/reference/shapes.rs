//! What `--json` prints and the dashboard's API answers, from the schemas.

use serde_json::{Value, json};
use tenure::core::show::schemas;

pub(super) fn page() -> String {
    let mut page = String::from(
        "# Shapes of JSON\n\nWhat commands print with `--json`, and what the items of the dashboard's API look like: the same shapes. Times are \
         texts in UTC, such as `2026-01-31T12:00:00.000Z`; spans are numbers of milliseconds. Fields may be added; none is taken away or \
         changes its kind without a **breaking** line in the changelog.\n\n| command | prints |\n|---|---|\n",
    );
    for (command, shape) in COMMANDS {
        page.push_str(&format!("| `tenure {command} --json` | {shape} |\n"));
    }
    for (name, schema) in schemas() {
        page.push_str(&format!("\n## {name}\n\n| field | kind |\n|---|---|\n"));
        let always: Vec<&str> = words(&schema["required"]);
        for (field, what) in schema["properties"].as_object().into_iter().flatten() {
            let left_out = if always.contains(&field.as_str()) { "" } else { ", or left out" };
            page.push_str(&format!("| `{field}` | {}{left_out} |\n", kind(what)));
        }
    }
    page
}

/// Which command prints what.
const COMMANDS: &[(&str, &str)] = &[
    ("status", "one [Status](#status)"),
    ("outbox stats", "one [OutboxStats](#outboxstats)"),
    ("outbox list", "an array of [Message](#message)"),
    ("outbox show ID", "one [MessageDetails](#messagedetails)"),
    (
        "outbox retry",
        "one [Changed](#changed), or with `--dry-run` one [DryRun](#dryrun); `discard` likewise",
    ),
    ("lease list", "an array of [Lease](#lease)"),
    ("lease history", "an array of [LeaseChange](#leasechange)"),
    ("daemon list", "an array of [Daemon](#daemon)"),
    ("audit list", "an array of [AuditLine](#auditline)"),
];

fn words(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A kind in words, with links to other shapes.
pub(super) fn kind(what: &Value) -> String {
    if let Some(name) = what["$ref"].as_str().and_then(|link| link.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(any) = what["anyOf"].as_array() {
        return any.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let kinds = words(&what["type"]);
    if !kinds.is_empty() {
        let each = kinds.iter().map(|one| kind(&json!({ "type": one })));
        return each.collect::<Vec<_>>().join(" or ");
    }
    let values = words(&what["enum"]);
    match what["type"].as_str() {
        Some("string") if !values.is_empty() => {
            values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
        }
        Some("string") => "text".to_owned(),
        Some("integer") => "whole number".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("array") => format!("array of {}", kind(&what["items"])),
        Some("object") if what["additionalProperties"].is_object() => {
            format!("object, each value a {}", kind(&what["additionalProperties"]))
        }
        Some("object") => "an object".to_owned(),
        Some(other) => other.to_owned(),
        None => "anything".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_to_a_shape() {
        let page = page();
        for (at, _) in page.match_indices("](#") {
            let anchor: String = page[at + 3..].chars().take_while(|character| *character != ')').collect();
            assert!(schemas().keys().any(|name| name.to_lowercase() == anchor), "{anchor}");
        }
        assert!(page.contains("| `lag_ms` | whole number or null |"), "{page}");
    }
}
