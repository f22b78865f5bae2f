//! How fast messages go to Kafka: the sink, and beside it the plain producer with the same settings.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use tenure::Verdict;
use tenure::core::contract::Sink as _;
use tenure::core::outbox::{Body, Message, Sequence};
use tenure::core::time::StoreTime;
use tenure_kafka::{KafkaSink, Plain};
use tokio::task::JoinSet;

use super::outbox::measure::{median, round, unless_ended};
use crate::args::{Global, KafkaArgs};
use crate::output::{self, Failure};

/// How many messages a batch has that have no source: what the sink takes at once.
const BATCH: usize = 512;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    /// Messages per second of the sink: the median of the rounds.
    rate: f64,
    /// Messages per second of the plain producer: the median of the rounds.
    plain: f64,
    /// The median of the rounds' own ratios.
    ratio: f64,
    rates: Vec<f64>,
    plains: Vec<f64>,
    messages: u32,
    sources: u32,
    payload: u32,
    concurrency: u32,
    rounds: u32,
}

pub(crate) async fn kafka(global: &Global, args: &KafkaArgs) -> Result<ExitCode, Failure> {
    let report = unless_ended(measure(args)).await?;
    if global.json {
        output::json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(format_args!(
        "kafka sink: {:.0} messages/s, {:.2} of the plain producer's {:.0}/s ({} messages of {} bytes, {} sources, {} rounds)",
        report.rate,
        report.ratio,
        report.plain,
        report.messages,
        report.payload,
        report.sources,
        report.rounds
    ));
    Ok(ExitCode::SUCCESS)
}

async fn measure(args: &KafkaArgs) -> Result<Report, Failure> {
    let wrong = |error: tenure::StoreError| Failure::Usage(error.to_string());
    let sink = Arc::new(KafkaSink::from_url(&args.to, Default::default()).map_err(wrong)?);
    let plain = Arc::new(Plain::beside(&sink).map_err(wrong)?);
    let batches = Arc::new(batches(args));
    let by_sink = async |count| run(args, &sink, None, &batches, count).await;
    let by_hand = async |count| run(args, &sink, Some(&plain), &batches, count).await;
    // Connections, the producers' ids and the topic are had before.
    by_sink(1).await?;
    by_hand(1).await?;
    let (mut rates, mut plains, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..args.rounds {
        // In turns, and each first every other time, so that a slow minute of the machine hits both.
        let (rate, ceiling) = match number % 2 {
            0 => (by_sink(batches.len()).await?, by_hand(batches.len()).await?),
            _ => {
                let ceiling = by_hand(batches.len()).await?;
                (by_sink(batches.len()).await?, ceiling)
            }
        };
        rates.push(round(rate));
        plains.push(round(ceiling));
        ratios.push(rate / ceiling);
    }
    Ok(Report {
        bench: "kafka",
        rate: median(rates.clone()),
        plain: median(plains.clone()),
        ratio: round(median(ratios)),
        rates,
        plains,
        messages: args.messages,
        sources: args.sources,
        payload: args.payload,
        concurrency: args.concurrency,
        rounds: args.rounds,
    })
}

/// Batches as a relay makes them: each of one source, or without any.
fn batches(args: &KafkaArgs) -> Vec<Vec<Message>> {
    let message = |number: u32| Message {
        id: uuid::Uuid::from_u128(u128::from(number)).into(),
        source: (args.sources > 0).then(|| format!("source-{}", number % args.sources)),
        sequence: Sequence::default(),
        topic: "bench".into(),
        kind: "BenchMade".into(),
        body: Body::Text("x".repeat(args.payload as usize)),
        content_type: Some("text/plain".into()),
        headers: BTreeMap::new(),
        created_at: StoreTime::from_micros(1_794_735_000_123_456),
        attempt: 1,
        term: Some(1),
    };
    let mut lanes: BTreeMap<Option<String>, Vec<Message>> = BTreeMap::new();
    for message in (0..args.messages).map(message) {
        lanes.entry(message.source.clone()).or_default().push(message);
    }
    // One source after another waits for nobody: the first batches of all come first.
    let mut batches: Vec<(usize, Vec<Message>)> = Vec::new();
    for lane in lanes.into_values() {
        batches.extend(lane.chunks(BATCH).map(<[Message]>::to_vec).enumerate());
    }
    batches.sort_by_key(|(turn, _)| *turn);
    batches.into_iter().map(|(_, batch)| batch).collect()
}

/// Writes the first `count` batches, by the plain producer if one is given, and returns the messages per second.
async fn run(
    args: &KafkaArgs,
    sink: &Arc<KafkaSink>,
    plain: Option<&Arc<Plain>>,
    batches: &Arc<Vec<Vec<Message>>>,
    count: usize,
) -> Result<f64, Failure> {
    let began = Instant::now();
    let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..args.concurrency {
        let (sink, plain, batches, next) = (sink.clone(), plain.cloned(), batches.clone(), next.clone());
        workers.spawn(async move {
            let mut written = 0;
            loop {
                let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(batch) = batches.get(at).filter(|_| at < count) else { return Ok(written) };
                let done = match &plain {
                    Some(plain) => plain.send(&sink, batch).await,
                    None => {
                        let verdicts = sink.deliver_batch(batch).await;
                        match verdicts.iter().find(|verdict| **verdict != Verdict::Accepted) {
                            Some(other) => return Err(format!("a message was not accepted: {other:?}")),
                            None => verdicts.len(),
                        }
                    }
                };
                if done != batch.len() {
                    return Err(format!("{done} of {} messages were written", batch.len()));
                }
                written += done;
            }
        });
    }
    let mut written = 0;
    while let Some(worker) = workers.join_next().await {
        written +=
            worker.map_err(|error| error.to_string()).and_then(|done| done).map_err(Failure::Failed)?;
    }
    Ok(written as f64 / began.elapsed().as_secs_f64())
}
