//! The benchmark's report.

use std::collections::BTreeMap;

use serde::Serialize;

use super::prompts::{Class, Half};
use crate::localization::report::percent;

/// The last line on stdout. Rates are percent of askings; what is about no repository is asked in each of them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Prompts of each class.
    pub n: BTreeMap<Class, usize>,
    /// The rate of packs, by class.
    pub injected: BTreeMap<Class, f64>,
    /// The same in the half for tuning.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tune: BTreeMap<Class, f64>,
    /// The same in the half that is held back.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<Class, f64>,
    /// The same for each repository.
    pub by_repo: BTreeMap<String, BTreeMap<Class, f64>>,
    /// Packs for questions with known answers.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub gold: Option<GoldShare>,
}

/// The share of packed tokens in files that answer the question.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct GoldShare {
    /// Questions.
    pub gold_n: usize,
    /// For how many of them something was packed, in percent.
    pub gold_injected: f64,
    /// The part of all packed tokens that lies in gold files, in percent.
    pub gold_token_share: f64,
}

/// One prompt, asked in one repository.
#[derive(Debug, Clone, Serialize)]
pub struct Asking {
    /// Its half.
    pub half: Half,
    /// Its class.
    pub class: Class,
    /// The repository.
    pub repo: String,
    /// Its words.
    pub prompt: String,
    /// Whether anything was packed.
    pub injected: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The packed sources, best first.
    pub sources: Vec<String>,
    /// Tokens of all that.
    pub tokens: u32,
    /// The features of the engine's decision, for `fit.py`.
    pub signs: Vec<f32>,
}

impl Report {
    /// Counts.
    pub fn of(n: BTreeMap<Class, usize>, askings: &[Asking], gold: Option<GoldShare>) -> Self {
        let mut by_repo: BTreeMap<String, Vec<&Asking>> = BTreeMap::new();
        for asking in askings {
            by_repo.entry(asking.repo.clone()).or_default().push(asking);
        }
        let of_half = |half| rates(askings.iter().filter(|asking| asking.half == half));
        Self {
            n,
            injected: rates(askings),
            tune: of_half(Half::Tune),
            held: of_half(Half::Held),
            by_repo: by_repo.into_iter().map(|(repo, here)| (repo, rates(here))).collect(),
            gold,
        }
    }
}

/// The share of askings for which something was packed, by class.
fn rates<'a>(askings: impl IntoIterator<Item = &'a Asking>) -> BTreeMap<Class, f64> {
    let mut counts: BTreeMap<Class, (u32, u32)> = BTreeMap::new();
    for asking in askings {
        let (packed, all) = counts.entry(asking.class).or_default();
        *packed += u32::from(asking.injected);
        *all += 1;
    }
    let rate = |(class, (packed, all))| (class, percent(f64::from(packed) / f64::from(all)));
    counts.into_iter().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_reported_by_class_half_and_repository() {
        let asking = |half, class, repo: &str, injected| Asking {
            half,
            class,
            repo: repo.to_owned(),
            prompt: String::new(),
            injected,
            reason: None,
            sources: Vec::new(),
            tokens: 0,
            signs: Vec::new(),
        };
        let askings = [
            asking(Half::Tune, Class::OffTopic, "a", true),
            asking(Half::Tune, Class::OffTopic, "b", false),
            asking(Half::Tune, Class::OnTopic, "a", true),
            asking(Half::Held, Class::OffTopic, "a", false),
        ];
        let n = BTreeMap::from([(Class::OffTopic, 2), (Class::OnTopic, 1)]);
        let report = Report::of(n, &askings, None);
        let line = serde_json::to_string(&report).unwrap();
        let expected = concat!(
            r#"{"n":{"off_topic":2,"on_topic":1},"injected":{"off_topic":33.3,"on_topic":100.0},"#,
            r#""tune":{"off_topic":50.0,"on_topic":100.0},"held":{"off_topic":0.0},"#,
            r#""by_repo":{"a":{"off_topic":50.0,"on_topic":100.0},"b":{"off_topic":0.0}}}"#
        );
        assert_eq!(line, expected);
    }
}
