//! A runner: a loop of ours in some process, as it tells of itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cluster::ClusterLook;
use crate::id::Node;
use crate::time::StoreTime;

/// The longest name of a runner, in bytes. What is longer is cut by whoever reports it.
pub const RUNNER_NAME_MAX_BYTES: usize = 200;

/// The most runners that one process reports.
pub const RUNNERS_MAX: usize = 64;

/// The most rows that one call reads.
pub const RUNNER_ROWS_MAX: u32 = 1_000;

/// The state of a runner that a panic has ended: it goes round no more, however lately it did.
pub const RUNNER_FALLEN: &str = "ended by a panic";

/// A process tells of its loops four times a minute at least, while they live: one that was not heard of for three times as
/// long has ended, hangs, or cannot reach the store.
pub const RUNNER_HEARD_WITHIN: Duration = Duration::from_secs(45);

/// What kind of loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunnerKind {
    /// Delivers messages of an outbox.
    Relay,
    /// Delivers one part of an outbox.
    Parts,
    /// Reads all events in order.
    Subscription,
    /// Deletes what is old enough.
    Sweeper,
    /// Keeps a node a member of its cluster.
    Node,
    /// Leads the cluster, or stands by to.
    Election,
    /// A daemon that the cluster placed on this node.
    Daemon,
    /// Work that runs once in a cluster.
    Singleton,
    /// Keeps a lease of the user's own.
    Lease,
    /// A bulk change that an operator began.
    Job,
    /// A dashboard.
    Dashboard,
    /// The thread that renews leases.
    Heart,
    /// Hears the store's hints that something was committed.
    Listener,
}

/// The words of every kind.
pub const RUNNER_KINDS: [&str; 13] = {
    let (mut words, mut at) = ([""; 13], 0);
    while at < words.len() {
        words[at] = RunnerKind::ALL[at].as_str();
        at += 1;
    }
    words
};

impl RunnerKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Relay,
        Self::Parts,
        Self::Subscription,
        Self::Sweeper,
        Self::Node,
        Self::Election,
        Self::Daemon,
        Self::Singleton,
        Self::Lease,
        Self::Job,
        Self::Dashboard,
        Self::Heart,
        Self::Listener,
    ];

    /// The word for it, as a row holds it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Parts => "parts",
            Self::Subscription => "subscription",
            Self::Sweeper => "sweeper",
            Self::Node => "node",
            Self::Election => "election",
            Self::Daemon => "daemon",
            Self::Singleton => "singleton",
            Self::Lease => "lease",
            Self::Job => "job",
            Self::Dashboard => "dashboard",
            Self::Heart => "heart",
            Self::Listener => "listener",
        }
    }
}

impl fmt::Display for RunnerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no kind of runner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a kind of runner")]
pub struct NotARunnerKind;

impl FromStr for RunnerKind {
    type Err = NotARunnerKind;
    fn from_str(word: &str) -> Result<Self, NotARunnerKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or(NotARunnerKind)
    }
}

/// A loop of one process, as it tells of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunnerReport {
    /// What kind of loop.
    pub kind: RunnerKind,
    /// What it is called: the lease, the subscription, the daemon; at most [`RUNNER_NAME_MAX_BYTES`].
    pub name: String,
    /// In a word or two: leading, standing by, live, halted …
    pub state: String,
    /// Why it does not get on, if so.
    pub trouble: Option<String>,
    /// How long ago it went round last; `None` before the first time.
    pub cycled_ago: Option<Duration>,
    /// How long ago it got on with its work last.
    pub advanced_ago: Option<Duration>,
    /// How often it goes round when nothing happens.
    pub every: Duration,
    /// Its counters since it was started, each by a fixed name: delivered, transient, rejected, poison, dead, events, swept,
    /// changed.
    pub counters: BTreeMap<Cow<'static, str>, u64>,
}

impl RunnerReport {
    /// Whether a panic has ended it.
    pub fn has_fallen(&self) -> bool {
        self.state == RUNNER_FALLEN
    }
}

/// Who knows the loops of this process; the crate `tenure` does.
pub trait LocalRunners: Send + Sync + fmt::Debug {
    /// What they say of themselves now.
    fn list(&self) -> Vec<RunnerReport>;
    /// Adds a loop, which goes round every so often. It is on the list while its beat is kept.
    fn add(&self, kind: RunnerKind, name: String, every: Duration) -> Box<dyn LocalBeat>;
}

/// By which a loop of this process says that it lives.
pub trait LocalBeat: Send + Sync + fmt::Debug {
    /// It went round.
    fn cycled(&self);
    /// It got on with its work, or found that there is none.
    fn advanced(&self);
    /// What it is, in a word or two.
    fn state(&self, state: &'static str);
    /// Why it does not get on; `None` once it does.
    fn trouble(&self, trouble: Option<String>);
    /// Adds to one of its counters. Names that are not known are not kept.
    fn count(&self, name: &'static str, by: u64);
}

/// A report as a store keeps it. Times are by the store's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunnerRow {
    /// The process that it runs in.
    pub node: Node,
    /// What it said last. How long ago things were is as of `seen_at`.
    pub report: RunnerReport,
    /// When it was first reported.
    pub started_at: StoreTime,
    /// When it was last reported.
    pub seen_at: StoreTime,
}

impl RunnerRow {
    /// Whether its process is heard of: it has told of itself lately, and where it is a node of the cluster, that node lives.
    /// Of others it is not known what they do now, whatever they said last.
    pub fn is_heard(&self, now: StoreTime, look: Option<&ClusterLook>) -> bool {
        let gone = look.is_some_and(|look| {
            let nodes = look.nodes.iter();
            let mut same = nodes.filter(|standing| standing.member.node.incarnation == self.node.incarnation);
            same.any(|standing| !standing.is_alive(look.now))
        });
        !gone && self.seen_at.until(now) <= RUNNER_HEARD_WITHIN
    }
}

/// The runners that a store knows, and the moment of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Runners {
    /// By the node's name, its incarnation, kind and name.
    pub rows: Vec<RunnerRow>,
    /// Whether there are more than were asked for.
    pub more: bool,
    /// The store's time.
    pub now: StoreTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_back_from_its_word() {
        for kind in RunnerKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
        assert_eq!("Relay".parse::<RunnerKind>(), Err(NotARunnerKind));
    }
}
