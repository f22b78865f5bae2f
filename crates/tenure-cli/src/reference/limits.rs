//! The bounds that cannot be moved, from the constants that are them.

use std::fmt::Write as _;

use tenure::core::{cluster, event, id, lease, naming, observe, outbox, subscription};
use tenure_dashboard::Most;

pub(super) fn page() -> String {
    let bytes = |number: usize| match number {
        number if number >= 1 << 20 && number.is_multiple_of(1 << 20) => format!("{} MiB", number >> 20),
        number if number >= 1 << 10 && number.is_multiple_of(1 << 10) => format!("{} KiB", number >> 10),
        number => format!("{number} bytes"),
    };
    let count = |number: u32| number.to_string();
    let names = [
        ("name of a lease", bytes(lease::LEASE_NAME_MAX_BYTES)),
        ("name of a node", bytes(id::NODE_NAME_MAX_BYTES)),
        ("name of a node in a cluster", bytes(cluster::MEMBER_NAME_MAX_BYTES)),
        ("name of a daemon", bytes(cluster::DAEMON_NAME_MAX_BYTES)),
        ("name of a stream", bytes(event::STREAM_MAX_BYTES)),
        ("name of an operator, for the audit", bytes(observe::ACTOR_MAX_BYTES)),
        ("table prefix, schema", format!("{} characters", naming::IDENTIFIER_MAX_CHARS)),
    ];
    let messages = [
        ("topic", bytes(outbox::TOPIC_MAX_BYTES)),
        ("type", bytes(outbox::TYPE_MAX_BYTES)),
        ("source", bytes(outbox::SOURCE_MAX_BYTES)),
        ("headers", bytes(outbox::HEADERS_MAX_BYTES)),
        ("payload, unless it is told otherwise", bytes(outbox::PAYLOAD_MAX_BYTES)),
        (
            "payload that is read along with its row; a larger one is read when it is its turn",
            bytes(outbox::INLINE_MAX_BYTES),
        ),
        ("messages of one call to enqueue", outbox::ENQUEUE_MAX.to_string()),
        ("reason that is kept of a failure", bytes(outbox::REASON_MAX_BYTES)),
        ("parts of an outbox", count(outbox::PARTS_MAX)),
    ];
    let events = [
        ("events of one append", event::EVENTS_MAX.to_string()),
        ("bytes of one append", bytes(event::APPEND_MAX_BYTES)),
        ("events of one page", count(event::PAGE_MAX)),
        ("payload of one page, after which it takes no further event", bytes(event::PAGE_BYTES)),
    ];
    let operators = [
        ("messages of one list", count(outbox::LIST_MAX)),
        ("rows that one search looks at before it says from where to go on", count(outbox::LOOK_MAX)),
        (
            "dead messages that one count, retry or discard looks at before it says from where to go on",
            count(outbox::DEAD_LOOK_MAX),
        ),
        ("dead messages that one call changes", count(outbox::ACT_MAX)),
        ("messages that the bounded numbers of an outbox count", count(outbox::PULSE_MAX)),
        ("causes of dead messages in one list", count(outbox::GRAVES_MAX)),
        ("events put aside that are counted for a subscription", count(subscription::PARKED_COUNT_MAX)),
        ("streams of one list", count(event::STREAMS_MAX)),
        ("events of one story", count(event::STORY_MAX)),
        ("lines of audit in one list", count(observe::AUDIT_LIST_MAX)),
        ("lines of audit that one search looks at", count(observe::AUDIT_LOOK_MAX)),
        ("loops that one process reports", observe::RUNNERS_MAX.to_string()),
        ("names that one label of a metric tells apart", observe::NAMES_MAX.to_string()),
    ];
    let dashboard: Vec<(&str, String)> = tenure_dashboard::bounds()
        .map(|(what, most)| {
            let most = match most {
                Most::Bytes(number) => bytes(number),
                Most::Lasts(span) => format!("{} s", span.as_secs_f64()),
                Most::Count(number) => number.to_string(),
                _ => String::new(),
            };
            (what, most)
        })
        .collect();
    let mut page = String::from(
        "# Limits\n\nEverything that comes from outside has a bound. These are fixed; those that can be set are on the page of \
         [options](options.md).\n",
    );
    for (title, rows) in [
        ("Names", &names[..]),
        ("Messages", &messages),
        ("Events", &events),
        ("What an operator's tools read", &operators),
        ("The dashboard", &dashboard),
    ] {
        let _ = write!(page, "\n## {title}\n\n| | at most |\n|---|---|\n");
        for (what, bound) in rows {
            let _ = writeln!(page, "| {what} | {bound} |");
        }
    }
    page
}
