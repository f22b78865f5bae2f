//! What wakes a node: a statement that waits on the server until the cluster's number changes.
//!
//! ```text
//!   armed ──▶ the number that is known ──▶ wait for another (seconds at most) ──▶ the change's end ──▶ hint ──▶ wait …
//! ```
//!
//! These servers cannot call anyone. But a statement can wait there and look at one row every few milliseconds, which costs
//! less than a statement for each look, and tells of a change sooner than anyone would ask. To see the row change within one
//! statement it reads what is not committed: so the end of that change is waited for before anyone is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::Wakeup;
use tokio::sync::{Notify, watch};

use crate::driver::{Call, Lent, Session, Turn};
use crate::fault::{Fault, FaultKind};
use crate::reader::Columns as _;
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// How often one statement looks at the row at most, however long the driver would wait: the servers let a statement go a
/// thousand rounds.
const LOOKS: i64 = 800;
/// How long lies between two looks, as `cluster_wait` says.
const TICK: Duration = Duration::from_millis(25);
/// How long to rest after a wait that went wrong in passing.
const REST: Duration = Duration::from_secs(1);

/// Wakes one node. Its session ends with it, at the latest when the statement ends that is under way.
#[derive(Debug)]
pub(super) struct Ear {
    label: String,
    armed: watch::Sender<bool>,
    bell: Arc<Bell>,
    /// Closed when nothing more will come.
    ended: watch::Receiver<()>,
}

#[derive(Debug, Default)]
struct Bell {
    armed: AtomicBool,
    rings: Notify,
}

impl Ear {
    pub(super) async fn open(shared: &Arc<Shared>) -> Result<Self, StoreError> {
        let mut lent = shared.lend(Turn::Wait).await?;
        let uncommitted = Call::new(&shared.statements.session_uncommitted, []);
        lent.run(&uncommitted).await.map_err(|fault| fault.into_error(shared.label()))?;
        let (armed, asked) = watch::channel(false);
        let (living, ended) = watch::channel(());
        let bell = Arc::new(Bell::default());
        let (label, shared, rings) = (shared.label().to_owned(), Arc::clone(shared), Arc::clone(&bell));
        let mut wanted = asked.clone();
        tokio::spawn(async move {
            // The session is never given back: it reads otherwise than those of the pool. With the ear it is closed,
            // whatever is under way on it: nothing there changes anything.
            tokio::select! {
                heard = listen(&shared, lent, asked, &rings) => if let Err(error) = heard {
                    tracing::debug!(%error, "nothing wakes this node any more");
                },
                () = async { while wanted.changed().await.is_ok() {} } => {}
            }
            drop(living);
        });
        Ok(Self { label, armed, bell, ended })
    }
}

#[async_trait]
impl Wakeup for Ear {
    fn arm(&self, on: bool) {
        self.bell.armed.store(on, Ordering::SeqCst);
        self.armed.send_replace(on);
    }

    async fn hint(&self) -> Result<(), StoreError> {
        let mut ended = self.ended.clone();
        loop {
            tokio::select! {
                biased;
                () = self.bell.rings.notified() => {}
                _ = ended.changed() => {
                    let message = "the session that wakes has ended".into();
                    return Err(StoreError::Unreachable { store: self.label.clone(), message });
                }
            }
            if self.bell.armed.load(Ordering::SeqCst) {
                return Ok(());
            }
        }
    }
}

/// Rings until the ear is dropped.
async fn listen(
    shared: &Shared,
    mut session: Box<dyn Lent>,
    mut armed: watch::Receiver<bool>,
    bell: &Bell,
) -> Result<(), StoreError> {
    loop {
        if armed.wait_for(|on| *on).await.is_err() {
            return Ok(());
        }
        let mut known = settled(shared, &mut *session).await?;
        // What changes from here on is heard of.
        bell.rings.notify_one();
        while *armed.borrow_and_update() && armed.has_changed().is_ok() {
            let found = wait(shared, &mut *session, known).await?;
            if found != Some(known) {
                known = settled(shared, &mut *session).await?;
                bell.rings.notify_one();
            }
        }
    }
}

/// Waits for another number than the known one; `None` when there may be one.
async fn wait(shared: &Shared, session: &mut dyn Session, known: i64) -> Result<Option<i64>, StoreError> {
    let most = shared.driver.longest_wait();
    let looks = LOOKS.min(i64::try_from(most.as_millis() / TICK.as_millis()).unwrap_or(LOOKS)).max(2);
    let call = Call::new(&shared.statements.cluster_wait, [Value::Int(known), Value::Int(looks)]);
    let Some(row) = answered(shared, session, &call).await? else { return Ok(None) };
    let reader = shared.reader();
    let tick = reader.need(row.number("tick"), "tick")?;
    let found = reader.need(row.number("revision"), "revision")?;
    if found == known && tick < looks {
        // It did not wait: the row is gone, or someone ended the wait.
        return Err(reader.no_cluster());
    }
    Ok(Some(found))
}

/// The number after the change that is under way; the last known one is as good as none.
async fn settled(shared: &Shared, session: &mut dyn Session) -> Result<i64, StoreError> {
    let call = Call::new(&shared.statements.cluster_settled, []);
    loop {
        let Some(row) = answered(shared, session, &call).await? else { continue };
        return shared.reader().need(row.number("revision"), "revision");
    }
}

/// The row of an answer; `None`, after a rest, when a lock was not had or a statement took too long.
async fn answered(
    shared: &Shared,
    session: &mut dyn Session,
    call: &Call<'_>,
) -> Result<Option<Row>, StoreError> {
    match session.run(call).await {
        Ok(answer) => Ok(Some(answer.rows.into_iter().next().ok_or_else(|| shared.reader().no_cluster())?)),
        Err(Fault { kind: FaultKind::Busy | FaultKind::Deadlock, .. }) => {
            tokio::time::sleep(REST).await;
            Ok(None)
        }
        Err(fault) => Err(fault.into_error(shared.label())),
    }
}
