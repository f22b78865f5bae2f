//! The measurements, the same for every contestant.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::args::Args;
use crate::peers::{Peer, Producer, Worker};
use crate::stores::{Store, Writer};
use crate::{Result, recorder};

/// How long a job of the latency may be under way before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long appending is warmed up before it counts.
const WARM: Duration = Duration::from_secs(1);

/// How many events each stream gets before its writer begins another.
const EVENTS_EACH: u64 = 10;

/// Works off the backlog: from the start of the worker until the database knows that each job is finished.
pub(crate) async fn drain<P: Peer>(args: &Args) -> Result<Value> {
    let mut watch = PgConnection::connect(&args.url).await?;
    let began = Instant::now();
    let worker = P::start(args).await?;
    while recorder::count() < args.jobs && began.elapsed() < args.limit {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let handled = recorder::count();
    let mut seconds = began.elapsed().as_secs_f64();
    let finished = handled >= args.jobs;
    // The last handlers have run; the worker has yet to say so to the database.
    while finished && any_left(&mut watch, &args.left).await? {
        if began.elapsed() > args.limit + PATIENCE {
            return Err("every handler ran, but not every job was recorded as finished".into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    if finished {
        seconds = began.elapsed().as_secs_f64();
    }
    worker.stop().await?;
    Ok(json!({ "handled": handled, "seconds": seconds, "finished": finished }))
}

async fn any_left(watch: &mut PgConnection, left: &str) -> Result<bool> {
    // `left` is written in the program that runs the comparison.
    let sql = AssertSqlSafe(format!("SELECT EXISTS (SELECT FROM {left})"));
    Ok(sqlx::query_scalar(sql).fetch_one(watch).await?)
}

/// A business row and a job in one transaction, on many connections at once.
pub(crate) async fn enqueue<P: Peer>(args: &Args) -> Result<Value> {
    let mut producers = Vec::new();
    for _ in 0..args.connections {
        let mut producer = P::producer(args).await?;
        // The first one prepares the statements.
        producer.send(0, true).await?;
        producers.push(producer);
    }
    let (began, lasts) = (Instant::now(), args.lasts);
    let mut tasks = Vec::new();
    for mut producer in producers {
        tasks.push(tokio::spawn(async move {
            let mut count = 0u64;
            while began.elapsed() < lasts {
                producer.send(count, true).await?;
                count += 1;
            }
            Result::Ok(count)
        }));
    }
    let mut count = 0;
    for task in tasks {
        count += task.await??;
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok(json!({ "sent": count, "warm": args.connections, "seconds": seconds }))
}

/// From the producer hearing of its commit to the start of the handler, in one process and so on one clock.
pub(crate) async fn latency<P: Peer>(args: &Args) -> Result<Value> {
    let worker = P::start(args).await?;
    let mut producer = P::producer(args).await?;
    // The first second warms caches and connections, and is not counted.
    let warm = u64::from(args.per_second);
    let count = warm + (args.lasts.as_secs_f64() * f64::from(args.per_second)) as u64;
    let mut commits = Vec::new();
    let began = Instant::now();
    for order in 0..count {
        let at = began + Duration::from_secs_f64(order as f64 / f64::from(args.per_second));
        tokio::time::sleep_until(at.into()).await;
        producer.send(order, false).await?;
        commits.push(recorder::now());
    }
    let sent = Instant::now();
    while recorder::count() < count && sent.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let orders = (warm..count).zip(commits.into_iter().skip(usize::try_from(warm)?));
    // A handler may start before the producer has heard that its commit is done.
    let spans = orders.filter_map(|(order, commit)| Some(recorder::start_of(order)?.saturating_sub(commit)));
    let mut nanos: Vec<u64> = spans.collect();
    nanos.sort_unstable();
    worker.stop().await?;
    let rank = |share: f64| ((share * nanos.len() as f64).ceil() as usize).saturating_sub(1);
    let millis = |share| nanos.get(rank(share)).map(|nanos| *nanos as f64 / 1e6);
    Ok(json!({ "sent": count - warm, "arrived": nanos.len(), "p50_ms": millis(0.5), "p99_ms": millis(0.99) }))
}

/// One event after the other by many writers at once, each to streams of its own.
pub(crate) async fn append<S: Store>(args: &Args) -> Result<Value> {
    let mut writers: Vec<_> = S::writers(args).await?.into_iter().map(|writer| (writer, 0)).collect();
    let (warm, _) = append_for(&mut writers, WARM).await?;
    let (appended, seconds) = append_for(&mut writers, args.lasts).await?;
    Ok(json!({ "appended": appended, "warm": warm, "seconds": seconds }))
}

/// Lets the writers, each with what it has appended so far, append for so long: how many events, and in how many seconds.
async fn append_for<W: Writer>(writers: &mut Vec<(W, u64)>, lasts: Duration) -> Result<(u64, f64)> {
    let (mut tasks, began) = (Vec::new(), Instant::now());
    for (at, (mut writer, before)) in writers.drain(..).enumerate() {
        tasks.push(tokio::spawn(async move {
            let mut count = before;
            while began.elapsed() < lasts {
                let stream = format!("order-{at}-{}", count / EVENTS_EACH);
                writer.append(&stream, u32::try_from(count % EVENTS_EACH)? + 1, count).await?;
                count += 1;
            }
            Result::Ok((writer, before, count))
        }));
    }
    let mut appended = 0;
    for task in tasks {
        let (writer, before, count) = task.await??;
        appended += count - before;
        writers.push((writer, count));
    }
    Ok((appended, began.elapsed().as_secs_f64()))
}
