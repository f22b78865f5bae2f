//! Drives one Rust contestant through one step of the comparison, and prints one line of JSON.
//!
//! The program that runs the comparison (`../node/run.mjs`) starts this once for each step, so that no contestant shares a
//! process with another one, and a drain does not share one with what filled its queue.

mod args;
mod measure;
mod peers;
mod recorder;
mod stores;

use args::{Args, Step};
use peers::{graphile::Graphile, plain::Plain, river::River, sqlxmq::Sqlxmq, tenure::Tenure};
use stores::postgres_es::PostgresEs;

/// Whatever goes wrong ends the step; the message is for whoever runs the comparison.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::read(std::env::args().skip(1))?;
    match args.peer.as_str() {
        "plain" if args.events => append::<Plain>(&args).await,
        "postgres-es" if args.events => append::<PostgresEs>(&args).await,
        "plain" => run::<Plain>(&args).await,
        "graphile_worker" => run::<Graphile>(&args).await,
        "riverqueue" => run::<River>(&args).await,
        "sqlxmq" => run::<Sqlxmq>(&args).await,
        "tenure" => run::<Tenure>(&args).await,
        other => Err(format!("there is no contestant called {other} for this").into()),
    }
}

async fn run<P: peers::Peer>(args: &Args) -> Result<()> {
    let answer = match args.step {
        Step::Setup => {
            P::setup(args).await?;
            serde_json::json!({})
        }
        Step::Fill => {
            P::fill(args).await?;
            serde_json::json!({ "filled": args.jobs })
        }
        Step::Drain => measure::drain::<P>(args).await?,
        Step::Enqueue => measure::enqueue::<P>(args).await?,
        Step::Latency => measure::latency::<P>(args).await?,
        Step::Append => return Err("it is no event store".into()),
    };
    println!("{answer}");
    Ok(())
}

async fn append<S: stores::Store>(args: &Args) -> Result<()> {
    let answer = match args.step {
        Step::Setup => {
            S::setup(args).await?;
            serde_json::json!({})
        }
        Step::Append => measure::append::<S>(args).await?,
        _ => return Err("an event store only appends".into()),
    };
    println!("{answer}");
    Ok(())
}
