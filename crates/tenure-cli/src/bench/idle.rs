//! `tenure bench idle`: what a holder, a waiting node and a relay cost the database while nothing happens.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde::Serialize;

use super::actor::ActLog;
use super::contestant::{Contestant, Entry};
use super::proxy::{Proxy, upstream};
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

/// Per second, as counted on the wire.
#[derive(Serialize)]
struct Cost {
    statements_per_s: f64,
    presence_pings_per_s: f64,
    resident_kib: Option<u64>,
}

pub(crate) async fn idle(global: &Global, args: &IdleArgs) -> Result<ExitCode, Failure> {
    let url = store::database_url(global)?;
    let unseen =
        || Failure::Usage("statements are counted on the wire; give a postgres:// URL with a host".into());
    let server = upstream(url).ok_or_else(unseen)?;
    let store = store::open_to_work(global, url, true).await?.leases().capabilities().store;
    let directory = tempfile::tempdir()?;
    let acts = ActLog::create(&directory.path().join("acts"))?;
    let lease = format!("bench-idle-{:08x}", fastrand::u32(..));
    let (holder_proxy, waiting_proxy) =
        (Proxy::start(server.clone()).await?, Proxy::start(server.clone()).await?);
    let relay_proxy = Proxy::start(server).await?;
    let (holder_url, waiting_url) = (holder_proxy.url(url)?, waiting_proxy.url(url)?);
    let start =
        |url: &str| Contestant::start(&Entry { global, url, lease: &lease, options: &[], acts: acts.path() });
    let mut holder = start(&holder_url)?;
    holder.until_event("acquired").await?;
    let mut waiting = start(&waiting_url)?;
    waiting.until_event("waiting").await?;
    let mut relay = Contestant::start_relay(global, &relay_proxy.url(url)?, &format!("{lease}-relay"))?;
    relay.until_event("status").await?;
    // The start itself, with its probes and checks, is not what is measured.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let counts = || (holder_proxy.counts(), waiting_proxy.counts(), relay_proxy.counts());
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
