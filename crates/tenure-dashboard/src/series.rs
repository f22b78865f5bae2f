//! What was seen of late, in two rings: ten minutes by two seconds, and a day by minutes. Longer memory is Prometheus's
//! business.

use std::collections::VecDeque;
use std::time::Duration;

/// How many samples of ten minutes there are.
const FINE: usize = 300;
/// How many of a day.
const COARSE: usize = 1_440;
/// What one sample of the day stands for.
const MINUTE: Duration = Duration::from_secs(60);

/// The outbox at a moment. `None` is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) pending: Option<f64>,
    /// In seconds.
    pub(crate) lag: Option<f64>,
    pub(crate) dead: Option<f64>,
    /// In a second, as the next two.
    pub(crate) enqueued: Option<f64>,
    pub(crate) delivered: Option<f64>,
    pub(crate) failed: Option<f64>,
}

/// Both rings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    fine: VecDeque<Sample>,
    coarse: VecDeque<Sample>,
    /// When the next sample of the fine ring, and the next minute, begin, by the steady clock.
    fine_due: Duration,
    minute_due: Duration,
}

impl Series {
    /// Adds what was seen at `now`, by any steady clock; `step` is how far samples of the fine ring are apart. What was missed
    /// in between is not known, and drawn as a gap.
    pub(crate) fn add(&mut self, now: Duration, step: Duration, sample: Sample) {
        fill(&mut self.fine, FINE, &mut self.fine_due, now, step, sample);
        fill(&mut self.coarse, COARSE, &mut self.minute_due, now, MINUTE, sample);
    }

    /// The last ten minutes, the oldest first: as many as fit, those before the beginning unknown.
    pub(crate) fn fine(&self, of: impl Fn(&Sample) -> Option<f64>) -> Vec<Option<f64>> {
        read(&self.fine, FINE, of)
    }

    /// The last day, likewise.
    pub(crate) fn coarse(&self, of: impl Fn(&Sample) -> Option<f64>) -> Vec<Option<f64>> {
        read(&self.coarse, COARSE, of)
    }
}

fn fill(
    ring: &mut VecDeque<Sample>,
    size: usize,
    due: &mut Duration,
    now: Duration,
    step: Duration,
    sample: Sample,
) {
    if ring.is_empty() {
        *due = now;
    }
    // Nearly due is due: a loop that sleeps for a step comes a little earlier or later each time.
    if now + step / 4 < *due {
        return;
    }
    let missed = now.saturating_sub(*due).as_nanos() / step.as_nanos().max(1);
    for _ in 0..missed.min(size as u128) {
        ring.push_back(Sample::default());
    }
    ring.push_back(sample);
    while ring.len() > size {
        ring.pop_front();
    }
    *due = if missed > 0 { now + step } else { *due + step };
}

fn read(ring: &VecDeque<Sample>, size: usize, of: impl Fn(&Sample) -> Option<f64>) -> Vec<Option<f64>> {
    let unknown = std::iter::repeat_n(None, size - ring.len());
    unknown.chain(ring.iter().map(of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_secs(2);

    fn sample(pending: f64) -> Sample {
        Sample { pending: Some(pending), ..Sample::default() }
    }

    fn known(series: &Series) -> Vec<f64> {
        series.fine(|sample| sample.pending).into_iter().flatten().collect()
    }

    #[test]
    fn a_ring_holds_so_much_and_no_more() {
        let mut series = Series::default();
        for second in 0..3_000_u32 {
            series.add(Duration::from_secs(u64::from(second) * 2), STEP, sample(f64::from(second)));
        }
        assert_eq!(series.fine(|sample| sample.pending).len(), FINE);
        assert_eq!(known(&series).len(), FINE);
        assert_eq!(known(&series).last(), Some(&2_999.0));
        assert_eq!(series.coarse(|sample| sample.pending).into_iter().flatten().count(), 100);
    }

    #[test]
    fn what_was_missed_is_a_gap() {
        let mut series = Series::default();
        series.add(Duration::from_secs(100), STEP, sample(1.0));
        series.add(Duration::from_secs(101), STEP, sample(2.0));
        series.add(Duration::from_secs(102), STEP, sample(3.0));
        series.add(Duration::from_secs(110), STEP, sample(4.0));
        assert_eq!(known(&series), [1.0, 3.0, 4.0]);
        let all = series.fine(|sample| sample.pending);
        assert_eq!(all[FINE - 5..], [Some(3.0), None, None, None, Some(4.0)]);
        series.add(Duration::from_secs(1_000_000), STEP, sample(5.0));
        assert_eq!(known(&series), [5.0]);
    }
}
