//! What is counted, and how: atomics, with as many series as their labels have values and never more.
//!
//! A series costs one relaxed addition. Names that a user chooses go through a [`Family`], which knows the first so many and
//! calls all others `other`: a million of them must not become a million series.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::metric::{Metric, NAMES_MAX, Values};

/// The upper bounds of every histogram, in milliseconds.
pub const BOUNDS_MS: [f64; 14] =
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0, 30000.0];
const BUCKETS: usize = BOUNDS_MS.len() + 1;

/// What a family calls names for which it has no place.
pub const OTHER: &str = "other";

/// What one series is at the moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Only ever more.
    Counter(u64),
    /// As it is now.
    Gauge(f64),
    /// How many took how long.
    Histogram {
        /// The upper bounds.
        bounds: &'static [f64],
        /// How many are in each bucket; one more than there are bounds. Not summed up.
        counts: &'a [u64],
        /// All of them together.
        sum: f64,
    },
}

/// Who is shown every series.
pub trait Visitor {
    /// One series. Those of one metric come one after another.
    fn sample(&mut self, metric: &'static Metric, labels: &[(&str, &str)], value: Value<'_>);
}

/// Something with series.
pub trait Instrument: Send + Sync {
    /// Shows them, each with `named` before its own label.
    fn visit(&self, metric: &'static Metric, named: &[(&str, &str)], visitor: &mut dyn Visitor);
}

/// A counter with `N` values of its label; 1 where it has none.
#[derive(Debug)]
pub struct Counter<const N: usize>([AtomicU64; N]);

impl<const N: usize> Counter<N> {
    /// All at zero.
    pub const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; N])
    }

    /// Adds to the series of the label's value at `slot`.
    pub fn add(&self, slot: usize, by: u64) {
        if by > 0
            && let Some(series) = self.0.get(slot)
        {
            series.fetch_add(by, Relaxed);
        }
    }

    /// The number at `slot`.
    pub fn get(&self, slot: usize) -> u64 {
        self.0.get(slot).map_or(0, |series| series.load(Relaxed))
    }
}

impl<const N: usize> Default for Counter<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Instrument for Counter<N> {
    fn visit(&self, metric: &'static Metric, named: &[(&str, &str)], visitor: &mut dyn Visitor) {
        for (slot, series) in self.0.iter().enumerate() {
            labelled(metric, slot, named, |labels| {
                visitor.sample(metric, labels, Value::Counter(series.load(Relaxed)));
            });
        }
    }
}

/// A gauge with `N` values of its label. A series is not there until it was set.
#[derive(Debug)]
pub struct Gauge<const N: usize>([AtomicI64; N]);

const ABSENT: i64 = i64::MIN;

impl<const N: usize> Gauge<N> {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self([const { AtomicI64::new(ABSENT) }; N])
    }

    /// Says how it is at `slot`.
    pub fn set(&self, slot: usize, value: u64) {
        if let Some(series) = self.0.get(slot) {
            series.store(i64::try_from(value).unwrap_or(i64::MAX), Relaxed);
        }
    }

    /// Says that it is not known any more.
    pub fn forget(&self, slot: usize) {
        if let Some(series) = self.0.get(slot) {
            series.store(ABSENT, Relaxed);
        }
    }

    /// Says how it has changed, for several who each know a share.
    pub fn change(&self, slot: usize, by: i64) {
        if let Some(series) = self.0.get(slot) {
            // What was never set begins at zero.
            let _ = series.compare_exchange(ABSENT, 0, Relaxed, Relaxed);
            series.fetch_add(by, Relaxed);
        }
    }

    /// How it is at `slot`.
    pub fn get(&self, slot: usize) -> Option<i64> {
        self.0.get(slot).map(|series| series.load(Relaxed)).filter(|value| *value != ABSENT)
    }
}

impl<const N: usize> Default for Gauge<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Instrument for Gauge<N> {
    fn visit(&self, metric: &'static Metric, named: &[(&str, &str)], visitor: &mut dyn Visitor) {
        for slot in 0..N {
            if let Some(value) = self.get(slot) {
                labelled(metric, slot, named, |labels| {
                    visitor.sample(metric, labels, Value::Gauge(value as f64));
                });
            }
        }
    }
}

/// A share in a gauge, which is taken back when it is dropped: several relays of a process hold rows at once.
#[derive(Debug)]
pub struct Share {
    gauge: &'static Gauge<1>,
    last: AtomicI64,
}

impl Share {
    /// A share of nothing yet.
    pub fn of(gauge: &'static Gauge<1>) -> Self {
        gauge.change(0, 0);
        Self { gauge, last: AtomicI64::new(0) }
    }

    /// Says how large the share is.
    pub fn set(&self, value: usize) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        let before = self.last.swap(value, Relaxed);
        if before != value {
            self.gauge.change(0, value - before);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// How many took how long, for `N` values of a label.
#[derive(Debug)]
pub struct Histogram<const N: usize>([Buckets; N]);

#[derive(Debug)]
struct Buckets {
    counts: [AtomicU64; BUCKETS],
    sum_micros: AtomicU64,
}

impl<const N: usize> Histogram<N> {
    /// All at zero.
    pub const fn new() -> Self {
        Self(
            [const { Buckets { counts: [const { AtomicU64::new(0) }; BUCKETS], sum_micros: AtomicU64::new(0) } };
                N],
        )
    }

    /// One took so long.
    pub fn observe(&self, slot: usize, took: Duration) {
        let mut tally = Tally::default();
        tally.add(took);
        self.take(slot, &tally);
    }

    /// Several did: one addition for each bucket that has any.
    pub fn take(&self, slot: usize, tally: &Tally) {
        let Some(buckets) = self.0.get(slot) else { return };
        for (count, by) in buckets.counts.iter().zip(tally.counts) {
            if by > 0 {
                count.fetch_add(by, Relaxed);
            }
        }
        if tally.sum_micros > 0 {
            buckets.sum_micros.fetch_add(tally.sum_micros, Relaxed);
        }
    }

    /// How many were seen at `slot`.
    pub fn count(&self, slot: usize) -> u64 {
        self.0.get(slot).map_or(0, |buckets| buckets.counts.iter().map(|count| count.load(Relaxed)).sum())
    }
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Instrument for Histogram<N> {
    fn visit(&self, metric: &'static Metric, named: &[(&str, &str)], visitor: &mut dyn Visitor) {
        for (slot, buckets) in self.0.iter().enumerate() {
            let mut counts = [0; BUCKETS];
            for (count, bucket) in counts.iter_mut().zip(&buckets.counts) {
                *count = bucket.load(Relaxed);
            }
            let sum = buckets.sum_micros.load(Relaxed) as f64 / 1000.0;
            labelled(metric, slot, named, |labels| {
                visitor.sample(metric, labels, Value::Histogram { bounds: &BOUNDS_MS, counts: &counts, sum });
            });
        }
    }
}

/// How long several took, gathered before it is told: a batch of messages costs a few additions and not one for each.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    counts: [u64; BUCKETS],
    sum_micros: u64,
    all: u64,
}

impl Tally {
    /// One more.
    pub fn add(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let millis = micros as f64 / 1000.0;
        let bucket = BOUNDS_MS.iter().position(|bound| millis <= *bound).unwrap_or(BUCKETS - 1);
        self.counts[bucket] += 1;
        self.sum_micros = self.sum_micros.saturating_add(micros);
        self.all += 1;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.all
    }
}

/// The same for each name, of which only the first so many are told apart.
#[derive(Debug)]
pub struct Family<T> {
    known: Mutex<BTreeMap<Box<str>, Arc<T>>>,
}

impl<T: Default> Family<T> {
    /// No name yet.
    pub const fn new() -> Self {
        Self { known: Mutex::new(BTreeMap::new()) }
    }

    /// The series of `name`, or of [`OTHER`] when there are too many names. Worth keeping by who needs it often.
    pub fn of(&self, name: &str) -> Arc<T> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(name) {
            return found.clone();
        }
        let name = match known.len() < NAMES_MAX {
            true => name,
            false => OTHER,
        };
        known.entry(name.into()).or_default().clone()
    }

    /// How many names are told apart.
    pub fn len(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Default> Default for Family<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Instrument> Instrument for Family<T> {
    fn visit(&self, metric: &'static Metric, named: &[(&str, &str)], visitor: &mut dyn Visitor) {
        // Copied, so that nobody who counts waits for somebody who reads.
        let known: Vec<_> = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().map(|(name, series)| (name.clone(), series.clone())).collect()
        };
        let label = metric.labels.iter().find(|label| matches!(label.values, Values::Named { .. }));
        for (name, series) in known {
            let mut labels = named.to_vec();
            labels.extend(label.map(|label| (label.name, &*name)));
            series.visit(metric, &labels, visitor);
        }
    }
}

/// What is known once: which process this is.
#[derive(Debug)]
pub struct Facts(Mutex<Option<Vec<String>>>);

impl Facts {
    /// Nothing is known.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Says it, one text for each label.
    pub fn set<const N: usize>(&self, texts: [&str; N]) {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(texts);
    }
}

impl Instrument for Facts {
    fn visit(&self, metric: &'static Metric, _named: &[(&str, &str)], visitor: &mut dyn Visitor) {
        let texts = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(texts) = texts {
            let labels = metric.labels.iter().zip(&texts).map(|(label, text)| (label.name, text.as_str()));
            visitor.sample(metric, &labels.collect::<Vec<_>>(), Value::Gauge(1.0));
        }
    }
}

/// What others show, because only they know it: the loops of a process.
#[derive(Debug)]
pub struct Elsewhere;

impl Instrument for Elsewhere {
    fn visit(&self, _: &'static Metric, _: &[(&str, &str)], _: &mut dyn Visitor) {}
}

/// Puts the label with the fixed values behind the named ones.
fn labelled(metric: &Metric, slot: usize, named: &[(&str, &str)], tell: impl FnOnce(&[(&str, &str)])) {
    let fixed = metric.labels.iter().find_map(|label| match label.values {
        Values::These(values) => values.get(slot).map(|value| (label.name, *value)),
        Values::Named { .. } => None,
    });
    let mut labels = named.to_vec();
    labels.extend(fixed);
    tell(&labels);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s75_ten_thousand_names_are_sixty_five_series() {
        let family: Family<Counter<1>> = Family::new();
        for number in 0..10_000 {
            family.of(&format!("subscription-{number}")).add(0, 1);
        }
        assert_eq!(family.len(), NAMES_MAX + 1);
        assert_eq!(family.of(OTHER).get(0), 10_000 - NAMES_MAX as u64);
        assert_eq!(family.of("subscription-3").get(0), 1, "the first ones keep their own");
    }

    #[test]
    fn a_share_that_is_dropped_is_taken_back() {
        static HELD: Gauge<1> = Gauge::new();
        assert_eq!(HELD.get(0), None, "what nobody has told is not zero");
        let (one, two) = (Share::of(&HELD), Share::of(&HELD));
        one.set(5);
        two.set(3);
        one.set(2);
        assert_eq!(HELD.get(0), Some(5));
        drop(one);
        assert_eq!(HELD.get(0), Some(3));
    }

    #[test]
    fn a_duration_is_counted_in_the_bucket_that_it_fits() {
        let histogram: Histogram<1> = Histogram::new();
        for millis in [0, 1, 2, 3, 30_000, 30_001] {
            histogram.observe(0, Duration::from_millis(millis));
        }
        let counts: Vec<u64> = histogram.0[0].counts.iter().map(|count| count.load(Relaxed)).collect();
        assert_eq!(counts[..3], [2, 1, 1]);
        assert_eq!(counts[13..], [1, 1]);
        assert_eq!(histogram.count(0), 6);
    }
}
