//! Flags in a set. A session ends when it is closed or dropped.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;

use crate::contract::{Presence, PresenceSession, Raise, Watch};
use crate::error::StoreError;
use crate::id::Unique;
use crate::lease::Flag;

#[derive(Default)]
pub(super) struct Flags {
    board: Arc<Board>,
}

#[derive(Default)]
struct Board {
    state: Mutex<BoardState>,
}

#[derive(Default)]
struct BoardState {
    /// The sessions that live.
    open: HashSet<Unique>,
    up: HashSet<Flag>,
    waiting: Vec<Waker>,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lowers flags and wakes everyone who watches one.
    fn lower(&self, gone: impl Fn(&Flag) -> bool) {
        self.state().lower(gone);
    }

    /// Ends sessions, and with them their flags.
    fn end(&self, ends: impl Fn(Unique) -> bool) {
        let mut state = self.state();
        state.open.retain(|session| !ends(*session));
        state.lower(|flag| ends(flag.session));
    }
}

impl BoardState {
    fn lower(&mut self, gone: impl Fn(&Flag) -> bool) {
        self.up.retain(|flag| !gone(flag));
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

impl Flags {
    /// Ends every session, as a server that restarts would.
    pub(super) fn end_all(&self) {
        self.board.end(|_| true);
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flags").field("up", &self.board.state().up).finish()
    }
}

#[async_trait]
impl Presence for Flags {
    async fn open(
        &self,
        id: Unique,
        _idle_timeout: Duration,
    ) -> Result<Arc<dyn PresenceSession>, StoreError> {
        self.board.state().open.insert(id);
        Ok(Arc::new(Session { id, board: Arc::downgrade(&self.board) }))
    }

    /// Waits without regard to `patience`: there is no clock here, and the caller has one.
    async fn watch(&self, flag: &Flag, _patience: Duration) -> Result<Watch, StoreError> {
        std::future::poll_fn(|context| {
            let mut state = self.board.state();
            if !state.up.contains(flag) {
                return Poll::Ready(());
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
        Ok(Watch::Fallen)
    }
}

#[derive(Debug)]
struct Session {
    id: Unique,
    board: Weak<Board>,
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Board")
    }
}

impl Session {
    fn end(&self) {
        if let Some(board) = self.board.upgrade() {
            board.end(|session| session == self.id);
        }
    }

    /// Does `work` if this session is open. Both under one lock: a session that ends must not leave a flag up.
    fn while_open(&self, work: impl FnOnce(&mut BoardState)) -> Result<(), StoreError> {
        if let Some(board) = self.board.upgrade() {
            let mut state = board.state();
            if state.open.contains(&self.id) {
                work(&mut state);
                return Ok(());
            }
        }
        Err(StoreError::Unreachable { store: "memory".into(), message: "the session has ended".into() })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

#[async_trait]
impl PresenceSession for Session {
    fn id(&self) -> Unique {
        self.id
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.while_open(|_| ())
    }

    async fn raise(&self, flag: &Flag) -> Result<Raise, StoreError> {
        self.while_open(|state| {
            state.up.insert(flag.clone());
        })?;
        Ok(Raise::Raised)
    }

    async fn lower(&self, flag: &Flag) -> Result<(), StoreError> {
        if let Some(board) = self.board.upgrade() {
            board.lower(|other| other == flag);
        }
        Ok(())
    }

    async fn close(&self) {
        self.end();
    }
}
