//! Telling those who want to know: who leads, who came, who went. A slow observer holds up nobody.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tenure_core::cluster::{ClusterLook, Member};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, Term};
use tokio::sync::mpsc;

/// How many changes wait for an observer that is slow; beyond that it is told how many it missed.
const QUEUE: usize = 4096;

/// A change that observers are told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterEvent {
    /// This node leads from now on.
    Elected {
        /// Under this fence.
        fence: Fence,
    },
    /// This node does not lead any more.
    Lost {
        /// What it led under.
        fence: Fence,
        /// Why.
        reason: String,
    },
    /// Someone leads, this node or another.
    Leads {
        /// Who.
        node: NodeName,
        /// Under which term.
        term: Term,
    },
    /// Nobody leads.
    Leaderless,
    /// A node has joined.
    Registered {
        /// Who, and what it can do.
        member: Box<Member>,
    },
    /// A node has left or was given up.
    Removed {
        /// Who.
        node: NodeName,
        /// The term under which it had registered.
        term: Term,
    },
    /// The observer was so slow that changes are missing here.
    Missed {
        /// How many.
        count: u64,
    },
}

/// One who is told every change, in order, one at a time.
#[async_trait]
pub trait Observer: Send + Sync + 'static {
    /// Something changed.
    async fn changed(&self, event: ClusterEvent);
}

/// Everyone who is told.
#[derive(Debug, Default)]
pub(super) struct Observers {
    queues: Mutex<Vec<Queue>>,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Queue {
    sender: mpsc::Sender<ClusterEvent>,
    missed: u64,
}

#[derive(Debug, Default)]
struct Seen {
    members: Vec<Member>,
    leader: Option<(NodeName, Term)>,
}

impl Observers {
    /// Tells an observer everything from now on, beginning with who is there.
    pub(super) fn add(&self, observer: Arc<dyn Observer>) {
        let mut events = self.follow();
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                observer.changed(event).await;
            }
        });
    }

    /// The same as a queue to read from.
    pub(super) fn follow(&self) -> mpsc::Receiver<ClusterEvent> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let mut queue = Queue { sender, missed: 0 };
        // Both locks, so that nothing comes between what is there and what follows.
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        for member in &seen.members {
            queue.tell(&ClusterEvent::Registered { member: Box::new(member.clone()) });
        }
        if let Some((node, term)) = &seen.leader {
            queue.tell(&ClusterEvent::Leads { node: node.clone(), term: *term });
        }
        queues.push(queue);
        receiver
    }

    pub(super) fn tell(&self, event: &ClusterEvent) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain_mut(|queue| queue.tell(event));
    }

    /// Tells what a look shows that was not so before.
    pub(super) fn looked(&self, look: &ClusterLook) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let alive = look.nodes.iter().filter(|standing| standing.is_alive(look.now));
        let members: Vec<Member> = alive.map(|standing| standing.member.clone()).collect();
        let same = |a: &Member, b: &Member| a.node.name == b.node.name && a.term == b.term;
        for former in seen.members.iter().filter(|former| !members.iter().any(|now| same(now, former))) {
            self.tell(&ClusterEvent::Removed { node: former.node.name.clone(), term: former.term });
        }
        for member in members.iter().filter(|now| !seen.members.iter().any(|former| same(now, former))) {
            self.tell(&ClusterEvent::Registered { member: Box::new(member.clone()) });
        }
        let leader = look.leads().map(|(node, term)| (node.clone(), term));
        if leader != seen.leader {
            self.tell(&match leader.clone() {
                Some((node, term)) => ClusterEvent::Leads { node, term },
                None => ClusterEvent::Leaderless,
            });
        }
        (seen.members, seen.leader) = (members, leader);
    }
}

impl Queue {
    /// False when nobody reads any more.
    fn tell(&mut self, event: &ClusterEvent) -> bool {
        if self.missed > 0 {
            match self.sender.try_send(ClusterEvent::Missed { count: self.missed }) {
                Ok(()) => self.missed = 0,
                Err(mpsc::error::TrySendError::Closed(_)) => return false,
                Err(mpsc::error::TrySendError::Full(_)) => {}
            }
        }
        if self.missed > 0 {
            self.missed += 1;
            return true;
        }
        match self.sender.try_send(event.clone()) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Closed(_)) => false,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.missed = 1;
                true
            }
        }
    }
}
