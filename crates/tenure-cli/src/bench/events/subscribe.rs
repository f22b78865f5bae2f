//! How long it takes from a commit until a subscription's handler starts.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tenure::event::{Append, Expected, NewEvent, StreamName};
use tenure::{Events, LeaseSettings, Leases, Stop, Subscription, SubscriptionSettings, handler, local_node};

use crate::args::{Global, SubscribeArgs};
use crate::bench::outbox::measure::{round, unless_ended};
use crate::bench::outbox::rig::{Rig, rig};
use crate::bench::outbox::statements::PAYLOAD;
use crate::output::{self, Failure};

type Arrivals = Arc<Mutex<HashMap<uuid::Uuid, Instant>>>;

pub(crate) async fn subscribe(global: &Global, args: &SubscribeArgs) -> Result<ExitCode, Failure> {
    let rig = rig(global).await?;
    let measured = unless_ended(measure(&*rig, args)).await;
    let store = rig.store();
    rig.remove().await?;
    let mut micros = measured?;
    micros.sort_unstable();
    let at = |share: f64| {
        let rank = ((share * micros.len() as f64).ceil() as usize).clamp(1, micros.len().max(1)) - 1;
        round(micros.get(rank).copied().unwrap_or(0) as f64 / 1000.0)
    };
    let (p50, p99, max) = (at(0.5), at(0.99), at(1.0));
    if global.json {
        output::json(&json!({
            "bench": "subscribe", "store": store, "rate": args.rate, "events": micros.len(),
            "p50_ms": p50, "p99_ms": p99, "max_ms": max,
        }))?;
    } else {
        output::line(format_args!(
            "subscription on {store}, {}/s: p50 {p50} ms, p99 {p99} ms, max {max} ms ({} events)",
            args.rate,
            micros.len()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(rig: &dyn Rig, args: &SubscribeArgs) -> Result<Vec<u64>, Failure> {
    let events = Events::new(rig.database().events());
    let arrivals = Arrivals::default();
    let noted = arrivals.clone();
    let notes = handler(move |event| {
        let now = Instant::now();
        noted.lock().unwrap_or_else(PoisonError::into_inner).insert(event.id, now);
        Box::pin(async { Ok(()) })
    });
    let leases = Leases::new(rig.database().leases(), local_node(Some("bench"))?);
    let wrong = |error: tenure::SubscriptionError| Failure::Failed(error.to_string());
    let checkpoints = rig.database().checkpoints();
    let subscription =
        Subscription::new("bench", events.clone(), checkpoints, notes, SubscriptionSettings::default())
            .map_err(wrong)?
            .exclusive(leases.lease("subscription/bench", LeaseSettings::default())?);
    let stop = Stop::new();
    let until = stop.clone();
    let work = tokio::spawn(async move { subscription.run(&until).await });
    let committed = produce(&events, args).await?;
    let patience = Instant::now();
    let count = |arrivals: &Arrivals| arrivals.lock().unwrap_or_else(PoisonError::into_inner).len();
    while count(&arrivals) < committed.len() && patience.elapsed() < Duration::from_secs(30) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stop.stop();
    work.await.map_err(|error| Failure::Failed(error.to_string()))?.map_err(wrong)?;
    let arrived = std::mem::take(&mut *arrivals.lock().unwrap_or_else(PoisonError::into_inner));
    // The first second warms caches and connections, and is not counted.
    let warm = args.rate as usize;
    let spans = committed.iter().skip(warm).filter_map(|(id, at)| {
        // It may be handled before the writer has heard that the commit was done.
        let span = arrived.get(id)?.saturating_duration_since(*at);
        Some(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    });
    let micros: Vec<_> = spans.collect();
    if micros.len() + warm != committed.len() {
        return Err(Failure::Failed(format!(
            "{} of {} events arrived",
            micros.len() + warm,
            committed.len()
        )));
    }
    Ok(micros)
}

async fn produce(events: &Events, args: &SubscribeArgs) -> Result<Vec<(uuid::Uuid, Instant)>, Failure> {
    let count = u64::from(args.rate) * (u64::from(args.seconds) + 1);
    let (began, mut committed) = (Instant::now(), Vec::new());
    for n in 0..count {
        let at = began + Duration::from_secs_f64(n as f64 / f64::from(args.rate));
        tokio::time::sleep_until(at.into()).await;
        let event = NewEvent::json(tenure::new_id(), "OrderPlaced", PAYLOAD);
        let id = event.id;
        let append = Append::new(StreamName::of("order", &(n % 64).to_string())?, Expected::Any, vec![event]);
        let _ = events.append(&append).await.map_err(|error| Failure::Failed(error.to_string()))?;
        committed.push((id, Instant::now()));
    }
    Ok(committed)
}
