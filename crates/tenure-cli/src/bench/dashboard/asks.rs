//! What is asked for: every page and every answer of the table of routes that changes nothing, as one comes to it, and in the
//! ways that cost most.

use super::house::{House, id};

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) method: &'static str,
    /// The path below the mount.
    pub(super) path: &'static str,
    /// The query, or the body of a dry run.
    pub(super) query: String,
    /// What is answered where all is well.
    pub(super) status: u16,
}

fn get(path: &'static str, query: impl Into<String>) -> Ask {
    Ask { method: "GET", path, query: query.into(), status: 200 }
}

/// All questions. The first one is asked of a dashboard that nobody has looked at yet.
pub(super) fn asks(house: &House) -> Vec<Ask> {
    let mut all = vec![get("/", "")];
    for path in ["/outbox", "/api/v1/outbox/messages"] {
        all.extend(searches(house).into_iter().map(|query| get(path, query)));
    }
    all.extend(messages(house));
    all.extend(events(house));
    all.extend(offices(house));
    all.extend(dry_runs());
    all
}

/// Searches of the outbox.
fn searches(house: &House) -> Vec<String> {
    // Half of the time that is there.
    let (middle, far) = (house.rows / 2, house.rows / 2);
    let hour = format!("from=-{middle}s&until=-{}s", middle.saturating_sub(3_600));
    let mut all: Vec<String> =
        ["", "topic=rare", "source=rare", "type=Rare", "topic=payments", "topic=rare&source=rare&type=Rare"]
            .map(str::to_owned)
            .into();
    for state in ["pending", "dispatched", "dead", "discarded"] {
        for more in ["", "&topic=rare", "&source=rare", "&type=Rare"] {
            all.push(format!("state={state}{more}"));
        }
        all.push(format!("state={state}&{hour}"));
        all.push(format!("state={state}&before={far}"));
        all.push(format!("state={state}&topic=rare&before={far}"));
    }
    all.push(format!("id={}", id(house.rows)));
    all.push(hour.clone());
    all.push(format!("{hour}&topic=rare"));
    all.push(format!("topic=rare&until=-{middle}s"));
    all.push("from=-15m".to_owned());
    all.push(format!("before={far}"));
    all.push(format!("topic=rare&before={far}"));
    all.push("state=dead&cause=0000000000000007".to_owned());
    all.push("state=dead&cause=0000000000000007&topic=rare".to_owned());
    all
}

/// Messages one by one, and the dead by cause.
fn messages(house: &House) -> Vec<Ask> {
    let mut all = vec![get("/message/payload", format!("id={}", id(2)))];
    for path in ["/message", "/api/v1/outbox/message"] {
        let ones = [house.rare_dead(), 2, house.rare_waiting(), house.rows / 2];
        all.extend(ones.map(|number| get(path, format!("id={}", id(number)))));
    }
    for path in ["/dead", "/api/v1/outbox/dead"] {
        all.extend(["", "after=0000000000000028"].map(|query| get(path, query)));
    }
    let far = house.rows / 2;
    let causes = [
        "cause=0000000000000007".to_owned(),
        "cause=000000000000003d".to_owned(),
        format!("cause=0000000000000007&before={far}"),
    ];
    all.extend(causes.map(|query| get("/dead/cause", query)));
    all.push(get("/jobs", ""));
    all.push(get("/api/v1/jobs", ""));
    // There is none: it is not the store that knows.
    all.push(Ask { status: 404, ..get("/job", "id=0123456789abcdef") });
    all.push(Ask { status: 404, ..get("/api/v1/job", "id=0123456789abcdef") });
    all.push(get("/api/v1/outbox/stats", ""));
    all
}

/// Streams, stories and subscriptions.
fn events(house: &House) -> Vec<Ask> {
    let (middle, end) = (house.long_stream / 2 + 1, house.long_stream);
    let mut all = Vec::new();
    for (streams, stream, named, story) in [
        ("/streams", "/stream", "name", "/story"),
        ("/api/v1/streams", "/api/v1/streams/events", "stream", "/api/v1/stories"),
    ] {
        all.extend(["", "prefix=loan-1", "prefix=nothing", "after=loan-5"].map(|query| get(streams, query)));
        for more in
            [String::new(), format!("&from={middle}"), "&back=yes".into(), format!("&back=yes&from={middle}")]
        {
            all.push(get(stream, format!("{named}=long{more}")));
        }
        let last = house.events + house.long_stream;
        for query in [
            "correlation=saga".to_owned(),
            format!("correlation=saga&after={}", last / 2),
            "correlation=story-7".into(),
        ] {
            all.push(get(story, query));
        }
    }
    all.push(get("/event", format!("stream=long&version={end}")));
    for path in ["/subscriptions", "/api/v1/subscriptions"] {
        all.extend(["", "after=subscription-5"].map(|query| get(path, query)));
    }
    for (path, named) in [("/subscription", "name"), ("/api/v1/subscriptions/parked", "subscription")] {
        all.push(get(path, format!("{named}=subscription-1")));
        all.push(get(path, format!("{named}=subscription-1&after={}", house.parked / 2)));
    }
    all
}

/// Leases, nodes, daemons, what was done, and what is live.
fn offices(house: &House) -> Vec<Ask> {
    let mut all = Vec::new();
    for path in ["/leases", "/api/v1/leases"] {
        all.extend(["", "prefix=lease-4", "after=lease-4"].map(|query| get(path, query)));
    }
    let far = house.history / 2;
    for query in ["name=lease-7".to_owned(), format!("name=lease-7&before={far}")] {
        all.push(get("/lease", query.clone()));
        all.push(get("/api/v1/leases/history", query));
    }
    all.extend(["", "name=rare"].map(|query| get("/api/v1/leases/history", query)));
    for path in ["/daemons", "/api/v1/daemons"] {
        all.extend(["", "node=node-7", "prefix=daemon-19", "after=daemon-5"].map(|query| get(path, query)));
    }
    for path in ["/audit", "/api/v1/audit"] {
        for query in [
            "".to_owned(),
            "actor=eve".into(),
            "action=nothing".into(),
            "subject=message%201".into(),
            format!("actor=eve&before={}", house.audit / 2),
        ] {
            all.push(get(path, query));
        }
    }
    for path in [
        "/cluster",
        "/api/v1/openapi.json",
        "/api/v1/status",
        "/api/v1/health",
        "/api/v1/nodes",
        "/api/v1/runners",
    ] {
        all.push(get(path, ""));
    }
    all.push(get("/live", "parts=overview"));
    all
}

/// What an operator asks before he changes many: how many those are.
fn dry_runs() -> Vec<Ask> {
    [
        r#"{"dry_run":true,"all":true}"#,
        r#"{"dry_run":true,"topic":"rare"}"#,
        r#"{"dry_run":true,"topic":"orders","limit":10000}"#,
        r#"{"dry_run":true,"source":"rare"}"#,
        r#"{"dry_run":true,"cause":"0000000000000007","limit":10000}"#,
    ]
    .map(|body| Ask { method: "POST", path: "/api/v1/outbox/retry", query: body.to_owned(), status: 200 })
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Routes that ask the store for nothing.
    const NO_STORE: [&str; 2] = ["/login", "/assets/*"];

    #[test]
    fn every_look_of_the_table_is_asked_for_and_nothing_else() {
        let asks = asks(&House::of(5_000_000, 1_000_000));
        for route in tenure_dashboard::routes().filter(|route| route.method == "GET") {
            let asked = asks.iter().any(|ask| ask.method == "GET" && ask.path == route.path);
            assert_ne!(asked, NO_STORE.contains(&route.path), "{}", route.path);
        }
        for ask in &asks {
            let there =
                tenure_dashboard::routes().any(|route| (route.method, route.path) == (ask.method, ask.path));
            assert!(there, "{ask:?}");
        }
    }
}
