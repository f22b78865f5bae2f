//! Percentiles of what was measured.

use serde::Serialize;

/// What a set of spans comes to, in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Spans {
    pub(super) rounds: usize,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

impl Spans {
    /// By nearest rank; `None` when nothing was measured.
    pub(super) fn of(mut micros: Vec<u64>) -> Option<Self> {
        micros.sort_unstable();
        let max = *micros.last()?;
        let rank =
            |share: f64| micros[((share * micros.len() as f64).ceil() as usize).clamp(1, micros.len()) - 1];
        let millis = |micros: u64| (micros as f64 / 100.0).round() / 10.0;
        Some(Self { rounds: micros.len(), p50: millis(rank(0.5)), p99: millis(rank(0.99)), max: millis(max) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let spans = Spans::of((1..=100).rev().map(|n| n * 1000).collect()).unwrap();
        assert_eq!((spans.p50, spans.p99, spans.max), (50.0, 99.0, 100.0));
        assert!(Spans::of(Vec::new()).is_none());
        assert_eq!(Spans::of(vec![7]).unwrap().p99, 0.0);
    }
}
