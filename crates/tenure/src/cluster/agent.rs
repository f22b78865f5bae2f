//! The code behind a daemon, and what it is given.

use std::fmt;
use std::future::Future;

use async_trait::async_trait;
use tenure_core::cluster::DaemonName;
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;

use crate::lease::Lease;
use crate::mandate::Mandate;
use crate::stop::Stop;

/// Why an agent could not go on.
pub type AgentError = Box<dyn std::error::Error + Send + Sync>;

/// The code behind a daemon, or behind all daemons of a family.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Does the work until it is told to stop.
    ///
    /// A return before that, an error and a panic all count as failures: it is started again after a pause, and moved to
    /// another node when it fails too often.
    async fn run(&self, duty: Duty) -> Result<(), AgentError>;
}

/// What a daemon is told about its placement.
#[derive(Debug, Clone)]
pub struct Duty {
    /// Which daemon it is; for agents of a whole family.
    pub daemon: DaemonName,
    /// The value that its protected writes carry. The store refuses it once the daemon was placed anew.
    pub fence: Fence,
    /// The node it runs on.
    pub node: NodeName,
    /// Given when it is to stop: what is under way may end, until the drain deadline. Given together with `lost` too.
    pub stop: Stop,
    /// Given when its right is over: it must do nothing more at all. Another node may start it.
    pub lost: Stop,
    /// The lease behind it: the node's, or the singleton's own.
    pub(super) seat: Lease,
}

impl Duty {
    /// Whether the right may be believed in, judged by the clock. A process that was paused acts when it wakes, before
    /// anyone could have given it a signal: ask before what must not happen twice and carries no fence.
    pub fn is_alive(&self) -> bool {
        !self.lost.is_stopped() && self.seat.check_alive()
    }

    /// The right as relays, subscriptions and sweepers take it.
    pub fn mandate(&self) -> Mandate {
        let seat = self.seat.clone();
        Mandate::new(self.fence.clone(), self.lost.clone()).trusted_while(move || seat.check_alive())
    }
}

/// An agent that is a function.
pub fn agent<F, W>(work: F) -> impl Agent
where
    F: Fn(Duty) -> W + Send + Sync + 'static,
    W: Future<Output = Result<(), AgentError>> + Send + 'static,
{
    FnAgent(work)
}

struct FnAgent<F>(F);

#[async_trait]
impl<F, W> Agent for FnAgent<F>
where
    F: Fn(Duty) -> W + Send + Sync + 'static,
    W: Future<Output = Result<(), AgentError>> + Send + 'static,
{
    async fn run(&self, duty: Duty) -> Result<(), AgentError> {
        (self.0)(duty).await
    }
}

impl fmt::Debug for dyn Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Agent")
    }
}
