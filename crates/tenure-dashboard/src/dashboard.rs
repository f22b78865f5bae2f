//! A dashboard: what it is made of, and what its handlers share.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::extract::Request;
use tenure_core::contract::OperatorStores;
use tenure_core::error::StoreError;
use tenure_core::health::{Facts, Findings};
use tenure_core::id::Node;
use tenure_core::observe::{LocalRunners, RunnerReport};
use tenure_core::outbox::HealthThresholds;
use tokio::sync::watch;

use crate::ask::Asks;
use crate::auth::who::Known;
use crate::auth::{Attempts, Auth, Way};
use crate::gate;
use crate::hosts::Hosts;
use crate::jobs::Jobs;
use crate::limits::Limits;
use crate::mutation::{Rule, Switches};
use crate::problem::Trouble;
use crate::redact::Redact;
use crate::sampler::Sampler;
use crate::serve::{HealthSource, Sign};

/// Where a dashboard is mounted unless something else is said.
pub const MOUNT: &str = "/_tenure";

/// Seeing and steering, mounted into an application of axum or served by [`serve`](crate::serve()).
///
/// Give it a handle of its own to the store, with few connections and a short statement timeout, so that looking never
/// stands in the way of working.
pub struct Dashboard {
    desk: Desk,
}

/// A dashboard cannot be made so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DashboardError {
    /// The place cannot be a path.
    #[error(
        "a dashboard is mounted at a path such as /_tenure, that begins with `/` and does not end with one"
    )]
    Mount,
    /// A bound is out of its own bounds.
    #[error("{0}")]
    Limits(String),
}

/// What handlers share.
pub(crate) struct Desk {
    pub(crate) stores: OperatorStores,
    pub(crate) auth: Auth,
    pub(crate) hosts: Hosts,
    pub(crate) mount: String,
    pub(crate) limits: Limits,
    pub(crate) this_node: Option<Node>,
    pub(crate) runners: Option<Arc<dyn LocalRunners>>,
    pub(crate) thresholds: HealthThresholds,
    pub(crate) health: Option<Arc<dyn HealthSource>>,
    pub(crate) sign: Sign,
    pub(crate) redact: Option<Arc<dyn Redact>>,
    pub(crate) asks: Asks,
    pub(crate) attempts: Attempts,
    pub(crate) jobs: Jobs,
    pub(crate) sampler: Sampler,
    pub(crate) rules: Switches,
    /// Whether the dashboard is to end: live views and jobs end with it.
    pub(crate) stopping: watch::Receiver<bool>,
    stop: watch::Sender<bool>,
    pub(crate) looks_only: bool,
    clock: fn() -> SystemTime,
}

impl Dashboard {
    /// A dashboard over `stores`. Who may see and do what is `auth`'s business, and there is no default for it; `hosts` are
    /// the names by which browsers know it.
    pub fn new(stores: OperatorStores, auth: Auth, hosts: Hosts) -> Self {
        let limits = Limits::default();
        let (stop, stopping) = watch::channel(false);
        let desk = Desk {
            stores,
            auth,
            hosts,
            mount: MOUNT.to_owned(),
            asks: Asks::new(&limits, Switches::default()),
            limits,
            this_node: None,
            runners: None,
            thresholds: HealthThresholds::default(),
            health: None,
            sign: Sign::default(),
            redact: None,
            attempts: Attempts::new(),
            jobs: Jobs::default(),
            sampler: Sampler::default(),
            rules: Switches::default(),
            stopping,
            stop,
            looks_only: false,
            clock: SystemTime::now,
        };
        Self { desk }
    }

    /// Which node this process is: it is marked on the pages.
    #[must_use]
    pub fn this_node(mut self, node: Node) -> Self {
        self.desk.this_node = Some(node);
        self
    }

    /// The loops of this process: `tenure::runners()`.
    #[must_use]
    pub fn runners(mut self, runners: Arc<dyn LocalRunners>) -> Self {
        self.desk.runners = Some(runners);
        self
    }

    /// When lag and dead messages are bad.
    #[must_use]
    pub fn thresholds(mut self, thresholds: HealthThresholds) -> Self {
        self.desk.thresholds = thresholds;
        self
    }

    /// Who judges whether this process lives and is ready; without one, it lives as long as it answers, and is ready when the
    /// store answers.
    #[must_use]
    pub fn health(mut self, source: Arc<dyn HealthSource>) -> Self {
        self.desk.health = Some(source);
        self
    }

    /// Changes payloads and headers before anyone sees them.
    #[must_use]
    pub fn redact(mut self, redact: Arc<dyn Redact>) -> Self {
        self.desk.redact = Some(redact);
        self
    }

    /// Nobody may act here, whatever his token says.
    #[must_use]
    pub const fn only_looking(mut self) -> Self {
        self.desk.looks_only = true;
        self
    }

    /// Where it is mounted, as browsers see it; `/_tenure`, or an empty text for the root.
    pub fn mounted_at(mut self, path: &str) -> Result<Self, DashboardError> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
        let fits =
            path.starts_with('/') && !path.ends_with('/') && !path.contains("//") && !path.contains("..");
        let is_path = fits && path.bytes().all(good) && path.len() <= 200;
        if !path.is_empty() && !is_path {
            return Err(DashboardError::Mount);
        }
        self.desk.mount = path.to_owned();
        Ok(self)
    }

    /// Other bounds.
    pub fn limits(mut self, limits: Limits) -> Result<Self, DashboardError> {
        limits.validate().map_err(DashboardError::Limits)?;
        self.desk.limits = limits;
        Ok(self)
    }

    /// Another clock than the system's, for tests of what ends.
    #[doc(hidden)]
    #[must_use]
    pub fn clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.desk.clock = clock;
        self
    }

    /// Turns a safety rule off, so that a test can prove that it bites.
    #[cfg(feature = "mutations")]
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Self {
        self.desk.rules.without(rule);
        self
    }

    /// The pages and the API, to be nested where [`Dashboard::mounted_at`] says. Live views and bulk changes end with `stop`.
    pub fn router(self, stop: impl Future<Output = ()> + Send + 'static) -> Router {
        router_of(&self.into_desk(stop))
    }

    /// What handlers share, made ready.
    pub(crate) fn into_desk(mut self, stop: impl Future<Output = ()> + Send + 'static) -> Arc<Desk> {
        self.desk.asks = Asks::new(&self.desk.limits, self.desk.rules.clone());
        let desk = Arc::new(self.desk);
        Sampler::begin(&desk);
        let (weak, mut ended) = (Arc::downgrade(&desk), desk.stopping.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = stop => {
                    if let Some(desk) = weak.upgrade() {
                        desk.stop.send_replace(true);
                    }
                }
                // The last clone of the router is gone, and the sender with it.
                _ = ended.wait_for(|ended| *ended) => {}
            }
        });
        desk
    }
}

/// One entry, which looks into the table of routes: what is not there cannot be reached.
pub(crate) fn router_of(desk: &Arc<Desk>) -> Router {
    let desk = Arc::clone(desk);
    Router::new().fallback(move |request: Request| gate::pass(Arc::clone(&desk), request))
}

impl Desk {
    /// The time of this machine.
    pub(crate) fn now(&self) -> SystemTime {
        (self.clock)()
    }

    /// Whether a rule is off, in a test.
    #[cfg_attr(not(feature = "mutations"), allow(clippy::missing_const_for_fn))]
    pub(crate) fn off(&self, rule: Rule) -> bool {
        self.rules.off(rule)
    }

    /// Asks a store; see [`Asks::ask`].
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, Trouble> {
        self.asks.ask(what, call).await
    }

    /// What is judged, of what a store has just said: the loops of this process by what they say now.
    pub(crate) fn facts(&self, found: &Findings) -> Facts {
        found.facts(Duration::ZERO, self.loops(), |node| self.is_here(node))
    }

    /// What the loops of this process say of themselves now.
    pub(crate) fn loops(&self) -> Vec<RunnerReport> {
        self.runners.as_ref().map(|runners| runners.list()).unwrap_or_default()
    }

    /// Whether a node is this process, and its loops are known.
    pub(crate) fn is_here(&self, node: &Node) -> bool {
        let same = |here: &Node| (here.pid, &here.machine) == (node.pid, &node.machine);
        self.runners.is_some() && self.this_node.as_ref().is_some_and(same)
    }

    /// A path of ours as a browser has to ask for it.
    pub(crate) fn link(&self, path: &str) -> String {
        match (self.mount.as_str(), path) {
            (mount, "/") if !mount.is_empty() => mount.to_owned(),
            (mount, path) => format!("{mount}{path}"),
        }
    }

    /// The path below the mount, whether or not the router above has taken the mount off already.
    pub(crate) fn below_mount<'a>(&self, path: &'a str) -> &'a str {
        let below = match path.strip_prefix(self.mount.as_str()) {
            Some("") => "/",
            Some(below) if below.starts_with('/') => below,
            _ => path,
        };
        if below.is_empty() { "/" } else { below }
    }

    /// Whether there is a login: only where there are tokens.
    pub(crate) const fn has_login(&self) -> bool {
        matches!(self.auth.way, Way::Tokens(_))
    }

    /// Without the right to act, where nobody may.
    pub(crate) fn only_looking(&self, mut known: Known) -> Known {
        if self.looks_only {
            known.operator.permissions = known.operator.permissions.only_looking();
        }
        known
    }

    /// Writes a line of audit about something that is no change of one row.
    pub(crate) async fn note(
        &self,
        actor: &str,
        action: &str,
        subject: &str,
        detail: &str,
    ) -> Result<(), Trouble> {
        let audit = Arc::clone(&self.stores.audit);
        let [actor, action, subject, detail] = [actor, action, subject, detail].map(str::to_owned);
        self.ask("a note", async move { audit.note(&actor, &action, &subject, &detail).await }).await
    }

    /// Writes that a token was refused; in the background, for nobody waits for it.
    pub(crate) fn note_refusal(self: &Arc<Self>, request: &str, peer: &str) {
        let (desk, detail) = (Arc::clone(self), format!("request {request} from {peer}"));
        tokio::spawn(async move {
            if let Err(trouble) = desk.note("someone unknown", "dashboard.refused", "token", &detail).await {
                tracing::warn!(%trouble, "a refused token is not in the audit table");
            }
        });
    }
}

/// What it is, and no secret.
impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dashboard({:?} at {:?})", self.desk.auth, self.desk.mount)
    }
}
