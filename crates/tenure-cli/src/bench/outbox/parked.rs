//! What a million rows behind one failing source cost the others.

use std::process::ExitCode;

use serde_json::json;

use super::measure::{drain, median, round, unless_ended};
use super::rig::{Rig, rig};
use crate::args::{Global, ParkedArgs};
use crate::output::{self, Failure};

pub(crate) async fn parked(global: &Global, args: &ParkedArgs) -> Result<ExitCode, Failure> {
    let rig = rig(global).await?;
    let measured = unless_ended(measure(&*rig, args)).await;
    let store = rig.store();
    rig.remove().await?;
    let (without, with) = measured?;
    let (ceiling, rate) = (median(without.clone()), median(with.clone()));
    let ratio = round(rate / ceiling);
    if global.json {
        output::json(&json!({
            "bench": "parked", "store": store, "rate": rate, "ceiling": ceiling, "ratio": ratio, "rates": with,
            "ceilings": without, "parked": args.parked, "messages": args.messages, "sources": args.sources,
        }))?;
    } else {
        output::line(format_args!(
            "parked on {store}: {rate:.0} messages/s beside {} parked ones, {ratio:.2} of the {ceiling:.0}/s without",
            args.parked
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(rig: &dyn Rig, args: &ParkedArgs) -> Result<(Vec<f64>, Vec<f64>), Failure> {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        rig.fill(args.messages, args.sources, false).await?;
        rig.settle().await?;
        without.push(round(drain(rig, args.messages).await?));
        rig.clear().await?;
        // The parked ones first: all others stand behind them in the table.
        rig.fill(args.parked, 0, true).await?;
        rig.fill(args.messages, args.sources, false).await?;
        rig.settle().await?;
        with.push(round(drain(rig, args.messages).await?));
        rig.clear().await?;
    }
    Ok((without, with))
}
