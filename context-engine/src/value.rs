//! The cost model of maps: the price of their tokens, and the exploring calls that they are expected to spare.
//!
//! The unit is the price of one input token that is not cached. An agent's prompt grows by what is added, is written to
//! the backend's prefix cache once, and is read from there on every later turn. So `P` tokens cost
//! `P × (cache_write + cached_read × TURNS)`. A call of a tool that explores costs its own output, the result, which is
//! cached in the same way, and one more reading of the prefix:
//! `CALL_OUTPUT × output + CALL_RESULT × (cache_write + cached_read × TURNS) + PREFIX × cached_read`.
//!
//! A place is worth its probability of being the first right one, times the calls that an agent makes before it finds
//! that place. The constants are medians and means over `trajectories-dev` (63 runs of an agent on real issues);
//! `FIRST` is also measured on `localization-dev`. The benchmark `value` measures the result.
//!
//! The more of a repository's files a map names, the less it says about where to look: its gain falls to nothing where
//! it names half of them ([`news`]).
//!
//! The realised gain of a map is an estimate that errs on the low side. A turn that read, edited or cited a file of the
//! map spared at most `CALLS` exploring calls, less those that it made before ([`spared_calls`]); a citation counts after
//! all calls of the turn. Each spared call is worth a call's price. A turn that used no file of the map spared none and lost
//! the price of the pack. Calls that line ranges spare within a file are not counted.

/// The expected number of further turns of a run: the median over recorded runs.
const TURNS: f32 = 43.0;
/// The tokens of a call, and the mean of those of its result.
const CALL_OUTPUT: f32 = 100.0;
const CALL_RESULT: f32 = 557.0;
/// The tokens of an agent's prompt before the first call: its instructions and the definitions of its tools.
const PREFIX: f32 = 20_000.0;
/// The mean number of exploring calls before an agent reaches the first file that it changes.
const CALLS: f32 = 3.8;
/// The exploring calls within a file that its best line range spares; half as many for each further range.
const RANGE_CALLS: f32 = 0.5;
/// The share of questions whose first right file has this rank.
const FIRST: [f32; 5] = [0.59, 0.11, 0.09, 0.05, 0.02];
/// The share for each rank beyond [`FIRST`].
const LATER: f32 = 0.008;

/// The prices of a backend's tokens, relative to an input token that is not cached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// An input token that is written to the prefix cache.
    pub cache_write: f32,
    /// The same where the cache lives for an hour.
    pub cache_write_1h: f32,
    /// An input token that is read from the prefix cache.
    pub cached_read: f32,
    /// An output token.
    pub output: f32,
}

impl Default for Prices {
    /// The prices of the large vendors in 2026.
    fn default() -> Self {
        Self { cache_write: 1.25, cache_write_1h: 2.0, cached_read: 0.1, output: 5.0 }
    }
}

/// Returns the exploring calls that a map spared, if the agent made `exploring_calls` before it reached a file of the map.
pub fn spared_calls(exploring_calls: u32) -> f32 {
    (CALLS - exploring_calls as f32).max(0.0)
}

/// Returns the share of its gain that a map keeps which names `named` of a repository's `files`.
pub fn news(named: usize, files: usize) -> f32 {
    (1.0 - 2.0 * named as f32 / files.max(1) as f32).max(0.0)
}

impl Prices {
    /// Returns what tokens in the prompt cost over a run.
    pub fn of_tokens(&self, tokens: u32) -> f32 {
        tokens as f32 * self.for_the_run()
    }

    /// Returns the expected gain of naming the file at `rank`, counted from 0, if the question is about the repository
    /// with the probability `relevance`.
    pub(crate) fn of_file(&self, rank: usize, relevance: f32) -> f32 {
        self.of_calls(rank, relevance, CALLS)
    }

    /// Returns the expected gain of the `nth` line range, counted from 0, of the file at `rank`.
    pub(crate) fn of_range(&self, rank: usize, nth: usize, relevance: f32) -> f32 {
        let nth = i32::try_from(nth).unwrap_or(i32::MAX);
        self.of_calls(rank, relevance, RANGE_CALLS * 0.5f32.powi(nth))
    }

    /// Returns the price of one exploring call.
    pub fn of_call(&self) -> f32 {
        CALL_OUTPUT * self.output + CALL_RESULT * self.for_the_run() + PREFIX * self.cached_read
    }

    fn of_calls(&self, rank: usize, relevance: f32, calls: f32) -> f32 {
        relevance * FIRST.get(rank).copied().unwrap_or(LATER) * calls * self.of_call()
    }

    /// The prices of a conversation whose prompts are cached for an hour.
    #[must_use]
    pub fn for_an_hour(self) -> Prices {
        Prices { cache_write: self.cache_write_1h, ..self }
    }

    fn for_the_run(&self) -> f32 {
        self.cache_write + self.cached_read * TURNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_ranks_and_first_ranges_are_worth_more() {
        let prices = Prices::default();
        let files: Vec<f32> = (0..24).map(|rank| prices.of_file(rank, 1.0)).collect();
        assert!(files.is_sorted_by(|a, b| a >= b), "{files:?}");
        assert!(prices.of_range(0, 0, 1.0) > prices.of_range(0, 1, 1.0));
        assert!(prices.of_file(0, 1.0) > prices.of_file(0, 0.5));
    }

    #[test]
    fn exploring_calls_before_a_place_reduce_the_spared_ones_to_zero() {
        assert!((spared_calls(0) - CALLS).abs() < 1e-6);
        assert!((spared_calls(3) - (CALLS - 3.0)).abs() < 1e-6);
        assert!((4..9).all(|calls| spared_calls(calls) == 0.0) && spared_calls(u32::MAX) == 0.0);
    }

    #[test]
    fn map_that_names_half_of_the_files_says_nothing() {
        assert_eq!([news(0, 10), news(5, 10), news(9, 10), news(1, 1), news(1, 0)], [1.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(news(2, 10) < news(1, 10) && news(8, 1_000) > 0.98 && news(8, usize::MAX) > 0.99);
    }

    #[test]
    fn tokens_without_a_price_cost_nothing() {
        let free = Prices { cache_write: 0.0, cache_write_1h: 0.0, cached_read: 0.0, output: 0.0 };
        assert!(free.of_tokens(1000).abs() < f32::EPSILON && free.of_file(0, 1.0).abs() < f32::EPSILON);
    }
}
