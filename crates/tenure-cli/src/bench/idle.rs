//! `tenure bench idle`: what a holder, a waiting node, a relay and nodes of a cluster cost the database while nothing
//! happens.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde::Serialize;

use super::actor::ActLog;
use super::cluster::declare;
use super::cluster::fleet::Fleet;
use super::contestant::{Contestant, Entry};
use super::meter::{Meter, Place};
use super::outbox::measure::unless_ended;
use super::outbox::rig::{Rig, rig};
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
    /// A node of a cluster, with its daemons.
    node: Cost,
    /// The one that leads, with as many.
    leading_node: Cost,
    daemons_per_node: u32,
}

/// Per second, as counted on the wire or in the log.
#[derive(Serialize)]
struct Cost {
    statements_per_s: f64,
    presence_pings_per_s: f64,
    resident_kib: Option<u64>,
}

pub(crate) async fn idle(global: &Global, args: &IdleArgs) -> Result<ExitCode, Failure> {
    let rig = rig(global).await?;
    let measured = unless_ended(measure(global, args, &*rig)).await;
    rig.remove().await?;
    let report = measured?;
    if global.json {
        output::json(&report)?
    } else {
        print(&report)
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(global: &Global, args: &IdleArgs, rig: &dyn Rig) -> Result<Report, Failure> {
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
        Contestant::start(&Entry {
            global,
            url,
            protected: None,
            lease,
            options: &[],
            acts: acts.path(),
            meter,
        })
    };
    let mut holder = start(&meters.0)?;
    holder.until_event("acquired").await?;
    let mut waiting = start(&meters.1)?;
    waiting.until_event("waiting").await?;
    let mut relay = Contestant::start_relay(global, &meters.2, &format!("{lease}-relay"))?;
    relay.until_event("status").await?;
    // A cluster has daemons that are none of the user's: it has a place to itself.
    let place_of_cluster = Place::given(&rig.address().0)?;
    let node_meters = (place_of_cluster.meter().await?, place_of_cluster.meter().await?);
    let mut fleet = Fleet::new(rig.address());
    fleet.start("leading-node", Some(&node_meters.0), &[]).await?;
    fleet.start("node", Some(&node_meters.1), &["--never-leads"]).await?;
    declare(rig.database(), args.daemons * 2).await?;
    fleet.until("all daemons run", |journal| journal.running() == args.daemons as usize * 2).await?;
    // The start itself, with its probes and checks, is not what is measured.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let counts = || {
        let nodes = (node_meters.0.counts(), node_meters.1.counts());
        (meters.0.counts(), meters.1.counts(), meters.2.counts(), nodes)
    };
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
        node: Cost::of(before.3.1, after.3.1, seconds, fleet.resident_kib("node")),
        leading_node: Cost::of(before.3.0, after.3.0, seconds, fleet.resident_kib("leading-node")),
        daemons_per_node: args.daemons,
    };
    for contestant in [relay, waiting, holder] {
        contestant.signal(Signal::SIGTERM);
        contestant.gone().await;
    }
    fleet.end().await?;
    Ok(report)
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
    let costs = [
        ("holder", &report.holder),
        ("waiting", &report.waiting),
        ("relay", &report.relay),
        ("node", &report.node),
        ("leading node", &report.leading_node),
    ];
    for (who, cost) in costs {
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
