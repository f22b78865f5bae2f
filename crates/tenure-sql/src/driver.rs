//! What a database's driver has to do for [`SqlStore`](crate::SqlStore).

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, Presence};
use tenure_core::lease::Flag;

use crate::fault::Fault;
use crate::row::{Cell, Row};
use crate::statements::Statements;
use crate::value::Value;

/// One statement and its parameters.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The text, with `$1`, `$2` … where parameters stand.
    pub sql: &'a str,
    /// The parameters.
    pub params: Vec<Value>,
}

impl<'a> Call<'a> {
    /// A statement with its parameters.
    pub fn new(sql: &'a str, params: impl Into<Vec<Value>>) -> Self {
        Self { sql, params: params.into() }
    }
}

/// What a statement answered.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Its rows.
    pub rows: Vec<Row>,
    /// How many rows it inserted, deleted, or found to update, whether or not they changed by it.
    pub changed: u64,
    /// The number that the first row was given that it inserted, where the driver tells: see [`Driver::tells_given`].
    pub given: Option<i64>,
}

/// Where statements are run, one after another: on a connection of ours, or in a transaction of the user's own.
///
/// A call runs to its end even if whoever waits for it goes away; half a call is never left on a connection that is used
/// again.
#[async_trait]
pub trait Session: Send {
    /// Runs one statement.
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault>;

    /// Runs several in order, in as few round trips as the driver can, and stops at the first that fails.
    async fn run_all(&mut self, calls: &[Call<'_>]) -> Result<Vec<Answer>, Fault> {
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            answers.push(self.run(call).await?);
        }
        Ok(answers)
    }

    /// Runs several as one, and tells the rows of the last of them that has any. Which of them failed is not told; nothing behind it
    /// was run, but it may have been the last of them. Where the server has no way to do that they are run as by [`run_all`](Self::run_all).
    async fn run_as_one(&mut self, calls: &[Call<'_>]) -> Result<Vec<Row>, Fault> {
        Ok(last_rows(self.run_all(calls).await?))
    }

    /// Whether [`run_as_one`](Self::run_as_one) costs less than [`run_all`](Self::run_all), in which each statement has an answer of its
    /// own.
    fn has_blocks(&self) -> bool {
        false
    }

    /// Whether a statement knows which number the one before it in [`run_all`](Self::run_all) was given.
    fn knows_given(&self) -> bool {
        true
    }

    /// Whether the driver knows that a transaction is open on it. One that was begun past the driver it does not know of.
    fn in_transaction(&self) -> bool {
        false
    }
}

/// The rows of the last answer that has any.
pub fn last_rows(answers: Vec<Answer>) -> Vec<Row> {
    answers.into_iter().rev().map(|answer| answer.rows).find(|rows| !rows.is_empty()).unwrap_or_default()
}

/// A session on a connection of the pool, for as long as one unit of work lasts. One that is dropped without being given
/// back is closed: something may still be under way on it.
#[async_trait]
pub trait Lent: Session {
    /// Nothing is under way on it, and no transaction is open: others may use it.
    fn give_back(self: Box<Self>);
}

/// Who may wait how long for a connection: a heartbeat finds one however busy the rest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A renewal, or what gives back: at once. Nothing is waited for in it but rows that are held for a moment.
    Heartbeat,
    /// A look at the cluster: a node must see what it is to run.
    Glance,
    /// Claims, operators, registry, migrations.
    Work,
    /// Outbox and events, which have connections of their own.
    Traffic,
    /// Waiting on the server for a hint: for as long as it takes, beside all others.
    Wait,
}

/// What a walk from source to source has found.
#[derive(Debug, Clone)]
pub struct Walked {
    /// The heads, in order.
    pub heads: Vec<Row>,
    /// The source that it has come to; none when it was behind the last one. Not told by the number of heads: a source that
    /// was emptied between two steps has none.
    pub at: Option<Vec<u8>>,
}

impl Walked {
    /// By the rows of all steps, of which the last is that of `outbox_walk_end`.
    pub fn of(mut rows: Vec<Row>) -> Self {
        let end = rows.pop().and_then(|row| row.into_cells().into_iter().next());
        let at = match end {
            Some(Cell::Bytes(bytes)) => Some(bytes),
            Some(Cell::Text(text)) => Some(text.into_bytes()),
            _ => None,
        };
        Self { heads: rows, at }
    }
}

/// A database, as [`SqlStore`](crate::SqlStore) sees it.
///
/// Its sessions run at isolation READ COMMITTED (a statement sees what was committed before it began), undo a statement that
/// fails and nothing else, and have the server's own limits on locks and statements.
#[async_trait]
pub trait Driver: Send + Sync + fmt::Debug {
    /// What this store calls itself in rows: `mysql`, `sqlserver`.
    fn backend(&self) -> &'static str;

    /// What errors and logs call this server: no user, no password, no options.
    fn label(&self) -> &str;

    /// Lends a session.
    async fn lend(&self, turn: Turn) -> Result<Box<dyn Lent>, StoreError>;

    /// Runs a task beside the connections of [`Turn::Traffic`], to its end, whoever goes away. Where there is nothing that could
    /// run it, it is dropped.
    fn detach(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(task);
        }
    }

    /// How long a statement may wait on a session of [`Turn::Wait`]: well before the server or the driver would end it.
    fn longest_wait(&self) -> Duration {
        Duration::from_secs(3)
    }

    /// Whether a flag is down on the server of this session. Asked while the session holds the lease's lock.
    async fn flag_is_down(&self, session: &mut dyn Session, flag: &Flag) -> Result<bool, Fault>;

    /// Presence, where sessions are real.
    fn presence(&self) -> Option<&dyn Presence>;

    /// What the store can do here.
    fn capabilities(&self) -> Capabilities;

    /// Goes from source to source of the outbox's queue, from `after` on, and answers the heads of at most `steps` of them,
    /// and where it has come to: each costs one step in the index, whatever stands behind it, and all of them few round
    /// trips.
    ///
    /// Where a statement cannot loop, the steps are statements of their own, and what they go by is kept on the session.
    async fn walk(
        &self,
        session: &mut dyn Session,
        statements: &Statements,
        after: &[u8],
        steps: u32,
    ) -> Result<Walked, Fault> {
        let mut calls = vec![Call::new(&statements.outbox_walk, [after.into()])];
        for _ in 0..steps {
            calls.extend(
                [&statements.outbox_walk_find, &statements.outbox_walk_move, &statements.outbox_walk_head]
                    .map(|step| Call::new(step, [])),
            );
        }
        calls.push(Call::new(&statements.outbox_walk_end, []));
        let answers = session.run_all(&calls).await?;
        Ok(Walked::of(answers.into_iter().flat_map(|answer| answer.rows).collect()))
    }

    /// Why a statement here does not see one state of all that it reads, if so, and what to do: a relay could then let a
    /// message overtake another one of its source.
    fn no_snapshots(&self) -> Option<&'static str> {
        None
    }

    /// Whether `streams_move` fails at once where somebody else holds a stream. Else `streams_free` is asked before it.
    fn moves_at_once(&self) -> bool {
        false
    }

    /// Whether [`Answer::given`] is told: then the position of a single event need not be asked for.
    fn tells_given(&self) -> bool {
        false
    }

    /// Why positions may not rise in time here, if so: several servers that are written to at once, each with a counter of
    /// its own. There are no events on such a server.
    fn several_counters(&self) -> Option<&str> {
        None
    }

    /// Takes the one lock under which schemas are migrated, on this session: others wait for it. It goes with
    /// [`Driver::unlock_migration`], or with the session. Where sessions are not real there is none: each step of a migration
    /// can be done twice.
    async fn lock_migration(&self, session: &mut dyn Session) -> Result<(), Fault>;

    /// Lets go of it.
    async fn unlock_migration(&self, session: &mut dyn Session) -> Result<(), Fault>;
}
