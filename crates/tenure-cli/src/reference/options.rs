//! The options of the library: their defaults as they are, and what they are for as their comments say.

use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use tenure::core::entity::EntitySettings;
use tenure::core::outbox::{HealthThresholds, InboxSettings, Limits, RelaySettings, Retention, RetryPolicy};
use tenure::core::subscription::SubscriptionSettings;
use tenure::core::{event, lease};
use tenure::mysql::MySqlOptions;
use tenure::postgres::PostgresOptions;
use tenure::sink::{HttpOptions, KafkaSinkOptions, NatsOptions};
use tenure::sqlite::SqliteOptions;
use tenure::sqlserver::SqlServerOptions;
use tenure::{ClusterSettings, OpenOptions, SingletonSettings, TapSettings};
use tenure_dashboard::Limits as DashboardLimits;

use super::cell;
use crate::output::Failure;

/// The options of one struct.
pub(super) struct Group {
    /// What the struct is called.
    pub(super) name: &'static str,
    /// What marks in prose call it.
    pub(super) key: &'static str,
    /// What it is for: the first sentences of its comment.
    about: String,
    pub(super) fields: Vec<Field>,
}

pub(super) struct Field {
    pub(super) name: String,
    pub(super) default: String,
    about: String,
}

/// A struct, where it stands, and its fields by default.
struct Known {
    name: &'static str,
    key: &'static str,
    /// The folder that holds its file.
    place: &'static str,
    fields: Vec<(String, String)>,
}

/// Fields by name, of a value whose `Debug` tells another story.
macro_rules! fields {
    ($value:expr; $($field:ident),+ $(,)?) => {
        vec![$((stringify!($field).to_owned(), format!("{:?}", $value.$field))),+]
    };
}

fn known() -> Result<Vec<Known>, Failure> {
    let of = |name, key, place, value: &dyn Debug| Known {
        name,
        key,
        place,
        fields: split(&format!("{value:?}")),
    };
    let postgres = PostgresOptions::from_url("postgres://app@db.internal/app")?;
    let mysql = MySqlOptions::from_url("mysql://app@db.internal/app")?;
    let sqlserver = SqlServerOptions::from_url("sqlserver://app@db.internal/app")?;
    let sqlite = SqliteOptions::from_url("sqlite:app.db")?;
    Ok(vec![
        of("OpenOptions", "open", "crates/tenure/src", &OpenOptions::default()),
        of("LeaseSettings", "lease", "crates/tenure-core/src/lease", &lease::LeaseSettings::default()),
        of(
            "PresenceSettings",
            "presence",
            "crates/tenure-core/src/lease",
            &lease::PresenceSettings::default(),
        ),
        of("RelaySettings", "relay", "crates/tenure-core/src/outbox", &RelaySettings::default()),
        of("RetryPolicy", "retry", "crates/tenure-core/src/outbox", &RetryPolicy::default()),
        of("outbox::Limits", "limits", "crates/tenure-core/src/outbox", &Limits::default()),
        of("Retention", "retention", "crates/tenure-core/src/outbox", &Retention::default()),
        of("InboxSettings", "inbox", "crates/tenure-core/src/outbox", &InboxSettings::default()),
        of("HttpOptions", "http", "crates/tenure/src/sink", &HttpOptions::default()),
        of("KafkaSinkOptions", "kafka", "crates/tenure/src/sink", &KafkaSinkOptions::default()),
        of("NatsOptions", "nats", "crates/tenure/src/sink", &NatsOptions::default()),
        of("event::Limits", "events", "crates/tenure-core/src/event", &event::Limits::default()),
        of("EntitySettings", "entity", "crates/tenure-core/src/entity", &EntitySettings::default()),
        of(
            "SubscriptionSettings",
            "subscription",
            "crates/tenure-core/src/subscription",
            &SubscriptionSettings::default(),
        ),
        of("TapSettings", "tap", "crates/tenure/src/subscription", &TapSettings::default()),
        of("ClusterSettings", "cluster", "crates/tenure-core/src/cluster", &ClusterSettings::default()),
        of("SingletonSettings", "singleton", "crates/tenure/src/cluster", &SingletonSettings::default()),
        of("HealthThresholds", "health", "crates/tenure-core/src", &HealthThresholds::default()),
        of("dashboard::Limits", "dashboard", "crates/tenure-dashboard/src", &DashboardLimits::default()),
        Known {
            name: "SqliteOptions",
            key: "sqlite",
            place: "crates/tenure-sqlite/src",
            fields: fields!(sqlite; path, naming, busy_timeout, create, browse_timeout, looking),
        },
        Known {
            name: "PostgresOptions",
            key: "postgres",
            place: "crates/tenure-postgres/src",
            fields: fields!(postgres; naming, max_connections, max_outbox_connections, max_watches, connect_timeout,
                lock_timeout, statement_timeout, sessions, tls, root_certificate, application_name, looking),
        },
        Known {
            name: "MySqlOptions",
            key: "mysql",
            place: "crates/tenure-mysql/src",
            fields: fields!(mysql; naming, max_connections, max_outbox_connections, max_watches, connect_timeout,
                lock_timeout, statement_timeout, tls, root_certificate),
        },
        Known {
            name: "SqlServerOptions",
            key: "sqlserver",
            place: "crates/tenure-sqlserver/src",
            fields: fields!(sqlserver; naming, max_connections, max_outbox_connections, max_watches, connect_timeout,
                lock_timeout, statement_timeout, encrypt, trust_server_certificate, root_certificate, application_name),
        },
    ])
}

/// Every group, with the comments of a work tree's sources.
pub(super) fn groups(root: &Path) -> Result<Vec<Group>, Failure> {
    known()?.into_iter().map(|known| group(root, known)).collect()
}

fn group(root: &Path, known: Known) -> Result<Group, Failure> {
    let Known { name, key, place, fields } = known;
    let short = name.rsplit("::").next().unwrap_or(name);
    let source = find(&root.join(place), &format!("pub struct {short} {{"))?;
    let source =
        source.ok_or_else(|| Failure::Failed(format!("no `pub struct {short}` stands in {place}")))?;
    let comments = comments(&source, short);
    let public: Vec<&str> = comments.iter().skip(1).map(|(field, _)| field.as_str()).collect();
    if let Some(forgotten) = public.iter().find(|field| fields.iter().all(|(known, _)| known != **field)) {
        return Err(Failure::Failed(format!("the reference knows no default of {name}.{forgotten}")));
    }
    let about = |field: &str| comments.iter().find(|(name, _)| name == field).map(|(_, about)| about.clone());
    let fields = fields.into_iter().filter_map(|(field, value)| {
        Some(Field { about: about(&field)?, default: spoken(&value), name: field })
    });
    Ok(Group { name, key, about: about("").unwrap_or_default(), fields: fields.collect() })
}

/// The text of the first file below a folder that has this text in it, by name.
fn find(folder: &Path, text: &str) -> Result<Option<String>, Failure> {
    let read = |error: std::io::Error| Failure::Failed(format!("cannot read {}: {error}", folder.display()));
    let mut entries =
        std::fs::read_dir(folder).map_err(read)?.collect::<Result<Vec<_>, _>>().map_err(read)?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = find(&path, text)? {
                return Ok(Some(found));
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(&path).map_err(read)?;
            if source.contains(text) {
                return Ok(Some(source));
            }
        }
    }
    Ok(None)
}

/// The comment of a struct under the empty name, and of each of its public fields.
fn comments(source: &str, name: &str) -> Vec<(String, String)> {
    let head = format!("pub struct {name} {{");
    let mut comment = String::new();
    let mut all = Vec::new();
    let mut inside = false;
    for line in source.lines() {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            comment.push_str(text);
        } else if line == head {
            inside = true;
            all.push((String::new(), plain(&std::mem::take(&mut comment))));
        } else if inside && line == "}" {
            break;
        } else if let Some((field, _)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(':'))
            && inside
        {
            all.push((field.to_owned(), plain(&std::mem::take(&mut comment))));
        } else if !line.starts_with("#[") {
            comment.clear();
        }
    }
    all
}

/// A comment without the links that only rustdoc knows.
fn plain(comment: &str) -> String {
    let mut text = String::new();
    let mut rest = comment.trim();
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((word, behind)) = after.split_once("`]") else { break };
        text.push_str(&format!("{before}`{word}`"));
        rest = match behind.strip_prefix('(').and_then(|link| link.split_once(')')) {
            Some((_, behind)) => behind,
            None => behind,
        };
    }
    text + rest
}

/// The fields of what `{:?}` makes of a struct.
fn split(debug: &str) -> Vec<(String, String)> {
    let inner = debug.split_once(" {").map_or("", |(_, rest)| rest.trim_end_matches('}'));
    let mut fields = Vec::new();
    let (mut depth, mut quoted, mut part) = (0_i32, false, String::new());
    for character in inner.chars().chain([',']) {
        match character {
            '"' => quoted = !quoted,
            '{' | '(' | '[' if !quoted => depth += 1,
            '}' | ')' | ']' if !quoted => depth -= 1,
            ',' if depth == 0 && !quoted => {
                if let Some((name, value)) = part.split_once(':') {
                    fields.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                part.clear();
                continue;
            }
            _ => {}
        }
        part.push(character);
    }
    fields
}

/// A value as people say it.
fn spoken(value: &str) -> String {
    if let Some(inner) = value.strip_prefix("Some(").and_then(|rest| rest.strip_suffix(')')) {
        return spoken(inner);
    }
    if let Some((name, _)) = value.split_once(" {") {
        let prefix = value.split('"').nth(1).unwrap_or_default();
        return if name == "Naming" { prefix.to_owned() } else { format!("see {name}") };
    }
    if value == "None" || value == "[]" {
        return "none".to_owned();
    }
    match span(value) {
        Some(span) => humantime::format_duration(span).to_string(),
        None => value.trim_matches('"').to_owned(),
    }
}

/// A span of time, as `{:?}` and as people write it.
pub(super) fn span(text: &str) -> Option<Duration> {
    let unit =
        text.trim_start_matches(|character: char| character.is_ascii_digit() || " .".contains(character));
    if unit.is_empty() || unit.len() == text.len() {
        return None;
    }
    if let Ok(span) = humantime::parse_duration(text) {
        return Some(span);
    }
    // Halves, which humantime does not read.
    let number: f64 = text[..text.len() - unit.len()].trim().parse().ok()?;
    let one = humantime::parse_duration(&format!("1{unit}")).ok()?;
    Duration::try_from_secs_f64(one.as_secs_f64() * number).ok()
}

pub(super) fn page(groups: &[Group]) -> String {
    let mut page = String::from(
        "# Options of the library\n\nEvery struct of options has public fields, a `Default`, and checks itself before it is used. The options of the \
         binary are on the page of [commands](cli.md).\n",
    );
    for group in groups {
        page.push_str(&format!(
            "\n## {}\n\n{}\n\n| field | default | |\n|---|---|---|\n",
            group.name, group.about
        ));
        for field in &group.fields {
            page.push_str(&format!(
                "| `{}` | {} | {} |\n",
                field.name,
                cell(&field.default),
                cell(&field.about)
            ));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_split_and_spoken() {
        let fields = split("A { a: 30s, b: Some(B { c: 1, d: \"x, y\" }), e: None, f: [1, 2] }");
        let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "e", "f"]);
        assert_eq!(spoken(&fields[1].1), "see B");
        assert_eq!(
            (spoken("2592000s"), spoken("None"), spoken("4096")),
            ("30days".into(), "none".into(), "4096".into())
        );
        assert_eq!(span("1.5 s"), Some(Duration::from_millis(1_500)));
        assert_eq!(
            (span("4096"), span("Skip"), span("10 min")),
            (None, None, Some(Duration::from_secs(600)))
        );
    }

    #[test]
    fn comments_go_with_their_fields() {
        let source = "/// How.\n#[derive(Debug)]\npub struct A {\n    /// One, as [`B`](c).\n    /// More.\n    pub a: u8,\n    b: u8,\n}\n";
        let all = comments(source, "A");
        assert_eq!(
            all,
            [(String::new(), "How.".to_owned()), ("a".to_owned(), "One, as `B`. More.".to_owned())]
        );
    }

    #[test]
    fn every_default_has_its_comment() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for group in groups(&root).unwrap() {
            assert!(!group.fields.is_empty(), "{}", group.name);
            for field in &group.fields {
                assert!(!field.about.is_empty(), "{}.{}", group.name, field.name);
            }
        }
    }
}
