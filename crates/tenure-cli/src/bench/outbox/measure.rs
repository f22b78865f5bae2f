//! One relay at its default settings, and how fast it drains.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::core::contract::Sink;
use tenure::core::id::NodeName;
use tenure::sink::Handlers;
use tenure::{LeaseSettings, Leases, Relay, RelaySettings, RelayStatus, Role, Stop, Verdict, local_node};

use super::rig::Rig;
use crate::output::Failure;
use crate::signals::Signals;

/// How long a drain may stand still before the measurement gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A relay at work.
pub(super) struct Running {
    pub(super) relay: Relay,
    stop: Stop,
    work: tokio::task::JoinHandle<Result<(), tenure::RelayError>>,
    /// The term of its first office.
    began_in: Option<u64>,
}

impl Running {
    /// Starts a relay, under a lease as users have it, and waits until it is in office.
    pub(super) async fn start(
        rig: &dyn Rig,
        sink: Arc<dyn Sink>,
        settings: RelaySettings,
    ) -> Result<Self, Failure> {
        let node = local_node(Some("bench"))?;
        let lease = Leases::new(rig.database().leases(), node).lease("outbox", LeaseSettings::default())?;
        let relay =
            Relay::new(rig.database().outbox(), sink, NodeName::new("bench")?, settings)?.exclusive(lease);
        let stop = Stop::new();
        let (theirs, until) = (relay.clone(), stop.clone());
        let work = tokio::spawn(async move { theirs.run(&until).await });
        let mut running = Self { relay, stop, work, began_in: None };
        loop {
            if let Role::Leading { term } = running.relay.status().role {
                running.began_in = Some(term);
                return Ok(running);
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }

    /// Waits until so many were delivered since its start.
    pub(super) async fn until_delivered(&self, count: u64) -> Result<(), Failure> {
        let (mut last, mut moved) = (0, Instant::now());
        loop {
            let status = self.relay.status();
            if status.delivered >= count {
                return Ok(());
            }
            if status.delivered > last {
                (last, moved) = (status.delivered, Instant::now());
            }
            if moved.elapsed() > PATIENCE && status.idle && self.has_changed_office(&status) {
                // What it was recording at that moment is finished, and was not counted: no figure comes of it.
                return Err(Failure::Failed(
                    "the relay lost its lease in the middle of the measurement: measure again on a quieter machine".into(),
                ));
            }
            if moved.elapsed() > PATIENCE {
                return Err(Failure::Failed(format!("the relay stands still: {status:?}")));
            }
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
    }

    fn has_changed_office(&self, status: &RelayStatus) -> bool {
        matches!(status.role, Role::Leading { term } if Some(term) != self.began_in)
    }

    pub(super) async fn end(self) -> Result<(), Failure> {
        self.stop.stop();
        match self.work.await {
            Ok(ran) => Ok(ran?),
            Err(error) => Err(Failure::Failed(error.to_string())),
        }
    }
}

/// A sink that does nothing, except for the source that is to fail.
pub(super) fn no_op() -> Arc<dyn Sink> {
    Arc::new(Handlers::new().otherwise(|message| {
        Box::pin(async move {
            match message.source.as_deref() {
                Some("parked") => Verdict::transient("as the measurement wants it"),
                _ => Verdict::Accepted,
            }
        })
    }))
}

/// Rows per second from taking office to the last record.
pub(super) async fn drain(rig: &dyn Rig, count: u64) -> Result<f64, Failure> {
    let running = Running::start(rig, no_op(), RelaySettings::default()).await?;
    let began = Instant::now();
    running.until_delivered(count).await?;
    let rate = count as f64 / began.elapsed().as_secs_f64();
    tracing::info!(status = ?running.relay.status(), "drained");
    running.end().await?;
    Ok(rate)
}

/// A measurement, unless someone asks it to end: what it has made is removed in either case.
pub(in crate::bench) async fn unless_ended<T>(
    measuring: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut signals = Signals::catch()?;
    tokio::select! {
        measured = measuring => measured,
        signal = signals.ending() => Err(Failure::Failed(format!("{signal}: ended early, nothing was measured"))),
    }
}

/// The middle one.
pub(in crate::bench) fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}

/// The most memory that this process had at once.
pub(super) fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// To two places.
pub(in crate::bench) fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
