//! How long an aggregate takes to load: one of many events with a snapshot, against one of few events.

use std::process::ExitCode;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure::entity::{Aggregate, Rejection};
use tenure::event::{Append, Expected, NewEvent, StreamName, encode};
use tenure::{Aggregates, Events};

use crate::args::{Global, LoadArgs};
use crate::bench::outbox::measure::{median, round, unless_ended};
use crate::bench::outbox::rig::{Rig, rig};
use crate::output::{self, Failure};

/// How many events the small one has.
const FEW: u32 = 100;
/// How many events one append writes while the aggregates are made.
const AT_ONCE: u32 = 500;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Counter {
    sum: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Count {
    Added { amount: i64, note: String },
}

impl Aggregate for Counter {
    const KIND: &'static str = "counter";
    type Command = Count;
    type Event = Count;

    fn handle(&self, command: Count) -> Result<Vec<Count>, Rejection> {
        Ok(vec![command])
    }

    fn apply(&mut self, Count::Added { amount, .. }: &Count) {
        self.sum += amount;
    }

    fn to_snapshot(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    fn from_snapshot(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

pub(crate) async fn load(global: &Global, args: &LoadArgs) -> Result<ExitCode, Failure> {
    let rig = rig(global).await?;
    let measured = unless_ended(measure(&*rig, args)).await;
    let store = rig.store();
    rig.remove().await?;
    let (large, small) = measured?;
    let ratio = round(large / small);
    if global.json {
        output::json(&json!({
            "bench": "load", "store": store, "large_ms": round(large), "small_ms": round(small), "ratio": ratio,
            "events": args.events, "small_events": FEW, "rounds": args.rounds,
        }))?;
    } else {
        output::line(format_args!(
            "load on {store}: {large:.2} ms for {} events with a snapshot, {ratio} × the {small:.2} ms for {FEW} events",
            args.events
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(rig: &dyn Rig, args: &LoadArgs) -> Result<(f64, f64), Failure> {
    let events = Events::new(rig.database().events());
    // A snapshot is kept as the aggregate grows: the last command of each is told as users tell it.
    make(&events, "large", args.events).await?;
    make(&events, "small", FEW - 2).await?;
    let counters = Aggregates::<Counter>::new(events.clone())?;
    let failed = |error: tenure::TellError| Failure::Failed(error.to_string());
    let count = Count::Added { amount: 1, note: "the last".into() };
    for id in ["large", "small"] {
        for _ in 0..if id == "large" { 100 } else { 1 } {
            let _ = counters.tell(id, count.clone()).await.map_err(failed)?;
        }
    }
    let (mut large, mut small) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        for (id, times) in [("large", &mut large), ("small", &mut small)] {
            // One that knows nothing.
            let fresh = Aggregates::<Counter>::new(events.clone())?;
            let began = Instant::now();
            fresh.state(id).await.map_err(failed)?;
            times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
    }
    Ok((median(large), median(small)))
}

async fn make(events: &Events, id: &str, count: u32) -> Result<(), Failure> {
    let wrong = |error: String| Failure::Failed(error);
    let added = Count::Added { amount: 1, note: "as an order would be, with a few words".into() };
    let encoded = encode(&added).map_err(|error| wrong(error.to_string()))?;
    let mut left = count;
    while left > 0 {
        let some = left.min(AT_ONCE);
        let new = || NewEvent::json(tenure::new_id(), &encoded.kind, &encoded.payload);
        let stream = StreamName::of(Counter::KIND, id)?;
        let append = Append::new(stream, Expected::Any, (0..some).map(|_| new()).collect());
        let _ = events.append(&append).await.map_err(|error| wrong(error.to_string()))?;
        left -= some;
    }
    Ok(())
}
