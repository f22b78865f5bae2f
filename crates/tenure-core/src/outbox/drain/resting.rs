//! Sources that have nothing to deliver for now, and are left out of the search for others.
//!
//! A source whose head waits for its next attempt may have a million rows behind it. While other sources keep the relay busy, it
//! looks for new ones all the time, and would come across those rows each time. So for a moment they are not looked for: what may
//! go after all, because a row was committed late or an operator has decided something, goes a moment later. All rests end at the same
//! moments: one search after each is enough.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::time::Monotonic;

/// How long a source is left out, at most.
const REST_MAX: Duration = Duration::from_millis(250);
/// How many are, at most.
const SOURCES_MAX: usize = 256;

/// Until when each of them is left out.
#[derive(Debug, Default)]
pub(super) struct Resting(HashMap<Arc<str>, Monotonic>);

impl Resting {
    /// Leaves a source out that has nothing to deliver for so long.
    pub(super) fn rest(&mut self, source: &str, span: Duration, now: Monotonic) {
        if self.0.len() >= SOURCES_MAX {
            self.wake(now);
        }
        if self.0.len() < SOURCES_MAX {
            let mark = REST_MAX.as_nanos() - now.since_origin().as_nanos() % REST_MAX.as_nanos();
            let mark = u64::try_from(mark).map_or(REST_MAX, Duration::from_nanos);
            self.0.insert(Arc::from(source), now.after(span.min(mark)));
        }
    }

    /// A source has something to deliver.
    pub(super) fn ends(&mut self, source: &str) {
        self.0.remove(source);
    }

    /// Those that are left out at this moment, and when the first of them no longer is.
    pub(super) fn at(&mut self, now: Monotonic) -> (impl Iterator<Item = &str>, Option<Monotonic>) {
        self.wake(now);
        let first = self.0.values().min().copied();
        (self.0.keys().map(|source| &**source), first)
    }

    fn wake(&mut self, now: Monotonic) {
        self.0.retain(|_, until| *until > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_origin(Duration::from_millis(millis))
    }

    fn left_out(resting: &mut Resting, now: Monotonic) -> Vec<String> {
        let mut sources: Vec<_> = resting.at(now).0.map(ToOwned::to_owned).collect();
        sources.sort();
        sources
    }

    #[test]
    fn a_rest_ends_when_something_is_due_and_soon_in_any_case() {
        let mut resting = Resting::default();
        resting.rest("a", Duration::from_millis(10), at(0));
        resting.rest("b", Duration::from_secs(3600), at(0));
        assert_eq!(left_out(&mut resting, at(9)), ["a", "b"]);
        assert_eq!(resting.at(at(9)).1, Some(at(10)));
        assert_eq!(left_out(&mut resting, at(10)), ["b"]);
        assert_eq!(left_out(&mut resting, at(250)), [""; 0]);
        resting.rest("c", Duration::from_millis(10), at(300));
        resting.ends("c");
        assert_eq!(left_out(&mut resting, at(300)), [""; 0]);
    }

    #[test]
    fn rests_that_begin_at_different_moments_end_at_one() {
        let mut resting = Resting::default();
        for n in 0..100 {
            resting.rest(&format!("s{n}"), REST_MAX, at(1_000 + n));
        }
        assert_eq!(resting.at(at(1_100)).1, Some(at(1_250)));
        assert_eq!(left_out(&mut resting, at(1_250)), [""; 0]);
    }

    #[test]
    fn no_more_rest_than_can_be_borne() {
        let mut resting = Resting::default();
        for n in 0..2 * SOURCES_MAX {
            resting.rest(&format!("s{n}"), REST_MAX, at(0));
        }
        assert_eq!(left_out(&mut resting, at(0)).len(), SOURCES_MAX);
        // Those whose time is over make room.
        resting.rest("x", REST_MAX, at(250));
        assert_eq!(left_out(&mut resting, at(250)), ["x"]);
    }
}
