//! How fast events and dispatches are appended, against the same rows inserted by hand.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;
use tenure::event::{Append, AppendAnswer, Expected, NewEvent, StreamName, Version};
use tenure::{Events, NewMessage};

use crate::args::{AppendArgs, Global};
use crate::bench::outbox::measure::{median, round, unless_ended};
use crate::bench::outbox::rig::{Appends, Rig, rig};
use crate::bench::outbox::statements::PAYLOAD;
use crate::output::{self, Failure};

/// How many events each stream gets before its writer begins another.
const EVENTS_EACH: i64 = 10;

pub(crate) async fn append(global: &Global, args: &AppendArgs) -> Result<ExitCode, Failure> {
    let rig = rig(global).await?;
    let measured = unless_ended(measure(&*rig, args)).await;
    let store = rig.store();
    rig.remove().await?;
    let (rates, ceilings) = measured?;
    let (rate, ceiling) = (median(rates.clone()), median(ceilings.clone()));
    let ratio = round(rate / ceiling);
    if global.json {
        output::json(&json!({
            "bench": "append", "store": store, "rate": round(rate), "ceiling": round(ceiling), "ratio": ratio,
            "rates": rates.iter().copied().map(round).collect::<Vec<_>>(),
            "ceilings": ceilings.iter().copied().map(round).collect::<Vec<_>>(),
            "writers": args.writers, "events_only": args.events_only, "kept": args.kept, "seconds": args.seconds, "rounds": args.rounds,
        }))?;
    } else {
        let what = if args.events_only { "one event" } else { "one event and one dispatch" };
        output::line(format_args!(
            "append on {store}: {rate:.0}/s by {} writers, {what} each, {ratio} of the {ceiling:.0}/s by hand",
            args.writers
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(rig: &dyn Rig, args: &AppendArgs) -> Result<(Vec<f64>, Vec<f64>), Failure> {
    if args.kept > 0 {
        rig.fill_events(args.kept).await?;
    }
    let lasts = Duration::from_secs(args.seconds.into());
    let appends = Appends { writers: args.writers, events_only: args.events_only, lasts };
    let warm = Appends { lasts: lasts / 4, ..appends };
    let (mut rates, mut ceilings) = (Vec::new(), Vec::new());
    // The first of each warms connections and caches, and is not counted.
    let _ = (rig.by_hand(warm).await?, ours(rig, warm).await?);
    for _ in 0..args.rounds {
        ceilings.push(rig.by_hand(appends).await?);
        rates.push(ours(rig, appends).await?);
    }
    Ok((rates, ceilings))
}

/// Appends per second, each writer to streams of its own.
async fn ours(rig: &dyn Rig, appends: Appends) -> Result<f64, Failure> {
    let events = Events::new(rig.database().events()).with_outbox();
    let (began, run) = (Instant::now(), fastrand::u32(..));
    let mut tasks = Vec::new();
    for writer in 0..appends.writers {
        let events = events.clone();
        tasks.push(tokio::spawn(async move {
            let mut count = 0i64;
            while began.elapsed() < appends.lasts {
                let stream = StreamName::new(format!("ours-{run:08x}-{writer}-{}", count / EVENTS_EACH))?;
                let before = Version(count % EVENTS_EACH);
                let event = NewEvent::json(tenure::new_id(), "OrderPlaced", PAYLOAD);
                let dispatch = (!appends.events_only).then(|| {
                    NewMessage::json("orders", "ShipOrder", PAYLOAD).from_version(
                        stream.as_str(),
                        before.0 + 1,
                        0,
                    )
                });
                let append = Append::new(stream, Expected::Exact(before), vec![event])
                    .with_dispatches(dispatch.into_iter().collect());
                match events.append(&append).await {
                    Ok(AppendAnswer::Appended(_)) => count += 1,
                    Ok(other) => return Err(Failure::Failed(format!("an append was not done: {other:?}"))),
                    Err(error) => return Err(Failure::Failed(error.to_string())),
                }
            }
            Ok::<_, Failure>(count)
        }));
    }
    let mut total = 0;
    for task in tasks {
        total += task.await.map_err(|error| Failure::Failed(error.to_string()))??;
    }
    Ok(total as f64 / began.elapsed().as_secs_f64())
}
