//! A cluster's store that is wrong on purpose, each time in one way that a real store could be wrong in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use tenure_conformance::{Backend, ClusterBackend};
use tenure_core::StoreError;
use tenure_core::cluster::{
    Answer, ClusterLook, Cursor, Daemon, DaemonFilter, DaemonName, DaemonState, Order, Placement, Refusal,
    Revision, Steering, Verdict,
};
use tenure_core::contract::{ClusterStore, LeaseAdmin, LeaseStore, Wakeup};
use tenure_core::id::NodeName;
use tenure_core::lease::{
    Change, Fence, FenceCheck, HistoryId, LeaseName, LeasePageOf, LeaseRecord, Revoke, Term,
};
use tenure_core::memory::{ManualClock, MemoryStore};
use tenure_core::mutation::{Rule, without};
use tenure_core::time::StoreTime;

use crate::memory::MemoryBackend;

/// One way of being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// None at all: what the others are measured by.
    None,
    /// Orders of any term are taken as long as someone holds the lease.
    FenceTermIgnored,
    /// Any lease will do for an order.
    FenceLeaseIgnored,
    /// A node whose row is not there counts as dead.
    RowIsLife,
    /// An acknowledgement is taken for whatever generation there is.
    AcknowledgesAny,
    /// A confirmation is taken for whatever generation there is.
    ConfirmsAny,
    /// An acknowledgement that was taken is refused when it is repeated.
    RepeatRefused,
    /// No lease is written beside a placement.
    LeaseForgotten,
    /// Lines of history about daemons are not written.
    HistoryForgotten,
    /// Rows keep the revision of their first change.
    RevisionStuck,
    /// Refused orders use up revisions.
    RefusalCounts,
    /// Where a daemon goes next is forgotten.
    NextForgotten,
    /// A pause is lost when the daemon is taken back.
    PauseLost,
    /// A prefix is a pattern, without regard to case.
    PrefixIsPattern,
    /// A page ends its revision, whatever is left of it.
    PageEndsRevision,
    /// A page begins with its revision, whatever was read of it.
    PageRepeatsRevision,
    /// Rows by revision come by name.
    RevisionUnordered,
    /// A node does not see what comes to it next.
    NextUnseen,
    /// The limit of a read is not looked at.
    LimitIgnored,
    /// A read begins at the first name.
    AfterIgnored,
    /// Spaces at the end of names are not kept.
    NamesTrimmed,
    /// Labels are not kept.
    LabelsForgotten,
    /// Reasons are not kept.
    ReasonForgotten,
    /// Deadlines are not kept.
    DeadlineForgotten,
    /// Where a daemon failed is not kept.
    AvoidsForgotten,
    /// What operators do is not written down.
    Unaudited,
    /// Nobody is ever woken.
    NeverWoken,
    /// Of an order's parts only some hundred are done.
    BatchCut,
    /// One part that is refused undoes the others.
    AllOrNothing,
    /// Two orders at once do not see each other.
    LostUpdates,
    /// A node that leaves goes on as before.
    LeaveForgotten,
    /// A node that has left stays.
    DepartForgotten,
    /// A row is forgotten although its node lives.
    ForgetsTheLiving,
    /// A row that is there is never replaced.
    FirstRowStays,
    /// Each registration is a new one.
    AlwaysJoinsAnew,
    /// What a node brings along is not declared.
    DeclaresForgotten,
    /// Groups are not kept.
    GroupsForgotten,
    /// Daemons of a group that was divided anew stay.
    OldLayoutStays,
    /// A retired daemon is retired for ever.
    RetiredForEver,
    /// All clusters in one place are one.
    OneCluster,
}

#[derive(Clone)]
pub(crate) struct BrokenClusterBackend {
    inner: Arc<MemoryBackend>,
    flaw: Flaw,
    refused: Arc<AtomicU64>,
}

impl BrokenClusterBackend {
    pub(crate) fn start(flaw: Flaw) -> Self {
        Self { inner: Arc::new(MemoryBackend::start()), flaw, refused: Arc::default() }
    }
}

#[async_trait]
impl Backend for BrokenClusterBackend {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        self.inner.store().await
    }

    async fn pass(&self, span: Duration) {
        self.inner.pass(span).await;
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(BrokenAdmin { inner: self.inner.store.clone(), flaw: self.flaw }))
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        self.inner.check_fence(fence).await
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        self.inner.delete_row(name).await
    }
}

#[async_trait]
impl ClusterBackend for BrokenClusterBackend {
    async fn cluster(&self) -> Arc<dyn ClusterStore> {
        Arc::new(Broken {
            inner: self.inner.store.clone(),
            flaw: self.flaw,
            refused: Arc::clone(&self.refused),
        })
    }

    async fn delete_node(&self, node: &NodeName) {
        self.inner.delete_node(node).await;
    }

    async fn delete_daemon(&self, daemon: &DaemonName) {
        self.inner.delete_daemon(daemon).await;
    }

    async fn daemon_audit(&self) -> Option<Vec<(String, String, String)>> {
        match self.flaw {
            Flaw::Unaudited => Some(Vec::new()),
            _ => self.inner.daemon_audit().await,
        }
    }

    async fn neighbour(&self) -> Option<Box<dyn ClusterBackend>> {
        match self.flaw {
            Flaw::OneCluster => Some(Box::new(self.clone())),
            _ => Some(Box::new(Self::start(self.flaw))),
        }
    }
}

#[derive(Debug)]
struct BrokenAdmin {
    inner: MemoryStore,
    flaw: Flaw,
}

#[async_trait]
impl LeaseAdmin for BrokenAdmin {
    async fn list(&self, page: &LeasePageOf) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError> {
        self.inner.list(page).await
    }

    async fn history(
        &self,
        name: Option<&LeaseName>,
        before: Option<HistoryId>,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        let mut lines = self.inner.history(name, before, limit).await?;
        if self.flaw == Flaw::HistoryForgotten {
            lines.retain(|line| DaemonName::of_lease(&line.name).is_none());
        }
        Ok(lines)
    }

    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError> {
        self.inner.revoke(name, by, force).await
    }
}

#[derive(Debug)]
struct Broken {
    inner: MemoryStore,
    flaw: Flaw,
    refused: Arc<AtomicU64>,
}

impl Broken {
    /// Applies an order at once, for a memory store waits for nothing; with a rule switched off, if one is named.
    fn at_once(&self, order: &Order, off: Option<Rule>) -> Result<Answer, StoreError> {
        let apply = || {
            let mut applied = std::pin::pin!(self.inner.apply(order));
            match applied.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(answer) => answer,
                Poll::Pending => panic!("a memory store waits for nothing"),
            }
        };
        match off {
            Some(rule) => without(rule, apply),
            None => apply(),
        }
    }

    async fn row(&self, name: &DaemonName) -> Option<Daemon> {
        let rows = self.inner.daemons(&DaemonFilter::beginning(name.as_str())).await.ok()?;
        rows.into_iter().find(|row| row.name() == name)
    }

    /// The same with the generation that the row has.
    async fn of_the_row(&self, daemons: &[(DaemonName, Term)]) -> Vec<(DaemonName, Term)> {
        let mut given = Vec::new();
        for (name, generation) in daemons {
            let row = self.row(name).await.and_then(|row| row.generation);
            given.push((name.clone(), row.unwrap_or(*generation)));
        }
        given
    }

    /// The order as this store takes it in.
    async fn changed(&self, order: &Order) -> Order {
        let mut order = order.clone();
        match (self.flaw, &mut order) {
            (Flaw::AcknowledgesAny, Order::Acknowledge { daemons, .. })
            | (Flaw::ConfirmsAny, Order::Confirm { daemons, .. }) => {
                *daemons = self.of_the_row(daemons).await;
            }
            (Flaw::NextForgotten, Order::Place { placements, .. }) => {
                for placement in placements {
                    if let Placement::Revoke { next, .. } = placement {
                        *next = None;
                    }
                }
            }
            (Flaw::BatchCut, Order::Place { placements, .. }) => placements.truncate(500),
            (Flaw::LabelsForgotten, Order::Register { member, .. }) => member.labels.0.clear(),
            (Flaw::DeclaresForgotten, Order::Register { declares, .. }) => declares.clear(),
            (Flaw::GroupsForgotten, Order::Declare { specs, .. }) => {
                specs.iter_mut().for_each(|spec| spec.group = None);
            }
            (Flaw::OldLayoutStays, Order::Declare { specs, .. }) => {
                // A layout that is not there yet is renamed, so that nothing goes for it.
                specs.iter_mut().filter_map(|spec| spec.group.as_mut()).for_each(|group| {
                    group.name = format!("{} {}", group.name, group.layout);
                });
            }
            (
                Flaw::FenceTermIgnored,
                Order::Register { fence, .. }
                | Order::Place { fence, .. }
                | Order::Acknowledge { fence, .. }
                | Order::Confirm { fence, .. },
            ) => {
                if let Ok(Some(lease)) = self.inner.observe(&fence.lease).await {
                    fence.term = lease.term;
                }
            }
            _ => {}
        }
        order
    }

    /// What this store answers without doing anything.
    async fn unheard(&self, order: &Order) -> Option<Answer> {
        let taken = Some(Answer::Done(vec![Verdict::Taken]));
        match (self.flaw, order) {
            (Flaw::LeaveForgotten, Order::Leave { .. }) | (Flaw::DepartForgotten, Order::Depart { .. }) => {
                taken
            }
            (Flaw::FirstRowStays, Order::Register { member, .. }) => {
                let look = self.inner.look().await.ok()?;
                look.node(&member.node.name).and(taken)
            }
            (Flaw::RepeatRefused, Order::Acknowledge { daemons, .. }) => {
                let row = self.row(&daemons.first()?.0).await?;
                let (daemon, state) = (row.name().clone(), row.state);
                let refused = vec![Verdict::Refused(Refusal::StillHeld { daemon, state })];
                (row.state == DaemonState::Active).then_some(Answer::Done(refused))
            }
            (Flaw::RetiredForEver, Order::Declare { specs, .. }) => {
                let row = self.row(&specs.first()?.name).await?;
                row.retired.then_some(Answer::Done(vec![Verdict::Taken; specs.len()]))
            }
            _ => None,
        }
    }

    /// Which rule this store does not know, for this order.
    async fn unknown_rule(&self, order: &Order) -> Option<Rule> {
        match (self.flaw, order) {
            (Flaw::FenceLeaseIgnored, _) => {
                let fence = order.fence()?;
                let check = self.inner.check(fence);
                (check == FenceCheck::Holds).then_some(Rule::LeaderFence)
            }
            (Flaw::RowIsLife, Order::Place { placements, .. }) => {
                let row = self.row(placements.first()?.daemon()?).await?;
                let look = self.inner.look().await.ok()?;
                look.node(row.node()?).is_none().then_some(Rule::OwnerOver)
            }
            _ => None,
        }
    }

    /// What this store does after an order was carried out.
    async fn afterwards(&self, order: &Order, answer: &mut Answer) -> Result<(), StoreError> {
        match (self.flaw, order) {
            (Flaw::LeaseForgotten, Order::Place { placements, .. }) => {
                for lease in
                    placements.iter().filter_map(Placement::daemon).filter_map(|name| name.lease().ok())
                {
                    self.inner.delete_row(&lease);
                }
            }
            (Flaw::PauseLost, Order::Place { placements, deadlines, .. }) => {
                for placement in placements {
                    if let Placement::Unassign { daemon, .. } = placement {
                        let (daemon, by) = (daemon.clone(), "nobody".to_owned());
                        let steering = Steering::Resume;
                        let resume = Order::Steer { daemon, steering, by, deadlines: *deadlines };
                        self.inner.apply(&resume).await?;
                    }
                }
            }
            (Flaw::ForgetsTheLiving, Order::Place { placements, .. }) => {
                if let [Placement::Forget { node, .. }] = &placements[..] {
                    self.inner.delete_node(node);
                    *answer = Answer::Done(vec![Verdict::Taken]);
                }
            }
            (Flaw::BatchCut, Order::Place { placements, .. }) => {
                if let Answer::Done(verdicts) = answer {
                    verdicts.resize(placements.len(), Verdict::Taken);
                }
            }
            _ => {}
        }
        let refused = match answer {
            Answer::Done(verdicts) => verdicts.iter().any(|verdict| !verdict.is_taken()),
            Answer::Fenced(_) | Answer::Refused(_) => true,
        };
        self.refused.fetch_add(u64::from(refused), Ordering::SeqCst);
        Ok(())
    }

    /// The row as this store shows it.
    fn shown(&self, mut row: Daemon) -> Daemon {
        match self.flaw {
            Flaw::RevisionStuck => row.revision = Revision(1),
            Flaw::ReasonForgotten => row.reason.clear(),
            Flaw::DeadlineForgotten => row.deadline = None,
            Flaw::AvoidsForgotten => row.avoids.clear(),
            Flaw::NamesTrimmed => {
                let trimmed = row.name().as_str().trim_end().to_owned();
                row.spec.name = DaemonName::new(trimmed).unwrap_or(row.spec.name);
            }
            _ => {}
        }
        row
    }

    fn backup(&self) -> MemoryStore {
        let backup = MemoryStore::new(Arc::new(ManualClock::default()));
        backup.restore_from(&self.inner);
        backup
    }
}

/// Whether a name fits a pattern of SQL that may go on with anything.
fn like(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], _) => true,
        (['%', rest @ ..], _) => (0..=name.len()).any(|skipped| like(rest, &name[skipped..])),
        (['_', rest @ ..], [_, others @ ..]) => like(rest, others),
        ([one, rest @ ..], [other, others @ ..]) => one == other && like(rest, others),
        _ => false,
    }
}

fn folded(text: &str) -> Vec<char> {
    text.to_lowercase().chars().collect()
}

#[async_trait]
impl ClusterStore for Broken {
    async fn look(&self) -> Result<ClusterLook, StoreError> {
        let mut look = self.inner.look().await?;
        if self.flaw == Flaw::RefusalCounts {
            look.revision.0 += self.refused.load(Ordering::SeqCst);
        }
        Ok(look)
    }

    async fn daemons_after(&self, after: &Cursor, limit: u32) -> Result<Vec<Daemon>, StoreError> {
        let after = match (self.flaw, after.daemon.is_some()) {
            (Flaw::PageEndsRevision, true) => {
                Cursor { revision: Revision(after.revision.0 + 1), daemon: None }
            }
            (Flaw::PageRepeatsRevision, _) => Cursor { daemon: None, ..after.clone() },
            _ => after.clone(),
        };
        let mut rows = self.inner.daemons_after(&after, limit).await?;
        if self.flaw == Flaw::RevisionUnordered {
            rows.sort_by(|a, b| a.name().cmp(b.name()));
        }
        Ok(rows.into_iter().map(|row| self.shown(row)).collect())
    }

    async fn daemons(&self, filter: &DaemonFilter) -> Result<Vec<Daemon>, StoreError> {
        let mut asked = filter.clone();
        match self.flaw {
            Flaw::LimitIgnored => asked.limit = u32::MAX,
            Flaw::AfterIgnored => asked.after = None,
            Flaw::PrefixIsPattern => (asked.prefix, asked.limit) = (None, u32::MAX),
            _ => {}
        }
        let mut rows = self.inner.daemons(&asked).await?;
        if let (Flaw::PrefixIsPattern, Some(prefix)) = (self.flaw, &filter.prefix) {
            rows.retain(|row| like(&folded(prefix), &folded(row.name().as_str())));
            rows.truncate(filter.limit as usize);
        }
        if let (Flaw::NextUnseen, Some(node)) = (self.flaw, &filter.node) {
            rows.retain(|row| row.node() == Some(node));
        }
        Ok(rows.into_iter().map(|row| self.shown(row)).collect())
    }

    async fn apply(&self, order: &Order) -> Result<Answer, StoreError> {
        if let Some(answer) = self.unheard(order).await {
            return Ok(answer);
        }
        if let (Flaw::AlwaysJoinsAnew, Order::Register { member, .. }) = (self.flaw, order) {
            self.inner.delete_node(&member.node.name);
        }
        let (changed, off) = (self.changed(order).await, self.unknown_rule(order).await);
        let backup = self.backup();
        if self.flaw == Flaw::LostUpdates {
            tokio::task::yield_now().await;
            self.inner.restore_from(&backup);
        }
        let mut answer = self.at_once(&changed, off)?;
        self.afterwards(order, &mut answer).await?;
        if let (Flaw::AllOrNothing, Answer::Done(verdicts)) = (self.flaw, &answer)
            && verdicts.iter().any(|verdict| !verdict.is_taken())
        {
            self.inner.restore_from(&backup);
        }
        Ok(answer)
    }

    async fn wake(&self) -> Result<(), StoreError> {
        self.inner.wake().await
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        match self.flaw {
            Flaw::NeverWoken => Ok(Some(Arc::new(Silent::default()))),
            _ => self.inner.watch().await,
        }
    }
}

/// What says that it is armed, and then nothing more.
#[derive(Debug, Default)]
struct Silent(AtomicBool);

#[async_trait]
impl Wakeup for Silent {
    fn arm(&self, on: bool) {
        self.0.store(on, Ordering::SeqCst);
    }

    async fn hint(&self) -> Result<(), StoreError> {
        match self.0.swap(false, Ordering::SeqCst) {
            true => Ok(()),
            false => std::future::pending().await,
        }
    }
}
