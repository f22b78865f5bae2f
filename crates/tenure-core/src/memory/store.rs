//! Leases in a map, and an outbox and events beside them. Every method is one decision under one lock.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::audit::AuditTable;
use super::cluster::{ClusterTables, Leases};
use super::events::{CheckpointTables, EventTables};
use super::ids::FreshIds;
use super::outbox::OutboxTables;
use super::presence::Flags;
use super::runners::RunnerTable;
use super::wakeup::Bells;
use crate::contract::{
    Capabilities, LeaseAdmin, LeaseRegistry, LeaseStore, Migrated, Missing, Presence, Schema,
};
use crate::error::StoreError;
use crate::lease::decide::{self, Decision, RenewAnswer, TermError};
use crate::lease::{
    Acquire, Change, Claim, FORGET_MAX, Fate, Fence, FenceCheck, Forgotten, Grant, HistoryId, LeaseName,
    LeasePageOf, LeaseRecord, Release, Renew, Renewal, Revoke, Term,
};
use crate::registry::{Entry, Recorded, Touched};
use crate::time::StoreTime;

/// What this store calls itself.
pub(super) const BACKEND: &str = "memory";

/// The clock that a memory store judges expiry by.
pub trait StoreClock: Send + Sync + fmt::Debug {
    /// The store's time now.
    fn now(&self) -> StoreTime;
}

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Moves the clock on.
    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl StoreClock for ManualClock {
    fn now(&self) -> StoreTime {
        StoreTime::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Leases, an outbox and events held in this process's memory. Clones share them.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn StoreClock>,
    state: Mutex<State>,
    flags: Flags,
    /// What relays sleep by.
    bells: Bells,
    /// What readers of events sleep by.
    event_bells: Bells,
    /// What nodes of a cluster sleep by.
    cluster_bells: Bells,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) leases: Leases,
    history: Vec<Change>,
    pub(super) audit: AuditTable,
    pub(super) runners: RunnerTable,
    pub(super) outbox: OutboxTables,
    pub(super) events: EventTables,
    pub(super) checkpoints: CheckpointTables,
    pub(super) cluster: ClusterTables,
    pub(super) ids: FreshIds,
}

impl State {
    fn remembered(&self, name: &LeaseName) -> Option<Term> {
        self.history.iter().filter(|change| change.name == *name).map(|change| change.term).max()
    }

    pub(super) fn add_history(&mut self, history: Vec<Change>) {
        for change in history {
            self.add_change(change);
        }
    }

    fn add_change(&mut self, change: Change) {
        let id = HistoryId(self.history.last().and_then(|last| last.id).map_or(1, |last| last.0 + 1));
        self.history.push(Change { id: Some(id), ..change });
    }

    /// Takes the lines that were written in the tables since it was called last.
    pub(super) fn gather_audit(&mut self, now: StoreTime) {
        self.audit.gather(&self.outbox, &self.checkpoints, &self.cluster, now);
    }

    fn apply<O>(&mut self, decision: Decision<O>) -> O {
        if let Some(record) = decision.write {
            self.leases.insert(record.name.clone(), record);
        }
        self.add_history(decision.history);
        decision.outcome
    }
}

impl MemoryStore {
    /// An empty store whose expiry is judged by `clock`.
    pub fn new(clock: Arc<dyn StoreClock>) -> Self {
        let (state, flags, bells, event_bells, cluster_bells) = Default::default();
        Self { shared: Arc::new(Shared { clock, state, flags, bells, event_bells, cluster_bells }) }
    }

    /// Checks a fence, for protected writes to things in memory.
    pub fn check(&self, fence: &Fence) -> FenceCheck {
        decide::check(self.state().leases.get(&fence.lease), fence, self.now())
    }

    /// Forgets a row, as a careless person with a database shell would.
    pub fn delete_row(&self, name: &LeaseName) {
        self.state().leases.remove(name);
    }

    /// Forgets all history, as such a person would.
    pub fn lose_history(&self) {
        self.state().history.clear();
    }

    /// Sets a row's term back by one, as a restored backup would; false when there is no lower term.
    pub fn regress_term(&self, name: &LeaseName) -> bool {
        let mut state = self.state();
        let Some(record) = state.leases.get_mut(name) else { return false };
        let Some(lower) = Term::new(record.term.get() - 1) else { return false };
        record.term = lower;
        true
    }

    /// Ends every presence session, as a server that restarts would.
    pub fn end_sessions(&self) {
        self.shared.flags.end_all();
    }

    /// Becomes what `backup` is, rows and history, as a restored backup would.
    pub fn restore_from(&self, backup: &Self) {
        // Not both locks at once: two stores may be restored from each other.
        let (leases, history, outbox, events, checkpoints, cluster, audit) = {
            let state = backup.state();
            let (leases, history, outbox) =
                (state.leases.clone(), state.history.clone(), state.outbox.clone());
            let (events, checkpoints) = (state.events.clone(), state.checkpoints.clone());
            let audit = state.audit.clone();
            (leases, history, outbox, events, checkpoints, state.cluster.clone(), audit)
        };
        let mut state = self.state();
        (state.leases, state.history, state.outbox, state.cluster) = (leases, history, outbox, cluster);
        state.events.restore_from(&events);
        (state.checkpoints, state.audit) = (checkpoints, audit);
    }

    pub(super) fn now(&self) -> StoreTime {
        self.shared.clock.now()
    }

    pub(super) fn bells(&self) -> &Bells {
        &self.shared.bells
    }

    pub(super) fn event_bells(&self) -> &Bells {
        &self.shared.event_bells
    }

    pub(super) fn cluster_bells(&self) -> &Bells {
        &self.shared.cluster_bells
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave the state half changed: every change is the last step of its method.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn corrupt(error: &TermError) -> StoreError {
    StoreError::Corrupt { store: BACKEND.into(), message: error.to_string() }
}

#[async_trait]
impl LeaseStore for MemoryStore {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        let mut state = self.state();
        let (record, remembered) = (state.leases.get(&claim.name), state.remembered(&claim.name));
        let decision = decide::acquire(record, remembered, claim, BACKEND, self.now())
            .map_err(|error| corrupt(&error))?;
        Ok(state.apply(decision))
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let mut state = self.state();
        let decision = decide::renew(state.leases.get(&grant.name), grant, renewal, self.now());
        match state.apply(decision) {
            RenewAnswer::Is(answer) => Ok(answer),
            RenewAnswer::OutOfOrder => Err(StoreError::Failed {
                store: BACKEND.into(),
                message: "a later renewal of this grant was there first".into(),
                source: None,
            }),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let mut state = self.state();
        let decision = decide::release(state.leases.get(&grant.name), grant, self.now());
        Ok(state.apply(decision))
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        Ok(self.state().leases.get(name).cloned())
    }

    fn presence(&self) -> Option<&dyn Presence> {
        Some(&self.shared.flags)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { store: BACKEND.into(), presence: true, ..Capabilities::default() }
    }
}

#[async_trait]
impl LeaseAdmin for MemoryStore {
    async fn list(&self, page: &LeasePageOf) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError> {
        let state = self.state();
        let wanted = state.leases.values().filter(|record| page.has(&record.name));
        Ok((wanted.take(page.limit as usize).cloned().collect(), self.now()))
    }

    async fn history(
        &self,
        name: Option<&LeaseName>,
        before: Option<HistoryId>,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        let state = self.state();
        let wanted = state.history.iter().rev().filter(|change| {
            name.is_none_or(|name| change.name == *name)
                && before.is_none_or(|before| change.id < Some(before))
        });
        Ok(wanted.take(limit as usize).cloned().collect())
    }

    async fn forget_history(
        &self,
        keep: Duration,
        after: Option<HistoryId>,
        limit: u32,
    ) -> Result<Forgotten, StoreError> {
        let (mut state, now, limit) = (self.state(), self.now(), limit.min(FORGET_MAX));
        let fate = |change: &Change| {
            if change.at.until(now) < keep {
                Fate::Young
            } else if state.remembered(&change.name) > Some(change.term) {
                Fate::Goes
            } else {
                Fate::Last
            }
        };
        let next = state.history.iter().filter(|change| change.id > after);
        let looked: Vec<_> =
            next.take(limit as usize).filter_map(|change| change.id.map(|id| (id, fate(change)))).collect();
        let (gone, resume) = Forgotten::plan(&looked, limit);
        state.history.retain(|change| change.id.is_none_or(|id| !gone.contains(&id)));
        Ok(Forgotten { lines: gone.len() as u64, resume })
    }

    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError> {
        let mut state = self.state();
        let decision = decide::revoke(state.leases.get(name), force, self.now());
        if let Some((action, detail)) = decision.outcome.audit() {
            state.audit.add(self.now(), by, action, name.as_str(), &detail);
        }
        Ok(state.apply(decision))
    }
}

#[async_trait]
impl LeaseRegistry for MemoryStore {
    async fn prepare(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn record(&self, entry: &Entry, stale_after: Duration) -> Result<Recorded, StoreError> {
        let mut state = self.state();
        let (record, remembered) = (state.leases.get(&entry.name), state.remembered(&entry.name));
        let decision = decide::record(record, remembered, entry, stale_after, BACKEND, self.now())
            .map_err(|error| corrupt(&error))?;
        Ok(state.apply(decision))
    }

    async fn touch(&self, entry: &Entry, term: Term, stale_after: Duration) -> Result<Touched, StoreError> {
        let mut state = self.state();
        let decision = decide::touch(state.leases.get(&entry.name), entry, term, stale_after, self.now());
        Ok(state.apply(decision))
    }

    async fn stamp_released(&self, entry: &Entry, term: Term) -> Result<bool, StoreError> {
        let mut state = self.state();
        let decision = decide::stamp_released(state.leases.get(&entry.name), entry, term, self.now());
        Ok(state.apply(decision))
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        let mut state = self.state();
        let now = self.now();
        let decisions: Vec<_> =
            state.leases.values().filter_map(|record| decide::sweep(record, BACKEND, now)).collect();
        let swept = decisions.len() as u64;
        for decision in decisions {
            state.apply(decision);
        }
        Ok(swept)
    }
}

/// Memory needs no tables: every migration has been done before it is asked for.
#[async_trait]
impl Schema for MemoryStore {
    async fn migrate(&self) -> Result<Migrated, StoreError> {
        Ok(Migrated { from: 0, to: 0 })
    }

    async fn verify_schema(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn migrations(&self) -> String {
        String::new()
    }

    async fn missing(&self) -> Result<Missing, StoreError> {
        Ok(Missing { from: 0, to: 0, statements: String::new() })
    }
}
