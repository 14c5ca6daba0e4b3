//! The comparison of the conversations with context and those that `[context] holdout` leaves without.

use std::collections::{BTreeMap, BTreeSet};

use muninn_ledger::Receipt;
use serde::Serialize;

/// The fewest conversations of a group for an interval.
const FEWEST: usize = 5;
/// The quantile of the normal distribution for an interval of 95%.
const Z: f64 = 1.96;

/// The conversations of a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holdout {
    /// The number of conversations with context.
    pub with_context: usize,
    /// The number of conversations without.
    pub held_out: usize,
    /// Tool calls.
    pub calls: Comparison,
    /// Tokens of prompts and answers, as backends counted them. Without the conversations whose answers were not counted.
    pub tokens: Comparison,
    /// Human turns.
    pub turns: Comparison,
}

/// The means of the two groups per conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub with_context: Option<f64>,
    pub held_out: Option<f64>,
    /// The ratio of the geometric means of one more than each value, with context to held out. Below 1, context saves.
    pub ratio: Option<f64>,
    /// The interval that holds the true ratio with a probability of 95%, by Welch's standard error of the logarithms;
    /// absent if a group has fewer than five conversations.
    pub interval: Option<[f64; 2]>,
}

/// The cost of one conversation.
#[derive(Default)]
struct Conversation<'a> {
    held_out: bool,
    /// The greatest number of calls that a request of the main agent, or of each subagent, holds.
    calls: BTreeMap<Option<&'a str>, u32>,
    tokens: Option<u64>,
    turns: BTreeSet<(Option<u32>, &'a str)>,
}

impl Holdout {
    /// Compares the conversations of receipts; `None` if none was in a trial.
    pub(super) fn of<'a>(receipts: impl Iterator<Item = &'a Receipt>) -> Option<Holdout> {
        let mut conversations: BTreeMap<(&str, &str), Conversation<'_>> = BTreeMap::new();
        for receipt in receipts {
            let (Some(trial), Some(name)) = (receipt.trial, receipt.conversation()) else { continue };
            let one = conversations.entry((&receipt.worktree, name)).or_default();
            one.held_out |= trial.held_out;
            if let Some(tokens) = trial.tokens {
                *one.tokens.get_or_insert_default() += tokens;
            }
            if receipt.side_request.is_some() {
                continue;
            }
            let calls = one.calls.entry(receipt.agent.as_deref()).or_default();
            *calls = trial.calls.max(*calls);
            if receipt.agent.is_none() && !receipt.first_words.is_empty() {
                one.turns.insert((receipt.turn, &receipt.first_words));
            }
        }
        let (held_out, with): (Vec<_>, Vec<_>) = conversations.into_values().partition(|one| one.held_out);
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let compare = |figure: &dyn Fn(&Conversation<'_>) -> Option<u64>| {
            let of = |group: &[Conversation<'_>]| group.iter().filter_map(figure).map(|value| value as f64).collect();
            Comparison::of(of(&with), of(&held_out))
        };
        (!with.is_empty() || !held_out.is_empty()).then(|| Holdout {
            with_context: with.len(),
            held_out: held_out.len(),
            calls: compare(&|one| Some(one.calls.values().copied().map(u64::from).sum())),
            tokens: compare(&|one| one.tokens),
            turns: compare(&|one| Some(one.turns.len() as u64)),
        })
    }
}

impl Comparison {
    fn of(with: Vec<f64>, held_out: Vec<f64>) -> Comparison {
        let logarithms = |group: &[f64]| moments(&group.iter().map(|value| value.ln_1p()).collect::<Vec<_>>());
        let both = logarithms(&with).zip(logarithms(&held_out));
        let ratio = both.map(|(with, held_out)| (with.mean - held_out.mean).exp());
        let has_enough = with.len() >= FEWEST && held_out.len() >= FEWEST;
        let interval = both.filter(|_| has_enough).map(|(with, held_out)| {
            let difference = with.mean - held_out.mean;
            let error = Z * (with.error_squared + held_out.error_squared).sqrt();
            [difference - error, difference + error].map(f64::exp).map(hundredths)
        });
        let mean = |group: &[f64]| moments(group).map(|found| hundredths(found.mean));
        Comparison { with_context: mean(&with), held_out: mean(&held_out), ratio: ratio.map(hundredths), interval }
    }
}

pub(super) fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The mean of values and the square of its standard error.
#[derive(Clone, Copy)]
struct Moments {
    mean: f64,
    error_squared: f64,
}

#[expect(clippy::cast_precision_loss, reason = "conversations are few")]
fn moments(values: &[f64]) -> Option<Moments> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (count > 0.0).then(|| Moments { mean, error_squared: squares / (count - 1.0).max(1.0) / count })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use muninn_ledger::Trial;

    use super::*;

    /// A request of a conversation, with its number of calls.
    fn request(conversation: &str, held_out: bool, turn: u32, calls: u32) -> Receipt {
        Receipt {
            session: Some(conversation.to_owned()),
            turn: Some(turn),
            trial: Some(Trial { held_out, calls, tokens: Some(1_000) }),
            ..Receipt::of("01".to_owned(), Path::new("/a"), "question")
        }
    }

    #[test]
    fn conversations_count_once_with_all_their_requests() {
        let receipts = [
            request("one", false, 1, 0),
            request("one", false, 1, 4),
            request("one", false, 2, 6),
            request("two", true, 1, 20),
            Receipt { agent: Some("a1".to_owned()), ..request("two", true, 1, 5) },
            Receipt { side_request: Some("title".to_owned()), ..request("two", true, 1, 90) },
            Receipt { trial: None, ..request("three", false, 1, 7) },
        ];
        let found = Holdout::of(receipts.iter()).unwrap();
        assert_eq!((found.with_context, found.held_out), (1, 1));
        assert_eq!((found.calls.with_context, found.calls.held_out), (Some(6.0), Some(25.0)));
        assert_eq!((found.tokens.with_context, found.tokens.held_out), (Some(3_000.0), Some(3_000.0)));
        assert_eq!((found.turns.with_context, found.turns.held_out), (Some(2.0), Some(1.0)));
        assert_eq!((found.calls.ratio, found.calls.interval), (Some(0.27), None), "two conversations have no interval");
        assert_eq!(Holdout::of([receipts[6].clone()].iter()), None);
    }

    #[test]
    fn interval_holds_the_ratio_and_narrows_with_more_conversations() {
        let of = |conversations: u32| {
            let receipts = (0..2 * conversations).map(|number| {
                let held_out = number % 2 == 0;
                request(&number.to_string(), held_out, 1, if held_out { 20 } else { 10 } + number % 7)
            });
            Holdout::of(receipts.collect::<Vec<_>>().iter()).unwrap().calls
        };
        let (few, many) = (of(7), of(70));
        let width = |found: &Comparison| found.interval.map(|[low, high]| high - low).unwrap();
        let [low, high] = many.interval.unwrap();
        assert!(low < many.ratio.unwrap() && many.ratio.unwrap() < high && high < 1.0, "{many:?}");
        assert!(width(&few) > 2.0 * width(&many), "{few:?} {many:?}");
        // Without any in the other group, there is nothing to compare.
        let alone = Holdout::of([request("one", false, 1, 3)].iter()).unwrap();
        assert_eq!((alone.calls.held_out, alone.calls.ratio), (None, None));
    }
}
