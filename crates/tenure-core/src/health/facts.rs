//! What is known, as somebody gathered it.

use std::time::Duration;

use crate::cluster::{ClusterLook, Daemon};
use crate::event::Position;
use crate::id::Node;
use crate::observe::{RunnerReport, RunnerRow, Runners};
use crate::outbox::Pulse;
use crate::show::is_orphaned;
use crate::subscription::Progress;
use crate::time::StoreTime;

/// What is known of a process and its store. What was not asked is left as it is by default, and not judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Whether the store answers.
    pub store: StoreState,
    /// The outbox in numbers, and how old they are.
    pub pulse: Option<(Pulse, Duration)>,
    /// Whether somebody leads.
    pub leader: LeaderState,
    /// The loops of this process.
    pub runners: Vec<RunnerReport>,
    /// The loops of other processes.
    pub others: Option<Others>,
    /// Subscriptions, as the store knows them.
    pub subscriptions: Vec<SubscriptionFacts>,
    /// Daemons, as the store knows them.
    pub daemons: Option<DaemonFacts>,
}

/// Whether the store answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StoreState {
    /// It was not asked.
    #[default]
    NotAsked,
    /// It does.
    Answers,
    /// It does not.
    Away {
        /// For how long.
        since: Duration,
        /// What went wrong, without secrets.
        reason: String,
    },
}

/// Whether somebody leads the cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaderState {
    /// Nobody is there who could.
    #[default]
    NotWanted,
    /// Somebody does.
    Leads,
    /// Nobody does.
    Vacant {
        /// For how long.
        since: Duration,
    },
}

impl LeaderState {
    /// As a store knows it. Nobody has led since the last term ended, or since there is anyone who could.
    pub fn of(look: &ClusterLook) -> Self {
        let could = look.nodes.iter().filter(|node| node.is_alive(look.now) && node.member.leads);
        let Some(joined) = could.map(|node| node.member.joined_at).min() else { return Self::NotWanted };
        if look.leads().is_some() {
            return Self::Leads;
        }
        let ended = look.leader.as_ref().map(|lease| lease.released_at.unwrap_or(lease.expires_at));
        Self::Vacant { since: ended.map_or(joined, |ended| ended.max(joined)).until(look.now) }
    }
}

/// The loops of other processes, as a store keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Others {
    /// Their reports.
    pub rows: Vec<RunnerRow>,
    /// The store's time.
    pub now: StoreTime,
}

impl Others {
    /// Those that are not of this process, and whose process is heard of: what one that has ended said last is no news.
    pub fn of(told: Runners, look: Option<&ClusterLook>, is_here: impl Fn(&Node) -> bool) -> Self {
        let Runners { mut rows, now, .. } = told;
        rows.retain(|row| !is_here(&row.node) && row.is_heard(now, look));
        Self { rows, now }
    }
}

/// A subscription, as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionFacts {
    /// What it is called.
    pub name: String,
    /// At most so many events wait.
    pub behind: u64,
    /// How long ago it moved last.
    pub moved_ago: Duration,
}

impl SubscriptionFacts {
    /// By its progress, the last position, and the store's time.
    pub fn of(progress: &Progress, head: Position, now: StoreTime) -> Self {
        Self {
            name: progress.name.to_string(),
            behind: head.0.saturating_sub(progress.position.0).try_into().unwrap_or(0),
            moved_ago: progress.moved_at.until(now),
        }
    }
}

/// Daemons, as the store knows them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DaemonFacts {
    /// So many should run and do not.
    pub nowhere: u64,
    /// Whether any should run.
    pub wanted: bool,
    /// Whether a node is there that could run them.
    pub has_nodes: bool,
}

impl DaemonFacts {
    /// Of these daemons and the nodes for them.
    pub fn of(daemons: &[Daemon], look: &ClusterLook) -> Self {
        let wanted = || daemons.iter().filter(|daemon| daemon.is_wanted() && !daemon.retired);
        let nowhere = |daemon: &&Daemon| daemon.place.is_none() || is_orphaned(daemon, look);
        Self {
            nowhere: wanted().filter(nowhere).count() as u64,
            wanted: wanted().next().is_some(),
            has_nodes: look.nodes.iter().any(|node| node.is_alive(look.now)),
        }
    }
}
