//! Which trace a message belongs to: the W3C trace context, and the names of our own spans.
//!
//! A context is stored with a message and goes out with it. What is none is not sent on: a receiver's tracing should not
//! have to cope with it, and the message is delivered all the same.

use std::collections::BTreeMap;
use std::fmt;

/// The header of the context.
pub const TRACEPARENT: &str = "traceparent";
/// The header of what vendors add to it.
pub const TRACESTATE: &str = "tracestate";
/// The longest `tracestate` that is sent on; the standard asks for at least this.
const TRACESTATE_MAX_BYTES: usize = 512;

/// Every span, and its fields. Fields hold ids and kinds, never a payload.
pub const SPANS: &[(&str, &str)] = &[
    ("tenure.outbox.dispatch", "one attempt to deliver a message: id, type, attempt, term, outcome"),
    (
        "tenure.outbox.dispatch_batch",
        "one batch of messages: count; each has a dispatch span of its own in it",
    ),
    (
        "tenure.outbox.enqueue",
        "messages on their way into a transaction of a database: count, and the id of one that is alone",
    ),
    ("tenure.outbox.record", "outcomes on their way to the store: count"),
    ("tenure.outbox.sweep", "one step of retention"),
    ("tenure.lease.acquire", "a claim of a lease: lease, answer"),
    ("tenure.lease.renew", "a renewal: lease, term, number"),
    ("tenure.lease.release", "a lease is given back: lease, term"),
    ("tenure.election.term", "a time in which this node leads: term"),
    ("tenure.daemon.run", "a daemon from its start to its end on this node: daemon, generation"),
    ("tenure.events.append", "an append to a stream: count, answer"),
    ("tenure.entity.tell", "a command to an aggregate or a process: stream, reply"),
    ("tenure.entity.load", "an entity is made from its snapshot and events: stream, version"),
    ("tenure.entity.decide", "an entity decides on a command; once more after each conflict: events"),
    ("tenure.dashboard.request", "a request to the dashboard: route, request"),
    ("tenure.subscription.handle", "the handling of an event: subscription, position, type"),
];

/// A position in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// Which trace.
    pub trace_id: [u8; 16],
    /// The span from which it goes on.
    pub parent_id: [u8; 8],
    /// Whether it is sampled, and what else the sender says.
    pub flags: u8,
}

impl TraceContext {
    /// Reads a `traceparent` as the standard has it: lower-case hex, no id of zeros, not version `ff`. Of a version that is
    /// not known yet, what version `00` has.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() < 55 || [2, 35, 52].iter().any(|at| bytes[*at] != b'-') {
            return None;
        }
        let version: [u8; 1] = hex(&bytes[..2])?;
        let later = version[0] > 0 && version[0] < 0xff && bytes.get(55).is_none_or(|b| *b == b'-');
        if !(later || version[0] == 0 && bytes.len() == 55) {
            return None;
        }
        let context = Self {
            trace_id: hex(&bytes[3..35])?,
            parent_id: hex(&bytes[36..52])?,
            flags: hex::<1>(&bytes[53..55])?[0],
        };
        (context.trace_id != [0; 16] && context.parent_id != [0; 8]).then_some(context)
    }

    /// The same trace, gone on from another span.
    #[must_use]
    pub const fn child(self, span: [u8; 8]) -> Self {
        Self { parent_id: span, ..self }
    }

    /// Whether the sender keeps it.
    pub const fn is_sampled(self) -> bool {
        self.flags & 1 == 1
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("00-")?;
        self.trace_id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("-")?;
        self.parent_id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "-{:02x}", self.flags)
    }
}

/// The headers of a trace among a message's, as they may be sent on: none when `traceparent` is not one, and no
/// `tracestate` that cannot be a header.
pub fn trace_headers(headers: &BTreeMap<String, String>) -> impl Iterator<Item = (&'static str, &str)> {
    let parent = headers.get(TRACEPARENT).filter(|text| TraceContext::parse(text).is_some());
    let plain = |text: &&String| {
        !text.is_empty()
            && text.len() <= TRACESTATE_MAX_BYTES
            && text.bytes().all(|b| matches!(b, b' '..=b'~'))
    };
    let state = parent.and_then(|_| headers.get(TRACESTATE)).filter(plain);
    let parent = parent.map(|text| (TRACEPARENT, text.as_str()));
    parent.into_iter().chain(state.map(|text| (TRACESTATE, text.as_str())))
}

fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_context_is_read_and_written_as_it_was() {
        let context = TraceContext::parse(GOOD).unwrap();
        assert_eq!(context.to_string(), GOOD);
        assert!(context.is_sampled());
        assert_eq!(context.child([1; 8]).trace_id, context.trace_id);
        let later = format!("01{}-more", &GOOD[2..]);
        assert_eq!(
            TraceContext::parse(&later),
            Some(context),
            "a later version is read as far as it is known"
        );
    }

    #[test]
    fn what_is_no_context_is_not_read() {
        let zeros = |from: usize, to: usize| {
            let mut text = GOOD.to_owned();
            text.replace_range(from..to, &"0".repeat(to - from));
            text
        };
        for wrong in [
            String::new(),
            "00".into(),
            GOOD.to_uppercase(),
            format!("ff{}", &GOOD[2..]),
            format!("{GOOD}-more"),
            format!("{GOOD} "),
            format!("01{}x", &GOOD[2..]),
            GOOD.replace('-', "_"),
            GOOD.replace("4bf9", "4bg9"),
            zeros(3, 35),
            zeros(36, 52),
            "é".repeat(40),
            "\n".repeat(55),
        ] {
            assert_eq!(TraceContext::parse(&wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn only_a_context_that_is_one_is_sent_on() {
        let headers = |parent: &str, state: &str| {
            let headers = [(TRACEPARENT, parent), (TRACESTATE, state), ("other", "x")];
            let headers: BTreeMap<_, _> =
                headers.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
            trace_headers(&headers).map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>()
        };
        assert_eq!(headers(GOOD, "a=1"), [format!("traceparent={GOOD}"), "tracestate=a=1".to_owned()]);
        assert_eq!(headers(GOOD, "a=\n1"), [format!("traceparent={GOOD}")]);
        assert_eq!(headers(GOOD, &"a".repeat(513)), [format!("traceparent={GOOD}")]);
        assert!(headers("nonsense", "a=1").is_empty());
    }
}
