//! What a node tells of itself.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tenure_core::time::{Clock, Monotonic};

use super::{Inner, Leadership};
use crate::clock::SteadyClock;
use crate::runners::Beat;

/// What a node does at the moment.
#[derive(Debug, Clone, Serialize)]
pub struct ClusterStatus {
    /// Its name.
    pub node: String,
    /// The term under which it leads.
    pub leads: Option<u64>,
    /// Who leads, as this node knows.
    pub leader: Option<String>,
    /// How many nodes live, as this node knows.
    pub nodes: usize,
    /// How many daemons run here.
    pub daemons: usize,
    /// Whether something comes here or goes from here.
    pub in_motion: bool,
    /// How long ago it last saw the cluster; `None` before the first time.
    pub seen_ago: Option<Duration>,
    /// What went wrong last, until something goes well again.
    pub trouble: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Gauge {
    daemons: AtomicUsize,
    in_motion: AtomicBool,
    /// Microseconds of the steady clock; 0 before the first look.
    looked_at: AtomicU64,
    trouble: Mutex<Option<String>>,
    beat: Mutex<Option<Beat>>,
}

impl Gauge {
    /// A time in office begins: whatever is in trouble is said to this beat.
    pub(super) fn begin(&self, beat: Beat) {
        *self.beat.lock().unwrap_or_else(PoisonError::into_inner) = Some(beat);
    }

    /// The node is gone.
    pub(super) fn end(&self) {
        *self.beat.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn host(&self, daemons: usize, in_motion: bool) {
        self.daemons.store(daemons, Ordering::Relaxed);
        self.in_motion.store(in_motion, Ordering::Relaxed);
    }

    pub(super) fn looked(&self) {
        let micros = u64::try_from(SteadyClock.now().since_origin().as_micros()).unwrap_or(u64::MAX);
        self.looked_at.store(micros, Ordering::Relaxed);
        self.trouble(None);
    }

    pub(super) fn trouble(&self, trouble: Option<String>) {
        if let Some(beat) = &*self.beat.lock().unwrap_or_else(PoisonError::into_inner) {
            beat.trouble(trouble.clone());
        }
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    pub(super) fn status(&self, inner: &Inner, leadership: Option<Leadership>) -> ClusterStatus {
        let look = inner.look.borrow().clone();
        let looked = self.looked_at.load(Ordering::Relaxed);
        let looked = (looked > 0).then(|| Monotonic::from_origin(Duration::from_micros(looked)));
        ClusterStatus {
            node: inner.node.name.to_string(),
            leads: leadership.map(|leadership| leadership.fence.term.get()),
            leader: look.as_ref().and_then(|look| look.leads().map(|(node, _)| node.to_string())),
            nodes: look
                .map_or(0, |look| look.nodes.iter().filter(|standing| standing.is_alive(look.now)).count()),
            daemons: self.daemons.load(Ordering::Relaxed),
            in_motion: self.in_motion.load(Ordering::Relaxed),
            seen_ago: looked.map(|at| at.until(SteadyClock.now())),
            trouble: self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
