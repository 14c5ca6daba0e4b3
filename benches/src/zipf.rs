//! Made words: drawn by Zipf's law, the same for the same seed.

use fastrand::Rng;

const WORDS: usize = 20_000;

/// A source of words.
pub(crate) struct ZipfWords {
    words: Vec<String>,
    /// The sums of the words' weights.
    sums: Vec<f64>,
    /// What else is drawn.
    pub(crate) rng: Rng,
}

impl ZipfWords {
    pub(crate) fn new(seed: u64) -> ZipfWords {
        let mut rng = Rng::with_seed(seed);
        let word = |_| -> String { (0..rng.usize(3..=10)).map(|_| rng.lowercase()).collect() };
        let words = (0..WORDS).map(word).collect();
        let mut sum = 0.0;
        let sums = (0..WORDS).map(|rank| {
            sum += 1.0 / f64::from(u32::try_from(rank + 1).unwrap_or(u32::MAX));
            sum
        });
        ZipfWords { words, sums: sums.collect(), rng }
    }

    fn word(&mut self) -> &str {
        let most = self.sums.last().copied().unwrap_or_default();
        let at = self.rng.f64() * most;
        let rank = self.sums.partition_point(|sum| *sum < at);
        self.words.get(rank).map_or("word", String::as_str)
    }

    /// So many words.
    pub(crate) fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.word().to_owned()).collect()
    }

    /// Queries of two or three words.
    pub(crate) fn queries(&mut self, count: usize) -> Vec<String> {
        let query = |_| {
            let words = self.rng.usize(2..=3);
            self.words(words).join(" ")
        };
        (0..count).map(query).collect()
    }
}
