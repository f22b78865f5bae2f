//! How fast one relay drains a backlog to a sink that does nothing.

use std::process::ExitCode;

use serde::Serialize;
use tenure::telemetry::METER;

use super::measure::{drain as drain_once, median, peak_kib, round, unless_ended};
use super::rig::{Rig, rig};
use crate::args::{DrainArgs, Global, Telemetry};
use crate::output::{self, Failure};

/// The batches that the plain loop is tried with: it is to be as fast as it can.
const BATCHES: [u32; 3] = [256, 512, 1024];

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    store: &'static str,
    /// Rows per second of the relay: the median of the rounds.
    rate: f64,
    /// Rows per second of the plain loop at its best batch: the median of the rounds.
    ceiling: f64,
    ratio: f64,
    rates: Vec<f64>,
    ceilings: Vec<f64>,
    messages: u64,
    sources: u32,
    kept: u64,
    rounds: u32,
    /// Whether spans and metrics were sent.
    telemetry: &'static str,
    /// Spans for which there was no room on their way to the collector.
    spans_dropped: u64,
    log_bytes_per_enqueue: Option<f64>,
    log_bytes_per_delivery: Option<f64>,
    resident_kib: Option<u64>,
}

pub(crate) async fn drain(global: &Global, args: &DrainArgs) -> Result<ExitCode, Failure> {
    let rig = rig(global).await?;
    let measured = unless_ended(measure(&*rig, args)).await;
    rig.remove().await?;
    let report = measured?;
    if global.json {
        output::json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(format_args!(
        "drain on {}: {:.0} messages/s, {:.2} of the plain loop's {:.0}/s ({} messages, {} sources, {} kept, {} rounds)",
        report.store,
        report.rate,
        report.ratio,
        report.ceiling,
        report.messages,
        report.sources,
        report.kept,
        report.rounds
    ));
    if let (Some(enqueue), Some(delivery)) = (report.log_bytes_per_enqueue, report.log_bytes_per_delivery) {
        output::line(format_args!("log: {enqueue:.0} bytes per enqueue, {delivery:.0} per delivery"));
    }
    if args.telemetry == Telemetry::On {
        output::line(format_args!("telemetry: on, {} spans dropped for want of room", report.spans_dropped));
    }
    if let Some(kib) = report.resident_kib {
        output::line(format_args!("memory: {} KiB at most", kib));
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(rig: &dyn Rig, args: &DrainArgs) -> Result<Report, Failure> {
    let count = args.messages;
    let (mut rates, mut ceilings) = (Vec::new(), Vec::new());
    let (mut enqueue_log, mut deliver_log, mut resident) = (None, None, None);
    if args.kept > 0 {
        rig.fill_finished(args.kept).await?;
    }
    for _ in 0..args.rounds {
        // In turns, so that a slow minute of the machine hits both.
        let before = rig.log_bytes().await?;
        rig.fill(count, args.sources, false).await?;
        let filled = rig.log_bytes().await?;
        rig.settle().await?;
        let settled = rig.log_bytes().await?;
        rates.push(round(drain_once(rig, count).await?));
        let drained = rig.log_bytes().await?;
        resident = resident.max(peak_kib());
        enqueue_log = per_message(before, filled, count).or(enqueue_log);
        deliver_log = per_message(settled, drained, count).or(deliver_log);
        if args.kept == 0 {
            rig.clear().await?;
        }
        let mut best: f64 = 0.0;
        for batch in BATCHES {
            best = best.max(rig.ceiling(count, batch).await?);
        }
        ceilings.push(round(best));
    }
    let (rate, ceiling) = (median(rates.clone()), median(ceilings.clone()));
    Ok(Report {
        bench: "drain",
        store: rig.store(),
        rate,
        ceiling,
        ratio: round(rate / ceiling),
        rates,
        ceilings,
        messages: count,
        sources: args.sources,
        kept: args.kept,
        rounds: args.rounds,
        telemetry: match args.telemetry {
            Telemetry::Off => "off",
            Telemetry::On => "on",
        },
        spans_dropped: METER.telemetry_dropped.get(0),
        log_bytes_per_enqueue: enqueue_log,
        log_bytes_per_delivery: deliver_log,
        resident_kib: resident,
    })
}

fn per_message(before: Option<u64>, after: Option<u64>, count: u64) -> Option<f64> {
    Some(round(after?.saturating_sub(before?) as f64 / count as f64))
}
