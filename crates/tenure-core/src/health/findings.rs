//! What a store is asked for a judgement, and the facts that come of it: the same for probes, pages, the API and the command line.

use std::time::Duration;

use super::{DaemonFacts, Facts, LeaderState, Others, StoreState, SubscriptionFacts};
use crate::cluster::{ClusterLook, Daemon, DaemonFilter};
use crate::contract::OperatorStores;
use crate::error::StoreError;
use crate::event::Position;
use crate::id::Node;
use crate::observe::{RunnerReport, Runners};
use crate::outbox::{PULSE_MAX, Pulse};
use crate::subscription::Progress;

/// Loops of other processes are read that were seen within this time.
const RUNNERS_WITHIN: Duration = Duration::from_secs(90);
const RUNNERS: u32 = 500;
const SUBSCRIPTIONS: u32 = 200;
/// How many daemons are looked through for those that run nowhere.
const DAEMONS: u32 = 1_000;

/// What a store said when it was asked how things stand. Of what it did not answer nothing is judged; that it answers at all
/// is known by the numbers of the outbox.
#[derive(Debug, Clone)]
pub struct Findings {
    /// The outbox in numbers.
    pub pulse: Pulse,
    /// The cluster.
    pub look: Option<ClusterLook>,
    /// The loops of all processes.
    pub runners: Option<Runners>,
    /// Subscriptions.
    pub subscriptions: Vec<Progress>,
    /// The last position, where there are subscriptions.
    pub head: Option<Position>,
    /// The daemons.
    pub daemons: Option<Vec<Daemon>>,
    /// What it did not answer, and why.
    pub gaps: Vec<String>,
}

impl Findings {
    /// Asks for all of it. Not to be dropped half-way.
    pub async fn ask(stores: &OperatorStores) -> Result<Self, StoreError> {
        let OperatorStores { outbox, cluster, runners, checkpoints, events, .. } = stores;
        let pulse = outbox.pulse(PULSE_MAX).await?;
        let mut gaps = Gaps::default();
        let look = gaps.answer("the cluster", cluster.look().await);
        let runners = gaps.answer("runners", runners.runners(RUNNERS_WITHIN, RUNNERS).await);
        let subscriptions =
            gaps.answer("subscriptions", checkpoints.subscriptions(None, SUBSCRIPTIONS).await);
        let subscriptions = subscriptions.unwrap_or_default();
        let head = match subscriptions.is_empty() {
            true => None,
            false => gaps.answer("events", events.read_all(Position::START, 1).await).map(|page| page.head),
        };
        let filter = DaemonFilter { limit: DAEMONS, ..DaemonFilter::beginning("") };
        let daemons = gaps.answer("daemons", cluster.daemons(&filter).await);
        Ok(Self { pulse, look, runners, subscriptions, head, daemons, gaps: gaps.0 })
    }

    /// The facts that come of it, `age` after it was said. `loops` are those of this process, which says by `is_here` which of
    /// the reports in the store are its own: they are judged by what they say now.
    pub fn facts(&self, age: Duration, loops: Vec<RunnerReport>, is_here: impl Fn(&Node) -> bool) -> Facts {
        let reads = |head: Position| {
            let all = self.subscriptions.iter();
            all.map(|progress| SubscriptionFacts::of(progress, head, self.pulse.now)).collect()
        };
        Facts {
            store: StoreState::Answers,
            pulse: Some((self.pulse.clone(), age)),
            leader: self.look.as_ref().map_or(LeaderState::NotWanted, LeaderState::of),
            runners: loops,
            others: self.runners.clone().map(|told| Others::of(told, self.look.as_ref(), is_here)),
            subscriptions: self.head.map(reads).unwrap_or_default(),
            daemons: self
                .look
                .as_ref()
                .zip(self.daemons.as_deref())
                .map(|(look, all)| DaemonFacts::of(all, look)),
        }
    }
}

/// What the store did not answer.
#[derive(Debug, Default)]
struct Gaps(Vec<String>);

impl Gaps {
    /// An answer, if there was one.
    fn answer<T>(&mut self, what: &str, answer: Result<T, StoreError>) -> Option<T> {
        answer.inspect_err(|error| self.0.push(format!("{what}: {error}"))).ok()
    }
}
