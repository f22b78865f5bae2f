//! What enqueueing costs the user's transaction, and what wake-ups cost while the relay is busy.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;
use tenure::{NewMessage, RelaySettings};

use super::measure::{Running, median, no_op, round, unless_ended};
use super::rig::{Producer, Rig, rig};
use super::statements::PAYLOAD;
use crate::args::{EnqueueArgs, Global};
use crate::output::{self, Failure};

/// How long each stretch of one round lasts.
const STRETCH: Duration = Duration::from_secs(2);
/// The bare insert and ours take turns of this length, so that a slow moment of the machine hits both; whoever was last begins the next
/// one, and what one has left behind is not always the other's.
const TURN: Duration = Duration::from_millis(250);

pub(crate) async fn enqueue(global: &Global, args: &EnqueueArgs) -> Result<ExitCode, Failure> {
    let rig = rig(global).await?;
    let measured = unless_ended(measure(&*rig, args)).await;
    let store = rig.store();
    rig.remove().await?;
    let Measured { bare, ours, asleep, awake } = measured?;
    let (ceiling, rate) = (median(bare.clone()), median(ours.clone()));
    let (off, on) = (median(asleep), median(awake));
    // Of times, not of rates: how much longer one enqueue takes.
    let time = round(ceiling / rate);
    if global.json {
        output::json(&json!({
            "bench": "enqueue", "store": store, "rate": rate, "ceiling": ceiling, "ratio": round(rate / ceiling),
            "time_ratio": time, "wakeup_on_rate": on, "wakeup_off_rate": off, "wakeup_ratio": round(on / off),
            "connections": args.connections, "rounds": args.rounds,
        }))?;
    } else {
        output::line(format_args!(
            "enqueue on {store}: {rate:.0}/s on one connection, {time:.2} × the time of a bare insert ({ceiling:.0}/s)"
        ));
        output::line(format_args!(
            "with a busy relay and {} connections: {on:.0}/s with wake-ups, {:.2} of the {off:.0}/s without",
            args.connections,
            on / off
        ));
    }
    Ok(ExitCode::SUCCESS)
}

struct Measured {
    bare: Vec<f64>,
    ours: Vec<f64>,
    asleep: Vec<f64>,
    awake: Vec<f64>,
}

async fn measure(rig: &dyn Rig, args: &EnqueueArgs) -> Result<Measured, Failure> {
    let mut measured = Measured { bare: Vec::new(), ours: Vec::new(), asleep: Vec::new(), awake: Vec::new() };
    for _ in 0..args.rounds {
        let (bare, ours) = one_connection_each(rig).await?;
        measured.bare.push(bare);
        measured.ours.push(ours);
        rig.clear().await?;
        for (wakeup, rates) in [(false, &mut measured.asleep), (true, &mut measured.awake)] {
            let settings = RelaySettings { wakeup, ..RelaySettings::default() };
            let running = Running::start(rig, no_op(), settings).await?;
            rates.push(many_connections(rig, args.connections).await?);
            running.end().await?;
            rig.clear().await?;
        }
    }
    Ok(measured)
}

fn message(n: u64) -> NewMessage {
    NewMessage::json("orders", "OrderPlaced", PAYLOAD).from_source(format!("source-{}", n % 64))
}

/// Bare inserts and ours, per second. In a task, as services do it: who waits outside of one is woken by way of another thread.
async fn one_connection_each(rig: &dyn Rig) -> Result<(f64, f64), Failure> {
    let mut bare = Turns::new(rig.producer().await?, true);
    let mut ours = Turns::new(rig.producer().await?, false);
    let turns = STRETCH.as_millis() / TURN.as_millis();
    let work = tokio::spawn(async move {
        // The first of each prepares statements and is not counted.
        for turn in 0..=turns {
            let pair = if turn % 2 == 0 { [&mut bare, &mut ours] } else { [&mut ours, &mut bare] };
            for one in pair {
                one.turn(turn > 0).await?;
            }
        }
        Ok::<_, Failure>((bare.rate(), ours.rate()))
    });
    work.await.map_err(|error| Failure::Failed(error.to_string()))?
}

/// What one connection does in turns with another one.
struct Turns {
    producer: Box<dyn Producer>,
    bare: bool,
    count: u64,
    lasted: Duration,
}

impl Turns {
    fn new(producer: Box<dyn Producer>, bare: bool) -> Self {
        Self { producer, bare, count: 0, lasted: Duration::ZERO }
    }

    async fn turn(&mut self, counts: bool) -> Result<(), Failure> {
        let (began, mut count) = (Instant::now(), 0);
        while began.elapsed() < TURN {
            match self.bare {
                true => self.producer.bare(&message(count)).await?,
                false => self.producer.enqueue(&message(count)).await?,
            }
            count += 1;
        }
        if counts {
            self.count += count;
            self.lasted += began.elapsed();
        }
        Ok(())
    }

    fn rate(&self) -> f64 {
        round(self.count as f64 / self.lasted.as_secs_f64())
    }
}

async fn many_connections(rig: &dyn Rig, connections: u32) -> Result<f64, Failure> {
    let mut tasks = Vec::new();
    let began = Instant::now();
    for _ in 0..connections {
        let mut producer = rig.producer().await?;
        tasks.push(tokio::spawn(async move {
            let mut count = 0u64;
            while began.elapsed() < STRETCH {
                producer.enqueue(&message(count)).await?;
                count += 1;
            }
            Ok::<_, Failure>(count)
        }));
    }
    let mut total = 0;
    for task in tasks {
        total += task.await.map_err(|error| Failure::Failed(error.to_string()))??;
    }
    Ok(round(total as f64 / began.elapsed().as_secs_f64()))
}
