//! Percentiles, rounding, and means with their confidence intervals: percentile bootstrap, always with the same seed.

use std::time::Duration;

use serde::Serialize;

/// The `q`-quantile (0 to 1) of `values` by nearest rank: the smallest value that at least `q` of all are not above.
/// Reorders the values.
pub(crate) fn percentile(values: &mut [f64], q: f64) -> Option<f64> {
    let rank = rank(values.len(), q)?;
    let (_, value, _) = values.select_nth_unstable_by(rank, f64::total_cmp);
    Some(*value)
}

pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    percentile(&mut values, 0.5)
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: Option<f64>,
    pub(crate) p95: Option<f64>,
}

impl Percentiles {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        Self { p50: percentile(&mut values, 0.5).map(rounded), p95: percentile(&mut values, 0.95).map(rounded) }
    }
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Rounds to four digits after the point.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// A share (0 to 1) as percent, to a tenth.
pub(crate) fn percent(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0
}

/// A part of a whole, from 0 to 1. A part of nothing is 0.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    rounded(part as f64 / whole.max(1) as f64)
}

/// A part of a whole in percent, with four digits. A part of nothing is 0.
pub(crate) fn percent_of(part: usize, whole: usize) -> f64 {
    rounded(part as f64 * 100.0 / whole.max(1) as f64)
}

const RESAMPLES: usize = 10_000;
const SEED: u64 = 0x6d75_6e69_6e6e;

/// The mean of what is there; `None` if nothing is.
pub(crate) fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values.into_iter().flatten() {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// The 95% interval of the mean, from instances drawn with replacement. `None` without values.
///
/// For the difference of two runs over the same instances, give the differences: that is the paired test.
pub(crate) fn interval(values: &[Option<f64>]) -> Option<[f64; 2]> {
    let values: Vec<f64> = values.iter().copied().flatten().collect();
    if values.is_empty() {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn = (0..values.len()).map(|_| values[random.usize(..values.len())]);
            drawn.sum::<f64>() / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    Some([means[RESAMPLES / 40], means[RESAMPLES - RESAMPLES / 40 - 1]])
}

/// Gaps between events, in milliseconds. Events of one read have no gap between them. These zeros, nearly all gaps of an
/// unpaced run, are only counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gaps {
    zeros: usize,
    values: Vec<f64>,
}

impl Gaps {
    /// Adds the gap before a read, and the zero gaps between the `events` of the read.
    pub(crate) fn add(&mut self, gap: Option<Duration>, events: usize) {
        self.zeros += events.saturating_sub(1);
        self.values.extend(gap.map(millis));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.zeros += other.zeros;
        self.values.extend(other.values);
    }

    pub(crate) fn percentile(&mut self, q: f64) -> Option<f64> {
        let rank = rank(self.zeros + self.values.len(), q)?;
        let Some(rank) = rank.checked_sub(self.zeros) else {
            return Some(0.0);
        };
        let (_, value, _) = self.values.select_nth_unstable_by(rank, f64::total_cmp);
        Some(*value)
    }
}

/// The index of the `q`-quantile among `count` sorted values.
fn rank(count: usize, q: f64) -> Option<usize> {
    let rank = (q * count as f64).ceil() as usize;
    (count > 0).then(|| rank.clamp(1, count) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let at = [0.0, 0.5, 0.99, 1.0].map(|q| percentile(&mut values, q));
        assert_eq!(at, [1.0, 50.0, 99.0, 100.0].map(Some));
        assert_eq!(percentile(&mut [], 0.5), None);
    }

    #[test]
    fn counted_zeros_weigh_like_values() {
        let mut gaps = Gaps::default();
        gaps.add(None, 97);
        gaps.add(Some(Duration::from_millis(3)), 1);
        gaps.add(Some(Duration::from_millis(2)), 1);
        let mut other = Gaps::default();
        other.add(Some(Duration::from_millis(1)), 2);
        gaps.merge(other);
        // 97 zeros, then 1, 2 and 3 ms.
        assert_eq!([0.97, 0.98, 0.99, 1.0].map(|q| gaps.percentile(q)), [0.0, 1.0, 2.0, 3.0].map(Some));
    }

    #[test]
    fn interval_of_a_hundred_coin_tosses_is_ten_percent() {
        let throws: Vec<_> = (0..100).map(|n| Some(f64::from(n % 2))).collect();
        let [low, high] = interval(&throws).unwrap();
        assert!((0.39..0.42).contains(&low) && (0.58..0.61).contains(&high), "{low} {high}");
        assert_eq!(interval(&throws), interval(&throws));
    }

    #[test]
    fn missing_values_do_not_count() {
        assert_eq!(mean([Some(1.0), None, Some(0.0)]), Some(0.5));
        assert_eq!(mean([None]), None);
        assert_eq!(interval(&[None]), None);
        assert_eq!(interval(&[Some(1.0), None]), Some([1.0, 1.0]));
    }
}
