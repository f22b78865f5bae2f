//! The two ways to run SQL on the pool: one statement in one round trip, or a short transaction on one lease.
//!
//! ```text
//!   begin ── BEGIN, name's lock, row FOR UPDATE, last term ──▶ decide ──▶ row, history, audit, COMMIT
//!            (and is the flag down?)
//!            (one round trip)                                             (one round trip)
//! ```
//!
//! A connection goes back to the pool only when every answer on it has come and no transaction is open. A future that is
//! dropped half-way takes its connection with it: the server sees it go and rolls back, and no later call waits behind
//! what was left.

use deadpool_postgres::Object;
use tenure_core::StoreError;
use tenure_core::lease::decide::Decision;
use tenure_core::lease::{Flag, LeaseName, LeaseRecord, Term};
use tenure_core::time::StoreTime;
use tenure_sql::Reader;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use crate::error::{pool_error, store_error, unreachable};
use crate::rows::Plain;
use crate::statements::{COMMIT, ROLLBACK};
use crate::store::Shared;
use crate::writing::{Audit, Params, add_audit, add_history, batch, pipeline, query, write_lease};

/// A connection of the pool, for as long as one piece of work lasts.
pub(crate) struct Lent(Option<Object>);

impl Lent {
    pub(crate) fn new(object: Object) -> Self {
        Self(Some(object))
    }

    /// The connection with its prepared statements.
    pub(crate) fn object(&self) -> Result<&Object, StoreError> {
        self.0.as_ref().ok_or_else(|| unreachable("postgres", "the connection was given back"))
    }

    pub(crate) fn client(&self) -> Result<&Client, StoreError> {
        let gone = || unreachable("postgres", "the connection was given back");
        self.0.as_ref().map(|object| -> &Client { object }).ok_or_else(gone)
    }

    /// Nothing is under way on it: others may use it.
    pub(crate) fn give_back(mut self) {
        drop(self.0.take());
    }
}

/// Something may still be under way on it: nobody else shall wait behind that.
impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            drop(Object::take(object));
        }
    }
}

impl Shared {
    pub(crate) async fn lend(&self) -> Result<Lent, StoreError> {
        match self.pool.get().await {
            Ok(object) => Ok(Lent::new(object)),
            Err(error) => Err(pool_error(&self.label, error)),
        }
    }

    /// Waits for an answer, but not for ever: the server's own limits come first, this is for a server or a proxy that
    /// is silent. Whether the call took effect is unknown then.
    pub(crate) async fn answer<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Unanswered> {
        match timeout(self.patience, call).await {
            Ok(answer) => answer.map_err(Unanswered::No),
            Err(_) => Err(Unanswered::Silence),
        }
    }

    pub(crate) fn explain(&self, unanswered: Unanswered) -> StoreError {
        match unanswered {
            Unanswered::No(error) => store_error(&self.label, error),
            Unanswered::Silence => unreachable(&self.label, format!("no answer within {:?}", self.patience)),
        }
    }

    /// Waits for a turn. Whatever may be slow has one, and there are fewer turns than connections: so a heartbeat always
    /// finds a connection, however slow the rest is.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>, StoreError> {
        self.turn_of(&self.turns).await
    }

    async fn turn_of<'s>(&self, turns: &'s Semaphore) -> Result<SemaphorePermit<'s>, StoreError> {
        match timeout(self.patience, turns.acquire()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => {
                let message = "too many calls wait for the server".into();
                Err(StoreError::Busy { store: self.label.clone(), message })
            }
        }
    }

    /// Runs one statement that only reads, in one round trip.
    pub(crate) async fn read(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let _turn = self.turn().await?;
        self.read_at_once(sql, params).await
    }

    /// The same with a turn of its own: what a node must see although it is busy.
    pub(crate) async fn glance(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let _turn = self.turn_of(self.glances.as_ref().unwrap_or(&self.turns)).await?;
        self.read_at_once(sql, params).await
    }

    /// The same without waiting for a turn: only as part of a renewal.
    pub(crate) async fn read_at_once(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let lent = self.lend().await?;
        let answer = self.answer(lent.client()?.query_typed(sql, params)).await;
        self.settle(lent, answer)
    }

    /// Runs one statement that writes, in one round trip.
    pub(crate) async fn write(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let _turn = self.turn().await?;
        self.write_at_once(sql, params).await
    }

    /// The same without waiting for a turn: only for what goes on holding, or gives back. Behind a pooler it is wrapped in
    /// a transaction, because that is the only place there for limits on what it may wait for.
    pub(crate) async fn write_at_once(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        if !self.pooled {
            return self.read_at_once(sql, params).await;
        }
        let lent = self.lend().await?;
        let (client, begin) = (lent.client()?, self.limits.begin());
        let calls = vec![batch(client, &begin), query(client, sql, params), batch(client, COMMIT)];
        let answer = self.answer(pipeline(calls)).await;
        let mut answers = self.settle(lent, answer)?;
        Ok(answers.swap_remove(1))
    }

    /// Gives the connection back unless an answer may still come, and explains an error.
    pub(crate) fn settle<T>(&self, lent: Lent, answer: Result<T, Unanswered>) -> Result<T, StoreError> {
        if !matches!(answer, Err(Unanswered::Silence)) {
            lent.give_back();
        }
        answer.map_err(|unanswered| self.explain(unanswered))
    }

    /// Begins a transaction on one name, and reads what a decision needs, under the locks. Also looks, on the server that
    /// holds the row, whether a flag is down of which someone claims that.
    pub(crate) async fn begin(
        &self,
        name: &LeaseName,
        fallen: Option<&Flag>,
    ) -> Result<(Transaction<'_>, Locked), StoreError> {
        let turn = self.turn().await?;
        let transaction = Transaction { shared: self, lent: self.lend().await?, _turn: turn };
        match transaction.lock(name, fallen).await {
            Ok(locked) => Ok((transaction, locked)),
            Err(error) => {
                transaction.rollback().await;
                Err(error)
            }
        }
    }
}

/// Why there is no answer.
pub(crate) enum Unanswered {
    /// The server or the driver said no.
    No(Error),
    /// Nobody said anything.
    Silence,
}

/// What a decision needs to know.
pub(crate) struct Locked {
    pub(crate) record: Option<LeaseRecord>,
    pub(crate) remembered: Option<Term>,
    pub(crate) now: StoreTime,
    /// Whether a flag was asked about and is down.
    pub(crate) flag_is_down: bool,
}

/// An open transaction on one lease.
pub(crate) struct Transaction<'s> {
    shared: &'s Shared,
    lent: Lent,
    _turn: SemaphorePermit<'s>,
}

impl Transaction<'_> {
    async fn lock(&self, name: &LeaseName, fallen: Option<&Flag>) -> Result<Locked, StoreError> {
        let (shared, client) = (self.shared, self.lent.client()?);
        let begin = shared.statements.begin_for(name.as_str(), &shared.limits, shared.pooled);
        let text = name.as_str();
        let params: Params<'_> = &[(&text, Type::TEXT)];
        let flag_is_down = fallen.map(|flag| shared.statements.flag_is_down(flag));
        let mut calls = vec![
            batch(client, &begin),
            query(client, &shared.statements.lease_lock, params),
            query(client, &shared.statements.history_last_term, params),
        ];
        // Behind the row's lock: what the row says of presence cannot change any more.
        calls.extend(flag_is_down.as_ref().map(|sql| query(client, sql, &[])));
        let answers =
            shared.answer(pipeline(calls)).await.map_err(|unanswered| shared.explain(unanswered))?;
        let reader = Reader { store: &shared.label };
        let answer = |at: usize| answers.get(at).and_then(|rows| rows.first()).map(Plain);
        let (Some(row), Some(last)) = (answer(1), answer(2)) else {
            return Err(unreachable(
                &shared.label,
                "the server answered with no row where there is always one",
            ));
        };
        let (record, now) = reader.lease_and_now(&row)?;
        let flag_is_down = answer(3).is_some();
        Ok(Locked { record, remembered: reader.optional_term(&last)?, now, flag_is_down })
    }

    /// Writes what was decided, and commits.
    pub(crate) async fn apply<O>(
        self,
        decision: Decision<O>,
        audit: Option<Audit<'_>>,
    ) -> Result<O, StoreError> {
        let Self { shared, lent, _turn } = self;
        let client = lent.client()?;
        let mut calls = Vec::new();
        if let Some(record) = &decision.write {
            calls.push(write_lease(client, &shared.statements.lease_write, record));
        }
        for change in &decision.history {
            calls.push(add_history(client, &shared.statements.history_add, change));
        }
        if let Some(audit) = &audit {
            calls.push(add_audit(client, &shared.statements.audit_add, audit));
        }
        calls.push(batch(client, COMMIT));
        // If a write fails, the COMMIT behind it rolls back; either way the transaction is over when all have answered.
        let answer = shared.answer(pipeline(calls)).await;
        shared.settle(lent, answer)?;
        Ok(decision.outcome)
    }

    /// Leaves everything as it was.
    pub(crate) async fn rollback(self) {
        let Self { shared, lent, _turn } = self;
        let Ok(client) = lent.client() else { return };
        if shared.answer(client.batch_execute(ROLLBACK)).await.is_ok() {
            lent.give_back();
        }
    }
}
