//! `tenure relay`: deliver what was committed.

mod live;
mod settings;
mod work;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tenure::core::contract::{LeaseStore, Sink};
use tenure::sink::{self, HttpOptions, KafkaSinkOptions, NatsOptions, SinkError, SinkOptions};
use tenure::{
    Database, FencedLeases, HealthMonitor, HealthThresholds, LeaseSettings, Node, OutboxParts, RelayError,
    RelayStatus, Role, Stop, local_node,
};
use tokio::task::JoinHandle;

use self::work::{Plan, Status, Work};
use crate::args::{Coordination, Global, RelayArgs};
use crate::dashboard::Front;
use crate::otlp;
use crate::output::{self, Failure};
use crate::signals::Signals;
use crate::store;

/// How often `--until-empty` asks whether anything is left.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long the dashboard may take to end.
const DASHBOARD_END: Duration = Duration::from_secs(4);

/// Signals within this time are one.
const SAME_WISH: Duration = Duration::from_millis(500);

/// Whether a line on the terminal shows what the relay does.
pub(crate) fn shows_live(global: &Global, args: &RelayArgs) -> bool {
    !global.json && !args.quiet && !args.to.starts_with("stdout:") && io::stderr().is_terminal()
}

pub(crate) async fn relay(global: &Global, args: &RelayArgs) -> Result<ExitCode, Failure> {
    let settings = settings::from_args(args);
    settings.validate()?;
    let retention = settings::retention(args);
    let lease_settings = LeaseSettings::with_ttl(args.ttl);
    lease_settings.validate()?;
    let lease = tenure::LeaseName::new(args.lease_name.as_str())?;
    let thresholds = args.health.thresholds();
    thresholds.validate()?;
    let node = local_node(args.name.as_deref())?;
    let url = store::database_url(global)?;
    store::refuse_memory(url)?;
    let place = lease_place(args, url)?;
    let sink = sink(args)?;
    if args.no_migrate {
        store::refuse_missing_file(url)?;
    }
    let mut signals = Signals::catch()?;
    let beside = match &args.listen {
        None => {
            // These may also come from an environment that other processes share, and are no error there.
            if args.access.tokens.is_some() || args.access.key_file.is_some() || !args.access.hosts.is_empty()
            {
                output::note(
                    "--tokens, --host and --key-file are for --listen, which is not given: nothing is served",
                );
            }
            None
        }
        Some(listen) => {
            let front = Front::bind(listen, &args.access).await?;
            // Messages have standard output for themselves.
            front.announce(global.json && !args.to.starts_with("stdout:"));
            Some(Beside::start(front, global, url, &node, thresholds.clone()))
        }
    };
    let database = tokio::select! {
        biased;
        _ = signals.ending() => return Ok(ExitCode::SUCCESS),
        opened = store::open_patiently(global, url, !args.no_migrate, Duration::MAX) => opened?,
    };
    let leases = match place {
        None => None,
        Some(place) => Some(tokio::select! {
            biased;
            _ = signals.ending() => return Ok(ExitCode::SUCCESS),
            opened = store::open_lease_place(global, place, !args.no_migrate, Duration::MAX) => opened?,
        }),
    };
    let notes = |leases: &Arc<dyn LeaseStore>| leases.capabilities().notes;
    for note in notes(&database.leases()).into_iter().chain(leases.as_ref().map(notes).unwrap_or_default()) {
        tracing::info!("{note}");
    }
    // Its terms are the database's own, whoever grants it: only so can the database refuse a relay that was deposed.
    let fenced = |leases| Arc::new(FencedLeases::new(leases, database.registry())) as Arc<dyn LeaseStore>;
    let leases = leases.map(fenced);
    let reporting = Stop::new();
    let reporter = (!args.no_report).then(|| {
        tenure::telemetry::this_node(&node);
        let (store, node, stop) = (database.runners(), node.clone(), reporting.clone());
        tokio::spawn(async move { tenure::runners().report_to(store, node, &stop).await })
    });
    let stop = Stop::new();
    if otlp::is_on() && args.listen.is_none() {
        // Beside a dashboard its monitor does it.
        let monitor = HealthMonitor::new(database.for_operators(), thresholds)?;
        let stop = stop.clone();
        tokio::spawn(async move { monitor.run(&stop).await });
    }
    let named = args.name.is_some();
    let keep_history = args.keep_history;
    let plan = Plan { node, named, sink, settings, retention, keep_history, lease, leases, lease_settings };
    let Work { status, task: work } = match args.coordination {
        Coordination::Partitioned(count) => work::parts(&database, plan, count, &stop)?,
        coordination => work::whole(&database, plan, coordination == Coordination::Exclusive, &stop)?,
    };
    let telling = Stop::new();
    let teller = tokio::spawn(live::tell(
        status.clone(),
        database.outbox_admin(),
        live::Manner::of(global, args),
        telling.clone(),
    ));
    tokio::pin!(work);
    let mut ended = tokio::select! {
        ended = &mut work => Some(ended),
        signal = signals.ending() => {
            tracing::info!(%signal, "stopping: what is under way may end; the same signal again does not wait for it");
            None
        }
        () = until_empty(args, &status, &database) => None,
    };
    stop.stop();
    if ended.is_none() {
        let impatient = async {
            // Some programs signal a process and then its group: that is one wish, and not two.
            tokio::time::sleep(SAME_WISH).await;
            signals.forget();
            signals.ending().await
        };
        ended = tokio::select! {
            ended = &mut work => Some(ended),
            // A second signal does not wait.
            signal = impatient => {
                output::note(format_args!("{signal} again: left without waiting for deliveries; they will be made again"));
                None
            }
        };
    }
    telling.stop();
    let _ = teller.await;
    reporting.stop();
    if let Some(beside) = beside {
        beside.end().await;
    }
    if let Some(reporter) = reporter
        && ended.is_some()
    {
        let _ = reporter.await;
    }
    match ended {
        None => return Ok(ExitCode::from(1)),
        Some(Ok(ran)) => ran?,
        Some(Err(error)) => return Err(Failure::Failed(format!("the relay ended unexpectedly: {error}"))),
    }
    let died = args.until_empty && status().dead > 0;
    let code = u8::from(died);
    if died {
        output::note(format_args!("{} messages died; see `tenure outbox list --state dead`", status().dead));
    }
    result(global, args, &status(), code);
    Ok(ExitCode::from(code))
}

/// The dashboard of a relay: whatever becomes of it, the relay goes on.
struct Beside {
    stop: Stop,
    task: JoinHandle<()>,
}

impl Beside {
    fn start(front: Front, global: &Global, url: &str, node: &Node, thresholds: HealthThresholds) -> Self {
        let (stop, global, url, node) = (Stop::new(), global.clone(), url.to_owned(), node.clone());
        let end = stop.clone();
        let task = tokio::spawn(async move {
            if let Err(error) = front.serve(global, url, node, thresholds, false, end).await {
                tracing::error!(%error, "the dashboard has ended; the relay goes on");
            }
        });
        Self { stop, task }
    }

    async fn end(self) {
        self.stop.stop();
        // It bounds itself; a relay does not end later for it.
        let _ = tokio::time::timeout(DASHBOARD_END, self.task).await;
    }
}

/// Where the lease comes from, if that is not the database itself.
fn lease_place<'a>(args: &'a RelayArgs, database: &str) -> Result<Option<&'a str>, Failure> {
    let place = args.lease.as_deref().filter(|place| !place.is_empty() && !store::is_same(place, database));
    let Some(place) = place else { return Ok(None) };
    if args.coordination == Coordination::Single {
        return Err(Failure::Usage(
            "--coordination single takes no lease: leave --lease out, or use exclusive or partitioned:N"
                .into(),
        ));
    }
    store::refuse_memory(place)?;
    Ok(Some(place))
}

fn sink(args: &RelayArgs) -> Result<Arc<dyn Sink>, Failure> {
    let wrong = |error: SinkError| Failure::Usage(error.to_string());
    let mut http = HttpOptions::from_env().map_err(wrong)?;
    http.timeout = args.deadline;
    http.idle_connections = args.concurrency;
    // What the sink itself gives up is told with its reason; past the relay's deadline nothing is known.
    let nats = nats_within(args.deadline, NatsOptions::from_env().map_err(wrong)?);
    // A batch takes its time, and one more message that is sent alone takes as much again.
    let mut kafka = KafkaSinkOptions::default();
    kafka.timeout = kafka.timeout.min(args.deadline / 3);
    sink::from_url(&args.to, SinkOptions { http, kafka, nats, ..SinkOptions::default() }).map_err(wrong)
}

/// Options with which a batch ends before the deadline: its last message is begun within `timeout`, may have to wait for a
/// connection, and then for its acknowledgement. That is three times as much in sum; a quarter each leaves some to spare.
fn nats_within(deadline: Duration, mut options: NatsOptions) -> NatsOptions {
    options.timeout = options.timeout.min(deadline / 4);
    options.connect_timeout = options.connect_timeout.min(deadline / 4);
    options
}

/// Waits until nothing is left that could be delivered now; for ever unless that was asked for.
async fn until_empty(args: &RelayArgs, status: &Status, database: &Database) {
    if !args.until_empty {
        return std::future::pending().await;
    }
    let admin = database.outbox_admin();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let status = status();
        let at_work = matches!(status.role, Role::Alone | Role::Leading { .. });
        // A standby leaves it to the one in office, and waits with it; so does one with parts, for the others.
        let nothing_due = match status.role {
            Role::Standby => true,
            Role::Parts { parts } => parts == 0 || status.idle && status.held == 0,
            _ => at_work && status.idle && status.held == 0,
        };
        if nothing_due
            && let Ok(stats) = admin.stats().await
            && stats.retrying == 0
            && (at_work || stats.lag.is_none() || is_held_back(&status, database).await)
        {
            return;
        }
    }
}

/// Whether all that is left belongs to parts that an operator has paused: it could not be delivered now.
async fn is_held_back(status: &RelayStatus, database: &Database) -> bool {
    let Role::Parts { parts } = status.role else { return false };
    let Ok(rows) = database.cluster().daemons(&OutboxParts::filter()).await else {
        return false;
    };
    let (paused, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.paused_by.is_some());
    let held_back = !paused.is_empty() && others.len() as u64 == parts;
    if held_back {
        output::note(format_args!("{} parts are paused: what is in them stays where it is", paused.len()));
    }
    held_back
}

/// The last word of a relay to programs.
fn result(global: &Global, args: &RelayArgs, status: &RelayStatus, code: u8) {
    if global.json && !args.to.starts_with("stdout:") {
        let mut last = json!(status);
        last["event"] = "result".into();
        last["exit_code"] = code.into();
        output::event(&last);
    }
}

impl From<RelayError> for Failure {
    fn from(error: RelayError) -> Self {
        match error {
            RelayError::Settings(error) => error.into(),
            RelayError::Lease(error) => error.into(),
            other => Self::Failed(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_to_nats_ends_before_the_deadline() {
        for deadline in [Duration::from_millis(200), Duration::from_secs(4), Duration::from_secs(30)] {
            let NatsOptions { timeout, connect_timeout, .. } = nats_within(deadline, NatsOptions::default());
            assert!(timeout + timeout.max(connect_timeout) + timeout < deadline, "{deadline:?}");
        }
        let patient = nats_within(Duration::from_secs(600), NatsOptions::default());
        assert_eq!(patient.timeout, NatsOptions::default().timeout);
    }
}
