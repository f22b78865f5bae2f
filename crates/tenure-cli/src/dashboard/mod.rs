//! `tenure dashboard`, and the same beside a relay or a demo.
//!
//! ```text
//!   bind ──▶ wait: the database is away, a page says so ──▶ serve: pages, API, health, metrics ──▶ stop
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | the command; a front that is bound, and then served |
//! | `access` | who may come in: tokens, hosts, and what is refused |
//! | `health` | what probes are told |
//! | `token` | making tokens |

mod access;
mod health;
mod token;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tenure::core::observe::{METER, RunnerKind};
use tenure::{
    Database, HealthMonitor, HealthThresholds, Node, OpenError, OpenOptions, Purpose, Stop, StoreError,
    local_node,
};
use tenure_dashboard::{Auth, Dashboard, Extra, Hosts, MOUNT, MetricsFor, WaitsFor, serve, waiting};
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::health::Monitored;
use crate::args::{AccessArgs, DashboardArgs, DashboardCommand, Global, MetricsArg};
use crate::output::{self, Failure};
use crate::signals::Signals;
use crate::store;

/// How often a database that is away is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How often the loop of a server shows that it lives.
const EVERY: Duration = Duration::from_secs(5);

pub(crate) async fn dashboard(global: &Global, args: &DashboardArgs) -> Result<ExitCode, Failure> {
    if let Some(DashboardCommand::Token(token)) = &args.command {
        return token::token(global, token);
    }
    let thresholds = args.health.thresholds();
    thresholds.validate()?;
    let url = store::database_url(global)?;
    store::refuse_memory(url)?;
    let node = local_node(None)?;
    let mut signals = Signals::catch()?;
    let front = Front::bind(&args.listen, &args.access).await?;
    front.announce(global.json);
    let stop = Stop::new();
    let serving =
        front.serve(global.clone(), url.to_owned(), node, thresholds, !args.no_report, stop.clone());
    let mut serving = tokio::spawn(serving);
    let ended = tokio::select! {
        ended = &mut serving => Some(ended),
        _ = signals.ending() => None,
    };
    stop.stop();
    let ended = match ended {
        Some(ended) => ended,
        None => tokio::select! {
            ended = &mut serving => ended,
            // A second signal does not wait.
            _ = signals.ending() => return Ok(ExitCode::from(1)),
        },
    };
    ended.map_err(|error| Failure::Failed(format!("the dashboard ended unexpectedly: {error}")))??;
    Ok(ExitCode::SUCCESS)
}

/// An address that is listened on, and who may come in there.
pub(crate) struct Front {
    listener: TcpListener,
    address: SocketAddr,
    auth: Auth,
    hosts: Hosts,
    metrics_for: MetricsFor,
    only_looking: bool,
}

impl Front {
    /// Listens, unless whoever could reach it should not.
    pub(crate) async fn bind(listen: &str, access: &AccessArgs) -> Result<Self, Failure> {
        let addresses = access::addresses(listen).await?;
        let tokens = access::tokens(access)?;
        let Some(first) = addresses.first().copied() else {
            return Err(Failure::Usage(format!("{listen} is no address to listen on")));
        };
        let local = addresses.iter().all(|address| address.ip().is_loopback());
        if !local && tokens.is_none() {
            return Err(Failure::Usage(format!(
                "{listen} can be reached from other machines: give --tokens FILE or TENURE_DASHBOARD_TOKEN (see \
                 `tenure dashboard token`), or listen on 127.0.0.1"
            )));
        }
        let hosts = access::hosts(access, first)?;
        let auth = match tokens {
            Some(tokens) => access::signed(Auth::tokens(tokens), access)?,
            None => Auth::insecure_loopback_only(),
        };
        let taken = |error: std::io::Error| Failure::Failed(format!("cannot listen on {listen}: {error}"));
        let listener = TcpListener::bind(first).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        if !local {
            output::note(format_args!(
                "{address} can be reached from other machines, and tokens travel in clear: put a proxy with TLS before it"
            ));
            if access.hosts.is_empty() && address.ip().is_unspecified() {
                output::note("pages answer only to localhost: give --host NAME, as it stands in the browser");
            }
        }
        let metrics_for = match access.metrics {
            MetricsArg::Closed => MetricsFor::Closed,
            MetricsArg::Loopback => MetricsFor::Loopback,
            MetricsArg::Open => MetricsFor::Open,
        };
        Ok(Self { listener, address, auth, hosts, metrics_for, only_looking: access.no_actions })
    }

    /// One for a store that holds only samples: on this machine, payloads shown, nobody acts.
    pub(crate) async fn of_samples(listen: &str) -> Result<Self, Failure> {
        let access = AccessArgs {
            tokens: None,
            hosts: Vec::new(),
            key_file: None,
            no_actions: true,
            metrics: MetricsArg::Loopback,
        };
        let addresses = access::addresses(listen).await?;
        if addresses.iter().any(|address| !address.ip().is_loopback()) {
            return Err(Failure::Usage(format!("the demo listens on this machine only, not on {listen}")));
        }
        let mut front = Self::bind(listen, &access).await?;
        front.auth = Auth::insecure_loopback_only().showing_payloads();
        Ok(front)
    }

    /// One on this machine for a measurement, whose token may do everything.
    pub(crate) async fn of_bench(token: &str) -> Result<Self, Failure> {
        let access = AccessArgs {
            tokens: None,
            hosts: Vec::new(),
            key_file: None,
            no_actions: false,
            metrics: MetricsArg::Closed,
        };
        let mut front = Self::bind("127.0.0.1:0", &access).await?;
        front.auth = Auth::tokens(access::everything("bench", token)?);
        Ok(front)
    }

    /// What it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where a browser finds it.
    fn url(&self) -> String {
        let mut shown = self.address;
        if shown.ip().is_unspecified() {
            shown.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        format!("http://{shown}{MOUNT}")
    }

    fn is_read_only(&self) -> bool {
        self.only_looking || !self.auth.may_act()
    }

    /// Says where it is: to programs, or to people.
    pub(crate) fn announce(&self, json: bool) {
        if json {
            let (url, read_only) = (self.url(), self.is_read_only());
            output::event(&json!({ "event": "listening", "url": url, "read_only": read_only }));
            return;
        }
        output::note(format_args!("dashboard at {}", self.url()));
        if !self.auth.may_act() {
            output::note("read-only: no tokens are configured");
        }
    }

    /// Serves until `stop` is given: first what can be said while the database is away, then the dashboard, over a handle of
    /// its own.
    pub(crate) async fn serve(
        self,
        global: Global,
        url: String,
        node: Node,
        thresholds: HealthThresholds,
        report: bool,
        stop: Stop,
    ) -> Result<(), Failure> {
        let (waits, waits_for) = watch::channel(WaitsFor::default());
        let before =
            Extra { metrics: Some(Arc::new(tenure::telemetry::prometheus)), metrics_for: self.metrics_for };
        let opened = tokio::select! {
            biased;
            () = stop.stopped() => return Ok(()),
            opened = open(&global, &url, &waits) => opened?,
            never = waiting(&self.listener, &waits_for, &before) => match never {},
        };
        tenure::telemetry::this_node(&node);
        let monitor = HealthMonitor::new(opened.for_operators(), thresholds.clone())?;
        let reporting = report.then(|| {
            let (store, node, stop) = (opened.runners(), node.clone(), stop.clone());
            tokio::spawn(async move { tenure::runners().report_to(store, node, &stop).await })
        });
        let mut dashboard = Dashboard::new(opened.for_operators(), self.auth, self.hosts)
            .this_node(node)
            .thresholds(thresholds)
            .runners(tenure::runners())
            .health(Arc::new(Monitored(monitor.clone())));
        if self.only_looking {
            dashboard = dashboard.only_looking();
        }
        {
            // Also when nobody asks: a probe is told since when the database is away, not since when it asked itself.
            let (monitor, stop) = (monitor.clone(), stop.clone());
            tokio::spawn(async move { monitor.run(&stop).await });
        }
        let numbers = move || {
            // Whoever reads them next sees what is found out now.
            monitor.refresh();
            tenure::telemetry::prometheus()
        };
        let extra = Extra { metrics: Some(Arc::new(numbers)), metrics_for: self.metrics_for };
        let beat = tenure::runners().register(RunnerKind::Dashboard, self.address.to_string(), EVERY);
        beat.state("listening");
        let end = {
            let stop = stop.clone();
            async move { stop.stopped().await }
        };
        let served = beat.waiting(serve(self.listener, dashboard, extra, end)).await;
        drop(beat);
        if let Some(reporting) = reporting {
            let _ = reporting.await;
        }
        served.map_err(|error| Failure::Failed(format!("the dashboard cannot be served: {error}")))
    }
}

/// Opens a handle for looking; whatever is wrong with the database may be mended while it is asked again and again.
async fn open(global: &Global, url: &str, waits: &watch::Sender<WaitsFor>) -> Result<Database, Failure> {
    let naming = store::naming(global)?;
    let (mut told, began) = (None, Instant::now());
    loop {
        let options = OpenOptions {
            naming: naming.clone(),
            create: false,
            purpose: Purpose::LOOKING,
            ..OpenOptions::default()
        };
        let opened = async {
            let database = tenure::open(url, options).await?;
            database.schema().verify_schema().await?;
            Ok::<_, OpenError>(database)
        };
        match opened.await {
            Ok(database) => return Ok(database),
            Err(error) => {
                waits.send_replace(match &error {
                    OpenError::Store(StoreError::SchemaMissing { .. }) => WaitsFor::Schema,
                    OpenError::Store(StoreError::SchemaOlder { .. } | StoreError::SchemaNewer { .. }) => {
                        WaitsFor::OtherSchema
                    }
                    _ => WaitsFor::Database,
                });
                let failure = Failure::from(error);
                if matches!(failure, Failure::Usage(_)) {
                    return Err(failure);
                }
                let away = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                METER.store_away.set(0, away);
                let reason = failure.to_string();
                if told.as_ref() != Some(&reason) {
                    output::note(format_args!("{reason}; the dashboard waits for it"));
                    told = Some(reason);
                }
                tokio::time::sleep(ASK_AGAIN).await;
            }
        }
    }
}
