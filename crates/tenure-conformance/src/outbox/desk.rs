//! A place from which the outbox is looked at and worked on. Cases read as what a relay or an operator does.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{OutboxAdmin, OutboxStore};
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;
use tenure_core::outbox::{
    Attempt, Count, DeadWalk, Details, Discover, Enqueued, Filter, Kind, LaneLook, Limits, Look, MessageId,
    NewMessage, Next, Outcome, Page, Place, Recorded, RowId, Selection, Sequence, State, Stats, Stored,
    Summary, UnorderedLook,
};
use tenure_core::time::StoreTime;
use uuid::Uuid;

use super::backend::OutboxBackend;

/// More than any case has.
const ALL: u32 = 1_000;

/// A number of a message that no other has.
pub(crate) fn unique_id() -> MessageId {
    MessageId::new(Uuid::from_u128(fastrand::u128(..)))
}

/// A message that says `number`, with an id of its own, for it is asked after by it.
pub(crate) fn message(number: u32) -> NewMessage {
    NewMessage::json("orders", "OrderPlaced", format!("{{\"number\":{number}}}")).with_id(unique_id())
}

/// The same, in a source.
pub(crate) fn of(source: &str, number: u32) -> NewMessage {
    message(number).from_source(source)
}

/// The same, with a place of its own there.
pub(crate) fn placed(source: &str, version: i64, index: i32) -> NewMessage {
    NewMessage { sequence: Sequence { version, index }, ..of(source, 0) }
}

pub(crate) fn id_of(message: &NewMessage) -> MessageId {
    message.id.expect("a message with an id")
}

/// Every dead message.
pub(crate) fn all() -> Filter {
    Filter::default()
}

/// The one message with this id.
pub(crate) fn only(message: &NewMessage) -> Filter {
    Filter { id: message.id.map(|id| id.to_string()), ..Filter::default() }
}

/// A look at everything that is due.
pub(crate) fn everywhere() -> Look {
    Look {
        discover: Some(Discover { after: None, sources: ALL, rows_each: ALL, except: Vec::new() }),
        unordered: Some(UnorderedLook { after: None, limit: ALL }),
        ..Look::default()
    }
}

/// A look at one source.
pub(crate) fn at_lane(source: &str, after: Option<Place>, limit: u32) -> Look {
    Look { lanes: vec![LaneLook { source: source.to_owned(), after, limit }], ..Look::default() }
}

/// What a relay makes of a page: of a source, nothing from a row on that is not due.
pub(crate) fn deliverable(page: &Page) -> Vec<&Stored> {
    let mut cut = Vec::new();
    let mut rows = Vec::new();
    for row in &page.rows {
        if row.lane().is_some_and(|lane| cut.contains(&lane)) {
            continue;
        }
        match (row.lane(), row.due_at > page.now) {
            (Some(lane), true) => cut.push(lane),
            (None, true) => panic!("a row without a source is shown before it is due: {row:?}"),
            (_, false) => rows.push(row),
        }
    }
    rows
}

/// The outcome of the row's next attempt.
pub(crate) fn outcome(row: &Stored, kind: Kind, next: Next) -> Outcome {
    let reason = (kind != Kind::Success).then(|| format!("no {}", row.attempts + 1));
    let took = Duration::from_micros(1_234);
    Outcome { id: row.id, attempt: row.attempts + 1, kind, next, reason, took }
}

pub(crate) fn done(row: &Stored) -> Outcome {
    outcome(row, Kind::Success, Next::Done)
}

pub(crate) fn again(row: &Stored, after: Duration) -> Outcome {
    outcome(row, Kind::Transient, Next::Again { after })
}

pub(crate) fn dead(row: &Stored, halt: bool) -> Outcome {
    outcome(row, Kind::Rejected, Next::Dead { halt })
}

/// One node's handles on the outbox.
#[derive(Clone)]
pub(crate) struct Desk<'a> {
    pub(crate) backend: &'a dyn OutboxBackend,
    pub(crate) store: Arc<dyn OutboxStore>,
    pub(crate) admin: Arc<dyn OutboxAdmin>,
    pub(crate) node: NodeName,
}

impl<'a> Desk<'a> {
    pub(crate) async fn open(backend: &'a dyn OutboxBackend) -> Self {
        let (store, admin) = (backend.outbox().await, backend.outbox_admin().await);
        Self { backend, store, admin, node: NodeName::new("desk").expect("a name") }
    }

    /// Enqueues in one transaction.
    pub(crate) async fn sends(&self, messages: &[NewMessage]) -> Vec<Enqueued> {
        let sent = self.store.enqueue(messages, &Limits::default()).await;
        sent.unwrap_or_else(|error| panic!("the messages must be enqueued: {error}"))
    }

    pub(crate) async fn looks(&self, look: &Look) -> Page {
        self.store.look(look).await.unwrap_or_else(|error| panic!("a look must be answered: {error}"))
    }

    /// The ids of everything that a relay would deliver now, as they come.
    pub(crate) async fn due(&self) -> Vec<MessageId> {
        let page = self.looks(&everywhere()).await;
        deliverable(&page).iter().map(|row| row.message_id.parse().expect("an id")).collect()
    }

    /// The row of a message that is due, however far behind in its source.
    pub(crate) async fn row(&self, message: &NewMessage) -> Stored {
        let id = id_of(message).to_string();
        let page = match &message.source {
            Some(source) => self.looks(&at_lane(source, None, ALL)).await,
            None => self.looks(&everywhere()).await,
        };
        let row = page.rows.into_iter().find(|row| row.message_id.eq_ignore_ascii_case(&id));
        row.unwrap_or_else(|| panic!("the message {id} must be pending"))
    }

    /// The store's time.
    pub(crate) async fn now(&self) -> StoreTime {
        self.looks(&everywhere()).await.now
    }

    /// Records without a lease. Answers what applied, in order.
    pub(crate) async fn records(&self, outcomes: &[Outcome]) -> Vec<RowId> {
        match self.records_under(None, outcomes).await {
            Recorded::Applied(mut applied) => {
                applied.sort_unstable();
                applied
            }
            Recorded::Fenced => panic!("a record without a fence must not be fenced"),
        }
    }

    pub(crate) async fn records_under(&self, office: Option<&Fence>, outcomes: &[Outcome]) -> Recorded {
        let recorded = self.store.record(office, &self.node, outcomes).await;
        recorded.unwrap_or_else(|error| panic!("a record must be answered: {error}"))
    }

    /// Records an outcome that must apply.
    pub(crate) async fn settles(&self, outcome: Outcome) {
        let id = outcome.id;
        assert_eq!(self.records(&[outcome]).await, [id], "the outcome must apply");
    }

    /// Sends a message and has it rejected.
    pub(crate) async fn buries(&self, message: &NewMessage, halt: bool) {
        self.sends(std::slice::from_ref(message)).await;
        let row = self.row(message).await;
        self.settles(dead(&row, halt)).await;
    }

    /// Sends a message and has it delivered.
    pub(crate) async fn delivers(&self, message: &NewMessage) {
        self.sends(std::slice::from_ref(message)).await;
        let row = self.row(message).await;
        self.settles(done(&row)).await;
    }

    pub(crate) async fn details(&self, message: &NewMessage) -> Option<Details> {
        self.admin
            .show(&id_of(message).to_string(), usize::MAX)
            .await
            .unwrap_or_else(|error| panic!("a message must be shown: {error}"))
    }

    pub(crate) async fn summary(&self, message: &NewMessage) -> Summary {
        self.details(message).await.expect("a message that is there").summary
    }

    pub(crate) async fn state(&self, message: &NewMessage) -> State {
        self.summary(message).await.state
    }

    pub(crate) async fn attempts(&self, message: &NewMessage) -> Vec<Attempt> {
        self.details(message).await.expect("a message that is there").attempts
    }

    pub(crate) async fn stats(&self) -> Stats {
        self.admin.stats().await.unwrap_or_else(|error| panic!("numbers must be answered: {error}"))
    }

    pub(crate) async fn lists(&self, filter: Filter, before: Option<RowId>, limit: u32) -> Vec<Summary> {
        let listed = self.admin.list(&Selection { filter, before, limit, steps: 0 }).await;
        listed.unwrap_or_else(|error| panic!("a list must be answered: {error}")).messages
    }

    /// How many dead messages fit, counted up to a bound.
    pub(crate) async fn counts(&self, filter: &Filter, at_most: u32) -> Count {
        let walk = DeadWalk::of(filter.clone(), at_most);
        self.admin.count_dead(&walk).await.expect("a count").count()
    }

    pub(crate) async fn retries(&self, filter: &Filter, by: &str, limit: u32) -> Vec<MessageId> {
        changed(self.admin.retry(&DeadWalk::of(filter.clone(), limit), by).await.expect("a retry").ids)
    }

    pub(crate) async fn discards(&self, filter: &Filter, by: &str, limit: u32) -> Vec<MessageId> {
        changed(self.admin.discard(&DeadWalk::of(filter.clone(), limit), by).await.expect("a discard").ids)
    }
}

/// The ids that a change answered, in their order.
fn changed(ids: Vec<String>) -> Vec<MessageId> {
    let mut ids: Vec<MessageId> = ids.iter().map(|id| id.parse().expect("an id")).collect();
    ids.sort_unstable();
    ids
}

/// The ids of messages, in the order of their ids.
pub(crate) fn sorted(messages: &[NewMessage]) -> Vec<MessageId> {
    let mut ids: Vec<_> = messages.iter().map(id_of).collect();
    ids.sort_unstable();
    ids
}

/// The ids of messages.
pub(crate) fn ids(messages: &[NewMessage]) -> Vec<MessageId> {
    messages.iter().map(id_of).collect()
}
