//! Outboxes that are wrong on purpose, each in one way that a real one could be wrong in.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tenure_conformance::outbox::{AuditLine, PlainRow, UserTransaction};
use tenure_conformance::{Backend, OutboxBackend};
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, LeaseAdmin, LeaseStore, OutboxAdmin, OutboxStore, Wakeup};
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;
use tenure_core::memory::MemoryStore;
use tenure_core::outbox::{
    Accept, Acted, Body, CauseId, Consumer, Count, Counted, DeadWalk, Details, Enqueued, Filter, Found,
    Graves, Limits, Listing, Loaded, Look, Message, MessageError, MessageId, NewMessage, Next, Outcome, Page,
    Pulse, Recorded, Retention, RowId, Selection, Stats, Swept,
};

use crate::memory::MemoryBackend;

/// One way of being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A source is read in the order of insertion.
    OrderById,
    /// What has a lower number than something that was seen before is never seen.
    Cursor,
    /// The place to read on from is ignored.
    PlaceIgnored,
    /// The rotation ends after its first step.
    RotationEnds,
    /// Sources to leave out are not left out.
    ExceptIgnored,
    /// Nobody says when something will be due.
    NextDueForgotten,
    /// Large payloads are carried along.
    LargeInline,
    /// Large payloads cannot be loaded.
    LoadFails,
    /// Payloads are loaded however large they are.
    LoadUnlimited,
    /// An unclear payload is taken for an empty one.
    UnclearIsEmpty,
    /// A message is due at once, whatever its delay.
    DelayIgnored,
    /// An id that is known is a no-op, whatever the content.
    ConflictIgnored,
    /// A message that is known counts as fresh.
    KnownIsFresh,
    /// Limits are not looked at.
    LimitsIgnored,
    /// Messages of one call are inserted one by one.
    NotAllOrNone,
    /// A batch of successes is recorded without a look at the fence.
    SuccessUnfenced,
    /// Every outcome is said to apply.
    AllApplied,
    /// Attempts are recorded without the relay's term.
    TermForgotten,
    /// A dead message never halts its source.
    NeverHalts,
    /// A pause is forgotten: it is due again at once.
    PauseIgnored,
    /// The fence of a sweep is not looked at.
    SweepUnfenced,
    /// A sweep deletes everything in one step.
    SweepUnbounded,
    /// A sweep never says that there is more.
    SweepStops,
    /// What is kept for ever is deleted.
    NothingForEver,
    /// A list comes oldest first.
    ListReversed,
    /// A filter is ignored.
    FilterIgnored,
    /// A page begins anew.
    PagingIgnored,
    /// Attempts are not shown.
    AttemptsHidden,
    /// Halted sources are not counted.
    HaltedUncounted,
    /// The lag counts what could not go.
    LagOfAll,
    /// A limit on a bulk change is ignored.
    BulkUnbounded,
    /// A retry answers for every operator who asked.
    RetryAnswersAll,
    /// What operators do is not written down.
    Unaudited,
    /// The lag of a delayed message counts from its insertion.
    LagOfDelayed,
    /// A refusal is written over what took effect, and over an earlier refusal.
    RefusesTooLate,
    /// An accepted message is remembered in a transaction of its own.
    InboxBesides,
    /// Nobody is ever woken.
    NeverWoken,
    /// A part is given everything.
    PartIgnored,
    /// What belongs to the last of several parts is given to nobody.
    PartForgotten,
    /// A row belongs to a part by its number, whatever its source.
    PartByNumber,
    /// A source belongs to a part when it is searched for, and not when it is asked for.
    PartOfLaneIgnored,
    /// What has no source belongs to the first part.
    PartUnspread,
    /// A rotation through other parts ends at its first step.
    PartRotationEnds,
    /// A search through rows of other parts ends at its first step.
    PartSearchEnds,
    /// A part is not told when its own is due.
    PartNextDueForgotten,
    /// A search looks at everything.
    StepsIgnored,
    /// A search never says that there is more.
    MoreForgotten,
    /// A range of time is ignored.
    TimeIgnored,
    /// A payload is read whole.
    PayloadUncut,
    /// A count of the dead has no bound.
    CountUnbounded,
    /// A retry of a cause retries all.
    CauseIgnored,
    /// A walk through the dead looks at all of them.
    WalkUnbounded,
    /// A walk through the dead begins anew with every call.
    WalkBeginsAgain,
    /// A walk through the dead never says that there is more.
    WalkEnds,
    /// Groups of causes are one.
    CausesMixed,
    /// Causes never go on.
    CausesEnd,
    /// A pulse counts everything.
    PulseUnbounded,
    /// A pulse does not count the dead.
    PulseBlind,
}

pub(crate) struct BrokenOutboxBackend {
    inner: MemoryBackend,
    flaw: Flaw,
    seen: Arc<AtomicI64>,
    late: Late,
}

/// Refusals that were written over what was there.
type Late = Arc<Mutex<BTreeMap<(Consumer, MessageId), String>>>;

impl BrokenOutboxBackend {
    pub(crate) fn start(flaw: Flaw) -> Self {
        Self { inner: MemoryBackend::start(), flaw, seen: Arc::default(), late: Late::default() }
    }

    fn broken(&self) -> Broken {
        Broken { inner: self.inner.store.clone(), flaw: self.flaw, seen: Arc::clone(&self.seen) }
    }
}

#[async_trait]
impl Backend for BrokenOutboxBackend {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        self.inner.store().await
    }

    async fn pass(&self, span: Duration) {
        self.inner.pass(span).await;
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        self.inner.admin().await
    }
}

#[async_trait]
impl OutboxBackend for BrokenOutboxBackend {
    async fn outbox(&self) -> Arc<dyn OutboxStore> {
        Arc::new(self.broken())
    }

    async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
        Arc::new(self.broken())
    }

    async fn begin(&self) -> Box<dyn UserTransaction> {
        let user = self.inner.begin().await;
        match self.flaw {
            Flaw::InboxBesides => Box::new(Besides { user, store: self.inner.store.clone() }),
            Flaw::RefusesTooLate => Box::new(TooLate { user, late: Arc::clone(&self.late) }),
            _ => user,
        }
    }

    async fn insert_plain(&self, row: PlainRow) -> Result<(), String> {
        self.inner.insert_plain(row).await
    }

    async fn effects(&self) -> Vec<String> {
        self.inner.effects().await
    }

    async fn audit(&self) -> Vec<AuditLine> {
        match self.flaw {
            Flaw::Unaudited => Vec::new(),
            _ => self.inner.audit().await,
        }
    }

    async fn attempt_rows(&self) -> u64 {
        self.inner.attempt_rows().await
    }
}

#[derive(Debug)]
struct Broken {
    inner: MemoryStore,
    flaw: Flaw,
    /// The highest number that was seen.
    seen: Arc<AtomicI64>,
}

#[async_trait]
impl OutboxStore for Broken {
    async fn enqueue(&self, messages: &[NewMessage], limits: &Limits) -> Result<Vec<Enqueued>, EnqueueError> {
        let mut messages = messages.to_vec();
        let mut limits = *limits;
        match self.flaw {
            Flaw::DelayIgnored => messages.iter_mut().for_each(|message| message.delay = Duration::ZERO),
            Flaw::LimitsIgnored => limits = Limits { payload: usize::MAX },
            Flaw::NotAllOrNone => {
                let mut sent = Vec::new();
                for message in &messages {
                    sent.extend(self.inner.enqueue(std::slice::from_ref(message), &limits).await?);
                }
                return Ok(sent);
            }
            _ => {}
        }
        match self.inner.enqueue(&messages, &limits).await {
            Err(EnqueueError::Message(MessageError::Conflict { id, .. }))
                if self.flaw == Flaw::ConflictIgnored =>
            {
                Ok(vec![Enqueued { id, fresh: false }])
            }
            Ok(mut sent) if self.flaw == Flaw::KnownIsFresh => {
                sent.iter_mut().for_each(|sent| sent.fresh = true);
                Ok(sent)
            }
            answer => answer,
        }
    }

    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        let (mut look, part) = (look.clone(), look.part);
        match self.flaw {
            Flaw::PlaceIgnored => look.lanes.iter_mut().for_each(|lane| lane.after = None),
            Flaw::ExceptIgnored => {
                look.discover.iter_mut().for_each(|discover| discover.except.clear());
            }
            Flaw::PartIgnored | Flaw::PartByNumber => look.part = None,
            Flaw::PartOfLaneIgnored if !look.lanes.is_empty() => look.part = None,
            Flaw::PartUnspread if look.unordered.is_some() && look.discover.is_none() => look.part = None,
            _ => {}
        }
        let mut page = self.inner.look(&look).await?;
        match self.flaw {
            Flaw::OrderById => page.rows.sort_by_key(|row| (row.lane().map(str::to_owned), row.id)),
            Flaw::Cursor => {
                let seen = self.seen.load(Ordering::SeqCst);
                let highest = page.rows.iter().map(|row| row.id.0).max().unwrap_or(0);
                self.seen.fetch_max(highest, Ordering::SeqCst);
                page.rows.retain(|row| row.id.0 >= seen);
            }
            Flaw::RotationEnds => page.more_after = None,
            Flaw::PartForgotten => {
                let forgotten = part.is_some_and(|part| part.count() > 1 && part.index() + 1 == part.count());
                page.rows.retain(|_| !forgotten);
            }
            Flaw::PartByNumber => page.rows.retain(|row| part.is_none_or(|part| part.has_row(row.id))),
            Flaw::PartUnspread => {
                page.rows.retain(|row| row.lane().is_some() || part.is_none_or(|part| part.index() == 0));
            }
            Flaw::PartRotationEnds if part.is_some() && page.rows.is_empty() => page.more_after = None,
            Flaw::PartSearchEnds => page.unordered_after = None,
            Flaw::PartNextDueForgotten if part.is_some() => page.next_due = None,
            Flaw::NextDueForgotten => page.next_due = None,
            Flaw::LargeInline => {
                for row in page.rows.iter_mut().filter(|row| row.body == Found::Large) {
                    let Loaded::Body(body) = self.inner.load(row.id, &Limits::default()).await? else {
                        continue;
                    };
                    row.body = Found::Body(body);
                }
            }
            Flaw::UnclearIsEmpty => {
                for row in page.rows.iter_mut().filter(|row| matches!(row.body, Found::Unclear(_))) {
                    row.body = Found::Body(Body::Text(String::new()));
                }
            }
            _ => {}
        }
        Ok(page)
    }

    async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError> {
        match self.flaw {
            Flaw::LoadFails => Ok(Loaded::Gone),
            Flaw::LoadUnlimited => self.inner.load(id, &Limits { payload: usize::MAX }).await,
            _ => self.inner.load(id, limits).await,
        }
    }

    async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        let mut outcomes = outcomes.to_vec();
        let mut office = office;
        match self.flaw {
            Flaw::SuccessUnfenced if outcomes.iter().all(|outcome| outcome.next == Next::Done) => {
                office = None
            }
            Flaw::TermForgotten => office = None,
            Flaw::NeverHalts => outcomes.iter_mut().for_each(|outcome| {
                if let Next::Dead { halt } = &mut outcome.next {
                    *halt = false;
                }
            }),
            Flaw::PauseIgnored => outcomes.iter_mut().for_each(|outcome| {
                if let Next::Again { after } = &mut outcome.next {
                    *after = Duration::ZERO;
                }
            }),
            _ => {}
        }
        let answer = OutboxStore::record(&self.inner, office, node, &outcomes).await?;
        Ok(match (self.flaw, answer) {
            (Flaw::AllApplied, Recorded::Applied(_)) => {
                Recorded::Applied(outcomes.iter().map(|outcome| outcome.id).collect())
            }
            (_, answer) => answer,
        })
    }

    async fn sweep(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError> {
        let mut retention = retention.clone();
        let mut office = office;
        match self.flaw {
            Flaw::SweepUnfenced => office = None,
            Flaw::SweepUnbounded => retention.batch = u32::MAX,
            Flaw::NothingForEver => {
                for keep in [&mut retention.dispatched, &mut retention.dead, &mut retention.discarded] {
                    keep.get_or_insert(Duration::ZERO);
                }
            }
            _ => {}
        }
        let mut swept = OutboxStore::sweep(&self.inner, office, &retention, resume).await?;
        if self.flaw == Flaw::SweepStops {
            swept.resume = None;
        }
        Ok(swept)
    }

    async fn listen(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        match self.flaw {
            Flaw::NeverWoken => {
                // The bell of a store on which nothing is ever committed.
                MemoryBackend::start().store.listen().await
            }
            _ => self.inner.listen().await,
        }
    }
}

#[async_trait]
impl OutboxAdmin for Broken {
    async fn stats(&self) -> Result<Stats, StoreError> {
        let mut stats = self.inner.stats().await?;
        match self.flaw {
            Flaw::HaltedUncounted => stats.halted_sources = 0,
            Flaw::LagOfDelayed => {
                let rows =
                    OutboxAdmin::list(&self.inner, &Selection { limit: 99, ..Selection::default() }).await?;
                let oldest = rows.messages.iter().map(|row| row.created_at).min();
                let now = self.inner.look(&Look::default()).await?.now;
                stats.lag = stats.lag.and(oldest.map(|oldest| oldest.until(now)));
            }
            Flaw::LagOfAll => stats.lag = stats.lag.or((stats.pending > 0).then_some(Duration::ZERO)),
            _ => {}
        }
        Ok(stats)
    }

    async fn pulse(&self, at_most: u32) -> Result<Pulse, StoreError> {
        let at_most = if self.flaw == Flaw::PulseUnbounded { u32::MAX } else { at_most };
        let mut pulse = self.inner.pulse(at_most).await?;
        if self.flaw == Flaw::PulseBlind {
            pulse.dead = Count::default();
        }
        Ok(pulse)
    }

    async fn graves(&self, after: Option<CauseId>, limit: u32, count_max: u32) -> Result<Graves, StoreError> {
        let mut graves = self.inner.graves(after, limit, count_max).await?;
        match self.flaw {
            Flaw::CausesMixed => graves.graves.truncate(1),
            Flaw::CausesEnd => graves.more_after = None,
            _ => {}
        }
        Ok(graves)
    }

    async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        let mut selection = selection.clone();
        match self.flaw {
            Flaw::FilterIgnored => selection.filter = Filter::default(),
            Flaw::PagingIgnored => selection.before = None,
            Flaw::StepsIgnored => selection.steps = 0,
            Flaw::TimeIgnored => (selection.filter.from, selection.filter.until) = (None, None),
            _ => {}
        }
        let mut rows = OutboxAdmin::list(&self.inner, &selection).await?;
        if self.flaw == Flaw::ListReversed {
            rows.messages.reverse();
        }
        if self.flaw == Flaw::MoreForgotten {
            rows.more_before = None;
        }
        Ok(rows)
    }

    async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        let payload_max = if self.flaw == Flaw::PayloadUncut { usize::MAX } else { payload_max };
        let mut details = self.inner.show(id, payload_max).await?;
        if let (Flaw::AttemptsHidden, Some(details)) = (self.flaw, &mut details) {
            details.attempts.clear();
        }
        Ok(details)
    }

    async fn count_dead(&self, walk: &DeadWalk) -> Result<Counted, StoreError> {
        let mut walk = walk.clone();
        match self.flaw {
            Flaw::CountUnbounded => walk.limit = u32::MAX,
            Flaw::WalkUnbounded => walk.steps = 0,
            _ => {}
        }
        self.inner.count_dead(&walk).await
    }

    async fn retry(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        let mut walk = walk.clone();
        match self.flaw {
            Flaw::BulkUnbounded => walk.limit = u32::MAX,
            Flaw::CauseIgnored => walk.filter.cause = None,
            Flaw::WalkUnbounded => walk.steps = 0,
            Flaw::WalkBeginsAgain => walk.after = None,
            _ => {}
        }
        let mut acted = self.inner.retry(&walk, by).await?;
        if self.flaw == Flaw::WalkEnds {
            acted.more_after = None;
        }
        if self.flaw == Flaw::RetryAnswersAll {
            let everything = Selection { limit: walk.limit, ..Selection::default() };
            let rows = OutboxAdmin::list(&self.inner, &everything).await?;
            acted.ids = rows.messages.into_iter().map(|row| row.id).collect();
        }
        Ok(acted)
    }

    async fn discard(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        self.inner.discard(walk, by).await
    }
}

/// A receiver's transaction whose inbox is written besides it.
struct Besides {
    user: Box<dyn UserTransaction>,
    store: MemoryStore,
}

#[async_trait]
impl UserTransaction for Besides {
    async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
        self.user.enqueue(messages).await
    }

    async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
        let mut besides = self.store.begin();
        let answer = besides.accept(consumer, id);
        besides.commit()?;
        Ok(answer)
    }

    async fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Result<Accept, StoreError> {
        self.user.accept_message(consumer, message).await
    }

    async fn refuse(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        self.user.refuse(consumer, id, reason).await
    }

    async fn apply(&mut self, effect: &str) {
        self.user.apply(effect).await;
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.user.commit().await
    }

    async fn rollback(self: Box<Self>) {
        self.user.rollback().await;
    }
}

/// A receiver's transaction whose refusals are written over what was settled before.
struct TooLate {
    user: Box<dyn UserTransaction>,
    late: Late,
}

impl TooLate {
    /// The refusal that stands, where there is one.
    fn refused(&self, consumer: &Consumer, id: MessageId) -> Option<Accept> {
        let late = self.late.lock().expect("nobody panics here");
        let reason = late.get(&(consumer.clone(), id)).cloned()?;
        Some(Accept::Refused { reason })
    }
}

#[async_trait]
impl UserTransaction for TooLate {
    async fn enqueue(&mut self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
        self.user.enqueue(messages).await
    }

    async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
        let answer = self.user.accept(consumer, id).await?;
        Ok(self.refused(consumer, id).unwrap_or(answer))
    }

    async fn accept_message(&mut self, consumer: &Consumer, message: &Message) -> Result<Accept, StoreError> {
        let answer = self.user.accept_message(consumer, message).await?;
        Ok(self.refused(consumer, message.id).unwrap_or(answer))
    }

    async fn refuse(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        let _ = self.user.refuse(consumer, id, reason).await?;
        self.late.lock().expect("nobody panics here").insert((consumer.clone(), id), reason.to_owned());
        Ok(Accept::Refused { reason: reason.to_owned() })
    }

    async fn apply(&mut self, effect: &str) {
        self.user.apply(effect).await;
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.user.commit().await
    }

    async fn rollback(self: Box<Self>) {
        self.user.rollback().await;
    }
}
