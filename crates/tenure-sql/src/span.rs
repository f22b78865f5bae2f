//! Messages on their way into a transaction: one span and one count for every database, whatever driver it takes.

use std::future::Future;

use tenure_core::observe::METER;
use tenure_core::outbox::Enqueued;
use tracing::{Instrument, Span, field};

/// Awaits `work`, which puts `count` messages into a transaction, as the span `tenure.outbox.enqueue`, and counts them once
/// they are in it. For stores: whoever enqueues has it done by them.
pub async fn enqueueing<T: AsRef<[Enqueued]>, E>(
    count: usize,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let span = span(count);
    let enqueued = work.instrument(span.clone()).await;
    told(&span, enqueued)
}

/// The same for a driver that does not await.
pub fn enqueueing_now<T: AsRef<[Enqueued]>, E>(
    count: usize,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let span = span(count);
    let enqueued = span.in_scope(work);
    told(&span, enqueued)
}

fn span(count: usize) -> Span {
    tracing::debug_span!("tenure.outbox.enqueue", count, id = field::Empty)
}

fn told<T: AsRef<[Enqueued]>, E>(span: &Span, enqueued: Result<T, E>) -> Result<T, E> {
    if let Ok(enqueued) = &enqueued {
        let enqueued = enqueued.as_ref();
        METER.outbox_enqueued.add(0, enqueued.len() as u64);
        if let [one] = enqueued
            && !span.is_disabled()
        {
            span.record("id", field::display(one.id));
        }
    }
    enqueued
}
