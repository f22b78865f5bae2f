//! How much goes through in a second, from numbers that only grow.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tenure_core::id::Unique;
use tenure_core::observe::{RunnerKind, RunnerRow, Runners};
use tenure_core::outbox::Pulse;
use tenure_core::time::StoreTime;

/// Over how long the numbers of the outbox are compared.
const WINDOW: Duration = Duration::from_secs(10);
/// A report that is older says nothing about now.
const REPORT_FRESH: Duration = Duration::from_secs(15);
/// Runners that are remembered between two samples.
const RUNNERS_MAX: usize = 1_000;

/// Messages in a second. `None` is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rates {
    pub(crate) enqueued: Option<f64>,
    pub(crate) delivered: Option<f64>,
    pub(crate) failed: Option<f64>,
    /// Whether nobody reports deliveries, and the number follows from what waits.
    pub(crate) is_derived: bool,
}

/// What was seen before.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pulses: VecDeque<Pulse>,
    runners: HashMap<(Unique, RunnerKind, String), Reports>,
}

/// The last two reports of a runner that were not the same one.
#[derive(Debug, Clone, Copy)]
struct Reports {
    last: Seen,
    before: Option<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    at: StoreTime,
    delivered: u64,
    failed: u64,
}

impl Tally {
    /// Adds what was seen, and says how much goes through.
    pub(crate) fn add(&mut self, pulse: &Pulse, runners: &Runners) -> Rates {
        // A store whose clock went back begins anew.
        if self.pulses.back().is_some_and(|last| last.now > pulse.now) {
            self.pulses.clear();
        }
        self.pulses.push_back(pulse.clone());
        while self.pulses.len() > 2 && self.pulses[1].now.until(pulse.now) >= WINDOW {
            self.pulses.pop_front();
        }
        let (enqueued, derived) = self.of_pulses();
        match self.of_runners(runners) {
            Some((delivered, failed)) => {
                Rates { enqueued, delivered: Some(delivered), failed: Some(failed), is_derived: false }
            }
            None => Rates { enqueued, delivered: derived, failed: None, is_derived: true },
        }
    }

    /// What was enqueued, and what must have left where all that waits could be counted.
    fn of_pulses(&self) -> (Option<f64>, Option<f64>) {
        let (Some(first), Some(last)) = (self.pulses.front(), self.pulses.back()) else {
            return (None, None);
        };
        let seconds = first.now.until(last.now).as_secs_f64();
        if seconds < 0.5 {
            return (None, None);
        }
        let row = |pulse: &Pulse| pulse.newest.map_or(0, |row| row.0);
        let enqueued = row(last).saturating_sub(row(first)).max(0) as f64;
        let counted = [first, last].iter().all(|pulse| !pulse.pending.or_more && !pulse.dead.or_more);
        let kept = |pulse: &Pulse| (pulse.pending.number + pulse.dead.number) as f64;
        let left = (enqueued - (kept(last) - kept(first))).max(0.0);
        (Some(enqueued / seconds), counted.then_some(left / seconds))
    }

    /// What relays say that they delivered and failed to; `None` where no relay says anything.
    fn of_runners(&mut self, runners: &Runners) -> Option<(f64, f64)> {
        let relays = runners
            .rows
            .iter()
            .filter(|row| matches!(row.report.kind, RunnerKind::Relay | RunnerKind::Parts));
        let mut kept = HashMap::new();
        let (mut any, mut delivered, mut failed) = (false, 0.0, 0.0);
        for row in relays.take(RUNNERS_MAX) {
            any = true;
            let key = (row.node.incarnation, row.report.kind, row.report.name.clone());
            let seen = seen(row);
            let reports = match self.runners.get(&key) {
                Some(known) if known.last.at == seen.at => *known,
                Some(known) => Reports { last: seen, before: Some(known.last) },
                None => Reports { last: seen, before: None },
            };
            kept.insert(key, reports);
            let Some(before) = reports.before else { continue };
            let seconds = before.at.until(reports.last.at).as_secs_f64();
            if seconds > 0.2 && reports.last.at.until(runners.now) <= REPORT_FRESH {
                delivered += reports.last.delivered.saturating_sub(before.delivered) as f64 / seconds;
                failed += reports.last.failed.saturating_sub(before.failed) as f64 / seconds;
            }
        }
        self.runners = kept;
        any.then_some((delivered, failed))
    }
}

fn seen(row: &RunnerRow) -> Seen {
    let counter = |name: &str| row.report.counters.get(name).copied().unwrap_or_default();
    let failed = ["transient", "rejected", "poison"].into_iter().map(counter).sum();
    Seen { at: row.seen_at, delivered: counter("delivered"), failed }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tenure_core::id::{Node, NodeName};
    use tenure_core::observe::RunnerReport;
    use tenure_core::outbox::{Count, RowId};

    use super::*;

    fn at(seconds: u64) -> StoreTime {
        StoreTime::from_micros(1_000_000_000_000).after(Duration::from_secs(seconds))
    }

    fn pulse(seconds: u64, newest: i64, pending: u64, or_more: bool) -> Pulse {
        Pulse {
            now: at(seconds),
            newest: Some(RowId(newest)),
            pending: Count { number: pending, or_more },
            retrying: Count::default(),
            dead: Count::default(),
            halted_sources: Count::default(),
            lag: None,
            lag_is_least: false,
        }
    }

    fn relay(incarnation: u128, seen: u64, delivered: u64, now: u64) -> Runners {
        let node = Node {
            name: NodeName::new("a").unwrap(),
            incarnation: Unique::from_u128(incarnation),
            machine: "m".into(),
            pid: 1,
        };
        let report = RunnerReport {
            kind: RunnerKind::Relay,
            name: "outbox".into(),
            state: "leading".into(),
            trouble: None,
            cycled_ago: None,
            advanced_ago: None,
            every: Duration::from_secs(1),
            counters: BTreeMap::from([("delivered".into(), delivered), ("transient".into(), delivered / 10)]),
        };
        Runners {
            rows: vec![RunnerRow { node, report, started_at: at(0), seen_at: at(seen) }],
            more: false,
            now: at(now),
        }
    }

    fn nobody(now: u64) -> Runners {
        Runners { rows: vec![], more: false, now: at(now) }
    }

    #[test]
    fn without_reports_what_left_follows_from_what_waits() {
        let mut tally = Tally::default();
        assert_eq!(tally.add(&pulse(0, 100, 50, false), &nobody(0)).enqueued, None);
        let rates = tally.add(&pulse(10, 200, 30, false), &nobody(10));
        assert_eq!(
            rates,
            Rates { enqueued: Some(10.0), delivered: Some(12.0), failed: None, is_derived: true }
        );
        let rates = tally.add(&pulse(20, 300, 10_000, true), &nobody(20));
        assert_eq!(rates.delivered, None, "what cannot be counted is not known");
    }

    #[test]
    fn a_relay_that_began_anew_has_no_negative_rate() {
        let mut tally = Tally::default();
        tally.add(&pulse(0, 0, 0, false), &relay(1, 0, 1_000, 0));
        let rates = tally.add(&pulse(5, 0, 0, false), &relay(1, 5, 1_500, 5));
        assert_eq!((rates.delivered, rates.failed, rates.is_derived), (Some(100.0), Some(10.0), false));
        let rates = tally.add(&pulse(7, 0, 0, false), &relay(1, 5, 1_500, 7));
        assert_eq!(rates.delivered, Some(100.0), "the same report again says the same");
        let rates = tally.add(&pulse(10, 0, 0, false), &relay(2, 10, 3, 10));
        assert_eq!(rates.delivered, Some(0.0), "one report of a new process says nothing yet");
        let rates = tally.add(&pulse(60, 0, 0, false), &relay(2, 12, 90, 60));
        assert_eq!(rates.delivered, Some(0.0), "an old report says nothing about now");
    }

    #[test]
    fn a_clock_that_goes_back_breaks_nothing() {
        let mut tally = Tally::default();
        tally.add(&pulse(100, 100, 0, false), &nobody(100));
        let rates = tally.add(&pulse(50, 100, 0, false), &nobody(50));
        assert_eq!(rates.enqueued, None);
    }
}
