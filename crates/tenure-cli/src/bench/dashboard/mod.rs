//! `tenure bench dashboard`: how long one waits for a page where there are millions of rows.
//!
//! ```text
//!   fill a place of its own ──▶ serve it on this machine ──▶ ask everything once, then some rounds more ──▶ remove it
//! ```

mod asks;
mod first_byte;
mod house;
mod statements;

use std::process::ExitCode;

use serde::Serialize;
use tenure::{HealthThresholds, Stop, local_node};
use tenure_dashboard::MOUNT;

use self::asks::{Ask, asks};
use self::house::House;
use super::outbox::measure::unless_ended;
use super::outbox::rig::rig;
use super::stats::Spans;
use crate::args::{DashboardBenchArgs, Global};
use crate::dashboard::Front;
use crate::output::{self, Failure, Table};
use crate::store;

/// What a page may take to its first byte.
const LIMIT_MS: f64 = 300.0;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    store: String,
    settings: Settings,
    /// How many answers were below the limit each time, and how many not.
    below: usize,
    above: usize,
    /// Answers that were not what was to be expected.
    wrong: usize,
    /// The slowest first.
    answers: Vec<Measured>,
}

#[derive(Serialize)]
struct Settings {
    rounds: u32,
    limit_ms: f64,
    filled: House,
}

#[derive(Serialize)]
struct Measured {
    method: &'static str,
    path: &'static str,
    query: String,
    status: u16,
    /// The first time that it was asked.
    first_ms: f64,
    /// Of the rounds that came after.
    min_ms: f64,
    p50_ms: f64,
    max_ms: f64,
    /// Each time, also the first.
    below_limit: bool,
    #[serde(skip)]
    wrong: bool,
}

pub(crate) async fn dashboard(global: &Global, args: &DashboardBenchArgs) -> Result<ExitCode, Failure> {
    let house = House::of(args.rows, args.sources);
    let report = if args.filled {
        let url = store::database_url(global)?.to_owned();
        let named = url.split(':').next().unwrap_or_default().to_owned();
        unless_ended(measure(global, url, named, house, args.rounds)).await?
    } else {
        in_place_of_its_own(global, args, house).await?
    };
    if global.json {
        output::json(&report)?
    } else {
        print(&report)
    }
    Ok(if report.wrong > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

async fn in_place_of_its_own(
    global: &Global,
    args: &DashboardBenchArgs,
    house: House,
) -> Result<Report, Failure> {
    let rig = rig(global).await?;
    let (url, schema) = rig.address();
    let there = Global { schema: schema.clone(), table_prefix: "tenure_".into(), ..global.clone() };
    let measured = unless_ended(async {
        house.fill(&*rig).await?;
        measure(&there, url.clone(), rig.store().to_owned(), house, args.rounds).await
    })
    .await;
    if args.keep {
        // The address may hold a password.
        let place = schema.unwrap_or(url);
        output::note(format_args!(
            "what was filled in is kept: {place}; remove it when it is not needed any more"
        ));
    } else {
        rig.remove().await?;
    }
    measured
}

/// Serves what is there, and asks everything.
async fn measure(
    global: &Global,
    url: String,
    store: String,
    house: House,
    rounds: u32,
) -> Result<Report, Failure> {
    let token = format!("bench-{:032x}", fastrand::u128(..));
    let front = Front::of_bench(&token).await?;
    let (address, stop) = (front.address(), Stop::new());
    let thresholds = HealthThresholds::default();
    let serving = front.serve(global.clone(), url, local_node(None)?, thresholds, false, stop.clone());
    let serving = tokio::spawn(serving);
    let answers = ask_all(address, &token, &house, rounds).await;
    stop.stop();
    serving.await.map_err(|error| Failure::Failed(format!("the dashboard ended: {error}")))??;
    let mut answers = answers?;
    answers.sort_by(|a, b| b.slowest().total_cmp(&a.slowest()));
    let below = answers.iter().filter(|answer| answer.below_limit).count();
    Ok(Report {
        bench: "dashboard",
        store,
        settings: Settings { rounds, limit_ms: LIMIT_MS, filled: house },
        below,
        above: answers.len() - below,
        wrong: answers.iter().filter(|answer| answer.wrong).count(),
        answers,
    })
}

async fn ask_all(
    address: std::net::SocketAddr,
    token: &str,
    house: &House,
    rounds: u32,
) -> Result<Vec<Measured>, Failure> {
    let asks = asks(house);
    until_served(address, token).await?;
    let mut taken: Vec<(u16, Vec<u64>)> = vec![(0, Vec::new()); asks.len()];
    for _ in 0..=rounds {
        for (ask, (status, micros)) in asks.iter().zip(&mut taken) {
            let answer = first_byte::ask(address, MOUNT, token, ask).await?;
            // One answer that is wrong is not hidden by others.
            if *status == 0 || answer.status != ask.status {
                *status = answer.status;
            }
            micros.push(answer.micros);
        }
    }
    let measured =
        asks.into_iter().zip(taken).map(|(ask, (status, micros))| Measured::of(ask, status, micros));
    Ok(measured.collect())
}

/// While the database is opened, every answer says so (503). What is waited for asks the store for nothing.
async fn until_served(address: std::net::SocketAddr, token: &str) -> Result<(), Failure> {
    let ask = Ask { method: "GET", path: "/login", query: String::new(), status: 200 };
    for _ in 0..300 {
        if first_byte::ask(address, MOUNT, token, &ask).await.is_ok_and(|answer| answer.status != 503) {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    Err(Failure::Failed("the dashboard does not begin to serve; see its log with TENURE_LOG=info".into()))
}

impl Measured {
    fn of(ask: Ask, status: u16, mut micros: Vec<u64>) -> Self {
        let millis = |micros: u64| Spans::of(vec![micros]).map_or(0.0, |spans| spans.max);
        let first_ms = millis(micros.remove(0));
        let min_ms = micros.iter().min().map_or(first_ms, |least| millis(*least));
        let (p50_ms, max_ms) = Spans::of(micros).map_or((first_ms, first_ms), |spans| (spans.p50, spans.max));
        Self {
            method: ask.method,
            path: ask.path,
            query: ask.query,
            status,
            first_ms,
            min_ms,
            p50_ms,
            max_ms,
            below_limit: first_ms.max(max_ms) <= LIMIT_MS,
            wrong: status != ask.status,
        }
    }

    fn slowest(&self) -> f64 {
        self.first_ms.max(self.max_ms)
    }
}

fn print(report: &Report) {
    let Settings { rounds, filled, .. } = &report.settings;
    output::line(format_args!(
        "pages on {} with {} messages of {} sources: milliseconds to the first byte, the first time and {rounds} times more",
        report.store, filled.rows, filled.sources
    ));
    let mut table = Table::new(&["FIRST", "MIN", "P50", "MAX", "BELOW 300", "STATUS", "WHAT"]);
    for answer in &report.answers {
        let ask = match (answer.method, answer.query.as_str()) {
            ("GET", "") => answer.path.to_owned(),
            ("GET", query) => format!("{}?{query}", answer.path),
            (method, body) => format!("{method} {} {body}", answer.path),
        };
        table.row(vec![
            answer.first_ms.to_string(),
            answer.min_ms.to_string(),
            answer.p50_ms.to_string(),
            answer.max_ms.to_string(),
            if answer.below_limit { "yes" } else { "NO" }.to_owned(),
            answer.status.to_string(),
            ask,
        ]);
    }
    table.print();
    output::line(format_args!(
        "{} of {} below 300 ms each time; {} wrong",
        report.below,
        report.below + report.above,
        report.wrong
    ));
}
