//! Work that one copy does at a time, under a lease of its own: acquired before it is spawned, renewed while it lives,
//! given back when it has stopped. It needs no leader and works on any lease backend.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::cluster::DaemonName;
use tenure_core::lease::{Fence, LeaseSettings};
use tenure_core::observe::{METER, RunnerKind};
use tracing::Instrument;

use super::ClusterError;
use super::agent::{Agent, Duty};
use crate::lease::{Lease, Leases};
use crate::runners::{Beat, runners};
use crate::stop::Stop;

/// What the lease of a singleton is called, before its name.
const LEASE_PREFIX: &str = "tenure/singleton/";

/// How a singleton is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingletonSettings {
    /// How its lease is held.
    pub lease: LeaseSettings,
    /// How long it may take to stop before it is cut off. 30 s.
    pub drain: Duration,
    /// The pause after its first failure, doubled with each up to `restart_cap`; meanwhile another copy may have it. 500 ms.
    pub restart: Duration,
    /// The longest pause. 30 s.
    pub restart_cap: Duration,
}

impl Default for SingletonSettings {
    fn default() -> Self {
        Self {
            lease: LeaseSettings::default(),
            drain: Duration::from_secs(30),
            restart: Duration::from_millis(500),
            restart_cap: Duration::from_secs(30),
        }
    }
}

/// A singleton that this process is ready to run. Dropping it stops it here, in the background; other copies go on.
#[derive(Debug)]
pub struct Singleton {
    lease: Lease,
    stop: Stop,
    /// Given when nothing of it runs here any more.
    gone: Stop,
}

impl Singleton {
    /// Runs `agent` here whenever this process has the lease, until `stop` is given or this value is dropped.
    pub fn start(
        leases: &Leases,
        name: &str,
        agent: Arc<dyn Agent>,
        settings: SingletonSettings,
        stop: &Stop,
    ) -> Result<Self, ClusterError> {
        let daemon = DaemonName::new(name)?;
        let lease = leases.lease(format!("{LEASE_PREFIX}{name}"), settings.lease.clone())?;
        let stop = stop.child();
        let keeper = Keeper {
            lease: lease.clone(),
            daemon,
            agent,
            settings,
            node: leases.node().name.clone(),
            stop: stop.clone(),
        };
        let gone = Stop::new();
        let (task, tell) = (tokio::spawn(keeper.run()), gone.clone());
        tokio::spawn(async move {
            if let Err(error) = task.await {
                tracing::error!(%error, "a singleton's keeper ended without being told");
            }
            tell.stop();
        });
        Ok(Self { lease, stop, gone })
    }

    /// The fence under which it runs here; `None` while it does not.
    pub fn fence(&self) -> Option<Fence> {
        self.lease.fence()
    }

    /// Stops it here and gives the lease back; returns when that is done.
    pub async fn stop(self) {
        self.stop.stop();
        self.gone.stopped().await;
    }

    /// Given when nothing of it runs here any more, for good.
    pub(super) fn gone(&self) -> Stop {
        self.gone.clone()
    }
}

impl Drop for Singleton {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

struct Keeper {
    lease: Lease,
    daemon: DaemonName,
    agent: Arc<dyn Agent>,
    settings: SingletonSettings,
    node: tenure_core::id::NodeName,
    stop: Stop,
}

impl Keeper {
    async fn run(self) {
        let mut failures = 0u32;
        let beat = runners().register(RunnerKind::Singleton, self.daemon.as_str(), self.settings.lease.renew);
        let _watch = beat.watch();
        while !self.stop.is_stopped() {
            beat.state("standing by");
            match beat.waiting(self.lease.acquire_when_free(&self.stop)).await {
                Ok(None) => return,
                Ok(Some(fence)) => {
                    let failed = self.once(fence, &beat).await;
                    // Stop acting first, then release.
                    if let Err(error) = self.lease.release().await {
                        tracing::warn!(singleton = %self.daemon, %error, "its lease was not given back; its ttl ends it");
                    }
                    failures = if failed { failures.saturating_add(1) } else { 0 };
                    beat.count("failures", u64::from(failed));
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    tracing::error!(singleton = %self.daemon, %error, "its lease cannot be had; trying again");
                }
            }
            if failures > 0 {
                let pause = self.settings.restart.saturating_mul(1 << (failures - 1).min(20));
                let pause = pause.min(self.settings.restart_cap).mul_f64(0.5 + fastrand::f64() / 2.0);
                tokio::select! {
                    () = self.stop.stopped() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    /// Runs it once; whether it failed.
    async fn once(&self, fence: Fence, beat: &Beat) -> bool {
        beat.state(format!("running, term {}", fence.term));
        METER.daemon_starts.of(self.daemon.as_str()).add(0, 1);
        let span = tracing::info_span!("tenure.daemon.run", daemon = %self.daemon, generation = %fence.term);
        tracing::info!(singleton = %self.daemon, %fence, "a singleton starts here");
        let lost = self.lease.lost();
        let stop = lost.child();
        let duty = Duty {
            daemon: self.daemon.clone(),
            fence,
            node: self.node.clone(),
            stop: stop.clone(),
            lost: lost.clone(),
            seat: self.lease.clone(),
        };
        let agent = self.agent.clone();
        let mut work = tokio::spawn(async move { agent.run(duty).await }.instrument(span));
        let (mut told, mut is_lost, mut until) = (false, false, None);
        let ended = loop {
            tokio::select! {
                biased;
                ended = &mut work => break Ok(ended),
                // Its right is over: another copy starts it when the margin has passed.
                () = lost.stopped(), if !is_lost => {
                    (told, is_lost) = (true, true);
                    until = Some(tokio::time::Instant::now() + self.settings.lease.margin);
                }
                () = self.stop.stopped(), if !told => {
                    told = true;
                    stop.stop();
                    until = Some(tokio::time::Instant::now() + self.settings.drain);
                }
                () = sleep_until(until) => break Err(()),
                // Nobody else tells a watchdog that it goes on.
                () = tokio::time::sleep(self.settings.lease.renew) => self.lease.progress(),
            }
            beat.cycled();
            beat.advanced();
        };
        METER.daemon_stops.of(self.daemon.as_str()).add(0, 1);
        match ended {
            Ok(Ok(Ok(()))) if told => false,
            Ok(Ok(Ok(()))) => {
                tracing::warn!(singleton = %self.daemon, "a singleton ended by itself");
                true
            }
            Ok(Ok(Err(error))) => {
                tracing::error!(singleton = %self.daemon, %error, "a singleton failed");
                !told
            }
            Ok(Err(error)) => {
                tracing::error!(singleton = %self.daemon, %error, "a singleton panicked");
                !told
            }
            Err(()) => {
                tracing::error!(singleton = %self.daemon, "a singleton has not stopped in time and is cut off");
                work.abort();
                let _ = work.await;
                false
            }
        }
    }
}

async fn sleep_until(until: Option<tokio::time::Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}
