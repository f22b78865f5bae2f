//! The delivery reports of one batch, gathered.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rdkafka::types::RDKafkaErrorCode;
use tokio::sync::Notify;

/// What became of a record: written, or why not.
pub(super) type Report = Result<(), RDKafkaErrorCode>;

/// Reports as they come, from the client's own thread.
#[derive(Default)]
pub(super) struct Batch {
    state: Mutex<State>,
    done: Notify,
}

#[derive(Default)]
struct State {
    /// By the place of the record in the batch.
    reports: Vec<Option<Report>>,
    /// How many are still to come; one more while records are being handed over.
    left: usize,
}

impl Batch {
    /// For `count` records, none of which was handed over yet.
    pub(super) fn of(count: usize) -> Self {
        Self { state: Mutex::new(State { reports: vec![None; count], left: 1 }), ..Self::default() }
    }

    /// One more will be reported.
    pub(super) fn expect(&self) {
        self.lock().left += 1;
    }

    /// The record at `at` was reported, or was refused when it was handed over.
    pub(super) fn report(&self, at: usize, report: Report) {
        let mut state = self.lock();
        if let Some(slot) = state.reports.get_mut(at) {
            *slot = Some(report);
        }
        Self::one_less(&mut state, &self.done);
    }

    /// Everything was handed over.
    pub(super) fn close(&self) {
        Self::one_less(&mut self.lock(), &self.done);
    }

    /// Waits until all that was handed over is reported.
    pub(super) async fn done(&self) {
        loop {
            // Registered before the look: a report between the two is not missed.
            let notified = self.done.notified();
            if self.lock().left == 0 {
                return;
            }
            notified.await;
        }
    }

    /// What was reported until now.
    pub(super) fn reports(&self) -> Vec<Option<Report>> {
        self.lock().reports.clone()
    }

    fn one_less(state: &mut State, done: &Notify) {
        state.left = state.left.saturating_sub(1);
        if state.left == 0 {
            done.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Goes with a record into the client, and comes back with its report.
pub(super) struct Ticket {
    pub(super) batch: std::sync::Arc<Batch>,
    pub(super) at: usize,
}
