//! Wake-ups that cost nothing while nobody sleeps.
//!
//! ```text
//!   relay, awake     no lock                     enqueuers have the shared lock until they commit, and send nothing
//!   arm(true)        asks for the exclusive one  from here on enqueuers find it taken, and notify
//!                    has it                      all who sent nothing have ended: hint, so that the relay looks again
//!   arm(false)       gives it back
//! ```
//!
//! Two sessions: one is notified, the other holds the lock, since a session that waits hears nothing. A relay that crashes
//! is disarmed by the end of its session. Nothing is ever written.
//!
//! Readers of events sleep and are woken in the same way; what is said here of a relay and of enqueuers goes for them and
//! for those who append. Lock and channel follow the table.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::Wakeup;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use crate::connect::Link;
use crate::error::unreachable;
use crate::outbox::statements::sleeping_session;
use crate::statements::{arm, disarm, listen, number_of, waiting_session};
use crate::store::Shared;

/// Where what wakes comes from.
pub(crate) struct Source<'a> {
    /// The table that is written to, as it stands in SQL.
    pub(crate) table: &'a str,
    /// What the channel's name begins with.
    pub(crate) channel: &'a str,
}

/// What a relay has asked for last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Wanted {
    armed: bool,
    /// How often it was armed: whoever arms anew is told anew when it has taken effect.
    times: u64,
}

/// What wakes one relay.
#[derive(Debug)]
pub(crate) struct PostgresWakeup {
    label: String,
    bell: Arc<Notify>,
    wanted: watch::Sender<Wanted>,
    /// Ends when either session does.
    over: watch::Receiver<()>,
    keeper: AbortHandle,
}

impl PostgresWakeup {
    pub(crate) async fn open(shared: &Shared, source: Source<'_>) -> Result<Self, StoreError> {
        let bell = Arc::new(Notify::new());
        let connector = shared.outbox_connector()?;
        let (ear, number) = listen_on(shared, source, &bell).await?;
        let hand = connector.open("wakeup").await?;
        hand.run(&waiting_session(shared.modern)).await?;
        hand.run(&sleeping_session(shared.modern)).await?;
        let (wanted, asked) = watch::channel(Wanted::default());
        let (ending, over) = watch::channel(());
        let keeper = Keeper {
            ear,
            hand,
            asked,
            bell: Arc::clone(&bell),
            arm: arm(number),
            disarm: disarm(number),
            _ending: ending,
        };
        let keeper = connector.handle().spawn(keeper.keep()).abort_handle();
        Ok(Self { label: shared.label.clone(), bell, wanted, over, keeper })
    }
}

/// A session that hears what is notified about a table, and rings the bell for it; and the number of the table.
pub(crate) async fn listen_on(
    shared: &Shared,
    source: Source<'_>,
    bell: &Arc<Notify>,
) -> Result<(Link, u32), StoreError> {
    let ear = shared.outbox_connector()?.with_bell(Arc::clone(bell)).open("listen").await?;
    ear.run(&sleeping_session(shared.modern)).await?;
    let number: u32 = ear.value(&number_of(source.table)).await?;
    ear.run(&listen(source.channel, number)).await?;
    Ok((ear, number))
}

/// With the keeper go its sessions, and with those the lock.
impl Drop for PostgresWakeup {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

#[async_trait]
impl Wakeup for PostgresWakeup {
    fn arm(&self, on: bool) {
        self.wanted.send_if_modified(|wanted| {
            if wanted.armed == on {
                return false;
            }
            wanted.armed = on;
            wanted.times += u64::from(on);
            true
        });
    }

    async fn hint(&self) -> Result<(), StoreError> {
        let mut over = self.over.clone();
        tokio::select! {
            biased;
            () = self.bell.notified() => Ok(()),
            // Nothing is ever sent: it ends when the keeper does.
            _ = over.changed() => Err(unreachable(&self.label, "the session that wakes has ended")),
        }
    }
}

/// Holds the lock as long as it is wanted, on sessions of its own.
struct Keeper {
    ear: Link,
    hand: Link,
    asked: watch::Receiver<Wanted>,
    bell: Arc<Notify>,
    arm: String,
    disarm: String,
    /// Dropped with the keeper, and that is the message.
    _ending: watch::Sender<()>,
}

impl Keeper {
    async fn keep(mut self) {
        let mut known = 0;
        while self.until(|wanted| wanted.armed).await {
            match self.hand.run(&self.arm).await {
                Ok(()) => {}
                // It may take as long as a transaction that has enqueued, or another relay that sleeps; but no statement
                // waits for long. While it is not asked for, someone may commit who wakes nobody: the hint comes all the
                // same, when it is had at last.
                Err(StoreError::Busy { .. }) => continue,
                Err(_) => return,
            }
            // Each time it was armed anew, also when that was while the lock was held all the time.
            while self.asked.borrow().armed && known != self.asked.borrow().times {
                known = self.asked.borrow().times;
                self.bell.notify_one();
                if !self.until(|wanted| !wanted.armed || wanted.times != known).await {
                    return;
                }
            }
            if self.hand.run(&self.disarm).await.is_err() {
                return;
            }
        }
    }

    /// Waits for what the relay wants; false when a session has ended, or nobody wants anything any more.
    async fn until(&mut self, what: impl FnMut(&Wanted) -> bool) -> bool {
        let (mut ear, mut hand) = (self.ear.ended(), self.hand.ended());
        tokio::select! {
            found = self.asked.wait_for(what) => found.is_ok(),
            _ = ear.changed() => false,
            _ = hand.changed() => false,
        }
    }
}
