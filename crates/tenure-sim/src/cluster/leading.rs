//! Leading, as the driver of a real process does it. The decisions are those of the core's [`Coordinator`].

use std::sync::Arc;
use std::time::Duration;

use tenure_core::cluster::{Answer, ClusterLook, ClusterSettings, Coordinator, Daemon, Order, Wanted};
use tenure_core::lease::Fence;
use tenure_core::time::Monotonic;

use super::message::{Call, Why};
use super::process::Work;

/// How often a leader looks up when nothing happens; while something moves, and otherwise.
const BUSY: Duration = Duration::from_millis(40);
const IDLE: Duration = Duration::from_secs(1);
/// How long it waits after a reading that failed.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// One time as the leader.
#[derive(Debug)]
pub(super) struct Leading {
    pub(super) fence: Fence,
    coordinator: Coordinator,
    reading: Option<Wanted>,
    read_at: Monotonic,
    look: Option<Arc<ClusterLook>>,
    patience: Duration,
}

impl Leading {
    pub(super) fn new(fence: Fence, settings: ClusterSettings, patience: Duration, now: Monotonic) -> Self {
        let coordinator = Coordinator::new(settings, now);
        Self { fence, coordinator, reading: None, read_at: now, look: None, patience }
    }

    /// The node has looked. A leader that has no turn sees the last look only.
    pub(super) fn looked(&mut self, look: Arc<ClusterLook>) {
        self.look = Some(look);
    }

    pub(super) fn in_motion(&self) -> bool {
        self.coordinator.in_motion()
    }

    pub(super) fn drive(&mut self, work: &mut Work<'_>) -> Monotonic {
        if let Some(look) = self.look.take() {
            self.coordinator.looked(&look, work.now);
        }
        let wanted = self.coordinator.wants().filter(|_| self.reading.is_none() && work.now >= self.read_at);
        if let Some(wanted) = wanted {
            let after = wanted.after.clone();
            self.reading = Some(wanted);
            work.calls.push((Call::Read(after), Why::Read(self.fence.term), Some(self.patience)));
        }
        if let Some(order) = self.coordinator.next_order(&self.fence, work.now) {
            let order = Arc::new(order);
            let why = Why::Placed(self.fence.term, order.clone());
            work.calls.push((Call::Apply(order), why, Some(self.patience)));
        }
        work.now.after(if self.in_motion() { BUSY } else { IDLE })
    }

    pub(super) fn read(&mut self, page: Option<Vec<Daemon>>, now: Monotonic) {
        match (self.reading.take(), page) {
            (Some(wanted), Some(page)) => self.coordinator.read(&wanted, page),
            _ => self.read_at = now.after(AFTER_FAILURE),
        }
    }

    /// Takes the answer to an order; answers whether it still leads.
    pub(super) fn answered(&mut self, order: &Order, answer: Option<&Answer>, now: Monotonic) -> bool {
        self.coordinator.answered(order, answer, now)
    }
}
