//! `tenure bench idle`: what a holder, a waiting node and a relay cost the database while nothing happens.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde::Serialize;

use super::actor::ActLog;
use super::contestant::{Contestant, Entry};
use super::meter::{Meter, Place};
use crate::args::{Global, IdleArgs};
use crate::output::{self, Failure, Table};
use crate::store;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    store: String,
    seconds: f64,
    holder: Cost,
    waiting: Cost,
    relay: Cost,
}

/// Per second, as counted on the wire or in the log.
#[derive(Serialize)]
struct Cost {
    statements_per_s: f64,
    presence_pings_per_s: f64,
    resident_kib: Option<u64>,
}

pub(crate) async fn idle(global: &Global, args: &IdleArgs) -> Result<ExitCode, Failure> {
    let url = store::database_url(global)?;
    // On SQLite the relay has a file to itself: on a shared one each renewal of the holder is a commit that wakes it, and
    // then something does happen.
    let (place, place_of_relay) = (Place::beside(url)?, Place::beside(url)?);
    let store = store::open_to_work(global, place.url(), true).await?.leases().capabilities().store;
    let directory = tempfile::tempdir()?;
    let acts = ActLog::create(&directory.path().join("acts"))?;
    let lease = format!("bench-idle-{:08x}", fastrand::u32(..));
    let meters = (place.meter().await?, place.meter().await?, place_of_relay.meter().await?);
    let start = |meter: &Meter| {
        let (url, meter, lease) = (meter.url(), Some(meter), &lease);
        Contestant::start(&Entry { global, url, lease, options: &[], acts: acts.path(), meter })
    };
    let mut holder = start(&meters.0)?;
    holder.until_event("acquired").await?;
    let mut waiting = start(&meters.1)?;
    waiting.until_event("waiting").await?;
    let mut relay = Contestant::start_relay(global, &meters.2, &format!("{lease}-relay"))?;
    relay.until_event("status").await?;
    // The start itself, with its probes and checks, is not what is measured.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let counts = || (meters.0.counts(), meters.1.counts(), meters.2.counts());
    let (began, before) = (Instant::now(), counts());
    tokio::time::sleep(Duration::from_secs(args.seconds.into())).await;
    let (seconds, after) = (began.elapsed().as_secs_f64(), counts());
    let report = Report {
        bench: "idle",
        store,
        seconds,
        holder: Cost::of(before.0, after.0, seconds, holder.resident_kib()),
        waiting: Cost::of(before.1, after.1, seconds, waiting.resident_kib()),
        relay: Cost::of(before.2, after.2, seconds, relay.resident_kib()),
    };
    for contestant in [relay, waiting, holder] {
        contestant.signal(Signal::SIGTERM);
        contestant.gone().await;
    }
    if global.json {
        output::json(&report)?
    } else {
        print(&report)
    }
    Ok(ExitCode::SUCCESS)
}

impl Cost {
    fn of(before: (u64, u64), after: (u64, u64), seconds: f64, resident_kib: Option<u64>) -> Self {
        let rate = |before: u64, after: u64| ((after - before) as f64 / seconds * 100.0).round() / 100.0;
        Self {
            statements_per_s: rate(before.0, after.0),
            presence_pings_per_s: rate(before.1, after.1),
            resident_kib,
        }
    }
}

fn print(report: &Report) {
    output::line(format_args!("idle cost on {} over {:.0} s", report.store, report.seconds));
    let mut table = Table::new(&["WHO", "STATEMENTS/S", "PINGS/S", "RESIDENT KIB"]);
    for (who, cost) in [("holder", &report.holder), ("waiting", &report.waiting), ("relay", &report.relay)] {
        let resident = cost.resident_kib.map_or_else(|| "-".into(), |kib| kib.to_string());
        table.row(vec![
            who.into(),
            cost.statements_per_s.to_string(),
            cost.presence_pings_per_s.to_string(),
            resident,
        ]);
    }
    table.print();
}
