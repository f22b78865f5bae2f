//! Taps: events from now on, without a checkpoint and without a lease.

use std::time::Duration;

use tenure_core::event::{Position, Recorded};
use tenure_core::time::Clock;
use tokio::sync::mpsc;

use crate::clock::SteadyClock;
use crate::events::Events;
use crate::hub::Lookout;
use crate::stop::Stop;

/// How long to wait after a read that had no answer.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// How many events are read at once.
const PAGE: u32 = 256;
/// The largest buffer, and the shortest sleep.
const BUFFER_MAX: usize = 1_000_000;
const POLL_MIN: Duration = Duration::from_millis(1);

/// How a tap works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TapSettings {
    /// How many events are held for a slow listener, up to a million; then the tap waits for it, and nobody else does. 1024.
    pub buffer: usize,
    /// How long to sleep at most when nothing wakes it. 500 ms.
    pub poll: Duration,
}

impl Default for TapSettings {
    fn default() -> Self {
        Self { buffer: 1024, poll: Duration::from_millis(500) }
    }
}

/// Events of all streams, in order, from the moment it was opened; dropped, it ends.
///
/// Any number may listen on any number of nodes. A tap remembers nothing: what happened while nobody listened is not seen,
/// nor is what was appended before and committed after it was opened. A row that cannot be read is passed over, with a
/// warning in the log.
#[derive(Debug)]
pub struct Tap {
    events: mpsc::Receiver<Recorded>,
    stop: Stop,
}

impl Tap {
    /// Listens from now on.
    pub async fn open(events: Events, settings: TapSettings) -> Result<Self, tenure_core::StoreError> {
        let from = events.read_all(Position::START, 1).await?.head;
        let (sender, receiver) = mpsc::channel(settings.buffer.clamp(1, BUFFER_MAX));
        let stop = Stop::new();
        tokio::spawn(read(events, from, sender, settings, stop.clone()));
        Ok(Self { events: receiver, stop })
    }

    /// The next event. Dropping the future loses nothing. `None` never comes while the runtime works.
    pub async fn next(&mut self) -> Option<Recorded> {
        self.events.recv().await
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

async fn read(
    events: Events,
    mut after: Position,
    sender: mpsc::Sender<Recorded>,
    settings: TapSettings,
    stop: Stop,
) {
    let poll = settings.poll.max(POLL_MIN);
    let mut lookout = Lookout::new(events.hub(), poll, poll);
    while !stop.is_stopped() {
        let began = SteadyClock.now();
        let page = match events.read_all(after, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "a tap could not read; again later");
                tokio::time::sleep(AGAIN_AFTER).await;
                continue;
            }
        };
        let found = page.events.len() + page.unreadable.len();
        lookout.looked(found, began.until(SteadyClock.now()));
        after = after.max(page.read_to);
        for row in page.unreadable {
            tracing::warn!(%row, "a tap passes over a row");
        }
        for event in page.events {
            if sender.send(event).await.is_err() {
                return;
            }
        }
        // With events in the page there may be more.
        if found == 0 {
            tokio::select! {
                () = stop.stopped() => return,
                () = lookout.until_due() => {}
            }
        }
    }
}
