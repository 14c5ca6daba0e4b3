//! The gains and costs of packs, per repository: sums over the receipts of the last days.

use std::collections::{BTreeMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use muninn_ledger::{Outcome, Receipt, Store, StoreError};
use muninn_text::model::block_on;
use serde::Serialize;

use super::comparison::{Holdout, hundredths};

/// The sums of all repositories. Gains, prices and nets are in input tokens that are not cached.
#[derive(Debug, Serialize)]
pub struct Stats {
    /// The number of days.
    pub days: u32,
    /// The beginning of the period, RFC 3339.
    pub since: String,
    /// The time of the oldest receipt. Receipts are bounded in number.
    pub oldest: Option<String>,
    /// Whether the receipts reach back to the beginning of the period.
    pub complete: bool,
    /// The sums of each repository, sorted by path.
    pub repositories: Vec<RepositoryStats>,
    /// The sums of all of them.
    pub total: Counts,
    /// The conversations with and without context; absent if `[context] holdout` was not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holdout: Option<Holdout>,
}

/// The sums of one repository.
#[derive(Debug, Serialize)]
pub struct RepositoryStats {
    /// The path of its worktree.
    pub worktree: String,
    /// The sums.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Sums over receipts.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Counts {
    /// Requests of clients.
    pub requests: usize,
    /// Different human turns in them, without side requests.
    pub questions: usize,
    /// Requests that got a new block.
    pub packs: usize,
    /// The tokens of the new blocks.
    pub tokens: u64,
    /// The tokens of the replayed blocks.
    pub replayed_tokens: u64,
    /// The estimated price of the new blocks.
    pub price: f64,
    /// The gain that was expected of the new blocks.
    pub estimated_gain: f64,
    /// Maps whose effect on the turn is known.
    pub measured: usize,
    /// The realised gain of the measured maps.
    pub realised_gain: f64,
    /// The realised gain of the measured maps less the price of their packs.
    pub net: f64,
    /// Measured maps of which a place was read or edited.
    pub used: usize,
    /// Measured maps that gained less than their price.
    pub lost: usize,
    /// Exploring calls that agents made before they reached a place of a measured map, or edited.
    pub exploring_calls: u64,
    /// Exploring calls that the measured maps spared.
    pub spared_calls: f64,
    /// The share of spared calls in spared and made ones; absent without either.
    pub spared_share: Option<f64>,
    /// The median time of exploring, in milliseconds; absent without an exploration.
    pub explore_ms: Option<f64>,
}

/// Adds up the receipts of the last `days` before `now`.
///
/// # Errors
/// [`StoreError`] where receipts cannot be read.
pub fn stats(store: &dyn Store, now: Timestamp, days: u32) -> Result<Stats, StoreError> {
    let receipts = block_on(store.receipts(usize::MAX))?;
    Ok(Stats::of(&receipts, now, days))
}

impl Stats {
    fn of(receipts: &[Receipt], now: Timestamp, days: u32) -> Stats {
        let period = SignedDuration::from_hours(24 * i64::from(days));
        let since = now.checked_sub(period).unwrap_or(Timestamp::MIN);
        let at = |receipt: &Receipt| receipt.at.parse::<Timestamp>().ok();
        let mut repositories: BTreeMap<&str, Tally<'_>> = BTreeMap::new();
        let mut total = Tally::default();
        let in_period = |receipt: &&Receipt| is_request(receipt) && at(receipt).is_some_and(|at| at >= since);
        for receipt in receipts.iter().filter(in_period) {
            repositories.entry(&receipt.worktree).or_default().add(receipt);
            total.add(receipt);
        }
        let repositories = repositories
            .into_iter()
            .map(|(worktree, tally)| RepositoryStats { worktree: worktree.to_owned(), counts: tally.counts() });
        let oldest = receipts.iter().filter_map(at).min();
        Stats {
            days,
            since: since.to_string(),
            oldest: oldest.map(|at| at.to_string()),
            complete: oldest.is_some_and(|oldest| oldest <= since),
            repositories: repositories.collect(),
            total: total.counts(),
            holdout: Holdout::of(receipts.iter().filter(in_period)),
        }
    }
}

fn is_request(receipt: &Receipt) -> bool {
    !matches!(receipt.outcome, Outcome::Explored | Outcome::Summed | Outcome::Reconciled)
}

/// A human turn: repository, conversation, subagent, number and first words. A retry or a later request has the same.
type Question<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Option<u32>, &'a str);

#[derive(Default)]
struct Tally<'a> {
    counts: Counts,
    questions: HashSet<Question<'a>>,
    explore_ms: Vec<f64>,
}

impl<'a> Tally<'a> {
    fn add(&mut self, receipt: &'a Receipt) {
        let counts = &mut self.counts;
        counts.requests += 1;
        counts.replayed_tokens += u64::from(receipt.replayed.tokens);
        if receipt.side_request.is_none() && !receipt.first_words.is_empty() {
            let conversation = receipt.session.as_deref().or(receipt.derived.as_deref());
            let agent = receipt.agent.as_deref();
            let turn = (&*receipt.worktree, conversation, agent, receipt.turn, &*receipt.first_words);
            self.questions.insert(turn);
        }
        if receipt.explore_ms > 0.0 {
            self.explore_ms.push(receipt.explore_ms);
        }
        let is_pack = receipt.preamble.is_empty() || !receipt.items.is_empty();
        if is_pack && matches!(receipt.outcome, Outcome::Injected | Outcome::Partial) {
            counts.packs += 1;
            counts.tokens += u64::from(receipt.tokens);
        }
        if let Some(estimate) = receipt.estimate {
            counts.price += estimate.price;
            counts.estimated_gain += estimate.gain.unwrap_or_default();
        }
        if let (Some(effect), Some((gain, price))) = (receipt.effect, receipt.measured()) {
            counts.measured += 1;
            counts.realised_gain += gain;
            counts.net += gain - price;
            counts.used += usize::from(effect.places_used > 0);
            counts.lost += usize::from(gain < price);
            counts.exploring_calls += u64::from(effect.exploring_calls);
            counts.spared_calls += effect.spared_calls;
        }
    }

    fn counts(mut self) -> Counts {
        self.explore_ms.sort_by(f64::total_cmp);
        let Counts { price, estimated_gain, realised_gain, net, exploring_calls, spared_calls, .. } = self.counts;
        #[expect(clippy::cast_precision_loss, reason = "calls are few")]
        let all_calls = spared_calls + exploring_calls as f64;
        Counts {
            questions: self.questions.len(),
            price: price.round(),
            estimated_gain: estimated_gain.round(),
            realised_gain: realised_gain.round(),
            // A sum of -0 would be printed with its sign.
            net: net.round() + 0.0,
            spared_calls: hundredths(spared_calls),
            spared_share: (all_calls > 0.0).then(|| hundredths(spared_calls / all_calls)),
            explore_ms: self.explore_ms.get(self.explore_ms.len() / 2).copied(),
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use muninn_ledger::{Effect, Estimate, Replays};

    const NOW: &str = "2026-11-24T12:00:00Z";

    fn receipt(worktree: &str, at: &str, words: &str) -> Receipt {
        Receipt {
            at: at.to_owned(),
            session: Some("s".to_owned()),
            turn: Some(1),
            ..Receipt::of("01".to_owned(), Path::new(worktree), words)
        }
    }

    /// A map of 100 tokens at a price of 555, whose turn made so many exploring calls before it reached a place.
    fn map(worktree: &str, words: &str, reached: Option<u32>) -> Receipt {
        let estimate = Estimate { price: 555.0, gain: Some(9000.0), call: Some(1000.0) };
        let effect = Effect {
            exploring_calls: reached.unwrap_or(6),
            places_used: reached.map_or(0, |_| 1),
            files_missed: 0,
            spared_calls: 0.0,
            gain: None,
        };
        Receipt {
            outcome: Outcome::Injected,
            tokens: 100,
            estimate: Some(estimate),
            effect: Some(effect.with_gain(reached, Some(&estimate))),
            explore_ms: 10.0,
            ..receipt(worktree, "2026-11-23T08:00:00Z", words)
        }
    }

    fn of(receipts: &[Receipt], days: u32) -> Stats {
        Stats::of(receipts, NOW.parse().unwrap(), days)
    }

    #[test]
    fn gains_and_losses_add_up_per_repository_and_in_total() {
        let unknown = Receipt { effect: None, ..map("/a", "q3", None) };
        let receipts = [map("/a", "q1", Some(1)), map("/a", "q2", None), unknown, map("/b", "q1", Some(5))];
        let stats = of(&receipts, 7);
        let paths: Vec<&str> = stats.repositories.iter().map(|one| one.worktree.as_str()).collect();
        assert_eq!(paths, ["/a", "/b"]);
        let a = &stats.repositories[0].counts;
        let expected = Counts {
            requests: 3,
            questions: 3,
            packs: 3,
            tokens: 300,
            price: 1665.0,
            estimated_gain: 27_000.0,
            measured: 2,
            realised_gain: 2800.0,
            net: 1690.0,
            used: 1,
            lost: 1,
            exploring_calls: 7,
            spared_calls: 2.8,
            spared_share: Some(0.29),
            explore_ms: Some(10.0),
            ..Counts::default()
        };
        assert_eq!(*a, expected);
        // A place that was reached after many calls is used, and the map still lost.
        let b = &stats.repositories[1].counts;
        assert_eq!((b.used, b.lost, b.net), (1, 1, -555.0));
        assert_eq!((stats.total.measured, stats.total.net), (3, 1135.0));
        assert_eq!(stats.total.questions, 4);
    }

    #[test]
    fn only_requests_of_the_period_count() {
        let mut explored = receipt("/a", "2026-11-24T00:00:00Z", "q");
        explored.outcome = Outcome::Explored;
        let receipts = [
            receipt("/a", "2026-11-17T11:59:59Z", "old"),
            receipt("/a", "2026-11-17T12:00:00Z", "q"),
            receipt("/a", "no time", "q"),
            explored,
        ];
        let week = of(&receipts, 7);
        assert_eq!(week.total.requests, 1);
        assert_eq!(week.oldest.as_deref(), Some("2026-11-17T11:59:59Z"));
        assert_eq!((week.since.as_str(), week.complete), ("2026-11-17T12:00:00Z", true));
        let eight = of(&receipts, 8);
        assert_eq!((eight.total.requests, eight.complete), (2, false));
        assert_eq!(of(&receipts, u32::MAX).total.requests, 2);
        assert_eq!(of(&[], 7).total, Counts::default());
    }

    #[test]
    fn later_requests_of_a_turn_are_no_questions() {
        let replayed = Receipt {
            outcome: Outcome::Replayed,
            replayed: Replays { blocks: 1, tokens: 90 },
            ..receipt("/a", "2026-11-24T08:00:00Z", "q")
        };
        let side = Receipt { side_request: Some("title".to_owned()), ..receipt("/a", "2026-11-24T08:00:00Z", "title") };
        let after_tools = receipt("/a", "2026-11-24T08:00:00Z", "");
        let counts = of(&[replayed.clone(), replayed, side, after_tools], 7).total;
        assert_eq!((counts.requests, counts.questions, counts.replayed_tokens), (4, 1, 180));
    }

    #[test]
    fn receipts_without_estimates_and_prices_of_zero_neither_gain_nor_lose() {
        let old = Receipt { estimate: None, effect: None, ..map("/a", "q", None) };
        let free = Estimate { price: 0.0, gain: Some(0.0), call: Some(0.0) };
        let mut unpriced = map("/a", "r", Some(0));
        unpriced.effect = unpriced.effect.map(|effect| effect.with_gain(Some(0), Some(&free)));
        unpriced.estimate = Some(free);
        let counts = of(&[old, unpriced], 7).total;
        assert_eq!((counts.packs, counts.measured, counts.lost), (2, 1, 0));
        assert_eq!((counts.price, counts.net, counts.spared_share), (555.0 - 555.0, 0.0, Some(1.0)));
    }
}
