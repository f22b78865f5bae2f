//! How long it takes from a commit until the receiver has the message.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use nix::sys::signal::Signal;
use serde_json::json;
use tenure::core::contract::Sink;
use tenure::core::outbox::{Message, MessageId};
use tenure::sink::{self, SinkOptions};
use tenure::{NewMessage, RelaySettings, Verdict};

use super::measure::{Running, round, unless_ended};
use super::receiver::Receiver;
use super::rig::{Rig, rig};
use super::statements::PAYLOAD;
use crate::args::{Global, LatencyArgs, LatencyTo};
use crate::bench::contestant::Contestant;
use crate::bench::stats::Spans;
use crate::output::{self, Failure};

/// How long messages are waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// When each message arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrivals(Arc<Mutex<HashMap<MessageId, Instant>>>);

impl Arrivals {
    pub(super) fn note(&self, id: MessageId) {
        let now = Instant::now();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_insert(now);
    }

    fn take(&self) -> HashMap<MessageId, Instant> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[async_trait]
impl Sink for Arrivals {
    fn name(&self) -> &str {
        "arrivals"
    }

    async fn deliver(&self, message: &Message) -> Verdict {
        self.note(message.id);
        Verdict::Accepted
    }
}

pub(crate) async fn latency(global: &Global, args: &LatencyArgs) -> Result<ExitCode, Failure> {
    if args.apart && args.to == LatencyTo::Handler {
        return Err(Failure::Usage("--apart: a relay in another process delivers to --to http only".into()));
    }
    let rig = rig(global).await?;
    let measured = unless_ended(measure(&*rig, args)).await;
    let store = rig.store();
    rig.remove().await?;
    let spans = measured?;
    let to = match (args.to, args.apart) {
        (LatencyTo::Handler, _) => "an in-process handler",
        (LatencyTo::Http, false) => "an HTTP receiver",
        (LatencyTo::Http, true) => "an HTTP receiver, by a relay in another process",
    };
    if global.json {
        output::json(&json!({
            "bench": "latency", "store": store, "to": to, "apart": args.apart, "rate": args.rate, "messages": spans.count,
            "p50_ms": spans.p50, "p99_ms": spans.p99, "max_ms": spans.max,
        }))?;
    } else {
        output::line(format_args!(
            "latency on {store} to {to}, {}/s: p50 {} ms, p99 {} ms, max {} ms ({} messages)",
            args.rate, spans.p50, spans.p99, spans.max, spans.count
        ));
    }
    Ok(ExitCode::SUCCESS)
}

struct Fine {
    count: usize,
    p50: f64,
    p99: f64,
    max: f64,
}

async fn measure(rig: &dyn Rig, args: &LatencyArgs) -> Result<Fine, Failure> {
    let arrivals = Arrivals::default();
    let mut producer = rig.producer().await?;
    let at_work = AtWork::start(rig, args, &arrivals).await?;
    // The first tells that the relay is in office.
    producer.enqueue(&message(0, MessageId::new(uuid(u64::MAX)))).await?;
    until(&arrivals, 1).await;
    let count = u64::from(args.rate) * u64::from(args.seconds);
    let mut committed = HashMap::new();
    // The first second warms caches and connections, and is not counted.
    let warm = u64::from(args.rate);
    let began = Instant::now();
    for n in 0..count + warm {
        let at = began + Duration::from_secs_f64(n as f64 / f64::from(args.rate));
        tokio::time::sleep_until(at.into()).await;
        let id = MessageId::new(uuid(n));
        producer.enqueue(&message(n, id)).await?;
        if n >= warm {
            committed.insert(id, Instant::now());
        }
    }
    until(&arrivals, count + warm + 1).await;
    at_work.end().await?;
    let arrived = arrivals.take();
    // A message may arrive before its producer has heard that the commit was done.
    let micros: Vec<u64> = committed
        .iter()
        .filter_map(|(id, at)| arrived.get(id).map(|arrival| arrival.saturating_duration_since(*at)))
        .map(|span| u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
        .collect();
    if micros.len() != committed.len() {
        return Err(Failure::Failed(format!("{} of {} messages arrived", micros.len(), committed.len())));
    }
    let spans = Spans::of(micros.clone()).ok_or_else(|| Failure::Failed("nothing was measured".into()))?;
    let fine = |share: f64| {
        let mut sorted = micros.clone();
        sorted.sort_unstable();
        let rank = ((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1;
        round(sorted[rank] as f64 / 1000.0)
    };
    Ok(Fine { count: spans.rounds, p50: fine(0.5), p99: fine(0.99), max: spans.max })
}

/// The relay that is measured.
enum AtWork {
    Here(Running),
    Apart(Contestant),
}

impl AtWork {
    async fn start(rig: &dyn Rig, args: &LatencyArgs, arrivals: &Arrivals) -> Result<Self, Failure> {
        let sink: Arc<dyn Sink> = match args.to {
            LatencyTo::Handler => Arc::new(arrivals.clone()),
            LatencyTo::Http => {
                let receiver = Receiver::start(arrivals.clone()).await?;
                if args.apart {
                    let mut relay = Contestant::start_relay_to(&receiver.url(), rig.address())?;
                    relay.until_event("status").await?;
                    return Ok(Self::Apart(relay));
                }
                sink::from_url(&receiver.url(), SinkOptions::default())
                    .map_err(|error| Failure::Failed(error.to_string()))?
            }
        };
        Ok(Self::Here(Running::start(rig, sink, RelaySettings::default()).await?))
    }

    async fn end(self) -> Result<(), Failure> {
        match self {
            Self::Here(running) => running.end().await,
            Self::Apart(relay) => {
                relay.signal(Signal::SIGTERM);
                relay.gone().await;
                Ok(())
            }
        }
    }
}

/// Waits until so many have arrived, or in vain; who counts them finds out.
async fn until(arrivals: &Arrivals, count: u64) {
    let patience = Instant::now();
    while (arrivals.len() as u64) < count && patience.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn message(n: u64, id: MessageId) -> NewMessage {
    NewMessage::json("orders", "OrderPlaced", PAYLOAD).from_source(format!("source-{}", n % 64)).with_id(id)
}

fn uuid(n: u64) -> uuid::Uuid {
    uuid::Uuid::from_u128((u128::from(fastrand::u64(..)) << 64) | u128::from(n))
}
