//! `tenure bench failover`: from the event to the next holder's first act.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde::Serialize;
use tenure::core::lease::LeaseSettings;

use super::actor::{ActLog, micros_now};
use super::contestant::{Contestant, Entry};
use super::proxy::{Proxy, Upstream};
use super::stats::Spans;
use crate::args::{FailoverArgs, FailoverKind, Global};
use crate::output::{self, Failure, Table};
use crate::store;

/// Before each event the holder has been in office for this long and up to as long again, so that events fall anywhere
/// between two pings and two renewals.
const SETTLE: Duration = Duration::from_millis(600);
/// A hand-over that takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    store: String,
    /// The database that records what is granted there, if that is another place.
    recorded_in: Option<String>,
    settings: Settings,
    /// Milliseconds from the event to the next holder's first act; `null` where the kind does not apply.
    kinds: BTreeMap<&'static str, Option<Spans>>,
    /// How often two acted at once.
    overlaps: usize,
    handovers: usize,
    /// Rounds that do not count, because a holder lost its lease by itself: the machine stood still for too long.
    disturbed: u32,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Settings {
    ttl_ms: u128,
    renew_ms: u128,
    margin_ms: u128,
    presence: bool,
    presence_ping_ms: Option<u128>,
    presence_trust_ms: Option<u128>,
    presence_idle_timeout_ms: Option<u128>,
}

pub(crate) async fn failover(global: &Global, args: &FailoverArgs) -> Result<ExitCode, Failure> {
    let (url, protected) = places(global, args)?;
    let mut settings = LeaseSettings::with_ttl(args.ttl);
    if args.no_presence {
        settings.presence = None;
    }
    settings.validate()?;
    let capabilities = store::open_lease_place(global, url, true, Duration::ZERO).await?.capabilities();
    let recorded_in = match protected {
        None => None,
        Some(database) => {
            Some(store::open_to_work(global, database, true).await?.leases().capabilities().store)
        }
    };
    let presence = capabilities.presence && protected.is_none();
    let mut report = Report {
        bench: "failover",
        store: capabilities.store,
        recorded_in,
        settings: Settings::of(&settings, presence),
        kinds: BTreeMap::new(),
        overlaps: 0,
        handovers: 0,
        disturbed: 0,
        notes: capabilities.notes,
    };
    let mut failed = false;
    for kind in &args.kinds {
        if *kind == FailoverKind::Cut && Upstream::of(url).is_none() {
            report.notes.push("cut: there is no connection to cut on this store".into());
            report.kinds.insert(kind.name(), None);
            continue;
        }
        let mut course = Course::new(global, args, (url, protected), *kind)?;
        let spans = course.run(args.rounds).await?;
        report.overlaps += course.acts.overlaps()?;
        report.handovers += spans.len();
        report.disturbed += course.disturbed;
        failed |= report.overlaps > 0;
        report.kinds.insert(kind.name(), Spans::of(spans));
    }
    if global.json {
        output::json(&report)?
    } else {
        print(&report)
    }
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Who grants the leases, and the database that records them if that is another one.
fn places<'a>(global: &'a Global, args: &'a FailoverArgs) -> Result<(&'a str, Option<&'a str>), Failure> {
    let Some(place) = args.lease.as_deref().filter(|place| !place.is_empty()) else {
        return Ok((store::database_url(global)?, None));
    };
    let database = global.db.as_deref().filter(|url| !url.is_empty() && !store::is_same(place, url));
    [Some(place), database].into_iter().flatten().try_for_each(store::refuse_memory)?;
    Ok((place, database))
}

impl FailoverKind {
    fn name(self) -> &'static str {
        match self {
            Self::Kill => "sigkill",
            Self::Graceful => "graceful",
            Self::Stop => "sigstop",
            Self::Cut => "cut",
        }
    }
}

impl Settings {
    fn of(settings: &LeaseSettings, able: bool) -> Self {
        let presence = settings.presence.as_ref().filter(|_| able);
        Self {
            ttl_ms: settings.ttl.as_millis(),
            renew_ms: settings.renew.as_millis(),
            margin_ms: settings.margin.as_millis(),
            presence: presence.is_some(),
            presence_ping_ms: presence.map(|presence| presence.ping.as_millis()),
            presence_trust_ms: presence.map(|presence| presence.trust.as_millis()),
            presence_idle_timeout_ms: presence.map(|presence| presence.idle_timeout.as_millis()),
        }
    }
}

/// All rounds of one kind, over one lease.
struct Course<'a> {
    global: &'a Global,
    url: &'a str,
    protected: Option<&'a str>,
    kind: FailoverKind,
    lease: String,
    options: Vec<String>,
    acts: ActLog,
    /// Rounds in which the holder lost its lease before anything was done to it.
    disturbed: u32,
    _directory: tempfile::TempDir,
}

/// A contestant, and the proxy through which it sees the database.
struct Runner {
    contestant: Contestant,
    proxy: Option<Proxy>,
}

impl<'a> Course<'a> {
    fn new(
        global: &'a Global,
        args: &FailoverArgs,
        (url, protected): (&'a str, Option<&'a str>),
        kind: FailoverKind,
    ) -> Result<Self, Failure> {
        let directory = tempfile::tempdir()?;
        let mut options = vec!["--ttl".to_owned(), format!("{}ms", args.ttl.as_millis())];
        options.extend(args.no_presence.then(|| "--no-presence".to_owned()));
        Ok(Self {
            global,
            url,
            protected,
            kind,
            lease: format!("bench-failover-{}-{:08x}", kind.name(), fastrand::u32(..)),
            options,
            acts: ActLog::create(&directory.path().join("acts"))?,
            disturbed: 0,
            _directory: directory,
        })
    }

    /// Micros from event to first act, one per round.
    async fn run(&mut self, rounds: u32) -> Result<Vec<u64>, Failure> {
        let mut holder = self.start().await?;
        let mut term = self.first_act_after(0).await?.0;
        let mut spans = Vec::new();
        while spans.len() < rounds as usize {
            let mut standby = self.start().await?;
            let waits = standby.contestant.until_one_of(&["waiting", "acquired"]).await? == "waiting";
            if waits {
                tokio::time::sleep(SETTLE.mul_f64(1.0 + fastrand::f64())).await;
            }
            // A stall of the machine can cost a holder its lease before anything was done to it.
            let undisturbed = waits && self.acts.look()?.range(term + 1..).next().is_none();
            let event = micros_now();
            holder.suffer(self.kind);
            let (next, first) = self.first_act_after(term).await?;
            if undisturbed && first > event {
                spans.push(first - event);
            } else {
                self.disturbed += 1;
                if self.disturbed > rounds {
                    return Err(Failure::Failed("holders lose their leases by themselves here".into()));
                }
            }
            holder.recover(self.kind).await;
            (holder, term) = (standby, next);
        }
        holder.contestant.signal(Signal::SIGTERM);
        holder.contestant.gone().await;
        Ok(spans)
    }

    async fn start(&self) -> Result<Runner, Failure> {
        let proxy = match (self.kind, Upstream::of(self.url)) {
            (FailoverKind::Cut, Some(upstream)) => Some(Proxy::start(upstream).await?),
            _ => None,
        };
        let url = proxy.as_ref().map_or_else(|| Ok(self.url.to_owned()), |proxy| proxy.url(self.url))?;
        let entry = Entry {
            global: self.global,
            url: &url,
            protected: self.protected,
            lease: &self.lease,
            options: &self.options,
            acts: self.acts.path(),
            meter: None,
        };
        Ok(Runner { contestant: Contestant::start(&entry)?, proxy })
    }

    /// The first term above `term` that acts, and when it first did.
    async fn first_act_after(&mut self, term: u64) -> Result<(u64, u64), Failure> {
        let look = async {
            loop {
                if let Some((next, acts)) = self.acts.look()?.range(term + 1..).next() {
                    return Ok((*next, acts.first));
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let late = |_| Failure::Failed(format!("nobody acted within {PATIENCE:?} ({})", self.kind.name()));
        tokio::time::timeout(PATIENCE, look).await.map_err(late)?
    }
}

impl Runner {
    fn suffer(&self, kind: FailoverKind) {
        match (kind, &self.proxy) {
            (FailoverKind::Kill, _) => self.contestant.signal(Signal::SIGKILL),
            (FailoverKind::Graceful, _) => self.contestant.signal(Signal::SIGTERM),
            (FailoverKind::Stop, _) => self.contestant.signal(Signal::SIGSTOP),
            (FailoverKind::Cut, Some(proxy)) => proxy.cut(),
            (FailoverKind::Cut, None) => {}
        }
    }

    /// Lets a frozen contestant wake and find out; then sees it gone.
    async fn recover(self, kind: FailoverKind) {
        if kind == FailoverKind::Stop {
            self.contestant.signal(Signal::SIGCONT);
        }
        self.contestant.gone().await;
    }
}

fn print(report: &Report) {
    let recorded = report.recorded_in.as_ref().map(|database| format!(", recorded in {database}"));
    output::line(format_args!(
        "failover on {}{} (ttl {} ms, presence {})",
        report.store,
        recorded.unwrap_or_default(),
        report.settings.ttl_ms,
        if report.settings.presence { "on" } else { "off" }
    ));
    let mut table = Table::new(&["KIND", "ROUNDS", "P50 MS", "P99 MS", "MAX MS"]);
    for (kind, spans) in &report.kinds {
        table.row(match spans {
            Some(spans) => vec![
                (*kind).to_owned(),
                spans.rounds.to_string(),
                spans.p50.to_string(),
                spans.p99.to_string(),
                spans.max.to_string(),
            ],
            None => vec![(*kind).to_owned(), "does not apply".into()],
        });
    }
    table.print();
    if report.disturbed > 0 {
        output::line(format_args!(
            "rounds left out because a holder lost its lease by itself: {}",
            report.disturbed
        ));
    }
    output::line(format_args!("two acted at once: {} of {} hand-overs", report.overlaps, report.handovers));
    for note in &report.notes {
        output::line(format_args!("note: {note}"));
    }
}
