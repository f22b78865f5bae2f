//! The trace of a message, continued: a span goes on from where the message came from, and what is sent on goes on from the
//! span. Without the feature `otlp` the context is sent on as it stands.

#[cfg(feature = "otlp")]
pub(crate) use self::continued::{carry, continued, follow, within};
#[cfg(not(feature = "otlp"))]
pub(crate) use self::passed_on::{carry, continued, follow, within};

#[cfg(feature = "otlp")]
mod continued {
    use std::collections::BTreeMap;

    use opentelemetry::Context;
    use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
    use tenure_core::observe::{TRACEPARENT, TRACESTATE, TraceContext, trace_headers};
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    /// Makes the span a child of what these headers name, if they name anything; whether they do.
    pub(crate) fn follow(span: &Span, headers: &BTreeMap<String, String>) -> bool {
        let (mut parent, mut state) = (None, TraceState::NONE);
        for (name, text) in trace_headers(headers) {
            match name {
                TRACEPARENT => parent = TraceContext::parse(text),
                // A state that is none costs the state, not the trace.
                _ => state = text.parse().unwrap_or_default(),
            }
        }
        let Some(TraceContext { trace_id, parent_id, flags }) = parent else { return false };
        let flags = TraceFlags::new(flags) & TraceFlags::SAMPLED;
        let (trace, parent) = (TraceId::from_bytes(trace_id), SpanId::from_bytes(parent_id));
        let remote = SpanContext::new(trace, parent, flags, true, state);
        span.set_parent(Context::new().with_remote_span_context(remote)).is_ok()
    }

    /// Says in a span that it happened in another, of which it is no child.
    pub(crate) fn within(span: &Span, other: &Span) {
        span.add_link(other.context().span().span_context().clone());
    }

    /// Puts the span's own context into headers that are sent on. A span that nobody records changes nothing.
    pub(crate) fn carry(span: &Span, headers: &mut BTreeMap<String, String>) {
        let context = span.context();
        let here = context.span().span_context().clone();
        if !here.is_valid() {
            return;
        }
        let (trace_id, parent_id) = (here.trace_id().to_bytes(), here.span_id().to_bytes());
        let parent = TraceContext { trace_id, parent_id, flags: here.trace_flags().to_u8() };
        headers.insert(TRACEPARENT.to_owned(), parent.to_string());
        match here.trace_state().header() {
            state if state.is_empty() => headers.remove(TRACESTATE),
            state => headers.insert(TRACESTATE.to_owned(), state),
        };
    }

    /// What a span hands on that was given this trace: its own place in it; none when nobody records it. A trace that is not
    /// the one of the span around goes first.
    pub(crate) fn continued(span: &Span, given: &[(String, String)]) -> Vec<(String, String)> {
        let (given, mut around): (BTreeMap<_, _>, _) = (given.iter().cloned().collect(), BTreeMap::new());
        carry(&Span::current(), &mut around);
        if trace_id(&given) != trace_id(&around) {
            follow(span, &given);
        }
        let mut headers = BTreeMap::new();
        carry(span, &mut headers);
        headers.into_iter().collect()
    }

    fn trace_id(headers: &BTreeMap<String, String>) -> Option<[u8; 16]> {
        headers.get(TRACEPARENT).and_then(|text| TraceContext::parse(text)).map(|context| context.trace_id)
    }
}

#[cfg(not(feature = "otlp"))]
mod passed_on {
    use std::collections::BTreeMap;

    use tracing::Span;

    pub(crate) fn follow(_: &Span, _: &BTreeMap<String, String>) -> bool {
        false
    }

    pub(crate) fn within(_: &Span, _: &Span) {}

    pub(crate) fn carry(_: &Span, _: &mut BTreeMap<String, String>) {}

    pub(crate) fn continued(_: &Span, _: &[(String, String)]) -> Vec<(String, String)> {
        Vec::new()
    }
}
