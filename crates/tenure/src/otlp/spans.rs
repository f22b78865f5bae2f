//! Spans on their way to the collector: a queue with a bound, emptied in batches.

use std::time::Duration;

use hyper::body::Bytes;
use opentelemetry::Context;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use prost::Message as _;
use tenure_core::observe::METER;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::OtlpOptions;
use super::post::Post;
use crate::stop::Stop;

/// How often a batch is tried that may be taken later, and the first pause, which doubles.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// Takes spans that have ended. Never waits: what finds no room is dropped, and counted.
#[derive(Debug)]
pub(super) struct Queue {
    spans: mpsc::Sender<SpanData>,
}

impl Queue {
    pub(super) fn new(spans: mpsc::Sender<SpanData>) -> Self {
        Self { spans }
    }
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.spans.try_send(span).is_err() {
            dropped(1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

fn dropped(spans: usize) {
    METER.telemetry_dropped.add(0, spans as u64);
}

/// Sends what is in the queue.
pub(super) struct Sender {
    spans: mpsc::Receiver<SpanData>,
    post: Post,
    resource: ResourceAttributesWithSchema,
    batch: usize,
    delay: Duration,
    stop: Stop,
}

impl Sender {
    pub(super) fn new(
        spans: mpsc::Receiver<SpanData>,
        post: Post,
        resource: &Resource,
        options: &OtlpOptions,
        stop: Stop,
    ) -> Self {
        let resource = ResourceAttributesWithSchema::from(resource);
        Self { spans, post, resource, batch: options.batch, delay: options.delay, stop }
    }

    /// Until the signal is given and the queue is empty, or nobody can put anything into it.
    pub(super) async fn run(mut self) {
        loop {
            let batch = self.gather().await;
            let (count, ending) = (batch.len(), self.stop.is_stopped());
            if count > 0 && !self.send(batch).await {
                dropped(count);
                if ending {
                    // What a collector does not take at the end, it is not offered in small pieces.
                    let mut rest = 0;
                    while self.spans.try_recv().is_ok() {
                        rest += 1;
                    }
                    return dropped(rest);
                }
            }
            if count == 0 && (ending || self.spans.is_closed()) {
                return;
            }
        }
    }

    /// A full batch, or what has come within the delay; at the end what there is.
    async fn gather(&mut self) -> Vec<SpanData> {
        let mut batch = Vec::new();
        let until = Instant::now() + self.delay;
        while batch.len() < self.batch && !self.stop.is_stopped() {
            let room = self.batch - batch.len();
            tokio::select! {
                biased;
                taken = self.spans.recv_many(&mut batch, room) => {
                    if taken == 0 {
                        return batch;
                    }
                }
                () = self.stop.stopped() => {}
                () = tokio::time::sleep_until(until) => return batch,
            }
        }
        while batch.len() < self.batch
            && let Ok(span) = self.spans.try_recv()
        {
            batch.push(span);
        }
        batch
    }

    /// Whether the collector has taken them.
    async fn send(&self, batch: Vec<SpanData>) -> bool {
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let body = Bytes::from(ExportTraceServiceRequest { resource_spans }.encode_to_vec());
        let mut pause = PAUSE;
        for attempt in 1..=TRIES {
            match self.post.send(body.clone()).await {
                Ok(()) => return true,
                Err(not) if !not.again || attempt == TRIES || self.stop.is_stopped() => return false,
                Err(_) => {}
            }
            tokio::select! {
                () = self.stop.stopped() => {}
                () = tokio::time::sleep(pause) => {}
            }
            pause *= 2;
        }
        false
    }
}
