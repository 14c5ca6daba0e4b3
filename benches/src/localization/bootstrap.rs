//! Confidence intervals of means: percentile bootstrap over instances, always with the same seed.

/// The number of resamples.
const RESAMPLES: usize = 10_000;
const SEED: u64 = 0x6d75_6e69_6e6e;

/// The mean of what is there; `None` if nothing is.
pub fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
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
pub fn interval(values: &[Option<f64>]) -> Option<[f64; 2]> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
