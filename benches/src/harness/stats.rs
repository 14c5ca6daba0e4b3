//! Percentiles and medians.

use std::time::Duration;

/// The `q`-quantile (0 to 1) of `values` by nearest rank: the smallest value that at least `q` of
/// all are not above. `None` without values. Reorders them.
pub fn percentile(values: &mut [f64], q: f64) -> Option<f64> {
    let rank = rank(values.len(), q)?;
    let (_, value, _) = values.select_nth_unstable_by(rank, f64::total_cmp);
    Some(*value)
}

/// The median by nearest rank. `None` without values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    percentile(&mut values, 0.5)
}

/// Milliseconds as the reports give them.
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Gaps between events, in milliseconds. Events that one read brings have no gap between them;
/// those zeros, nearly all gaps of an unpaced run, are only counted.
#[derive(Debug, Clone, Default)]
pub struct Gaps {
    zeros: usize,
    values: Vec<f64>,
}

impl Gaps {
    /// Adds the gap before a read, and the zero gaps between the `events` that it brought.
    pub fn add(&mut self, gap: Option<Duration>, events: usize) {
        self.zeros += events.saturating_sub(1);
        if let Some(gap) = gap {
            self.values.push(millis(gap));
        }
    }

    /// Adds all gaps of another connection.
    pub fn merge(&mut self, other: Self) {
        self.zeros += other.zeros;
        self.values.extend(other.values);
    }

    /// The `q`-quantile by nearest rank; `None` without gaps.
    pub fn percentile(&mut self, q: f64) -> Option<f64> {
        let rank = rank(self.zeros + self.values.len(), q)?;
        let Some(rank) = rank.checked_sub(self.zeros) else {
            return Some(0.0);
        };
        let (_, value, _) = self.values.select_nth_unstable_by(rank, f64::total_cmp);
        Some(*value)
    }
}

/// Index of the `q`-quantile among `count` sorted values.
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
        assert_eq!(percentile(&mut values, 0.5), Some(50.0));
        assert_eq!(percentile(&mut values, 0.99), Some(99.0));
        assert_eq!(percentile(&mut values, 1.0), Some(100.0));
        assert_eq!(percentile(&mut values, 0.0), Some(1.0));
        assert_eq!(percentile(&mut [7.0], 0.99), Some(7.0));
        assert_eq!(percentile(&mut [], 0.5), None);
    }

    #[test]
    fn median_of_three_is_the_middle_one() {
        assert_eq!(median(vec![9.0, 1.0, 5.0]), Some(5.0));
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
        assert_eq!(gaps.percentile(0.97), Some(0.0));
        assert_eq!(gaps.percentile(0.98), Some(1.0));
        assert_eq!(gaps.percentile(0.99), Some(2.0));
        assert_eq!(gaps.percentile(1.0), Some(3.0));
        assert_eq!(Gaps::default().percentile(0.5), None);
    }
}
