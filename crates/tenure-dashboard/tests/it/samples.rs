//! What to ask each route for, so that it has something to answer.

use crate::house::{DEAD_ID, name};

/// The query of a look, for what a store that was filled with `text` holds. A route without parameters needs none.
pub(crate) fn query(path: &str, text: &str) -> String {
    let ours = name(text, 150);
    let pairs: Vec<(&str, String)> = match path {
        "/api/v1/outbox/message" | "/message" | "/message/payload" => vec![("id", DEAD_ID.to_owned())],
        "/api/v1/leases/history" | "/lease" => vec![("name", "outbox".to_owned())],
        "/api/v1/streams/events" => vec![("stream", format!("loan-{ours}"))],
        "/stream" => vec![("name", format!("loan-{ours}"))],
        "/event" => vec![("stream", format!("loan-{ours}")), ("version", "1".to_owned())],
        "/api/v1/stories" | "/story" => vec![("correlation", ours)],
        "/api/v1/subscriptions/parked" => vec![("subscription", format!("sub-{ours}"))],
        "/subscription" => vec![("name", format!("sub-{ours}"))],
        "/dead/cause" => vec![("cause", "0000000000000000".to_owned())],
        "/api/v1/job" | "/job" => vec![("id", "1".to_owned())],
        _ => return String::new(),
    };
    let mut query = form_urlencoded::Serializer::new(String::from("?"));
    for (name, value) in pairs {
        query.append_pair(name, &value);
    }
    query.finish().replacen("?&", "?", 1)
}

/// The fields of a change that is accepted where everything is as the house was built, and how many lines of audit it writes.
/// A route that changes something and is not here fails the walk.
pub(crate) fn change(path: &str) -> Option<(Vec<(&'static str, &'static str)>, usize)> {
    Some(match path {
        "/api/v1/outbox/retry" | "/api/v1/outbox/discard" | "/act/retry" => (vec![("id", DEAD_ID)], 1),
        // Without `sure` a page asks, and nothing is changed.
        "/act/discard" => (vec![("id", DEAD_ID), ("sure", "yes")], 1),
        "/api/v1/leases/release" | "/act/lease-release" => (vec![("name", "outbox")], 1),
        "/api/v1/daemons/steer" => (vec![("name", "work/one"), ("action", "pause")], 1),
        "/act/daemon" => (vec![("name", "work/one"), ("action", "pause")], 1),
        "/api/v1/subscriptions/rewind" | "/act/rewind" => {
            (vec![("subscription", "sub-something"), ("position", "0"), ("sure", "sub-something")], 1)
        }
        // There is no job to stop in a house that was just built.
        "/api/v1/jobs/stop" | "/act/job-stop" => (vec![("id", "1")], 0),
        // A dry run is shown first, and changes nothing.
        "/act/retry-all" | "/act/discard-all" => (vec![("all", "true"), ("dry_run", "true")], 0),
        "/login" | "/logout" => (vec![], 0),
        _ => return None,
    })
}
