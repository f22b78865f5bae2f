//! A whole relay, small and step by step: core's drain over the store, and a receiver with an inbox behind it.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::lease::Fence;
use tenure_core::outbox::{
    Accept, Consumer, Drain, Flight, Found, Landing, Message, RelaySettings, RetryPolicy, State, Verdict,
    decode,
};
use tenure_core::time::Monotonic;

use super::backend::OutboxBackend;
use super::desk::{Desk, all};
use super::inbox::consumer;

/// What is due later than this is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// More rounds than any case needs: a relay that never comes to rest is wrong.
const ROUNDS_MAX: u32 = 5_000;

/// A place that messages go to.
#[async_trait]
pub(crate) trait Receiver: Send {
    async fn receive(&mut self, message: &Message) -> Verdict;
}

/// Settings under which retries take milliseconds.
pub(crate) fn quick() -> RelaySettings {
    let retry =
        RetryPolicy { max_attempts: 100, first: Duration::from_millis(10), cap: Duration::from_millis(20) };
    RelaySettings { retry, ..RelaySettings::default() }
}

/// One relay.
pub(crate) struct Relay<'a> {
    desk: Desk<'a>,
    drain: Drain,
    office: Option<Fence>,
    now: Monotonic,
    chance: fastrand::Rng,
    /// Every so many records the answer is lost.
    pub(crate) lose_every: u32,
    records: u32,
    /// It was told that it is no longer in office.
    pub(crate) deposed: bool,
}

impl<'a> Relay<'a> {
    pub(crate) async fn start(
        backend: &'a dyn OutboxBackend,
        settings: RelaySettings,
        office: Option<Fence>,
    ) -> Self {
        settings.validate().expect("good settings");
        Self {
            desk: Desk::open(backend).await,
            drain: Drain::new(settings),
            office,
            now: Monotonic::from_origin(Duration::ZERO),
            chance: fastrand::Rng::with_seed(7),
            lose_every: u32::MAX,
            records: 0,
            deposed: false,
        }
    }

    /// Works until there is nothing left to do that is due within a second.
    pub(crate) async fn drains(&mut self, receiver: &mut dyn Receiver) {
        for _ in 0..ROUNDS_MAX {
            let found = self.looks().await;
            let flown = self.delivers(receiver).await;
            let recorded = self.records().await;
            if self.deposed {
                return;
            }
            self.now = self.now.after(Duration::from_millis(1));
            if found || flown || recorded || !self.drain.is_settled() {
                continue;
            }
            let Some(due) = self.drain.next_due() else { return };
            let wait = self.now.until(due) + Duration::from_millis(2);
            if wait > PATIENCE {
                return;
            }
            self.desk.backend.pass(wait).await;
            self.now = self.now.after(wait);
        }
        panic!("the relay does not come to rest: {} rows are held", self.drain.held());
    }

    /// One look. Whether there may be more.
    pub(crate) async fn looks(&mut self) -> bool {
        let Some(look) = self.drain.look(true, self.now) else { return false };
        let page = self.desk.looks(&look).await;
        let more = page.more_after.is_some() || page.unordered_after.is_some();
        self.drain.looked(page, self.now) > 0 || more
    }

    /// Delivers all that was read.
    pub(crate) async fn delivers(&mut self, receiver: &mut dyn Receiver) -> bool {
        let mut flown = false;
        while let Some(Flight { lane, rows }) = self.drain.next_flight(1) {
            flown = true;
            let (mut landings, mut untried, mut stopped) = (Vec::new(), Vec::new(), false);
            for mut row in rows {
                if stopped {
                    untried.push(row);
                    continue;
                }
                let (id, attempt, forgiven) = (row.id, row.attempts + 1, row.forgiven);
                let limits = self.drain.settings().limits;
                let mut unfit = None;
                if row.body == Found::Large {
                    match self.desk.store.load(id, &limits).await.expect("an answer").read(&limits) {
                        Some(Ok(body)) => row.body = Found::Body(body),
                        Some(Err(poison)) => unfit = Some(Verdict::Poison { reason: poison.to_string() }),
                        None => unfit = Some(Verdict::Withheld),
                    }
                }
                let term = self.office.as_ref().map(|fence| fence.term.get());
                let verdict = match (unfit, decode(row, &limits, term)) {
                    (Some(verdict), _) => verdict,
                    (None, Ok(message)) => receiver.receive(&message).await,
                    (None, Err(poison)) => Verdict::Poison { reason: poison.to_string() },
                };
                let goes_on = verdict.kind().is_some_and(|kind| self.drain.settings().goes_on(kind));
                stopped = lane.is_some() && !goes_on;
                landings.push(Landing { id, attempt, forgiven, verdict, took: Duration::ZERO });
            }
            let chance = &mut self.chance;
            self.drain.landed(lane, landings, untried, || chance.f64());
        }
        flown
    }

    /// Records all that was delivered.
    pub(crate) async fn records(&mut self) -> bool {
        let mut recorded = false;
        while let Some(outcomes) = self.drain.next_record(self.now) {
            recorded = true;
            self.records += 1;
            let answer = self.desk.records_under(self.office.as_ref(), &outcomes).await;
            if self.records.is_multiple_of(self.lose_every) {
                self.drain.record_failed(outcomes);
                continue;
            }
            if !self.drain.recorded(outcomes, answer, self.now) {
                self.deposed = true;
                return true;
            }
        }
        recorded
    }
}

/// A receiver that applies each message once, by its inbox, and fails by a script.
pub(crate) struct Ledger<'a> {
    backend: &'a dyn OutboxBackend,
    consumer: Consumer,
    script: fastrand::Rng,
    /// In percent: fails before it has done anything.
    pub(crate) fails_before: u32,
    /// In percent: applies the message, and its answer is lost.
    pub(crate) fails_after: u32,
    /// What is sent to this topic always fails.
    pub(crate) broken_topic: Option<&'static str>,
    /// What is sent to this topic is refused.
    pub(crate) refused_topic: Option<&'static str>,
    /// Everything that came, also what came again.
    pub(crate) came: Vec<String>,
}

impl<'a> Ledger<'a> {
    pub(crate) fn open(backend: &'a dyn OutboxBackend, seed: u64) -> Self {
        Self {
            backend,
            consumer: consumer("ledger"),
            script: fastrand::Rng::with_seed(seed),
            fails_before: 0,
            fails_after: 0,
            broken_topic: None,
            refused_topic: None,
            came: Vec::new(),
        }
    }
}

/// `source/payload`, the line that a message leaves in the ledger.
fn line(message: &Message) -> String {
    let body = String::from_utf8_lossy(message.body.as_bytes()).into_owned();
    format!("{}/{body}", message.source.as_deref().unwrap_or("-"))
}

#[async_trait]
impl Receiver for Ledger<'_> {
    async fn receive(&mut self, message: &Message) -> Verdict {
        self.came.push(line(message));
        if self.refused_topic == Some(&message.topic) {
            return Verdict::rejected("refused by its topic");
        }
        if self.broken_topic == Some(&message.topic) || self.script.u32(0..100) < self.fails_before {
            return Verdict::transient("not now");
        }
        let mut transaction = self.backend.begin().await;
        match transaction.accept_message(&self.consumer, message).await {
            Ok(Accept::Fresh) => transaction.apply(&line(message)).await,
            Ok(Accept::Duplicate) => {}
            Ok(answer) => panic!("a message that comes again is a duplicate, not {answer:?}"),
            Err(error) => return Verdict::transient(error.to_string()),
        }
        if let Err(error) = transaction.commit().await {
            return Verdict::transient(error.to_string());
        }
        match self.script.u32(0..100) < self.fails_after {
            true => Verdict::transient("the answer was lost"),
            false => Verdict::Accepted,
        }
    }
}

/// The ledger holds `expected` and nothing else, each once, and each source in its order.
pub(crate) async fn is_settled(backend: &dyn OutboxBackend, expected: &BTreeMap<String, Vec<String>>) {
    let mut got: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for effect in backend.effects().await {
        let (source, what) = effect.split_once('/').expect("a line");
        got.entry(source.to_owned()).or_default().push(what.to_owned());
    }
    // What has no source has no order.
    let mut expected = expected.clone();
    for ledger in [&mut got, &mut expected] {
        ledger.entry("-".into()).or_default().sort_unstable();
    }
    assert_eq!(got, expected);
}

/// Every row has come to its end or has a time at which it goes on, unless its source stands still.
pub(crate) async fn nothing_is_forgotten(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let rows = desk.lists(all(), None, 1_000).await;
    let halted: Vec<_> = rows.iter().filter(|row| row.halts).map(|row| row.source.clone()).collect();
    for row in rows {
        let waits = row.due_at.is_some() || halted.contains(&row.source);
        assert!(row.state != State::Pending || waits, "neither finished nor scheduled: {row:?}");
        assert_eq!(row.finished_at.is_some(), row.state != State::Pending, "{row:?}");
    }
}
